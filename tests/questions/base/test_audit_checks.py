"""Test the audit checks: the evidence that counts, and that classes do not reveal their faults."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from autograder.checking import Wrong
from autograder.checking.check_parser import load_check_file
from autograder.checking.loader import define_module, make_namespace
from autograder.checking.runner import CheckProgram
from reference.audits import attention, translation
from reference.audits.specimens import GROUPS, NAME, RIGHT_CLASSES, program
from reference.checks import claims
from reference.checks.claims import (
    Input,
    NoEvidence,
    find_violations,
    judge_remark,
    judge_verdict,
    names_place,
    read_inputs,
)
from tests.support.checked import CheckedAnswer, run_checks

REFERENCE = Path(__file__).parents[3] / "reference"
FILES = {
    name: load_check_file(REFERENCE, f"{name}.py")
    for name in ("audit", "audit_attention", "audit_translator", "audit_proposal")
}
STATED = [
    pytest.param(name, answer.source, frozenset(answer.loses or ()), id=f"{name}: {answer.name}")
    for name, file in FILES.items()
    for answer in (*file.mutants, *file.planted)
]


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    """Return a function that runs a file of checks on an answer; each file is loaded once."""
    programs: dict[str, CheckProgram] = {}

    def run_file(name: str, source: str, **options: bool) -> CheckedAnswer:
        if name not in programs:
            for loaded in programs.values():
                loaded.close()  # one file's modules at a time
            programs.clear()
            programs[name] = CheckProgram(FILES[name], str(REFERENCE.parent))
        return run_checks(programs[name], source, **options)

    yield run_file
    for loaded in programs.values():
        loaded.close()


@pytest.mark.parametrize(("name", "source", "loses"), STATED)
def test_stated_answers_lose_what_they_say(name: str, source: str, loses: frozenset[str], run: Any) -> None:
    """Each stated answer loses exactly the items that it states."""
    result = run(name, source)
    assert (loses, frozenset()) == (result.lost, result.unclear), result.outcomes


@pytest.mark.parametrize("name", FILES)
def test_solutions_earn_everything(name: str, run: Any) -> None:
    """The solutions of the test and of the three listings earn full marks."""
    assert frozenset() == run(name, FILES[name].solution).lost


# ---------------------------------------------------------------- the test

RIGHT_TEST = FILES["audit"].solution


@pytest.mark.parametrize(
    ("old", "new", "points"),
    [
        ("    return True", "    return torch.tensor(True)", 4.0),
        ("    return True", "    return bool(mask.any())", 4.0),
        ("(None, mask)", "(None,)", 4 * 17 / 23),
        ("    return True", "    return 1", 0.0),
        ("    torch.manual_seed(1)\n", "    if torch.rand(1) > 2: return\n", 4.0),
        ("return False", "raise ValueError(cls)", 0.0),
        ("return False", "return layer(query, key, value).sum().backward() is not None", 4.0),
    ],
)
def test_points_are_the_caught_less_the_rejected(old: str, new: str, points: float, run: Any) -> None:
    """Points are the share of caught faults minus the share of rejected right classes.

    A result that is not a bool counts as missed or as rejected.
    """
    assert old in RIGHT_TEST
    result = run("audit", RIGHT_TEST.replace(old, new))
    assert points == pytest.approx(float(result.points["all"]))


def test_the_mistake_of_a_test_is_named(run: Any) -> None:
    """A test that answers like a mutant for every class is reported with the mutant's title."""
    source = RIGHT_TEST.replace("(None, mask)", "(None, None)").replace("seed(1)", "seed(2)")
    result = run("audit", source, name_mistakes=True)
    assert {"masks": ("without a mask",), "batches": ("without a mask",)} == {
        check: outcome.mistakes
        for (check, _), outcome in result.outcomes.items()
        if check in ("masks", "batches")
    }


@pytest.mark.parametrize("source", ["audit = None", "", "def audit(): return True", "audit = 'True'"])
def test_what_is_no_test_earns_nothing(source: str, run: Any) -> None:
    """An answer that is not a test earns nothing and raises no exception."""
    result = run("audit", source)
    assert {0} == {*result.points.values()}
    assert not result.unclear


