"""Reading asymptotic statements, lists and sets, and relations."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.growth import compare_orders, compute_order
from autograder.formulas.nodes import Fn, Node, Relation
from autograder.formulas.notation.landau import SIGNS, get_body, get_sign, parse_landau, parse_statements
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.several import parse_chain, parse_list, parse_single
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY, functions, polynomials

MIXED = Vocabulary({
    "n": Symbol(), "d": Symbol(), "h": Symbol(), "p": Symbol("positive"), "x": Symbol("real"),
    "y": Symbol("real"), "z": Symbol("real"),
})  # fmt: skip
COMPARER = Comparer(Points(MIXED.domains, b"a test"))


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
    """The sign and the formula of each spelling."""
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
    """Each refusal has a code, and points to the place."""
    with pytest.raises(Unreadable) as caught:
        parse_landau(text, VOCABULARY)
    assert code == caught.value.code
    assert offset in (None, caught.value.offset)


def test_chains_of_statements() -> None:
    """Names are dropped, formulas and statements stay."""
    sides = parse_statements("T(n) = 3*n^2 + n = O(n^2)", VOCABULARY)
    assert ["3*n^2 + n", "O(n^2)"] == [to_text(side) for side in sides]


@given(polynomials | functions, st.sampled_from(SIGNS))
def test_what_is_written_is_read_again(tree: Node, sign: str) -> None:
    """parse → print → parse is the identity, and the statement can be typeset."""
    try:
        body = parse(to_text(tree), VOCABULARY)
    except Unreadable:
        assume(False)
        return
    statement = Fn(sign, (body,))
    assert statement == parse_landau(to_text(statement), VOCABULARY)
    assert f"<mi>{sign}</mi>" in to_mathml(statement)
    assert body == get_body(statement)


HOSTILE = [
    "O(" * 500,
    "O(" + "(" * 39 + "n" + ")" * 39 + ")",
    "O(" + "+".join(f"n^{k}*d^{30 - k}" for k in range(31)) + ")",
    "O(" + "*".join(["(n + d + h + L)"] * 80) + ")",
    "O(" + "*".join(["max(n, d)"] * 80) + ")",
    "O(" + "+".join(f"sqrt(n^{k} + d^{9 - k})" for k in range(9)) + ")",
    "O(" + "log(" * 30 + "n" + ")" * 30 + ")",
    "O(" + "sqrt(" * 30 + "n + d" + ")" * 30 + ")",
    "O(n^n^n^n)",
    "O(" + "+".join(f"{k + 2}^n" for k in range(60)) + ")",
    "O(" + "*".join(f"min(n, d^{k})" for k in range(30)) + ")",
    "O(" + "+".join(f"1/(n + {k})" for k in range(40)) + ")",
    "O(" + "9" * 390 + "^n)",
    "O(log(" + "9" * 390 + ") n)",
    "O(" + "+".join(f"n^{k}*log(d)^{12 - k}*{k + 2}^h" for k in range(12)) + ")",
    "O((n!)!)",
    "O(1000! n)",
    "O(" + "+".join(["n*d*h*L", "n^2*d", "d^2*h", "h^2*L", "L^2*n", "n^3", "d^3*log(n)", "h^3*log(d)"]) + ")",
    "O(2^(n+d+h+L) + 2^(n*d) + n^d + d^h)",
    "O(" + "max(" * 38 + "n, d" + ")" * 38 + ")",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_costly_statements_end(text: str) -> None:
    """Whatever is handed in, it is compared, refused or left open."""
    key = compute_order(parse_landau("O(n*d_model^2 + n^2*d_model*log(n))", VOCABULARY))
    with contextlib.suppress(Unreadable, Undecided):
        statement = parse_landau(text, VOCABULARY)
        compare_orders(key, compute_order(statement))


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
    """Separators, brackets and lines of lists and sets."""
    assert written == to_text(parse_list(text, VOCABULARY))


@pytest.mark.parametrize(("text", "offset"), [("{n, zebra}", 4), ("n and zebra", 6), ("S = {zebra}", 5)])
def test_errors_in_lists_point_to_the_place(text: str, offset: int) -> None:
    """Offsets are those of the text as it was handed in."""
    with pytest.raises(Unreadable) as caught:
        parse_list(text, VOCABULARY)
    assert ("unknown-name", offset) == (caught.value.code, caught.value.offset)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("n = d", ["n = d"]), ("n == d", ["n = d"]), (r"n \le d", ["n ≤ d"]), (r"n\leq d", ["n ≤ d"]),
        (r"n \leqslant d", ["n ≤ d"]), ("n =< d", ["n ≤ d"]), ("n ⩽ d", ["n ≤ d"]), (r"n \geq d", ["n ≥ d"]),
        ("n => d", ["n ≥ d"]), (r"n \lt d", ["n < d"]), ("n &lt; d", ["n < d"]), ("n &le; d", ["n ≤ d"]),
        ("n > d", ["n > d"]),
        ("Eq(n, d)", ["n = d"]), ("sp.Lt(n, d)", ["n < d"]), ("Ge(n, d + 1)", ["n ≥ d + 1"]),
        ("n = d < h", ["n = d", "d < h"]), (r"\left(n\right) = d", ["n = d"]),
    ],
)  # fmt: skip
def test_relations_in_every_spelling(text: str, links: list[str]) -> None:
    """Signs in ASCII, Unicode, LaTeX, HTML and as sympy writes them."""
    found = parse_chain(text, MIXED)
    assert links == [to_text(link) for link in found]
    assert found == tuple(parse_single(to_text(link), MIXED) for link in found)


@pytest.mark.parametrize(
    "text", ["n", "n != d", "n <", "< n", "n <> d", "Eq(n)", "n = = d", "=" * 2500, "n<" * 30]
)
def test_what_is_no_relation(text: str) -> None:
    """A relation has a sign between two formulas."""
    with pytest.raises(Unreadable):
        parse_chain(text, MIXED)


def verdict(first: str, second: str) -> bool | None:
    """Whether two relations are the same; None where that is left open. Turning the question round agrees."""
    verdicts = []
    for left, right in ((first, second), (second, first)):
        try:
            verdicts.append(COMPARER.is_equal(parse_single(left, MIXED), parse_single(right, MIXED)))
        except Undecided:
            verdicts.append(None)  # type: ignore[arg-type]
    assert verdicts[0] == verdicts[1]
    return verdicts[0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("n < d", "d > n", True),
        ("n < d", "2*n < 2*d", True),
        ("n < d", "n/d < 1", True),
        ("n < d", "-d < -n", True),
        ("n*h <= d", "h <= d/n", True),
        ("n < d", "n + 1 <= d", True),
        ("n < d", "n <= d - 1", True),
        ("n < d", "n > d", False),
        ("n < d", "n <= d", False),
        ("n < d", "n = d", False),
        ("n < d", "n < d + h", False),
        ("n^2 < d^2", "n < d", None),
        ("log(n) < log(d)", "n < d", None),
        ("x < y", "2*x < 2*y", True),
        ("x < y", "x*z < y*z", False),
        ("x < y", "-x < -y", False),
        ("x < y", "-x > -y", True),
        ("x = y", "2*x = 2*y", True),
        ("x*z = y*z", "x = y", None),
        ("n*d = n*h", "d = h", True),
        ("1/x < 1", "x > 1", False),
    ],
)
def test_inequalities(first: str, second: str, expected: bool | None) -> None:
    """The same, not the same, or left open; multiplying with what may be negative or zero proves nothing."""
    assert expected is verdict(first, second)


def test_numbers_that_are_not_whole_leave_no_gap() -> None:
    """Between a positive number and the next whole one there may be room."""
    assert verdict("p < n", "p + 1 <= n") in (False, None)
    assert verdict("x < y", "x + 1 <= y") in (False, None)


@given(st.text("nd hxOΘo()[]{}<>=≤+-*/^,;$\\ \n123and", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No reader raises anything but a refusal."""
    for reader in (parse_landau, parse_list, parse_chain):
        offset = -1
        try:
            reader(text, MIXED)
        except Unreadable as error:
            offset = error.offset
        assert -1 <= offset <= len(text)


def test_the_sign_is_part_of_a_relation() -> None:
    """The same sides with another sign are another relation, in words and typeset."""
    relation = Relation(parse("n", MIXED), parse("d", MIXED), "≤")
    assert relation != Relation(relation.left, relation.right)
    assert "<mo>≤</mo>" in to_mathml(relation)
    assert "<mo>&lt;</mo>" in to_mathml(Relation(relation.left, relation.right, "<"))
