"""The kind ``symbolic``: from what a student wrote to marks and words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.base import Draw, Evidence
from autograder.checks.symbolic import SymbolicCheck
from autograder.errors import RubricError
from autograder.messages import render
from autograder.records import (
    Answer,
    Call,
    Ending,
    ItemResult,
    Message,
    Observation,
    Opaque,
    Scenario,
    Status,
)
from autograder.rubric import Rubric, parse
from tests.algebra.examples import NOTATIONS

RUBRIC = b"""
version = 1
[assignment]
name = "exam"
points = 20
[assignment.symbols]
n_layers = { aliases = ["L"] }
n_heads = { aliases = ["h", "H"] }
d_model = { aliases = ["d", "D"] }
d_head = { aliases = ["d_k", "d_h"] }
n_voc = {}
n = {}
[assignment.assume]
heads = "d_model = n_heads*d_head"

[[question]]
id = "b"
kind = "symbolic"
points = 3
answer = "mlp"
reference = "parameters:mlp"
[[question.item]]
id = "formula"
points = 2
text = { en = "MLP" }
accept = ["8*d_model^2 + 5*d_model"]
mistake = [
  { code = "one-matrix", when = "4*d_model^2", points = 0.5, text = { en = "One.", de = "Eine." } },
  { code = "no-expansion", when = "2*d_model^2", text = { en = "No expansion." } },
]
[[question.item]]
id = "why"
points = 1
text = { en = "Why" }
manual = true

[[question]]
id = "c"
kind = "symbolic"
points = 2
answer = "projection"
[[question.item]]
id = "formula"
points = 2
text = { en = "W_O" }
accept = ["n_heads*d_head*d_model"]
assume = ["heads"]
remark = [{ code = "assumed-early", when = "d_model^2", assume = [], text = { en = "Early." } }]
mistake = [{ code = "one-head", when = "d_head*d_model", assume = [], text = { en = "One head." } }]

[[question]]
id = "d"
kind = "symbolic"
points = 2
answer = "layer"
reference = "parameters:layer"
[[question.item]]
id = "formula"
points = 2
text = { en = "Layer" }
mistake = [
  { code = "no-output", when = "3*n_heads*d_model*d_head + 8*d_model^2", points = 1, text = { en = "W_O?" } },
  { code = "early", when = "12*d_model^2", assume = ["heads"], points = 1, text = { en = "Early." } },
]

[[question]]
id = "e"
kind = "symbolic"
points = 3
answer = "simplified"
reference = "parameters:layer"
[[question.item]]
id = "relation"
points = 1
text = { en = "Assumption" }
form = "relation"
answer = "assumption"
accept = ["d_model = n_heads*d_head"]
mistake = [{ code = "equal-widths", when = "d_head = d_model", text = { en = "Same width?" } }]
[[question.item]]
id = "formula"
points = 2
text = { en = "Simplified" }
assume = ["heads"]
mistake = [{ code = "eleven", when = "11*d_model^2", points = 1, text = { en = "Nearly." } }]

[[question]]
id = "h"
kind = "symbolic"
points = 4
answer = "wide"
reference = "parameters:wide"
[[question.item]]
id = "first"
points = 2
text = { en = "Shape" }
form = "tuple"
answer = "shape"
accept = ["(3*d_model, 4*d_model)"]
mistake = [{ code = "transposed", when = "(4*d_model, 3*d_model)", points = 1, text = { en = "Order." } }]
[[question.item]]
id = "sum"
points = 2
text = { en = "Sum" }