BY_GRADIENT = """
def audit(cls):
    torch.manual_seed(3)
    layer = cls(8, 2).eval()
    x = torch.randn(1, 5, 8, requires_grad=True)
    mask = torch.ones(5, 5).tril()[None, None]
    seen, = torch.autograd.grad(layer(x, x, x, mask)[0, 1].sum(), x)
    if seen[0, 2:].abs().max() > 1e-7:
        return False
    return compares(cls)
"""


def test_gradients_can_tell_who_sees_later_words(run: Any) -> None:
    """A causality test with `torch.autograd.grad` earns full marks, like the solution's comparison."""
    assert frozenset() == run("audit", RIGHT_TEST.replace("def audit", "def compares") + BY_GRADIENT).lost


LOOKS = {
    "name": "cls.__name__ + cls.__qualname__ + cls.__module__",
    "repr": "repr(cls) + str(cls)",
    "docstring": "str(cls.__doc__) + str(cls.forward.__doc__)",
    "file": "cls.forward.__code__.co_filename",
    "constants": "len(cls.forward.__code__.co_consts)",
    "names": "sorted(cls.forward.__code__.co_names)",
    "variables": "cls.forward.__code__.co_varnames, cls.forward.__code__.co_stacksize",
    "members": "sorted(vars(cls)), sorted(vars(cls(4, 2))), str(cls(4, 2))",
    "parameters": "[(name, one.shape) for name, one in cls(4, 2).named_parameters()]",
    "module": "sorted(name for name in cls.forward.__globals__ if name != 'switches')",
    "number of switches": "len(cls.forward.__globals__['switches'])",
}
CLASSES = [
    getattr(define_module(program(name, random.Random(f"tests {name} {number}"))), NAME)
    for number, name in enumerate([""] * RIGHT_CLASSES + [one for names in GROUPS.values() for one in names])
]


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_at_a_class_tells_nothing(look: str) -> None:
    """Inspecting a class, apart from its bytecode, shows no difference between right and wrong ones."""
    assert 1 == len({str(eval(look, {"cls": cls})) for cls in CLASSES})


# ---------------------------------------------------------------- findings

