"""Test the kind ``formula`` from answers to points and messages."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Status
from autograder.messages import render_message
from autograder.questions.formula import FormulaCheck
from tests.formulas.examples import NOTATIONS
from tests.questions.general.formula_exam import CHECKS, LAYER, altered, formula, judged


@pytest.mark.parametrize("text", NOTATIONS["8*d_model^2"])
def test_every_notation_passes(text: str) -> None:
    """The reference formula earns full points in any notation and is read back."""
    result = formula("b", "mlp", text)
    assert (Status.PASSED, Decimal(2)) == (result.status, result.points)
    assert result.reading
    assert not result.code


def test_other_right_answers() -> None:
    """Alternatives that the rubric accepts are right."""
    assert Status.PASSED is formula("b", "mlp", "8d² + 5d").status


@pytest.mark.parametrize(
    ("question", "source", "code", "points"),
    [
        ("b", "mlp = '4d²'", "one-matrix", "0.5"),
        ("b", "mlp = '2*d_model*d_model'", "no-expansion", "0"),
        ("b", "mlp = '16d²'", "diagnosis.factor-too-large", "0"),
        ("b", "mlp = '8d'", "diagnosis.power-too-small", "0"),
        ("b", "mlp = '8d^2 + n_voc'", "diagnosis.extra-term", "0"),
        ("b", "mlp = 'd^3/(d + 1)'", "formula.wrong", "0"),
        ("b", "mlp = '8*dmodell^2'", "unreadable.unknown-name-near", "0"),
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
def test_wrong_by_name(question: str, source: str, code: str, points: str) -> None:
    """A wrong formula gets the code and points of the first mistake; unreadable ones need review."""
    result = judged(CHECKS[question], question, source)["formula"]
    assert (code, Decimal(points)) == (result.code, result.points)
    is_open = code.startswith("unreadable.")
    assert result.status is (Status.NEEDS_REVIEW if is_open else Status.FAILED)
    for language in ("en", "de"):
        assert render_message(result.student, language)


def test_named_mistakes_speak_the_rubrics_words() -> None:
    """A named mistake shows the rubric's text, in the requested language if available."""
    message = formula("b", "mlp", "4d²").student
    assert ("One.", "Eine.") == (render_message(message, "en"), render_message(message, "de"))


def test_remarks_cost_nothing() -> None:
    """Using the assumption early in (c) is right and adds a remark."""
    result = formula("c", "projection", "d_model^2")
    assert (Status.PASSED, Decimal(2), "assumed-early") == (result.status, result.points, result.code)
    assert "Early." == render_message(result.student, "en")
    assert "" == formula("c", "projection", "h d_k d").code


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"layer = {LAYER}", Status.PASSED),
        (f"P_layer = {LAYER}", Status.PASSED),
        (f"{LAYER} = 4*h*d*d_k + 8d^2", Status.PASSED),
        ("f(d) = 4*h*d*d_k + 8d^2", Status.PASSED),
        ("4*h*d*d_k + 8d^2 = 8d^2 + 4*h*d", Status.FAILED),
        (f"exp(exp(exp(exp(n)))) = {LAYER}", Status.NEEDS_REVIEW),
        ("exp(exp(exp(exp(n))))", Status.NEEDS_REVIEW),
    ],
)
def test_chains_of_equations(text: str, status: Status) -> None:
    """A name before the formula is dropped; both sides of an equation must be equal."""
    assert status is formula("d", "layer", text).status


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("d_model = n_heads*d_head", Status.PASSED, ""),
        ("d_head = d_model/n_heads", Status.PASSED, ""),
        ("n_heads = d/d_k", Status.PASSED, ""),
        ("Eq(d_model, d_head*n_heads)", Status.PASSED, ""),
        ("d_k = d", Status.FAILED, "equal-widths"),
        ("d_k = 2*d", Status.FAILED, "diagnosis.factor-forgotten"),
        ("d_k^2 = n_voc + d^2", Status.FAILED, "formula.relation-wrong"),
        ("n_heads*d_head", Status.NEEDS_REVIEW, "unreadable.relation-expected"),
        ("sqrt(d^2) = h*d_k", Status.PASSED, ""),
        ("d^2 = (h*d_k)^2", Status.NEEDS_REVIEW, "formula.undecided"),
    ],
)
def test_relations(text: str, status: Status, code: str) -> None:
    """The relation of (e) is right in any arrangement, and two answers in one cell stay separate."""
    source = f"assumption = {text!r}\nsimplified = '12*d^2'"
    results = judged(CHECKS["e"], "e", source)
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
        ("'3d × 12d'", Status.FAILED, "formula.tuple-entries"),
        ("'12 d²'", Status.FAILED, "formula.tuple-product"),
        ("'12 d'", Status.FAILED, "formula.tuple-length"),
        ("'3d, 4d, 1'", Status.FAILED, "formula.tuple-length"),
        ("(3, 4)", Status.FAILED, "formula.tuple-entries"),
        ("((1, 2), 3)", Status.NEEDS_REVIEW, "formula.not-a-formula"),
        ("()", Status.NO_ANSWER, "no-answer"),
    ],
)
def test_shapes(literal: str, status: Status, code: str) -> None:
    """Shapes are tuples of formulas, written as one text or as a tuple of texts and numbers."""
    result = judged(CHECKS["h"], "h", f"shape = {literal}\nwide = '16d²'")["first"]
    assert (status, code) == (result.status, result.code)


