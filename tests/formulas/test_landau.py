"""Test the reading of asymptotic statements, lists and sets."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.growth import compare_orders, compute_order
from autograder.formulas.nodes import Fn, Node
from autograder.formulas.notation.formula_lists import parse_list
from autograder.formulas.notation.landau import SIGNS, get_body, get_sign, parse_landau, parse_statements
from autograder.formulas.notation.parse import parse
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from tests.formulas.examples import VOCABULARY, functions, polynomials


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("O(n^2 d)", "O(n^2*d_model)"),
        (r"$\mathcal{O}(n^2)$", "O(n^2)"),
        (r"\mathcal O(n)", "O(n)"),
        (r"\mathrm{O}\left( n \right)", "O(n)"),
        (r"\operatorname{O}\!\left(n\right)", "O(n)"),
        (r"\text{O}\big(n\big)", "O(n)"),
        ("𝒪(n)", "O(n)"),
        ("𝑂(n)", "O(n)"),
        ("О(n)", "O(n)"),
        ("O [n]", "O(n)"),
        ("O of n log n", "O(n*log(n))"),
        ("O von n", "O(n)"),
        ("Big-O of n", "O(n)"),
        ("big O(n)", "O(n)"),
        ("T(n) = O(n)", "O(n)"),
        ("T(n, d) := O(n)", "O(n)"),
        ("T(n) is in O(n)", "O(n)"),
        ("T(n) ist in O(n)", "O(n)"),
        (r"T(n) \in \Theta(n)", "Θ(n)"),
        ("Theta(n)", "Θ(n)"),
        ("θ(n)", "Θ(n)"),
        ("Ω(n)", "Ω(n)"),
        ("\u2126(n)", "Ω(n)"),
        (r"\Omega(n)", "Ω(n)"),
        ("omega(n)", "ω(n)"),
        ("ω(n)", "ω(n)"),
        ("o(n)", "o(n)"),
        ("O(n) + O(d)", "O(n + d_model)"),
        ("O(n (n + d)) + O(1)", "O(n*(n + d_model) + 1)"),
        ("n^2", "n^2"),
        ("cost = n^2", "n^2"),
        ("constant", "1"),
        ("const.", "1"),
        ("is constant", "1"),
        ("konstante Zeit", "1"),
        ("O(const)", "O(1)"),
        ("O(1) constant time", "O(1)"),
        ("O(1) (constant time)", "O(1)"),
        ("O(1), i.e. constant", "O(1)"),
        ("Θ(1) - konstant", "Θ(1)"),
        ("O(n) constant time", "O(n)"),
        ("O(n).", "O(n)"),
        ("`O(n)`", "O(n)"),
        (r"\[ \mathcal{O}(n) \]", "O(n)"),
        (r"\begin{align*} O(n) \end{align*}", "O(n)"),
    ],
)
def test_statements(text: str, written: str) -> None:
    """The sign and the formula are read in each spelling."""
    statement = parse_landau(text, VOCABULARY)
    assert written == to_text(statement)
    assert ("" if written[0] in "n1" else written[0]) == get_sign(statement)


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("n O(d)", "landau-outside", 2),
        ("O(n) d", "landau-outside", 4),
        ("O(n) + d", "landau-outside", 4),
        ("O(n) - O(d)", "landau-outside", 4),
        ("O(n) + Θ(d)", "landau-mixed", 7),
        ("O n", "landau-brackets", 0),
        ("O(n", "unclosed", 1),
        ("O()", "empty", 2),
        ("O(zebra)", "unknown-name", 2),
        (r"$\mathcal{O}(n + zebra)$", "unknown-name", 17),
        ("", "empty", 0),
        ("O(n) = O(d)", "unexpected-relation", 5),
        ("O(" * 3000, "too-long", 2000),
        ("O(n)" + "+ O(n)" * 40, "too-many-parts", None),
        ("= n" * 40, "too-many-parts", None),
    ],
)
def test_what_is_no_statement(text: str, code: str, offset: int | None) -> None:
    """Each rejection has a code and an offset."""
    with pytest.raises(Unreadable) as caught:
        parse_landau(text, VOCABULARY)
    assert code == caught.value.code
    assert offset in (None, caught.value.offset)


def test_chains_of_statements() -> None:
    """Names in a chain are dropped; formulas and statements are kept."""
    sides = parse_statements("T(n) = 3*n^2 + n = O(n^2)", VOCABULARY)
    assert ["3*n^2 + n", "O(n^2)"] == [to_text(side) for side in sides]


@given(polynomials | functions, st.sampled_from(SIGNS))
def test_what_is_written_is_read_again(tree: Node, sign: str) -> None:
    """A statement is read again unchanged after writing, and can be typeset."""
    try:
        body = parse(to_text(tree), VOCABULARY)
    except Unreadable:
        assume(False)
        return
    statement = Fn(sign, (body,))
    assert statement == parse_landau(to_text(statement), VOCABULARY)
    assert f"<mi>{sign}</mi>" in to_mathml(statement)
    assert body == get_body(statement)


HOSTILE = {
    "O(" * 500: "unclosed",
    "O(" + "(" * 39 + "n" + ")" * 39 + ")": "at most False, at least True",
    "O(" + "+".join(f"n^{k}*d^{30 - k}" for k in range(31)) + ")": "open",
    "O(" + "*".join(["(n + d + h + L)"] * 80) + ")": "too-many-parts",
    "O(" + "*".join(["max(n, d)"] * 80) + ")": "too-many-parts",
    "O(" + "+".join(f"sqrt(n^{k} + d^{9 - k})" for k in range(9)) + ")": "at most True, at least False",
    "O(" + "log(" * 30 + "n" + ")" * 30 + ")": "at most False, at least True",
    "O(" + "sqrt(" * 30 + "n + d" + ")" * 30 + ")": "at most False, at least True",
    "O(n^n^n^n)": "open",
    "O(" + "+".join(f"{k + 2}^n" for k in range(60)) + ")": "open",
    "O(" + "*".join(f"min(n, d^{k})" for k in range(30)) + ")": "open",
    "O(" + "+".join(f"1/(n + {k})" for k in range(40)) + ")": "open",
    "O(" + "9" * 390 + "^n)": "open",
    "O(log(" + "9" * 390 + ") n)": "open",
    "O(" + "+".join(f"n^{k}*log(d)^{12 - k}*{k + 2}^h" for k in range(12)) + ")": "open",
    "O((n!)!)": "open",
    "O(1000! n)": "at most False, at least True",
    "O("
    + "+".join(["n*d*h*L", "n^2*d", "d^2*h", "h^2*L", "L^2*n", "n^3", "d^3*log(n)", "h^3*log(d)"])
    + ")": "open",
    "O(2^(n+d+h+L) + 2^(n*d) + n^d + d^h)": "at most True, at least False",
    "O(" + "max(" * 38 + "n, d" + ")" * 38 + ")": "at most False, at least True",
}
"""Text → result of the comparison, or the reason why there is none."""


@pytest.mark.parametrize(("text", "outcome"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_costly_statements_are_compared_refused_or_left_open(text: str, outcome: str) -> None:
    """Expensive statements are compared, rejected or undecided, always in bounded time."""
    key = compute_order(parse_landau("O(n*d_model^2 + n^2*d_model*log(n))", VOCABULARY))
    try:
        comparison = compare_orders(key, compute_order(parse_landau(text, VOCABULARY)))
        verdict = f"at most {comparison.at_most}, at least {comparison.at_least}"
    except Unreadable as error:
        verdict = error.code
    except Undecided:
        verdict = "open"
    assert verdict == outcome


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("(n, d)", "(n, d_model)"),
        ("{n; d}", "(n, d_model)"),
        ("`{n, d}`", "(n, d_model)"),
        (r"\( \{n, d\} \)", "(n, d_model)"),
        (r"\{n, d\}", "(n, d_model)"),
        ("S = {n, d}", "(n, d_model)"),
        ("$n$, $d$ and $2 d$", "(n, d_model, 2*d_model)"),
        ("n und 2 × d", "(n, 2*d_model)"),
        (r"n, 2 \times d", "(n, 2*d_model)"),
        ("n\nd\n", "(n, d_model)"),
        ("* n\n* d", "(n, d_model)"),
        ("- n\n- d", "(n, d_model)"),
        ("-n\nd", "(-n, d_model)"),
        ("(n,\n d)", "(n, d_model)"),
        ("n +\n d, d", "(n + d_model, d_model)"),
        ("n", "(n,)"),
        (r"n \; d", "(n*d_model,)"),
    ],
)
def test_lists(text: str, written: str) -> None:
    """Lists and sets may use several separators, brackets and lines."""
    assert written == to_text(parse_list(text, VOCABULARY))


@pytest.mark.parametrize(("text", "offset"), [("{n, zebra}", 4), ("n and zebra", 6), ("S = {zebra}", 5)])
def test_errors_in_lists_point_to_the_place(text: str, offset: int) -> None:
    """Offsets refer to the submitted text."""
    with pytest.raises(Unreadable) as caught:
        parse_list(text, VOCABULARY)
    assert ("unknown-name", offset) == (caught.value.code, caught.value.offset)
