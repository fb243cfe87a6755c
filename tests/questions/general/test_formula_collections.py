"""Test sets of formulas, and relations with other signs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import OpaqueValue, Status
from autograder.messages import render_message
from autograder.questions.formula import FormulaCheck
from autograder.rubric import parse_rubric
from tests.questions.general.form_exam import HEAD, check_of, outcome, result_of

SET = 'form = "set"\naccept = ["{n*d, n^2, 2*d}"]\n'
EACH = 'credit = "each"\n'
NAMED = """
mistake = [{ code = "weights", when = "{d^2, n*d}", points = 1, text = { en = "Weights." } }]
remark = [{ code = "sorted", when = "{n*d, n^2, 2*d}", text = { en = "All of them." } }]
"""


@pytest.mark.parametrize(
    "answer",
    [
        "{n*d, n^2, 2*d}", "n^2, 2 d, n d", ("n*d", "2*d", "n**2"), ["n^2", "d + d", "d n"],
        r"$\{n d, n^2, 2d\}$",
        "S = {n·d; n²; 2d}", "$n^2$, $n d$ and $2d$", "- n d\n- n^2\n- 2d", "n d\nn^2\n2d",
        "(n × d, n^2,\n 2 × d)",
        r"\left\{ n \cdot d, \; n^2, \; 2 d \right\}", "n d und n^2 und 2d", "[n*d, n**2, 2*d]",
        "{n d, d n, n^2, 2d}",
    ],
)  # fmt: skip
def test_a_set_in_many_notations(answer: object) -> None:
    """Order, brackets, separators and repetitions do not matter."""
    assert ("", Decimal(6)) == outcome(check_of(SET), answer)


@pytest.mark.parametrize(
    ("answer", "code", "points"),
    [
        ("{n d, n^2}", "set.missing", 4),
        ("{n d}", "set.missing", 2),
        ("{n d, n^2, 2d, n}", "set.extra", 4),
        ("{n d, n^2, n}", "set.both", 2),
        ("{n, d, n^3, 2 d}", "set.both", 0),
        ("{n d, n^2, 2d, d + d}", "", 6),
    ],
)
def test_parts_of_a_set(answer: str, code: str, points: int) -> None:
    """Each right element earns an equal part, a wrong one costs a part, and points stay above zero."""
    assert (code, Decimal(points)) == outcome(check_of(SET + EACH), answer)
    assert (code, Decimal(0 if code else 6)) == outcome(check_of(SET), answer)


def test_what_is_wrong_is_named_and_what_is_missing_only_counted() -> None:
    """Wrong elements are named; missing ones are only counted."""
    sentence = render_message(result_of(check_of(SET), "{n d, n^2, n^3}").student, "en")
    assert "Not part of the answer: n^3. Number of missing entries: 1." == sentence


def test_the_best_of_several_right_answers_counts() -> None:
    """With several right sets, the one that earns most counts."""
    check = check_of('form = "set"\naccept = ["{n, d, 2*n}", "{n, 2*d}"]\ncredit = "each"\n')
    assert Decimal(6) == outcome(check, "2 d, n")[1]
    assert Decimal(3) == outcome(check, "n")[1]
    assert Decimal(4) == outcome(check, "n, d")[1]


def test_relations_hold_for_elements() -> None:
    """Each element may be written with or without the granted relation."""
    check = check_of('form = "set"\naccept = ["{d^2, n}"]\nassume = ["heads"]\n')
    assert ("", Decimal(6)) == outcome(check, "{n, d h d_k}")


def test_mistakes_and_remarks() -> None:
    """Named mistakes and remarks are compared as sets."""
    check = check_of(SET + NAMED)
    assert ("weights", Decimal(1)) == outcome(check, "{d n, d d}")
    assert ("sorted", Decimal(6)) == outcome(check, "{2d, n^2, d n}")


def test_text_cells_and_things_that_are_no_formulas() -> None:
    """A text cell may hold several formulas; a Python set is not accepted."""
    assert Status.PASSED is result_of(check_of(SET), "$n d$, $n^2$, $2 d$", cell_type="markdown").status
    assert Status.NO_ANSWER is result_of(check_of(SET), "").status
    assert "unreadable.unknown-name" == outcome(check_of(SET), "{n d, x}")[0]
    result = result_of(check_of(SET), OpaqueValue("set", ""))
    assert "formula.not-a-formula" == result.code


def test_doubt_about_an_element_goes_to_a_person() -> None:
    """A set with an element that cannot be compared needs manual review."""
    result = result_of(
        check_of('form = "set"\naccept = ["{n, exp(exp(exp(n)))}"]\n'), "{n, exp(exp(exp(n + n - n)))}"
    )
    assert (Status.NEEDS_REVIEW, "formula.undecided") == (result.status, result.code)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ('form = "set"\naccept = ["n, d, 2*n, 2*d"]\ncredit = "each"\npoints_ = 1\n', "unknown key"),
        ('form = "set"\naccept = ["n, d, 2*n, 2*d, 3*n, 3*d, 4*n"]\ncredit = "each"\n', "7 equal parts"),
        ('form = "set"\naccept = ["n, x"]\n', "not readable"),
    ],
)
def test_errors_in_the_rubric(item: str, message: str) -> None:
    """Points that cannot be divided, and options of another form, are rejected."""
    with pytest.raises(RubricError, match=message):
        check_of(item)


EQUATION = check_of('form = "relation"\naccept = ["d = n_heads*d_head"]\n')
BOUND = check_of('form = "relation"\naccept = ["n*n_heads <= d"]\n')


@pytest.mark.parametrize(
    "text",
    [
        "d = h d_k", "d == h*d_k", "Eq(d, h*d_k)", "d/h = d_k", "d - h d_k = 0", "2 d = 2 h d_k",
        "1 = h d_k/d",
        r"$d_k = \frac{d}{h}$", "d_k = d/h = d/n_heads", "d_k = 2d/(2h) = d/h", "h = d/d_k", "d^2 = d h d_k",
    ],
)  # fmt: skip
def test_equations_in_any_arrangement(text: str) -> None:
    """An equation may be rearranged, scaled, solved for another symbol or written as a chain."""
    assert ("", Decimal(6)) == outcome(EQUATION, text)


@pytest.mark.parametrize(
    "text",
    ["n h <= d", "d >= n h", r"$n h \leq d$", "n h ≤ d", "n <= d/h", "0 <= d - n h", "-d <= -n h",
    "Le(n*h, d)", "n h < d + 1"],
)  # fmt: skip
def test_inequalities_in_any_arrangement(text: str) -> None:
    """Negative factors reverse the sign; whole numbers allow a gap of one."""
    assert ("", Decimal(6)) == outcome(BOUND, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("n h >= d", "formula.relation-direction"),
        ("n h > d", "formula.relation-sign"),
        ("n h < d", "formula.relation-strictness"),
        ("n h = d", "formula.relation-sign"),
        ("n <= d", "formula.relation-wrong"),
        ("2 n h <= d", "formula.relation-wrong"),
        ("n h <= 2 d", "formula.relation-wrong"),
        ("n h > 2 d", "formula.relation-wrong"),
        ("n h <= d + 1", "formula.relation-wrong"),
        ("n h - 1 <= d", "formula.relation-wrong"),
        ("n h <= d <= n", "formula.chain"),
        ("n h", "unreadable.relation-expected"),
    ],
)
def test_wrong_inequalities_have_names(text: str, code: str) -> None:
    """Wrong direction, strictness and sign have separate codes."""
    assert (code, Decimal(0)) == outcome(BOUND, text)


AT_MOST = check_of('form = "relation"\naccept = ["n <= d"]\n')


@pytest.mark.parametrize(
    "text",
    ["0 < n <= d", "1 <= n <= d", "n <= d <= d", "n <= d <= 2d", "n <= d < d + 1", "-1 < n <= d <= d*n",
     "d >= n > 0", "n <= d = d", "0 <= n - 1 <= d - 1", "n <= d <= n d"],
)  # fmt: skip
def test_links_that_always_hold_say_nothing(text: str) -> None:
    """Links of a chain that hold for all values are ignored."""
    assert ("", Decimal(6)) == outcome(AT_MOST, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("0 < n < d", "formula.relation-strictness"),
        ("n <= d < d", "formula.chain"),
        ("n <= d <= n^2", "formula.chain"),
        ("1 < n <= d", "formula.chain"),
        ("0 < n", "formula.relation-wrong"),
    ],
)
def test_links_that_do_not_always_hold_count(text: str, code: str) -> None:
    """A link that is false for some values makes the answer different or too strong."""
    assert (code, Decimal(0)) == outcome(AT_MOST, text)


@pytest.mark.parametrize("text", ["n <= d >= h", "h <= d >= n", "n < d >= h"])
def test_a_chain_may_say_what_a_maximum_does(text: str) -> None:
    """A chain with two bounds on one side may mean a maximum, so it needs manual review."""
    check = check_of('form = "relation"\naccept = ["max(n, h) <= d"]\n')
    assert Status.NEEDS_REVIEW is result_of(check, text).status
    assert ("", Decimal(6)) == outcome(check, "max(h, n) <= d")


def test_a_relation_that_always_holds_may_be_asked_for() -> None:
    """If the requested relation always holds, it is found among other such links."""
    check = check_of('form = "relation"\naccept = ["n <= n^2"]\n')
    assert ("", Decimal(6)) == outcome(check, "0 < n <= n^2")
    assert ("", Decimal(6)) == outcome(check, "n <= n*n")


def test_an_inequality_for_an_equation() -> None:
    """An inequality with the right sides, given instead of an equation, is reported."""
    assert "formula.relation-sign" == outcome(EQUATION, "d <= h d_k")[0]
    assert "formula.chain" == outcome(EQUATION, "d = h d_k = d_k")[0]


def test_powers_of_a_relation_go_to_a_person() -> None:
    """Powers of a relation need manual review, because they may follow in one direction only."""
    assert Status.NEEDS_REVIEW is result_of(BOUND, "n^2 h^2 <= d^2").status


def test_relations_granted_must_be_equations() -> None:
    """A granted relation must be an equation, because an inequality cannot replace a symbol."""
    text = HEAD.replace("d = n_heads*d_head", "d <= n_heads*d_head") + 'accept = ["n"]\nassume = ["heads"]\n'
    rubric = parse_rubric(text.encode())
    with pytest.raises(RubricError, match="symbol = formula"):
        FormulaCheck(rubric.questions[0], rubric)