PROVED = """
import torch
def left(): return torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])
def padded(): return torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])
translator_verdict = "faulty"
translator_findings = [("make_target_mask", left), ("decode", padded)]
"""
HOSTILE = {
    "a function that raises": "def left(): raise SystemError('x')",
    "text": "def left(): return 'make_target_mask'",
    "objects": "def left(): return object(), object()",
    "ragged": "def left(): return [[1], [2, 3]], [[1]]",
    "huge integers": "def left(): return [[10**400]], [[1]]",
    "complex": "def left(): return torch.ones(1, 2) * 1j, torch.ones(1, 2) * 1j",
    "floats for tokens": "def left(): return torch.ones(1, 2), torch.ones(1, 2)",
    "too much": "def left(): return torch.ones(1, 5000).long(), torch.ones(1, 5000).long()",
    "empty": "def left(): return torch.ones(1, 0).long(), torch.ones(1, 0).long()",
    "too many texts": "def left(): return torch.ones(64, 2).long(), torch.ones(64, 2).long()",
    "another name": "def left(): return {'targets': 1}",
    "too many": "def left(): return 1, 2, 3",
    "nothing": "def left(): pass",
    "no function": "left = 3",
}
FORMS = {
    "nothing": "",
    "a number": "translator_findings = 3",
    "None": "translator_findings = None",
    "a text": "translator_findings = 'decode'",
    "places only": "translator_findings = ['decode', 23]",
    "a dictionary": "translator_findings = {23: left, 35: padded}",
    "endless": """
class E(list):
    def __getitem__(self, i): return [23, left][i]
translator_findings = E()""",
    "a lying length": """
class L:
    def __len__(self): return 2
    def __getitem__(self, i): raise RuntimeError(i)
translator_findings = L()""",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_hostile_inputs_prove_nothing(code: str, run: Any) -> None:
    """A finding with hostile inputs is lost, and the other one still counts."""
    source = f"{PROVED}\n{code}\ntranslator_findings[0] = ('make_target_mask', left)\n"
    result = run("audit_translator", source)
    assert ({"target_padding", "claims"}, frozenset()) == (result.lost, result.unclear)


@pytest.mark.parametrize("code", FORMS.values(), ids=FORMS)
def test_findings_of_another_form_earn_nothing(code: str, run: Any) -> None:
    """Findings in another form than a list of pairs earn no points."""
    result = run("audit_translator", PROVED.replace("translator_findings =", "others =") + code)
    assert {0} == {*result.points.values()}
    assert not result.unclear


def test_findings_beyond_five_are_not_read(run: Any) -> None:
    """More than five findings cost the item about claims and no other."""
    result = run("audit_translator", PROVED + "translator_findings = translator_findings * 3\n")
    assert {"claims"} == result.lost


REASONS = {
    "another fault's inputs": ("", "('make_target_mask', padded)", "not because of the place that it names"),
    "inputs that show nothing": (
        "def left(): return [[3, 4]], [[6, 7]]",
        "('make_target_mask', left)",
        "exactly what the definition gives",
    ),
    "nothing but padding": (
        "def left(): return [[3, 4]], [[0, 0]]",
        "('make_target_mask', left)",
        "nothing but padding has no meaning",
    ),
    "a function that raises": (
        "def left(): raise KeyError('x')",
        "('make_target_mask', left)",
        "raised KeyError: 'x'",
    ),
    "no pair": ("", "'make_target_mask'", "should be a pair"),
}


@pytest.mark.parametrize(("code", "finding", "reason"), REASONS.values(), ids=REASONS)
def test_students_read_why_a_finding_is_not_proved(code: str, finding: str, reason: str, run: Any) -> None:
    """Students see in both languages why a finding is not proved, without its place or the fault shown."""
    source = f"{PROVED}\n{code}\ntranslator_findings[0] = {finding}\n"
    messages = run("audit_translator", source).outcomes["target_padding", ""].told
    assert {"en", "de"} == set(messages)
    assert "Finding 1: " in messages["en"]
    assert reason in messages["en"]
    assert not any(word in messages["en"] for word in ("target", "cross", "decode"))


def test_our_own_errors_cost_nobody_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in our definition is raised as such and not as a wrong answer."""

    def raises(*_: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(claims, "find_violations", raises)
    source = "findings = [('decode', lambda: ([[1]], [[1]]))]"
    student = make_namespace(lambda: define_module(source), {})
    inputs = (Input("source", "integers", 2), Input("target", "integers", 2))
    with pytest.raises(RuntimeError):
        claims.read_claims(student, lambda names: names.findings, translation.handed_out, inputs)


@pytest.mark.parametrize(
    ("value", "wanted", "is_read"),
    [
        (np.ones((2, 2)), Input("x", "numbers", 2), True),
        ([[1, 2], [3, 4]], Input("x", "numbers", 2), True),
        (torch.full((2, 2), 100.0), Input("x", "numbers", 2), True),
        (torch.ones(2, 2, requires_grad=True), Input("x", "numbers", 2), True),
        (np.full((2, 2), 100.1), Input("x", "numbers", 2), False),
        (np.array([[np.nan]]), Input("x", "numbers", 2), False),
        (np.array([[np.inf]]), Input("x", "numbers", 2), False),
        (np.ones(2), Input("x", "numbers", 2), False),
        (np.ones((0, 2)), Input("x", "numbers", 2), False),
        (np.ones((65, 64)), Input("x", "numbers", 2), False),
        (np.ones((2, 2), complex), Input("x", "numbers", 2), False),
        (np.array([[None]], object), Input("x", "numbers", 2), False),
        (np.array([[0, 1]]), Input("x", "mask", 4), True),
        (np.array([[0, 2]]), Input("x", "mask", 4), False),
        (np.array([[1.0]]), Input("x", "integers", 2), False),
        (3, Input("x", "size"), True),
        (0, Input("x", "size"), False),
        (True, Input("x", "size"), False),
        (None, Input("x", "size", optional=True), True),
        (None, Input("x", "size"), False),
    ],
)
def test_inputs_are_read_if_they_have_the_right_form(value: Any, wanted: Input, is_read: bool) -> None:
    """Sizes, types and finiteness of inputs are checked before they are used."""
    if is_read:
        assert set(read_inputs((value,), (wanted,))) <= {"x"}
    else:
        with pytest.raises(NoEvidence):
            read_inputs((value,), (wanted,))


class ScriptedAudit:
    """Stub of an audit whose variants compute what the test sets."""

    planted = ("fault",)

    def __init__(self, **outcomes: Any) -> None:
        self._outcomes = {name.replace("_", " "): value for name, value in outcomes.items()}
        self._asked: list[str] = []

    def facts(self) -> dict[str, Any]:
        return {"faults": {"fault": {"lines": [1], "names": []}}}

    def outcome(self, variant: str, inputs: Any) -> Any:
        self._asked.append(variant)
        moved = "moved" if self._asked.count("definition") == 2 and variant == "definition" else ""
        outcome = (
            self._outcomes.get(moved) or self._outcomes[variant if variant == "definition" else "listing"]
        )
        if isinstance(outcome, NoEvidence):
            raise outcome
        return outcome


def outcome(numbers: Any, counted: Any = True) -> dict[str, Any]:
    """Return an outcome of a variant."""
    output = torch.tensor(numbers, dtype=torch.float64)
    return {"output": output, "counted": torch.tensor(counted).expand(output.shape)}


@pytest.mark.parametrize(
    ("right", "moved"),
    [
        (outcome([1, 2]), outcome([1 + 1e-5, 2])),
        (outcome([1, 2e6]), None),
        (outcome([1, float("nan")]), None),
        (outcome([1, 2], False), None),
        (NoEvidence("no", "nein"), None),
    ],
    ids=["hangs on rounding", "large", "not a number", "nothing counts", "refused"],
)
def test_a_definition_must_be_finite_and_steady(right: Any, moved: Any) -> None:
    """Inputs without a finite, stable result of the definition are no evidence."""
    audit: Any = ScriptedAudit(definition=right, moved=moved, listing=outcome([5, 5]))
    with pytest.raises(NoEvidence):
        find_violations(audit, {})


@pytest.mark.parametrize(
    ("listing", "is_wrong"),
    [
        (outcome([1, 2]), False),
        (outcome([1, 2 + 1e-4]), False),
        (outcome([1, 2 + 4e-4]), True),
        (outcome([1, float("nan")]), True),
        (outcome([1, 2, 3]), True),
        ({"raised": "RuntimeError"}, True),
    ],
    ids=["the same", "rounding", "different", "not a number", "another shape", "raises"],
)
def test_a_violation_is_a_difference_that_counts(listing: Any, is_wrong: bool) -> None:
    """A difference of 1e-4 of the largest number, another shape, NaN or an exception is a violation."""
    audit: Any = ScriptedAudit(definition=outcome([1, 2]), listing=listing)
    assert (frozenset(["fault"]) if is_wrong else frozenset()) == find_violations(audit, {})


@pytest.mark.parametrize(
    ("place", "is_named"),
    [
        (23, True),
        ("23", True),
        ("Line 23", True),
        ("lines 22-24", True),
        ("Zeilen 22 bis 24", True),
        ("lines 10-40", False),
        ("lines 24-22", False),
        (22, False),
        (23.0, False),
        (True, False),
        ("make_target_mask", True),
        ("Model.make_target_mask()", True),
        ("the target mask", True),
        ("target", False),
        ("", False),
        (None, False),
        (["make_target_mask"], False),
        ("9" * 5000, False),
    ],
)
def test_places_may_be_lines_or_components(place: Any, is_named: bool) -> None:
    """A place may be given by lines or components in any spelling, but not by a list of everything."""
    names = ("make_target_mask", "Model.make_target_mask", "target mask")
    assert is_named is names_place(place, {"lines": [23], "names": names})


@pytest.mark.parametrize("findings", [(), None, 3, [()], [11], [(12, None)]])
def test_a_remark_counts_whatever_the_findings_are(findings: Any) -> None:
    """A remark counts with any findings, unless one of them claims the same as a fault."""
    judge_remark("divisibility", [11], findings, attention.right)
    with pytest.raises(Wrong):
        judge_remark("divisibility", [11], [("__init__", None)], attention.right)


LACKING = {
    "a wrong verdict": ("right", "There are inputs on which the listing violates its definition."),
    "no evidence": ("faulty", "“Faulty” needs a proof."),
    "no verdict": ("perhaps", "The verdict should be “right” or “faulty”."),
}


@pytest.mark.parametrize(("verdict", "message"), LACKING.values(), ids=LACKING)
def test_students_read_what_a_verdict_lacks(verdict: str, message: str) -> None:
    """Students see in both languages what their verdict lacks."""
    with pytest.raises(Wrong) as raised:
        judge_verdict(verdict, [], translation.proposal)
    assert raised.value.told["en"].startswith(message)
    assert {"en", "de"} == raised.value.told.keys()