def test_wrong_entries_are_named_by_what_the_student_wrote() -> None:
    """The closest of several right tuples decides which entries are reported."""
    rubric = altered('accept = ["(3*d_model, 4*d_model)"]', 'accept = ["(1, 2)", "(3*d_model, 4*d_model)"]')
    check = FormulaCheck(rubric.get_question("h"), rubric)
    student = judged(check, "h", "shape = '3d × 12d'\nwide = '16d²'")["first"].student
    assert "Not right: 12*d_model." == render_message(student, "en")


def test_an_order_without_a_name_of_its_own() -> None:
    """Right entries in another order are reported as such, not as wrong at each position."""
    rubric = altered('code = "transposed", when = "(4*d_model, 3*d_model)"', 'code = "x", when = "(1, 2)"')
    check = FormulaCheck(rubric.get_question("h"), rubric)
    source = "shape = '4d × 3d'\nwide = '16d²'"
    assert judged(check, "h", source)["first"].code == "formula.tuple-order"


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        pytest.param("8*d*(n-5)^0.5*d/sqrt(n-5)", Status.FAILED, "formula.undefined", id="gap"),
        pytest.param("8*d^2 + 0*d/floor(d/2)", Status.NEEDS_REVIEW, "formula.undecided", id="open"),
        pytest.param("8*sqrt(d)^3*sqrt(d)", Status.PASSED, "", id="positive"),
        pytest.param("8*d^3/(d - h)*(d - h)/d", Status.PASSED, "", id="isolated"),
    ],
)
def test_judge_looks_at_the_domain_of_an_answer(text: str, status: Status, code: str) -> None:
    """A formula that is undefined for some values is wrong, and the message names the part."""
    result = formula("b", "mlp", text)
    assert (status, code) == (result.status, result.code)
    if code == "formula.undefined":
        assert result.student.params["part"] in ("sqrt(n - 5)", "(n - 5)^0.5")


@pytest.mark.parametrize(
    ("accepted", "planted"),
    [
        pytest.param("n/d_model", {"floor(n/d_model)"}, id="rounded"),
        pytest.param("floor(n/2)", {"n/2"}, id="not rounded"),
        pytest.param("n/2 + n/d_model", {"floor(n/2) + n/d_model", "n/2 + floor(n/d_model)"}, id="each"),
        pytest.param("n*(n-1)/2", set(), id="whole anyway"),
        pytest.param("8*d_model^2", set(), id="no quotient"),
    ],
)
def test_trials_round_every_quotient_of_an_accepted_formula(accepted: str, planted: set[str]) -> None:
    """Replacing ``/`` with ``//`` or the reverse loses the item, unless all values are whole."""
    rubric = altered('accept = ["8*d_model^2 + 5*d_model"]', f'accept = ["{accepted}"]')
    key = Answer("b-answer", "code", "mlp = '8*d_model**2'", changed=True)
    trials = FormulaCheck(rubric.get_question("b"), rubric).make_trials(key)
    rounded = [trial for trial in trials if trial.family == "formula: quotients rounded or not"]
    assert planted == {trial.name.rpartition(": ")[2] for trial in rounded}
    assert all(trial.loses == ("formula",) for trial in rounded)


@pytest.mark.parametrize(
    ("question", "old", "new", "message"),
    [
        ("b", 'accept = ["8*d_model^2 +', 'acept = ["8*d_model^2 +', "did you mean 'accept'"),
        ("b", '"8*d_model^2 + 5*d_model"', '"8*dmodell^2"', "not readable"),
        (
            "b",
            'when = "4*d_model^2", points = 0.5',
            'when = "4*", points = 0.5',
            "'one-matrix'.*not readable",
        ),
        ("b", "points = 0.5", "points = 2", "expected from 0 to below 2"),
        ("b", "points = 0.5", "points = 0.333", "at most two decimals, got 0.333"),
        ("b", "points = 0.5", "points = nan", "expected from 0 to below 2, got"),
        (
            "b",
            'accept = ["8',
            'must = ["sum"]\nform_points = 0.125\naccept = ["8',
            "form_points: at most two",
        ),
        ("b", '{ en = "One.", de = "Eine." }', '{ de = "Eine." }', "English"),
        ("b", 'en = "One."', 'en = "{One}"', "braces twice"),
        ("b", 'answer = "mlp"\n', "", "name of a variable"),
        ("c", 'accept = ["n_heads*d_head*d_model"]\n', "", "at least one right answer"),
        ("c", 'assume = ["heads"]', 'assume = ["head"]', "no relation 'head'"),
        (
            "e",
            'accept = ["d_model = n_heads*d_head"]',
            'accept = ["d_model"]',
            "one equation or inequality with exactly one relation sign",
        ),
        ("b", 'heads = "d_model = n_heads*d_head"', 'heads = "d_model"', "assume. heads"),
        (
            "c",
            'heads = "d_model = n_heads*d_head"',
            'heads = "d_model*n = n_heads*d_head"',
            "symbol = formula",
        ),
        ("b", 'n_heads = { aliases = ["h", "H"] }', 'n_heads = { aliases = ["d"] }', "already stands for"),
        ("d", 'when = "12*d_model^2", assume', 'when = "own", assume', "not readable"),
    ],
)
def test_bad_options_are_refused(question: str, old: str, new: str, message: str) -> None:
    """An invalid rubric is rejected with the question and the reason."""
    rubric = altered(old, new)
    with pytest.raises(RubricError, match=message):
        FormulaCheck(rubric.get_question(question), rubric)
