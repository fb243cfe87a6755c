"""Test the kind ``formula``: sources of answers and references, and who is at fault if they fail."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.records import (
    Answer,
    Ending,
    ItemResult,
    Message,
    Observation,
    OpaqueValue,
    Status,
)
from autograder.questions.base.base import Evidence
from tests.questions.general.formula_exam import CHECKS, formula, judged


def test_plans_ask_only_for_what_the_source_hides() -> None:
    """A literal needs no box; any other value is read from it by name."""
    plan = CHECKS["e"].plan_calls
    assert () == plan(Answer("e", "code", "assumption = 'd = h'\nsimplified = '1'", changed=True))
    hidden = plan(Answer("e", "code", "assumption = 'd = h'\nsimplified = 3*d", changed=True))
    assert [("simplified", True)] == [(call.target, call.read) for call in hidden]
    assert () == plan(Answer("e", "code", "simplified = 3*d", changed=False))
    assert () == plan(Answer("e", "markdown", "$12 d^2$", changed=True))


def test_the_reference_is_called_where_it_is_needed() -> None:
    """The reference is called with the question's name; without a reference the plan is empty."""
    (call,) = CHECKS["b"].plan_reference_calls()
    assert ("mlp", False) == (call.target, call.read)
    assert () == CHECKS["c"].plan_reference_calls()


@pytest.mark.parametrize(
    ("value", "status", "code"),
    [
        ("8*d_model^2", Status.PASSED, ""),
        (OpaqueValue("Mul", "8*d_model**2"), Status.PASSED, ""),
        (("8*d_model^2",), Status.PASSED, ""),
        (8, Status.FAILED, "diagnosis.symbol-missing"),
        (8.5, Status.FAILED, "diagnosis.symbol-missing"),
        (float("nan"), Status.NEEDS_REVIEW, "formula.not-a-formula"),
        (True, Status.NEEDS_REVIEW, "formula.not-a-formula"),
        pytest.param(1 << 100_000, Status.NEEDS_REVIEW, "formula.not-a-formula", id="huge"),
        ({"a": 1}, Status.NEEDS_REVIEW, "formula.not-a-formula"),
        (OpaqueValue("function"), Status.NEEDS_REVIEW, "formula.not-a-formula"),
        (OpaqueValue("ellipsis"), Status.NO_ANSWER, "no-answer"),
        (None, Status.NO_ANSWER, "no-answer"),
        ("", Status.NO_ANSWER, "no-answer"),
        ("...", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_values_from_the_box(value: object, status: Status, code: str) -> None:
    """Texts, numbers and sympy expressions are formulas; other types need manual review."""
    result = judged(CHECKS["b"], "b", "mlp = compute()", values={"mlp": value})["formula"]
    assert (status, code) == (result.status, result.code)


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        (Observation(ok=False, error="NameError", message="name 'mlp' is not defined"), Status.NO_ANSWER),
        (Observation(ok=False, error="ValueError", message="no"), Status.FAILED),
        (Observation(ok=False, ending=Ending.CALL_TIME), Status.FAILED),
    ],
)
def test_the_box_may_have_no_value(observation: Observation, status: Status) -> None:
    """A name without a value is no answer; an error or the end of the box fails the item."""
    result = judged(CHECKS["b"], "b", "mlp = compute()", observations=(observation,))["formula"]
    assert (status, Decimal(0)) == (result.status, result.points)


def test_an_observation_that_is_missing_is_our_fault() -> None:
    """A missing observation needs manual review."""
    result = judged(CHECKS["b"], "b", "mlp = compute()", observations=())["formula"]
    assert Status.NEEDS_REVIEW is result.status


@pytest.mark.parametrize(
    "expected",
    [
        (),
        (Observation(ok=False, error="ImportError", message="no module"),),
        (Observation(ok=True, value=OpaqueValue("Mul", "8*width**2")),),
        (Observation(ok=True, value=None),),
        (Observation(ok=True, value=[1, 2]),),
    ],
)
def test_a_reference_without_a_formula_is_our_fault(expected: tuple[Observation, ...]) -> None:
    """If the reference fails, its items need manual review, also for answers that look wrong."""
    answer = Answer("b-answer", "code", "mlp = 'n'", changed=True)
    formula_result, manual = CHECKS["b"].judge(Evidence(answer, (), expected))
    assert (Status.NEEDS_REVIEW, Decimal(0), Decimal(2)) == (
        formula_result.status,
        formula_result.points,
        formula_result.possible,
    )
    assert Status.NEEDS_REVIEW is manual.status


def test_an_unchanged_cell_is_no_answer() -> None:
    """An unchanged stub earns nothing, whatever it contains."""
    results = judged(CHECKS["b"], "b", "mlp = '8*d_model^2'", changed=False)
    assert [Status.NO_ANSWER, Status.NO_ANSWER] == [result.status for result in results.values()]
    assert [Decimal(0), Decimal(0)] == [result.points for result in results.values()]


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        (r"We get $8 \cdot d_{\text{model}}^2$ parameters, because …", Status.PASSED, ""),
        ("8*d_model^2", Status.PASSED, ""),
        ("$4d^2$ and $4d^2$", Status.NEEDS_REVIEW, "unreadable.several-formulas"),
        ("two matrices", Status.NEEDS_REVIEW, "unreadable.unknown-name"),
        ("$ $", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_markdown_answers(source: str, status: Status, code: str) -> None:
    """A markdown answer is the one formula between dollar signs, or its whole text."""
    result = judged(CHECKS["b"], "b", source, cell_type="markdown")["formula"]
    assert (status, code) == (result.status, result.code)


def test_refusals_carry_text_and_place() -> None:
    """An unreadable formula is shown with the position of the error, and has no reading."""
    result = formula("b", "mlp", "mlp = 8*dmodell^2")
    assert ("mlp = 8*dmodell^2", "8") == (result.student.params["text"], result.student.params["offset"])
    assert "" == result.reading


def test_readings_are_canonical() -> None:
    """The reading is the student's formula as plain text, without granted relations applied."""
    assert "4*n_heads*d_head*d_model + 8*d_model^2" == formula("e", "simplified", "4h dₖ d+8d²").reading


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.builds(OpaqueValue, st.text(max_size=8), st.text(alphabet="dn2*^()+/!= ", max_size=12)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(st.sampled_from("bcdeh"), VALUES, VALUES)
def test_judging_never_raises(question: str, value: object, reference: object) -> None:
    """Any value of student and reference gives each item a result within its points."""
    check = CHECKS[question]
    answer = Answer("x", "code", "compute()", changed=True)
    observations = tuple(Observation(ok=True, value=value) for _ in check.plan_calls(answer))
    earlier = {
        "h.sum": ItemResult("h", "sum", Status.FAILED, Decimal(0), Decimal(2), Message(""), "", "", "(")
    }
    evidence = Evidence(answer, observations, (Observation(ok=True, value=reference),), earlier)
    for result in check.judge(evidence):
        assert 0 <= result.points <= result.possible
