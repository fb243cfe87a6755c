"""Test items about growth: ``form = "asymptotic"``."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Observation, OpaqueValue, Status
from autograder.messages import render_message
from autograder.questions.base.base import Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import parse_rubric
from tests.questions.general.form_exam import HEAD, check_of, outcome, result_of

COST = 'form = "asymptotic"\naccept = ["O(12*n*d^2 + n^2*d)"]\n'
LENIENT = check_of(COST)
THETA = check_of(COST.replace("O(", "Theta("))
OMEGA = check_of(COST.replace("O(", "Omega("))
NAMED = check_of(
    COST
    + """
mistake = [
  { code = "width-dropped", when = "n^2", points = 2, text = { en = "No width?", de = "Keine Breite?" } },
  { code = "omega", when = "Ω(n*d^2 + n^2*d)", points = 1, text = { en = "From below?" } },
]
remark = [{ code = "as-exact", when = "Θ(n*d^2 + n^2*d)", text = { en = "Even exact." } }]
"""
)
RIGHT = (
    "O(n d^2 + n^2 d)", "O(n*d*(n + d))", "O(n*max(n, d)*d)", "n^2*d + n*d^2", "O(n^2 d) + O(n d^2)",
    r"$\mathcal{O}\left(n^2 \cdot d + n d^2\right)$", "𝒪(n²d + nd²)", "T(n) = O(n d^2 + n^2 d)",
    r"T(n, d) \in \mathcal O (n d^2 + n^2 d)", "O(12 n d^2 + n^2 d + n)", "O of n d (n + d)",
    "O(n d (n + d) log(2))",
    "O(max(n d^2, n^2 d))", "Big-O of n*d*(n+d)", "O[n^2 d + n d^2]", "O(n d sqrt(n^2 + d^2))",
    "O(n^2 d_model + n d_model^2).", "O(n d^2 + n^2 d) = O(n d (n + d))", "O(n^2 d + n d^2 + n^1.5 d^1.5)",
)  # fmt: skip


def test_no_symbol_is_given_away() -> None:
    """The message names the symbol of faster growth only if the student wrote that symbol."""
    check = check_of('form = "asymptotic"\naccept = ["O(n^2*d)"]\n')
    assert "asymptotic.too-small" == outcome(check, "O(n^2)")[0]
    assert "asymptotic.too-small-in" == outcome(check, "O(n*d)")[0]


@pytest.mark.parametrize("text", RIGHT)
def test_one_order_in_many_notations(text: str) -> None:
    """An order of growth is right in any notation."""
    assert ("", Decimal(6)) == outcome(LENIENT, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("O(n^2 d)", "asymptotic.too-small-in"),
        ("O(n d)", "asymptotic.too-small"),
        ("O(n^2 d^2)", "asymptotic.not-tight"),
        ("O(n^3 d^2)", "asymptotic.not-tight-in"),
        ("O(2^n d^2)", "asymptotic.not-tight-in"),
        ("O(n^3)", "asymptotic.different"),
        ("O(1)", "asymptotic.too-small"),
        ("O((n d)^1.5)", "asymptotic.too-small"),
        ("Ω(n d (n + d))", "asymptotic.sign"),
        ("o(n d (n + d))", "asymptotic.sign"),
        ("Θ(n^3 d^2)", "asymptotic.too-large-in"),
        ("Ω(n^3 d^2)", "asymptotic.too-large-in"),
        ("Θ(n^2 d)", "asymptotic.too-small-in"),
        ("n O(n d + d^2)", "unreadable.landau-outside"),
        ("O(n d^2) + Θ(n^2 d)", "unreadable.landau-mixed"),
        ("O n^2", "unreadable.landau-brackets"),
        ("O(n^2 d", "unreadable.unclosed"),
        ("O(n^2 x)", "unreadable.unknown-name"),
        ("O(n^2 d) = O(n d (n + d))", "formula.sides-differ"),
    ],
)
def test_other_orders_are_explained(text: str, code: str) -> None:
    """A wrong order of growth gets the code of its mistake."""
    assert (code, Decimal(0)) == outcome(LENIENT, text)


def test_a_missing_term_is_found_by_its_symbol() -> None:
    """For ``O(n^2 d)``, the message says that it grows too slowly in d."""
    result = result_of(LENIENT, "O(n^2 d)")
    assert "slowly in d." in render_message(result.student, "en")
    assert "O(n^2*d)" == result.reading


@pytest.mark.parametrize("text", ["O(n - d)", "O((n + 1)^d)", "O(exp(exp(n)))", "O(binomial(n, d))"])
def test_what_cannot_be_told_goes_to_a_person(text: str) -> None:
    """Growth that cannot be compared needs manual review."""
    result = result_of(LENIENT, text)
    assert (Status.NEEDS_REVIEW, "formula.undecided") == (result.status, result.code)


def test_signs() -> None:
    """Without a stated sign, a bare formula and Θ are accepted for O."""
    assert ("", Decimal(6)) == outcome(LENIENT, "Θ(n d (n + d))")
    assert ("", Decimal(6)) == outcome(LENIENT, "n d (n + d)")
    assert ("asymptotic.sign", Decimal(0)) == outcome(THETA, "O(n d (n + d))")
    assert ("", Decimal(6)) == outcome(OMEGA, "Θ(n d (n + d))")
    assert ("asymptotic.not-tight", Decimal(0)) == outcome(OMEGA, "Ω(n d)")
    assert ("asymptotic.too-large-in", Decimal(0)) == outcome(OMEGA, "Ω(n^3 d^2)")


def test_mistakes_and_remarks() -> None:
    """Named answers are recognised by their order, and by their sign if it is stated."""
    assert ("width-dropped", Decimal(2)) == outcome(NAMED, "O(n^2 + n)")
    assert ("omega", Decimal(1)) == outcome(NAMED, "Ω(n d (n + d))")
    assert ("as-exact", Decimal(6)) == outcome(NAMED, "Θ(n d (n + d))")
    assert ("", Decimal(6)) == outcome(NAMED, "O(n d (n + d))")


def test_relations_are_put_in_first() -> None:
    """Under ``d = n_heads*d_head``, both spellings are the same order."""
    granted = check_of(
        'form = "asymptotic"\naccept = ["O(n*n_heads*d_head*d + n^2*d)"]\nassume = ["heads"]\n'
    )
    refused = check_of('form = "asymptotic"\naccept = ["O(n*n_heads*d_head*d + n^2*d)"]\n')
    assert ("", Decimal(6)) == outcome(granted, "O(n d^2 + n^2 d)")
    assert ("", Decimal(6)) == outcome(granted, "O(n h d_k d + n^2 d)")
    assert ("asymptotic.different", Decimal(0)) == outcome(refused, "O(n d^2 + n^2 d)")


def test_the_reference_is_the_exact_cost() -> None:
    """The reference returns the exact cost, and answers are compared with its order."""
    text = HEAD.replace('answer = "answer"', 'answer = "answer"\nreference = "costs:attention"')
    rubric = parse_rubric((text + 'form = "asymptotic"\n').encode())
    check = FormulaCheck(rubric.questions[0], rubric)
    expected = (Observation(ok=True, value=OpaqueValue("Add", "12*d**2*n + d*n**2")),)
    verdicts = [
        check.judge(Evidence(Answer("q-answer", "code", f"answer = {written!r}", changed=True), (), expected))
        for written in ("O(n d (n + d))", "O(n^2 d)")
    ]
    assert [Status.PASSED, Status.FAILED] == [result.status for (result,) in verdicts]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (COST.replace("12*n*d^2 + n^2*d", "n - d"), "growth of a formula cannot be told"),
        (f'{COST}credit = "each"\n', "belongs to sets and tuples, not to 'asymptotic'"),
        (f"{COST}form_points = 2\n", "nothing is asked of the form"),
        (f'{COST}without = ["d"]\nform_points = 6\n', "expected from 0 to below 6"),
        (COST.replace("n^2*d", "n^2*x"), "not readable"),
        (f'{COST}mistake = [{{ code = "x", when = "O(n", text = {{ en = "x" }} }}]\n', "not readable"),
    ],
)
def test_errors_in_the_rubric(item: str, message: str) -> None:
    """Invalid options are rejected by name."""
    with pytest.raises(RubricError, match=message):
        check_of(item)


def test_symbols_that_may_be_negative() -> None:
    """A symbol that may be negative is an error in the key and needs manual review in an answer."""
    text = HEAD.replace("n = {", 'x = { domain = "real" }\nn = {') + COST
    rubric = parse_rubric(text.encode())
    assert Status.NEEDS_REVIEW is result_of(FormulaCheck(rubric.questions[0], rubric), "O(n*x)").status
    rubric = parse_rubric(text.replace("12*n*d^2", "12*n*x^2").encode())
    with pytest.raises(RubricError, match="x may be negative"):
        FormulaCheck(rubric.questions[0], rubric)


def test_a_symbol_cannot_be_called_o() -> None:
    """A symbol must not be called ``O`` in questions about growth."""
    rubric = parse_rubric((HEAD.replace("n = {", "O = {}\nn = {") + COST).encode())
    with pytest.raises(RubricError, match="'O' is a symbol here"):
        FormulaCheck(rubric.questions[0], rubric)
