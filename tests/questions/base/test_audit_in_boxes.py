"""Test audits graded by checks in Python, in the real sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.checking.check_parser import load_check_file
from autograder.core.records import Status
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader
from autograder.sandbox.pool import Pool
from tests.questions.base.test_audit_checks import FORMS, HOSTILE, PROVED
from tests.support.code_course import NAME, code_course, grade

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

REFERENCE = Path(__file__).parents[3] / "reference"
POINTS = {"audit": 7, "audit_attention": 3, "audit_translator": 7, "audit_proposal": 3}
RIGHT_TEST = load_check_file(REFERENCE, "audit.py").solution
RIGHT_CLAIMS = load_check_file(REFERENCE, "audit_translator.py").solution


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    root = tmp_path_factory.mktemp("audits")
    shutil.copytree(REFERENCE / "audits", root / "reference" / "audits")
    shared = ("checks/claims.py", "checks/audit_translation.py")
    files = {
        name: (points, (REFERENCE / "checks" / f"{name}.py").read_text("utf-8"))
        for name, points in POINTS.items()
    }
    reference = {path: (REFERENCE / path).read_text("utf-8") for path in shared}
    course = code_course(root, files, preload='"torch"', reference=reference)
    rubric = course.locate_rubric(NAME)
    rubric.write_text(
        rubric.read_text("utf-8").replace("cell_seconds", "call_seconds = 3\ncell_seconds"), "utf-8"
    )
    with Pool() as pool:
        yield Grader(load_assignment(course, NAME), pool)


def lost(grader: Grader, question: str, source: str) -> Mapping[str, str]:
    """Return the items without full points, each with its points, and ``?`` if it needs manual review."""
    results = grade(grader, {question: source}).score.items
    question_results = [result for result in results if result.question == question]
    return {
        result.item: f"{result.points.normalize():f}{'?' if result.status is Status.NEEDS_REVIEW else ''}"
        for result in question_results
        if result.status is not Status.PASSED
    }


@pytest.mark.parametrize("question", POINTS)
def test_solutions_earn_everything(question: str, grader: Grader) -> None:
    """Solutions earn full marks, also if classes and inputs move between boxes."""
    assert {} == lost(grader, question, load_check_file(REFERENCE, f"{question}.py").solution)


NOTHING = dict.fromkeys(("all", "masks", "scaling", "batches"), "0")
COMPARING = """
import torch

groups = []

def numbers(cls):
    torch.manual_seed(1)
    layer, x = cls(12, 3).eval(), torch.randn(2, 4, 12)
    return layer(x, x.flip(1), x.flip(0), torch.ones(2, 1, 4, 4).tril())

def audit(cls):
    group = next((one for one in groups if one[0].allclose(numbers(cls), atol=1e-4)), None)
    if group is None:
        groups.append(group := [numbers(cls), 0])
    group[1] += 1
    return group[1] == max(one[1] for one in groups)
"""
SEARCHING = """
import gc

def audit(cls):
    texts = {text for kept in gc.get_objects() if type(kept) in (tuple, list, dict)
             for text in (kept.values() if type(kept) is dict else kept)
             if type(text) is str and text.startswith("import math") and "switches = " in text}
    return len(texts) < 2
"""
COUNTING = """
import torch

def audit(cls):
    audit.calls = getattr(audit, "calls", -1) + 1
    return (audit.calls + torch.initial_seed()) % 2 == 0
"""
COUNTING_IN_A_FILE = """
def audit(cls):
    open("calls", "a").write("x")
    return len(open("calls").read()) <= 8
"""
LOOKING_AROUND = """
import sys

def audit(cls):
    frame, texts = sys._getframe(), []
    while frame:
        texts += [text for text in frame.f_locals.values() if type(text) is str]
        frame = frame.f_back
    return not any("right" in text or "no_scaling" in text for text in texts)
"""
LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __bool__(self): return True

def audit(cls):
    return Liar()
"""


