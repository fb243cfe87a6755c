"""Test orders of growth: tables of pairs, polynomials against brute force, and statements."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product as combinations_of

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autograder.formulas.errors import Undecided
from autograder.formulas.growth import GrowthComparison, compare_orders, compute_order
from autograder.formulas.nodes import Add, Div, Fn, Mul, Node, Num, Pow, Sym
from autograder.formulas.notation.landau import parse_landau
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from tests.questions.general.form_exam import check_of, outcome

VOCABULARY = Vocabulary({name: Symbol() for name in ("n", "d", "h", "k")})
SYMBOLS = ("n", "d", "h")


def at_most(first: str, second: str) -> bool:
    """Return whether one formula is at most a constant times another."""
    return compare_orders(
        compute_order(parse(first, VOCABULARY)), compute_order(parse(second, VOCABULARY))
    ).at_most


ALIKE = [
    ("12*n*d^2 + n^2*d", "n*d*max(n, d)"),
    ("n*(n - 1)/2", "n^2"),
    ("(n + d)^2", "n^2 + d^2"),
    ("(n + 1)^60", "n^60"),
    ("(n + d)^100/(n + d)^99", "n + d"),
    ("sqrt(n^2 + d^2)", "max(n, d)"),
    ("min(n, d)", "n*d/(n + d)"),
    ("min(n, d)*max(n, d)", "n*d"),
    ("min(n, n^2, 5*n*log(n))", "n"),
    ("1/(1/n + 1/d)", "min(n, d)"),
    ("log(n*d)", "log(n + d)"),
    ("log(n^5 + d)", "log(n) + log(d)"),
    ("log_2(n)", "lg(n)"),
    ("log(n!)", "n*log(n)"),
    ("n!", "n^(n + 1/2)/e^n"),
    ("binomial(n, 3)", "n^3"),
    ("2^(n + 5)", "2^n"),
    ("2^(2*n)", "4^n"),
    ("exp(n*log(2))", "2^n"),
    ("2^(log_2(n))", "n"),
    ("4^(log_2(n))", "n^2"),
    ("7^(log_2(n))", "n^(log_2(7))"),
    ("n^(log_4(2))", "sqrt(n)"),
    ("3*(n/2)^(log_2(3))", "n^(log_2(3))"),
    ("n^(1/log(n))", "1"),
    ("2^(1/n)", "1"),
    ("log(2^n + n)", "n"),
    ("log(log(n^2))", "log(log(n))"),
    ("n^2.5", "n^2*sqrt(n)"),
    ("n/log(n) + sqrt(n)", "n/log(n)"),
    ("n^3/(n + 1)", "n^2"),
    ("(n^2 - n)/(n + 7) + 3", "n"),
    ("2^n - n^5", "2^n"),
    ("7", "1"),
    ("n*pi + e", "n"),
]
BELOW = [
    ("n^2*d", "n*d^2 + n^2*d"),
    ("n*d", "n^2 + d^2"),
    ("n^2*d", "n^3 + d^3 + n"),
    ("n*log(n)", "n^1.01"),
    ("log(n)^9", "n^(1/9)"),
    ("log(log(n))", "log(n)"),
    ("n*log(n)*log(log(n))", "n*log(n)^2"),
    ("2^n", "3^n"),
    ("n^9*2^n", "2.01^n"),
    ("2^n", "n!"),
    ("n!", "n^n"),
    ("n^n", "2^(n^2)"),
    ("2^n", "2^(n*d)"),
    ("2^sqrt(n)", "2^n"),
    ("n^5", "2^sqrt(n)"),
    ("n^log(n)", "2^sqrt(n)"),
    ("n^2.8", "n^(log_2(7))"),
    ("min(n, d)", "n"),
    ("n", "n + d"),
    ("sqrt(n*d)", "n + d"),
    ("log(n)*log(d)", "n*d"),
    ("n^2*d*log(n)", "n^4 + d^4"),
    ("n*d*log(d)^3", "n^2.5 + d^2.5"),
    ("1", "log(log(n))"),
    ("n/d", "n"),
    ("1/n", "1"),
]
APART = [
    ("n^2", "d^2"),
    ("n*log(d)", "n*log(n)"),
    ("n^2*d", "n*d^2"),
    ("n^2*d^2", "n^3 + d^3"),
    ("n/d", "1"),
    ("2^n", "d^n/d^d"),
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_alike(first: str, second: str) -> None:
    """Each formula is at most a constant times the other."""
    assert at_most(first, second)
    assert at_most(second, first)


@pytest.mark.parametrize(("first", "second"), BELOW)
def test_below(first: str, second: str) -> None:
    """The formulas are bounded in one direction only."""
    assert at_most(first, second)
    assert not at_most(second, first)


@pytest.mark.parametrize(("first", "second"), APART)
def test_apart(first: str, second: str) -> None:
    """The formulas are bounded in neither direction."""
    assert not at_most(first, second)
    assert not at_most(second, first)


@pytest.mark.parametrize(
    "text",
    [
        "n - d", "(n - d)^2", "0^n", "log(n/d)", "log(1 + 1/n)", "(n + 1)^n", "exp(exp(n))", "2^(n/(n + d))",
        "binomial(n, d)", "(n + d)!", "(-2)^n", "sqrt(n - d)", "1/(n - n)", "log(n - n)",
        "max(n, -d)", "2^max(n, d)", "log(pi)", "n^pi", "n^(log_6(3))", "(n + d)^(log_2(3))",
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_left_open(text: str) -> None:
    """A formula that the method cannot handle is undecided."""
    with pytest.raises(Undecided):
        compute_order(parse(text, VOCABULARY))


def test_rounding() -> None:
    """Rounding up keeps an order of at least 1; rounding down keeps orders that grow beyond it."""
    n, d = Sym("n"), Sym("d")
    assert compare_orders(compute_order(Fn("ceil", (Div(n, Num(2)),))), compute_order(n)).alike
    assert compare_orders(compute_order(Fn("ceil", (Div(Num(1), n),))), compute_order(Num(1))).alike
    assert compare_orders(compute_order(Fn("floor", (Div(n, Num(2)),))), compute_order(n)).alike
    for small in (Div(Num(1), n), Div(n, d)):
        with pytest.raises(Undecided):
            compute_order(Fn("floor", (small,)))


def powers() -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Return exponents of a few products of powers of three symbols."""
    exponents = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
    return st.lists(exponents, min_size=1, max_size=4)