[[question]]
id = "i"
kind = "symbolic"
points = 6
answer = "changed"
reference = "parameters:changed"
carry_forward = { from = "h.sum", expect = "n_layers*(4*d_model^2 + own)", points = 4 }
[[question.item]]
id = "formula"
points = 6
text = { en = "Changed" }
assume = ["heads"]
mistake = [
  { code = "attention-forgotten", when = "16*n_layers*d_model^2", points = 1, text = { en = "Attention?" } },
  { code = "own-only", when = "n_layers*own", points = 1, text = { en = "Only the MLP?" } },
  { code = "layers-forgotten", when = "4*d_model^2 + own", points = 2, text = { en = "Layers?" } },
]
"""

REFERENCES = {
    "b": "8*d_model**2",
    "d": "4*d_head*d_model*n_heads + 8*d_model**2",
    "e": "12*d_model**2",
    "h": "16*d_model**2",
    "i": "20*d_model**2*n_layers",
}
LAYER = "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2"
DRAW = Draw(b"secret")


@pytest.fixture(scope="module")
def rubric() -> Rubric:
    """The rubric above, read."""
    return parse(RUBRIC)


@pytest.fixture(scope="module")
def checks(rubric: Rubric) -> dict[str, SymbolicCheck]:
    """A check for each of its questions."""
    return {question.id: SymbolicCheck(question, rubric) for question in rubric.questions}


def judged(
    check: SymbolicCheck,
    question: str,
    source: str,
    *,
    values: Mapping[str, object] | None = None,
    observations: tuple[tuple[Observation, ...], ...] | None = None,
    earlier: Mapping[str, ItemResult] | None = None,
    cell_type: str = "code",
    changed: bool = True,
) -> dict[str, ItemResult]:
    """Results by item; ``values`` are what the box holds for the names the plan asks for."""
    answer = Answer(f"{question}-answer", cell_type, source, changed)
    if observations is None:
        asked = [scenario.name for scenario in check.plan(answer, DRAW)]
        observations = tuple((Observation(ok=True, value=(values or {}).get(name)),) for name in asked)
    reference = REFERENCES.get(question)
    expected = ((Observation(ok=True, value=Opaque("Add", reference)),),) if reference else ()
    results = check.judge(Evidence(answer, observations, expected, earlier or {}))
    return {result.item: result for result in results}


def formula(checks: dict[str, SymbolicCheck], question: str, name: str, text: str) -> ItemResult:
    """The result of a question's item ``formula`` for a text assigned in the source."""
    return judged(checks[question], question, f"{name} = {text!r}")["formula"]


@pytest.mark.parametrize("text", NOTATIONS["8*d_model^2"])
def test_every_notation_passes(checks: dict[str, SymbolicCheck], text: str) -> None:
    """However the reference's formula is written, it earns full points and is read back."""
    result = formula(checks, "b", "mlp", text)
    assert (Status.PASSED, Decimal(2)) == (result.status, result.points)
    assert result.reading
    assert not result.code


def test_other_right_answers(checks: dict[str, SymbolicCheck]) -> None:
    """What the rubric accepts besides the reference is right as well."""
    assert Status.PASSED is formula(checks, "b", "mlp", "8d² + 5d").status


@pytest.mark.parametrize(
    ("question", "source", "code", "points"),
    [
        ("b", "mlp = '4d²'", "one-matrix", "0.5"),
        ("b", "mlp = '2*d_model*d_model'", "no-expansion", "0"),
        ("b", "mlp = '16d²'", "diagnosis.factor-too-large", "0"),
        ("b", "mlp = '8d'", "diagnosis.power-too-small", "0"),
        ("b", "mlp = '8d^2 + n_voc'", "diagnosis.extra-term", "0"),
        ("b", "mlp = 'n^3/(n_voc + d)'", "formula.wrong", "0"),
        ("b", "mlp = '8*dmodel^2'", "unreadable.unknown-name-near", "0"),
        ("b", "mlp = '8*zebra^2'", "unreadable.unknown-name", "0"),
        ("b", "mlp = '8 2'", "unreadable.two-numbers", "0"),
        ("c", "projection = 'd_k*d'", "one-head", "0"),
        ("d", "layer = '3*h*d*d_k + 8d²'", "no-output", "1"),
        ("d", "layer = '12*d_model^2'", "early", "1"),
        ("d", "layer = '4*d*d + 8*h*d_k*d'", "early", "1"),
        ("d", "layer = '11*d_model^2'", "diagnosis.symbol-missing", "0"),
        ("e", "simplified = '11 d^2'", "eleven", "1"),
        ("e", "simplified = '11 (h d_k)^2'", "eleven", "1"),
        ("e", "simplified = '3 h d_k d + 8 d^2'", "eleven", "1"),
    ],
)
def test_wrong_by_name(
    checks: dict[str, SymbolicCheck], question: str, source: str, code: str, points: str
) -> None:
    """Wrong formulas have the code and the points of the first mistake that fits."""
    result = judged(checks[question], question, source)["formula"]
    assert (Status.FAILED, code, Decimal(points)) == (result.status, result.code, result.points)
    for language in ("en", "de"):
        assert render(result.student, language)


