"""Audits through the whole pipeline: notebook in, real sandboxes, score out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.course import Course
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.records import Graded, Status
from autograder.sandbox.pool import Pool
from autograder.verify.papers import with_sources

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]

ROOT = Path(__file__).parents[2]


class Class:
    """A course with one assignment, and students who hand in the key with other answers."""

    def __init__(self, name: str, root: Path, pool: Pool) -> None:
        self.name = name
        leave = shutil.ignore_patterns("__pycache__")
        for folder in ("reference", f"assignments/{name}"):
            shutil.copytree(ROOT / folder, root / folder, ignore=leave)
        (root / "rubrics").mkdir()
        shutil.copy(ROOT / "rubrics" / f"{name}.toml", root / "rubrics")
        course = Course.at(root)
        generate(course, name)
        self.key = (root / "assignments" / name / f"{name}.ipynb").read_bytes()
        self.assignment = assignments.load(course, name)
        self.grader = Grader(self.assignment, pool)

    def sit(self, **answers: str) -> Graded:
        """The key with these answers in its place, by question."""
        data = with_sources(self.key, {f"{name}-answer": text for name, text in answers.items()})
        return self.grader.grade(SubmittedFiles("student", {self.name: data}))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """The assignment that audits listings, its sandboxes warm."""
    with Pool() as pool:
        yield Class("gpt2", tmp_path_factory.mktemp("course"), pool)


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """The practice sheet that asks for a test."""
    with Pool() as pool:
        yield Class("audit", tmp_path_factory.mktemp("course"), pool)


def lost(graded: Graded) -> dict[str, Status]:
    """Automatic items without full points."""
    return {
        f"{one.question}.{one.item}": one.status
        for one in graded.score.items
        if one.status not in (Status.PASSED, Status.NEEDS_REVIEW)
    }


def test_the_keys_earn_everything(gpt2: Class, sheet: Class) -> None:
    """All points that no person gives, with evidence computed in the reference's box."""
    for class_, points in ((gpt2, 80), (sheet, 7)):
        graded = class_.sit()
        assert {} == lost(graded)
        assert Decimal(points) == graded.score.points


def test_the_untouched_release_earns_nothing(gpt2: Class, sheet: Class) -> None:
    """What students receive is no answer to any item."""
    for class_ in (gpt2, sheet):
        graded = class_.grader.grade(SubmittedFiles("student", class_.assignment.release_bytes))
        assert {Status.NO_ANSWER} == {one.status for one in graded.score.items}


LEFT = "import torch\ndef left(): return torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])\n"
ENDINGS = {
    "hangs": "def bad():\n    while True: pass\n",
    "leaves": "import os\ndef bad(): os._exit(0)\n",
    "lies about its shape": """
class Lie(torch.Tensor):
    @property
    def shape(self): return torch.Size((1, 4))
    @classmethod
    def __torch_function__(cls, *args, **kwargs): return 5
def bad(): return torch.ones(3).as_subclass(Lie), torch.ones(3).as_subclass(Lie)
""",
}


@pytest.mark.parametrize("code", ENDINGS.values(), ids=ENDINGS)
def test_a_counterexample_that_ends_its_box_costs_its_own_finding(gpt2: Class, code: str) -> None:
    """The other finding is still proved."""
    answer = "translator_verdict = 'faulty'\ntranslator_findings = [(35, bad), (23, left)]\n"
    graded = gpt2.sit(translator=LEFT + code + answer)
    assert {"translator.cross_padding", "translator.claims"} == set(lost(graded))
    assert Decimal(77) == graded.score.points


STUCK = """
import torch


def heads(linear, x):
    return linear(x).unflatten(-1, (3, 4)).transpose(1, 2)


def audit(cls):
    layer = cls(12, 3).eval()
    query, key, value = torch.randn(2, 4, 12), torch.randn(2, 4, 12), torch.randn(2, 4, 12)
    mask = torch.rand(2, 1, 4, 4) > 0.4
    mask[..., 0] = True
    def wanted(allowed, scale):
        context = torch.nn.functional.scaled_dot_product_attention(
            heads(layer.q_proj, query), heads(layer.k_proj, key), heads(layer.v_proj, value),
            attn_mask=allowed, scale=scale,
        )
        return layer.out_proj(context.transpose(1, 2).flatten(2))
    def agrees(allowed, scale):
        return torch.allclose(layer(query, key, value, allowed), wanted(allowed, scale), atol=1e-5)
    while agrees(None, 1.0):
        pass  # the class without scaling never comes to an end
    return agrees(None, None) and agrees(mask, None)
"""


def test_a_test_that_hangs_on_one_class_loses_only_that_class(sheet: Class) -> None:
    """One wrong class of 23 is not caught; the right ones and all others count."""
    graded = sheet.sit(test=STUCK)
    points = {one.item: one.points for one in graded.score.items if one.question == "test"}
    assert {"all": Decimal("3.83"), "masks": 1, "scaling": 0, "batches": 1} == points


def test_the_reference_is_not_in_the_students_box(gpt2: Class) -> None:
    """A counterexample cannot import what it is judged by."""
    answer = f"""{LEFT}
def stolen():
    from reference.audits import translation
    return left()
translator_verdict = "faulty"
translator_findings = [("make_target_mask", stolen)]
"""
    graded = gpt2.sit(translator=answer)
    told = {one.item: one.staff for one in graded.score.items if one.question == "translator"}
    assert "ModuleNotFoundError" in told["target_padding"]