def polynomial(rows: list[tuple[int, ...]]) -> Node:
    """Return the sum of the products with numerical coefficients."""
    terms = [
        Mul((
            Num(number + 2),
            *(Pow(Sym(name), Num(power)) for name, power in zip(SYMBOLS, row, strict=True)),
        ))
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return terms[0] if len(terms) == 1 else Add(tuple(terms))


DIRECTIONS = [way for way in combinations_of(range(13), repeat=3) if math.gcd(*way) == 1]


def steepest(rows: list[tuple[int, ...]], way: tuple[int, ...]) -> int:
    """Return the degree of a sum if each symbol grows like the given power of one variable."""
    return max(sum(power * speed for power, speed in zip(row, way, strict=True)) for row in rows)


@settings(max_examples=150, deadline=None)
@given(powers(), powers())
def test_polynomials_against_every_direction(
    first: list[tuple[int, ...]], second: list[tuple[int, ...]]
) -> None:
    """A polynomial bounds another if its degree is at least as large in each of the few directions."""
    expected = all(steepest(first, way) <= steepest(second, way) for way in DIRECTIONS)
    assert (
        expected
        == compare_orders(compute_order(polynomial(first)), compute_order(polynomial(second))).at_most
    )


def formulas() -> st.SearchStrategy[Node]:
    """Return random positive formulas with sums, quotients, roots, logarithms, maxima and minima."""
    leaves = st.sampled_from(SYMBOLS).map(Sym) | st.integers(1, 9).map(Num)

    def larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            several.map(Add),
            several.map(Mul),
            st.builds(Div, inner, inner),
            st.builds(Pow, inner, st.sampled_from([Num(2), Num(3), Num(Fraction(1, 2))])),
            several.map(lambda parts: Fn("max", parts)),
            several.map(lambda parts: Fn("min", parts)),
            inner.map(lambda part: Fn("log", (Add((part, Num(2))),))),
            inner.map(lambda part: Fn("sqrt", (part,))),
        )

    return st.recursive(leaves, larger, max_leaves=8)


def proven(first: Node, second: Node) -> GrowthComparison | None:
    """Return the comparison of two formulas, or None if it is undecided."""
    try:
        return compare_orders(compute_order(first), compute_order(second))
    except Undecided:
        return None