def test_named_mistakes_speak_the_rubrics_words(checks: dict[str, SymbolicCheck]) -> None:
    """A named mistake shows the text of the rubric, in the language asked for if it is there."""
    message = formula(checks, "b", "mlp", "4d²").student
    assert ("One.", "Eine.") == (render(message, "en"), render(message, "de"))


def test_remarks_cost_nothing(checks: dict[str, SymbolicCheck]) -> None:
    """The assumption used early in (c) is right, with a word."""
    result = formula(checks, "c", "projection", "d_model^2")
    assert (Status.PASSED, Decimal(2), "assumed-early") == (result.status, result.points, result.code)
    assert "Early." == render(result.student, "en")
    assert "" == formula(checks, "c", "projection", "h d_k d").code


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"layer = {LAYER}", Status.PASSED),
        (f"P_layer = {LAYER}", Status.PASSED),
        (f"{LAYER} = 4*h*d*d_k + 8d^2", Status.PASSED),
        ("f(d) = 4*h*d*d_k + 8d^2", Status.PASSED),
        ("4*h*d*d_k + 8d^2 = 8d^2 + 4*h*d", Status.FAILED),
    ],
)
def test_chains_of_equations(checks: dict[str, SymbolicCheck], text: str, status: Status) -> None:
    """A name before the formula is dropped; the sides of an equation must be equal."""
    assert status is formula(checks, "d", "layer", text).status


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("d_model = n_heads*d_head", Status.PASSED, ""),
        ("d_head = d_model/n_heads", Status.PASSED, ""),
        ("n_heads = d/d_k", Status.PASSED, ""),
        ("Eq(d_model, d_head*n_heads)", Status.PASSED, ""),
        ("d_k = d", Status.FAILED, "equal-widths"),
        ("d_k = 2*d", Status.FAILED, "formula.relation-wrong"),
        ("n_heads*d_head", Status.FAILED, "unreadable.relation-expected"),
        ("d^2 = (h*d_k)^2", Status.NEEDS_REVIEW, "formula.undecided"),
    ],
)
def test_relations(checks: dict[str, SymbolicCheck], text: str, status: Status, code: str) -> None:
    """The assumption of (e) is right in any arrangement; the two answers of one cell do not mix."""
    source = f"assumption = {text!r}\nsimplified = '12*d^2'"
    results = judged(checks["e"], "e", source)
    assert (status, code) == (results["relation"].status, results["relation"].code)
    assert Status.PASSED is results["formula"].status


