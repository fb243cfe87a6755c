"""The kind audit, form listing: what counts as evidence, and for what."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from autograder.checks.base import HasSecondRound
from autograder.errors import RubricError
from autograder.kinds.transformers.audit.listing import (
    Defined,
    FaultLocation,
    Site,
    defined,
    read_inputs,
    violates,
)
from autograder.kinds.transformers.audit.options import Input
from autograder.messages import languages, render
from autograder.records import Message, Observation, Status, Tensor
from reference.audits import trials
from tests.checks.asking import check_of as check_from
from tests.kinds.transformers.audit_questions import asked, check_of, sit

PLANTED = [
    pytest.param(question, trial, id=f"{question}: {trial['name']}")
    for question in ("attention", "translator", "proposal")
    for trial in getattr(trials, question)()
]
PROVED = """
def left(): return torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])
def padded(): return torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])
translator_verdict = "faulty"
translator_findings = [("make_target_mask", left), ("decode", padded)]
"""


def lost(question: str, source: str) -> set[str]:
    """Items without full points."""
    return {name for name, one in sit(question, source).items() if one.status is not Status.PASSED}


@pytest.mark.parametrize(("question", "trial"), PLANTED)
def test_planted_answers_lose_what_they_say(question: str, trial: dict[str, Any]) -> None:
    """Evidence earns its items and nothing else does; every sentence can be said."""
    results = sit(question, trial["source"])
    assert set(trial["loses"]) == {name for name, one in results.items() if one.status is not Status.PASSED}
    assert Status.NEEDS_REVIEW not in {one.status for one in results.values()}
    for one in results.values():
        assert all(render(one.student, language) for language in languages())


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


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_hostile_counterexamples_prove_nothing(code: str) -> None:
    """Whatever a counterexample does, it costs its own finding and leaves the other one standing."""
    results = sit("translator", f"{PROVED}\n{code}\ntranslator_findings[0] = ('make_target_mask', left)\n")
    assert {"target_padding", "claims"} == {
        name for name, one in results.items() if one.status is not Status.PASSED
    }
    assert {Status.FAILED} == {results[name].status for name in ("target_padding", "claims")}


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


@pytest.mark.parametrize("code", FORMS.values(), ids=FORMS)
def test_findings_of_another_form_earn_nothing(code: str) -> None:
    """What is no list of pairs is judged, and gives no points."""
    source = PROVED.replace("translator_findings =", "others =") + code
    results = sit("translator", source)
    assert {Decimal(0)} == {one.points for one in results.values()}
    assert Status.NEEDS_REVIEW not in {one.status for one in results.values()}


def test_a_finding_too_many_is_told() -> None:
    """Beyond the most findings nothing is read, and the item about claims says so."""
    source = PROVED + "translator_findings = translator_findings * 3\n"
    results = sit("translator", source)
    assert "audit.too-many" == results["claims"].student.code
    assert Status.PASSED is results["target_padding"].status


def test_the_example_of_another_fault_is_told_as_such() -> None:
    """Inputs on which the listing is wrong for another reason are not taken for this one."""
    source = PROVED.replace('("make_target_mask", left)', '("make_target_mask", padded)')
    assert "audit.other" == sit("translator", source)["target_padding"].student.code


def test_a_reference_that_fails_costs_nobody_a_point() -> None:
    """Without usable answers of the reference a person decides."""
    check = check_of("translator")
    evidence = asked("translator", PROVED)
    bad = Observation(ok=False, error="RuntimeError")
    for broken in (
        replace(evidence, expected=()),
        replace(evidence, expected=((bad,),)),
        replace(evidence, expected=((Observation(ok=True, value={"faults": 3}),),)),
        replace(evidence, expected=((Observation(ok=True, value=np.zeros((0, 3))),),)),
        replace(evidence, tried=()),
        replace(evidence, tried=((bad,) * 9,) * 2),
        replace(evidence, tried=((Observation(ok=True, value=7),) * 9,) * 2),
        replace(evidence, tried=((Observation(ok=True, value={"refused": {"en": 3}}),) * 9,) * 2),
        replace(evidence, tried=((Observation(ok=True, value={"refused": {}}),) * 9,) * 2),
    ):
        assert {Status.NEEDS_REVIEW} == {one.status for one in check.judge(broken)}


def test_only_checked_inputs_reach_the_reference() -> None:
    """A second round is asked for findings with inputs that were accepted, and for no others."""
    check = check_of("translator")
    assert isinstance(check, HasSecondRound)
    bad = PROVED.replace("torch.tensor([[0, 0, 6, 7]])", "torch.tensor([[0.0, float('nan')]])")
    second = check.second_round(asked("translator", bad))
    assert ["finding 2"] == [scenario.name for scenario in second.reference]
    assert () == second.student


NUMBERS = Input("x", "numbers", axes=2)


@pytest.mark.parametrize(
    ("value", "wanted", "code"),
    [
        (np.ones((2, 2)), NUMBERS, ""),
        ([[1, 2], [3, 4]], NUMBERS, ""),
        (Tensor(np.full((2, 2), 100.0), "float32"), NUMBERS, ""),
        (np.full((2, 2), 100.1), NUMBERS, "audit.input.large"),
        (np.array([[np.nan]]), NUMBERS, "audit.input.finite"),
        (np.array([[np.inf]]), NUMBERS, "audit.input.finite"),
        (np.ones(2), NUMBERS, "audit.input.axes"),
        (np.ones((0, 2)), NUMBERS, "audit.input.entries"),
        (np.ones((65, 64)), NUMBERS, "audit.input.entries"),
        (np.ones((2, 2), complex), NUMBERS, "audit.input.type"),
        (np.array([[None]], object), NUMBERS, "audit.input.type"),
        (np.array([[0, 1]]), Input("x", "mask", axes=4), ""),
        (np.array([[0, 2]]), Input("x", "mask", axes=4), "audit.input.mask"),
        (np.array([[1.0]]), Input("x", "integers", axes=2), "audit.input.type"),
        (3, Input("x", "size"), ""),
        (0, Input("x", "size"), "audit.input.range"),
        (True, Input("x", "size"), "audit.input.type"),
    ],
)
def test_inputs_are_checked(value: Any, wanted: Input, code: str) -> None:
    """Sizes, types and finiteness are looked at before anything computes with an input."""
    _, finding = read_inputs((value,), (wanted,), "1")
    assert code == ("" if finding is None else finding.code)


def outcome(numbers: Any, counted: Any = True) -> dict[str, Any]:
    """An outcome of the reference."""
    array = np.array(numbers, float)
    return {
        "output": Tensor(array, "float64"),
        "counted": Tensor(np.broadcast_to(counted, array.shape), "bool"),
    }


@pytest.mark.parametrize(
    ("value", "moved", "code"),
    [
        (outcome([1, 2]), None, ""),
        (outcome([1, 2]), outcome([1 + 1e-7, 2]), ""),
        (outcome([1, 2]), outcome([1 + 1e-5, 2]), "audit.unsteady"),
        (outcome([1, 2e6]), None, "audit.wild"),
        (outcome([1, np.nan]), None, "audit.wild"),
        (outcome([1, np.nan], [True, False]), None, ""),
        (outcome([1, 2], False), None, "audit.nothing"),
        ({"refused": {"en": "{no}"}}, None, "audit.refused"),
    ],
)
def test_the_definition_must_be_finite_and_steady(value: Any, moved: Any, code: str) -> None:
    """Inputs on which the definition itself says nothing clear are no evidence."""
    found = defined(value, moved)
    assert code == (found.code if isinstance(found, Message) else "")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (outcome([1, 2]), False),
        (outcome([1, 2 + 1e-4]), False),
        (outcome([1, 2 + 4e-4]), True),
        (outcome([1, np.nan]), True),
        (outcome([1, 2, 3]), True),
        ({"raised": "RuntimeError"}, True),
    ],
)
def test_a_violation_is_a_difference_that_counts(value: Any, wrong: bool) -> None:
    """A ten-thousandth of the scale, another shape, NaN, or an exception."""
    found = defined(outcome([1, 2]), None)
    assert isinstance(found, Defined)
    assert wrong is violates(found, value)


@pytest.mark.parametrize(
    ("place", "met"),
    [
        (23, True),
        ("23", True),
        ("Line 23", True),
        ("lines 22-24", True),
        ("Zeilen 22 bis 24", True),
        ("lines 10-40", False),
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
def test_places_may_be_lines_or_components(place: Any, met: bool) -> None:
    """Spelling does not matter; a list of everything is no place."""
    names = ("make_target_mask", "Model.make_target_mask", "target mask")
    assert met is Site.of(FaultLocation((23,), names)).met_by(place)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('judges = "verdict"', 'judges = "verdct"', "judges|verdct"),
        ('judges = "verdict"', 'judges = "test"', "has verdict, fault, claims or remark"),
        ('judges = "verdict"', 'judges = "verdict"\nabuot = "x"', "did you mean 'about'"),
        ('judges = "verdict"', 'judges = "verdict"\nabout = "x"', "only faults and remarks"),
        ('judges = "verdict"', 'judges = "verdict"\nat_least = 2', "at_least"),
        ('form = "listing"', 'form = "test"', "has test"),
        ('reference = "a:b"', "", "reference"),
        ('answer = "f"', "", "answer"),
        ('name = "x"', 'name = "y"', "same name"),
    ],
)
def test_errors_in_a_rubric_are_named(old: str, new: str, said: str) -> None:
    """Options that are misspelt, or do not fit the form, are refused."""
    text = """
[[question]]
id = "q"
kind = "audit"
points = 1
form = "listing"
answer = "f"
reference = "a:b"
[[question.input]]
name = "x"
type = "numbers"
[[question.input]]
name = "y"
type = "numbers"
[[question.item]]
id = "v"
points = 1
judges = "verdict"
text = { en = "v" }
"""
    check_from(text)
    assert old in text
    with pytest.raises(RubricError, match=said):
        check_from(text.replace(old, new))


def test_every_fault_of_the_rubric_is_planted() -> None:
    """An id that the listing does not have is our fault, and goes to a person."""
    assert {"right"} == {
        "right" if lost(question, _key(question)) == set() else question
        for question in ("attention", "translator", "proposal")
    }


def _key(question: str) -> str:
    alternatives = [one for one in getattr(trials, question)() if not one["loses"]]
    return str(alternatives[0]["source"])