@settings(max_examples=150, deadline=None)
@given(formulas(), formulas())
def test_comparing_is_consistent(first: Node, second: Node) -> None:
    """A formula is like its multiples; comparing is antisymmetric; a sum bounds its terms."""
    forth, back = proven(first, second), proven(second, first)
    assume(forth is not None and back is not None)
    assert forth is not None
    assert back is not None
    assert (forth.at_most, forth.at_least) == (back.at_least, back.at_most)
    multiple = proven(first, Mul((Num(7), first)))
    assert multiple is None or multiple.alike
    for part in (first, second):
        whole = proven(part, Add((first, second)))
        assert whole is None or whole.at_most


def test_the_symbols_that_make_the_difference() -> None:
    """The comparison names symbols that grow too fast or too slowly while the others are fixed."""
    asked_order = compute_order(parse_landau("O(n*d^2 + n^2*d)", VOCABULARY))
    missing = compare_orders(asked_order, compute_order(parse_landau("O(n^2*d)", VOCABULARY)))
    loose = compare_orders(asked_order, compute_order(parse_landau("O(n^2*d^3)", VOCABULARY)))
    other = compare_orders(asked_order, compute_order(parse_landau("O(n^3*h)", VOCABULARY)))
    assert (False, True, ("d",), ()) == (
        missing.at_most, missing.at_least, missing.faster_in, missing.slower_in,
    )  # fmt: skip
    assert (True, False, (), ("d",)) == (loose.at_most, loose.at_least, loose.faster_in, loose.slower_in)
    assert (("d",), ("h", "n")) == (other.faster_in, other.slower_in)


def test_symbols_of_several_letters_make_the_difference_as_well() -> None:
    """A symbol of several letters is reported with its whole name."""
    vocabulary = Vocabulary({name: Symbol() for name in ("d", "n_heads")})
    asked_order, written = (compute_order(parse(text, vocabulary)) for text in ("n_heads^2*d", "n_heads*d"))
    assert ("n_heads",) == compare_orders(asked_order, written).faster_in
    assert ("n_heads",) == compare_orders(written, asked_order).slower_in


def test_assumptions_are_put_in_first() -> None:
    """Under ``d = h*k``, ``h*k*n`` has the same order as ``d*n``."""
    assumption = ("d", parse("h*k", VOCABULARY))
    left, right = parse("d*n", VOCABULARY), parse("h*k*n", VOCABULARY)
    assert compare_orders(compute_order(left, [assumption]), compute_order(right, [assumption])).alike
    assert not compare_orders(compute_order(left), compute_order(right)).at_most


@pytest.mark.parametrize(
    ("first", "second", "at_most"),
    [
        ("n*log(n)", "n^(log_6(3))", False),
        ("sqrt(n)", "n^(log_6(3))", True),
        ("n^3", "n^pi", True),
        ("n^4", "n^pi", False),
        ("2^n", "3^n/2^n", False),
        ("n", "ceil(n) - n", False),
        ("sqrt(n)", "(1/n)!", False),
        ("(n + d)^2", "(n + d)^(log_2(3))", False),
        ("1", "log(max(1/2, 1)*2)", True),
    ],
)
def test_what_is_hard_to_tell_is_never_told_wrongly(first: str, second: str, at_most: bool) -> None:
    """For constants without a simple form, the verdict is right or undecided."""
    comparison = proven(parse(first, VOCABULARY), parse(second, VOCABULARY))
    assert comparison is None or (comparison.at_most, comparison.at_least) == (at_most, not at_most)


SIGNS = ("O", "Θ", "Ω")
RIGHT = {(sign, sign) for sign in SIGNS} | {("O", "Θ"), ("Ω", "Θ")}
"""Required and written sign for the same order: Θ implies O and Ω."""


@pytest.mark.parametrize("expected", SIGNS)
@pytest.mark.parametrize("written", SIGNS)
def test_statements_of_every_sign(expected: str, written: str) -> None:
    """The sign is judged separately from the order."""
    pairs = [(pair, True, True) for pair in ALIKE[:9]]
    pairs += [(pair, True, False) for pair in BELOW[:9]] + [(pair[::-1], False, True) for pair in BELOW[:9]]
    for (first, second), at_most, at_least in pairs:
        check = check_of(f'form = "asymptotic"\naccept = ["{expected}({first})"]\n')
        code, points = outcome(check, f"{written}({second})")
        same = at_most and at_least
        assert (points > 0) == (same and (expected, written) in RIGHT), (first, second)
        assert (code == "asymptotic.sign") == (same and (expected, written) not in RIGHT), (first, second)
        loose = (expected == written == "O" and at_most) or (expected == written == "Ω" and at_least)
        assert code.startswith("asymptotic.not-tight") == (loose and not same), (first, second)