@pytest.mark.parametrize(
    ("literal", "status", "code"),
    [
        ("'(3*d_model, 4*d_model)'", Status.PASSED, ""),
        ("('3*d_model', '4*d_model')", Status.PASSED, ""),
        ("['3 d', '4 d']", Status.PASSED, ""),
        ("'3d × 4d'", Status.PASSED, ""),
        ("'4d × 3d'", Status.FAILED, "transposed"),
        ("'3d × 12d'", Status.FAILED, "formula.tuple-wrong"),
        ("'3d, 4d, 1'", Status.FAILED, "formula.tuple-length"),
        ("(3, 4)", Status.FAILED, "formula.tuple-wrong"),
        ("((1, 2), 3)", Status.FAILED, "formula.not-a-formula"),
        ("()", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_shapes(checks: dict[str, SymbolicCheck], literal: str, status: Status, code: str) -> None:
    """Shapes are tuples of formulas, as one text or as a tuple of texts and numbers."""
    result = judged(checks["h"], "h", f"shape = {literal}\nwide = '16d²'")["first"]
    assert (status, code) == (result.status, result.code)


def own(checks: dict[str, SymbolicCheck], text: str) -> dict[str, ItemResult]:
    """The student's own result of (h), as (i) sees it."""
    results = judged(checks["h"], "h", f"shape = '(1, 2)'\nwide = {text!r}")
    return {f"h.{item}": result for item, result in results.items()}


@pytest.mark.parametrize(
    ("earlier", "text", "code", "points"),
    [
        ("16d²", "20 L d²", "", "6"),
        ("16d²", "20 L h^2 d_k^2", "", "6"),
        ("16d²", "16 L d²", "attention-forgotten", "1"),
        ("16d²", "20 d²", "layers-forgotten", "2"),
        ("24d²", "28 L d²", "formula.carried-forward", "4"),
        ("24d²", "20 L d²", "", "6"),
        ("24d²", "16 L d²", "diagnosis.factor-too-small", "0"),
        ("24d²", "24 L d²", "own-only", "1"),
        ("24d²", "28 d²", "layers-forgotten", "2"),
        ("12d²", "16 L d²", "formula.carried-forward", "4"),
        ("8 n^2", "L*(4 d^2 + 8 n^2)", "formula.carried-forward", "4"),
        ("8*", "16 L d²", "diagnosis.factor-too-small", "0"),
    ],
)
def test_carrying_forward(
    checks: dict[str, SymbolicCheck], earlier: str, text: str, code: str, points: str
) -> None:
    """(i) is judged against the student's own (h); "attention forgotten" needs a right (h)."""
    result = judged(checks["i"], "i", f"changed = {text!r}", earlier=own(checks, earlier))["formula"]
    assert (code, Decimal(points)) == (result.code, result.points)


def test_nothing_to_carry_forward(checks: dict[str, SymbolicCheck]) -> None:
    """Without an earlier answer only the reference counts."""
    assert Status.PASSED is judged(checks["i"], "i", "changed = '20 L d²'")["formula"].status
    assert Decimal(0) == judged(checks["i"], "i", "changed = '28 L d²'")["formula"].points


def test_plans_ask_only_for_what_the_source_hides(checks: dict[str, SymbolicCheck]) -> None:
    """A plain literal needs no box; anything else is read from it, by name."""
    plan = checks["e"].plan
    assert () == plan(Answer("e", "code", "assumption = 'd = h'\nsimplified = '1'", changed=True), DRAW)
    hidden = plan(Answer("e", "code", "assumption = 'd = h'\nsimplified = 3*d", changed=True), DRAW)
    assert ["simplified"] == [scenario.name for scenario in hidden]
    assert [True] == [call.read for scenario in hidden for call in scenario.calls]
    assert () == plan(Answer("e", "code", "simplified = 3*d", changed=False), DRAW)
    assert () == plan(Answer("e", "markdown", "$12 d^2$", changed=True), DRAW)


def test_the_reference_is_called_where_it_is_needed(checks: dict[str, SymbolicCheck]) -> None:
    """The plan for the reference's box calls the question's name; without a reference it is empty."""
    (scenario,) = checks["b"].reference_plan(DRAW)
    assert isinstance(scenario, Scenario)
    (call,) = scenario.calls
    assert isinstance(call, Call)
    assert ("mlp", False) == (call.target, call.read)
    assert () == checks["c"].reference_plan(DRAW)


@pytest.mark.parametrize(
    ("value", "status", "code"),
    [
        ("8*d_model^2", Status.PASSED, ""),
        (Opaque("Mul", "8*d_model**2"), Status.PASSED, ""),
        (("8*d_model^2",), Status.PASSED, ""),
        (8, Status.FAILED, "diagnosis.power-too-small"),
        (8.5, Status.FAILED, "diagnosis.power-too-small"),
        (float("nan"), Status.FAILED, "formula.not-a-formula"),
        (True, Status.FAILED, "formula.not-a-formula"),
        pytest.param(1 << 100_000, Status.FAILED, "formula.not-a-formula", id="huge"),
        ({"a": 1}, Status.FAILED, "formula.not-a-formula"),
        (Opaque("function"), Status.FAILED, "formula.not-a-formula"),
        (Opaque("ellipsis"), Status.NO_ANSWER, "no-answer"),
        (None, Status.NO_ANSWER, "no-answer"),
        ("", Status.NO_ANSWER, "no-answer"),
        ("...", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_values_from_the_box(
    checks: dict[str, SymbolicCheck], value: object, status: Status, code: str
) -> None:
    """Texts, numbers and sympy expressions are formulas; other types are refused by name."""
    result = judged(checks["b"], "b", "mlp = compute()", values={"mlp": value})["formula"]
    assert (status, code) == (result.status, result.code)


@pytest.mark.parametrize(
    ("observation", "status"),
    [
        (Observation(ok=False, error="NameError", message="name 'mlp' is not defined"), Status.NO_ANSWER),
        (Observation(ok=False, error="ValueError", message="no"), Status.FAILED),
        (Observation(ok=False, ending=Ending.CALL_TIME), Status.FAILED),
    ],
)
def test_the_box_may_have_no_value(
    checks: dict[str, SymbolicCheck], observation: Observation, status: Status
) -> None:
    """A name that was never assigned is no answer; an error or an end of the box is the student's."""
    result = judged(checks["b"], "b", "mlp = compute()", observations=((observation,),))["formula"]
    assert (status, Decimal(0)) == (result.status, result.points)


def test_an_observation_that_is_missing_is_our_fault(checks: dict[str, SymbolicCheck]) -> None:
    """Nobody loses points because a box was not asked."""
    result = judged(checks["b"], "b", "mlp = compute()", observations=())["formula"]
    assert Status.NEEDS_REVIEW is result.status


@pytest.mark.parametrize(
    "expected",
    [
        (),
        ((Observation(ok=False, error="ImportError", message="no module"),),),
        ((Observation(ok=True, value=Opaque("Mul", "8*width**2")),),),
        ((Observation(ok=True, value=None),),),
        ((Observation(ok=True, value=[1, 2]),),),
    ],
)
def test_a_reference_without_a_formula_is_our_fault(
    checks: dict[str, SymbolicCheck], expected: tuple[tuple[Observation, ...], ...]
) -> None:
    """When the reference fails, its items go to a person, also for answers that look wrong."""
    answer = Answer("b-answer", "code", "mlp = 'n'", changed=True)
    formula_result, manual = checks["b"].judge(Evidence(answer, (), expected))
    assert (Status.NEEDS_REVIEW, Decimal(0), Decimal(2)) == (
        formula_result.status,
        formula_result.points,
        formula_result.possible,
    )
    assert Status.NEEDS_REVIEW is manual.status


def test_an_unchanged_cell_is_no_answer(checks: dict[str, SymbolicCheck]) -> None:
    """The stub earns nothing, whatever it contains."""
    results = judged(checks["b"], "b", "mlp = '8*d_model^2'", changed=False)
    assert [Status.NO_ANSWER, Status.NO_ANSWER] == [result.status for result in results.values()]
    assert [Decimal(0), Decimal(0)] == [result.points for result in results.values()]


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        (r"We get $8 \cdot d_{\text{model}}^2$ parameters, because …", Status.PASSED, ""),
        ("8*d_model^2", Status.PASSED, ""),
        ("$4d^2$ and $4d^2$", Status.FAILED, "unreadable.several-formulas"),
        ("two matrices", Status.FAILED, "unreadable.unknown-name"),
        ("$ $", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_markdown_answers(checks: dict[str, SymbolicCheck], source: str, status: Status, code: str) -> None:
    """A markdown answer is its one formula between dollar signs, or the text itself."""
    result = judged(checks["b"], "b", source, cell_type="markdown")["formula"]
    assert (status, code) == (result.status, result.code)


def test_refusals_carry_text_and_place(checks: dict[str, SymbolicCheck]) -> None:
    """A formula that cannot be read is shown with a caret, and has no reading."""
    result = formula(checks, "b", "mlp", "mlp = 8*dmodel^2")
    assert ("mlp = 8*dmodel^2", "8") == (result.student.params["text"], result.student.params["offset"])
    assert "" == result.reading


def test_readings_are_canonical(checks: dict[str, SymbolicCheck]) -> None:
    """The reading is the student's formula in plain text, without any assumption applied."""
    assert (
        "4*n_heads*d_head*d_model + 8*d_model^2" == formula(checks, "e", "simplified", "4h dₖ d+8d²").reading
    )


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.builds(Opaque, st.text(max_size=8), st.text(alphabet="dn2*^()+/!= ", max_size=12)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(st.sampled_from("bcdehi"), VALUES, VALUES)
def test_judging_never_raises(
    checks: dict[str, SymbolicCheck], question: str, value: object, reference: object
) -> None:
    """Whatever student and reference return, every item has a result within its points."""
    check = checks[question]
    answer = Answer("x", "code", "compute()", changed=True)
    observations = tuple((Observation(ok=True, value=value),) for _ in check.plan(answer, DRAW))
    earlier = {
        "h.sum": ItemResult("h", "sum", Status.FAILED, Decimal(0), Decimal(2), Message(""), "", "", "(")
    }
    evidence = Evidence(answer, observations, ((Observation(ok=True, value=reference),),), earlier)
    for result in check.judge(evidence):
        assert 0 <= result.points <= result.possible


def altered(old: str, new: str) -> Rubric:
    """The rubric with one place changed."""
    text = RUBRIC.decode()
    assert old in text
    return parse(text.replace(old, new, 1).encode())


@pytest.mark.parametrize(
    ("question", "old", "new", "message"),
    [
        ("b", 'accept = ["8*d_model^2 +', 'acept = ["8*d_model^2 +', "did you mean 'accept'"),
        ("b", '"8*d_model^2 + 5*d_model"', '"8*dmodel^2"', "not readable"),
        (
            "b",
            'when = "4*d_model^2", points = 0.5',
            'when = "4*", points = 0.5',
            "'one-matrix'.*not readable",
        ),
        ("b", "points = 0.5", "points = 2", "expected from 0 to below 2"),
        ("b", '{ en = "One.", de = "Eine." }', '{ de = "Eine." }', "English"),
        ("b", 'en = "One."', 'en = "{One}"', "braces twice"),
        ("b", 'answer = "mlp"\n', "", "name of a variable"),
        ("c", 'accept = ["n_heads*d_head*d_model"]\n', "", "at least one right answer"),
        ("c", 'assume = ["heads"]', 'assume = ["head"]', "no relation 'head'"),
        ("e", 'accept = ["d_model = n_heads*d_head"]', 'accept = ["d_model"]', "relation-expected"),
        ("b", 'heads = "d_model = n_heads*d_head"', 'heads = "d_model"', "assume. heads"),
        (
            "c",
            'heads = "d_model = n_heads*d_head"',
            'heads = "d_model*n = n_heads*d_head"',
            "symbol = formula",
        ),
        ("b", 'n_heads = { aliases = ["h", "H"] }', 'n_heads = { aliases = ["d"] }', "already stands for"),
        ("i", 'from = "h.sum"', 'from = "h.total"', "h.total"),
        ("i", "4*d_model^2 + own)", "4*d_model^2)", "must stand for the earlier result"),
        ("i", "n_voc = {}", "own = {}", "cannot be a symbol"),
        ("d", 'when = "12*d_model^2", assume', 'when = "own", assume', "not readable"),
    ],
)
def test_bad_options_are_refused(question: str, old: str, new: str, message: str) -> None:
    """A rubric with a slip is refused with the question's name and the reason."""
    rubric = altered(old, new)
    with pytest.raises(RubricError, match=message):
        SymbolicCheck(rubric.question(question), rubric)