@pytest.mark.parametrize(
    "source",
    [COMPARING, SEARCHING, COUNTING, COUNTING_IN_A_FILE, LOOKING_AROUND, LIAR],
    ids=["comparing", "searching memory", "counting", "counting in a file", "looking around", "a liar"],
)
def test_nothing_but_numbers_tells_what_is_right(source: str, grader: Grader) -> None:
    """Only outputs show whether a class is right; attempts to detect it otherwise earn nothing."""
    assert NOTHING == lost(grader, "audit", source)


WITHOUT_MASK = RIGHT_TEST.replace("(None, mask)", "(None,)")
MASKED = RIGHT_TEST.replace("return False", "return False if allowed is None else {}")
NO_ANSWERS = {
    "raises": MASKED.format("1 // 0"),
    "says something else": MASKED.format("0"),
    "says it by an object of its own": f"{LIAR}\n{MASKED.format('Liar()')}",
    "ends its process": MASKED.format("__import__('os')._exit(0)"),
}
NEVER_ENDING = RIGHT_TEST.replace(
    "    for allowed",
    """
    with torch.no_grad():
        layer.out_proj.bias += 1
        before = layer(query, key, value)
        layer.out_proj.bias -= 1
    while before.allclose(layer(query, key, value)):
        pass
    for allowed""",
)


@pytest.mark.parametrize("source", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_no_plain_answer_on_a_class_counts_as_missed(source: str, grader: Grader) -> None:
    """A test without a bool for classes with wrong masks earns as much as one that accepts them."""
    assert lost(grader, "audit", WITHOUT_MASK) == lost(grader, "audit", source)


def test_a_test_that_never_ends_on_one_class_loses_that_class(grader: Grader) -> None:
    """Each class has its own time limit, so an endless test loses one class of 23."""
    assert {"all": "3.82"} == lost(grader, "audit", NEVER_ENDING)


@pytest.mark.parametrize("code", [*HOSTILE.values(), *FORMS.values()], ids=[*HOSTILE, *FORMS])
def test_findings_of_any_form_are_judged(code: str, grader: Grader) -> None:
    """Hostile objects of students neither count nor prevent the judging of findings."""
    source = PROVED.replace("translator_findings =", "others =") + code
    items = ("verdict", "target_padding", "cross_padding", "claims")
    if code in HOSTILE.values():
        source = f"{PROVED}\n{code}\ntranslator_findings[0] = ('make_target_mask', left)\n"
        items = ("target_padding", "claims")
    assert dict.fromkeys(items, "0") == lost(grader, "audit_translator", source)


ENDINGS = {
    "hangs": "def left():\n    while True: pass\n",
    "leaves": "import os\ndef left(): os._exit(0)\n",
    "lies about its shape": """
class Lie(torch.Tensor):
    @property
    def shape(self): return torch.Size((1, 4))
    @classmethod
    def __torch_function__(cls, *args, **kwargs): return 5
def left(): return torch.ones(3).as_subclass(Lie), torch.ones(3).as_subclass(Lie)
""",
}


@pytest.mark.parametrize("code", ENDINGS.values(), ids=ENDINGS)
def test_a_finding_that_ends_its_box_costs_itself(code: str, grader: Grader) -> None:
    """A finding that ends its box is lost, and the other one is still proved."""
    source = f"{PROVED}\n{code}\ntranslator_findings[0] = ('make_target_mask', left)\n"
    assert {"target_padding": "0", "claims": "0"} == lost(grader, "audit_translator", source)


def test_the_reference_is_not_in_the_students_box(grader: Grader) -> None:
    """A finding cannot import the evidence of the reference; a failed import needs manual review."""
    code = "def left():\n    from reference.audits import translation\n    return translation.evidence\n"
    source = f"{PROVED}\n{code}\ntranslator_findings[0] = ('make_target_mask', left)\n"
    assert {"target_padding": "0?", "claims": "0?"} == lost(grader, "audit_translator", source)
