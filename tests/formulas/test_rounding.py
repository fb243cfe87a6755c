"""Test the comparison of formulas with ceilings and floors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Add, Div, Fn, Mul, Node, Num, Sym
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY

COMPARER = Comparer(Points(VOCABULARY.domains, b"a test"))


def equal(first: str, second: str) -> bool:
    """Return the verdict on two texts."""
    return COMPARER.is_equal(parse(first, VOCABULARY), parse(second, VOCABULARY))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ceil(n/2)", "floor((n+1)/2)"),
        ("ceil(n/2)", "(n+1)//2"),
        ("⌈n/2⌉", r"\lceil \frac{n}{2} \rceil"),
        (r"\left\lfloor n/2 \right\rfloor", "n//2"),
        ("floor(n/d) + 1", "floor((n+d)/d)"),
        ("floor((n - d)/h) + 1", "(n - d + h)//h"),
        ("ceil(-n/d)", "-floor(n/d)"),
        ("floor(floor(n/2)/3)", "floor(n/6)"),
        ("16*d^2//2", "8*d^2"),
        ("floor(n)", "n"),
        ("n*(n - 1)//2", "n*(n - 1)/2"),
        ("ceil(n*(n + 1)*(n + 2)/6)", "n*(n + 1)*(n + 2)/6"),
        ("(n^3 - n)*d//3", "(n^3 - n)*d/3"),
        ("n*d//d + n//2", "n + n//2"),
        ("ceil(7/2)*d", "4d"),
        ("ceil(log2(n))", "ceil(log2(n))"),
        ("ceil(n/d)", "(n + d - 1)//d"),
        ("ceil(n/d)", "-(-n//d)"),
        ("floor((n + 2*h - d)/L) + 1", "ceil((n + 2*h - d + 1)/L)"),
        ("ceil(ceil(n/d)/h)", "(n - 1)//(d*h) + 1"),
        ("floor((floor(n/d) + h)/L)", "(n/d + h)//L"),
        ("floor(n/1000003) + 1", "ceil((n + 1)/1000003)"),
    ],
)
def test_equal(first: str, second: str) -> None:
    """Rounded formulas with the same values everywhere are equal."""
    assert equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("floor(n/2)", "n/2"),
        ("ceil(n/d)", "(n + d)//d"),
        ("ceil(n/d)", "n//d + 1"),
        ("floor((n + 2*h - d)/L) + 1", "ceil((n + 2*h - d)/L) + 1"),
        ("floor(floor(n/d)/h)", "n//(d + h)"),
        ("floor((floor(n/d) + 1)/h)", "(n + 1)//(d*h)"),
        ("n/2", "floor(n/2)"),
        ("ceil(n/2)", "floor(n/2) + 1"),
        ("floor(n/7) + 1", "ceil(n/7)"),
        ("floor(n/d)", "n/d"),
        ("ceil(n/d)", "floor(n/d) + 1"),
        ("ceil(log2(n))", "n"),
        ("d*floor(n/d)", "n"),
        ("n*d//(d+d)", "n/2"),
        ("n*d//(2*d)", "n/2"),
    ],
)
def test_different(first: str, second: str) -> None:
    """Formulas that differ for a single class of remainders are different."""
    assert not equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("floor(n/2) + ceil(n/2)", "n"),
        ("floor(n^2/4)", "floor(n/2)*ceil(n/2)"),
        ("n*d//d + n//2 + ceil(n/2)", "2n"),
        ("(n*d)//(2*d) + ceil(n/2)", "n"),
        ("floor(n/1000003) + floor((n + 500000)/1000003)", "floor(2*n/1000003)"),
        ("ceil(log2(n))", "ceil(ln(n)/ln(2))"),
        ("floor(n/(d-d))", "n"),
    ],
)
def test_what_is_not_proven_is_left_open(first: str, second: str) -> None:
    """Agreement at some points is no proof, so the comparison is undecided."""
    with pytest.raises(Undecided):
        equal(first, second)


def test_assumptions_hold_inside_the_brackets() -> None:
    """Under d_model = n_heads*d_head, the quotient is whole."""
    heads = COMPARER.with_assumptions([parse_single("d_model = n_heads*d_head", VOCABULARY)])
    assert heads.is_equal(parse("d_model//n_heads", VOCABULARY), parse("d_head", VOCABULARY))
    assert not equal("d_model//n_heads", "d_head")


_leaves = st.integers(1, 6).map(Num) | st.sampled_from(["n", "d_model"]).map(Sym)


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    divided = st.builds(Div, inner, st.integers(1, 4).map(Num))
    return st.one_of(
        st.tuples(inner, inner).map(Add),
        st.tuples(inner, inner).map(Mul),
        divided.map(lambda node: Fn("floor", (node,))),
        divided.map(lambda node: Fn("ceil", (node,))),
    )


def value(node: Node, at: dict[str, int]) -> Fraction:
    """Return the value of a formula without using the code under test."""
    match node:
        case Num(number):
            return Fraction(number)
        case Sym(name):
            return Fraction(at[name])
        case Add(terms):
            return sum((value(term, at) for term in terms), Fraction(0))
        case Mul((first, second)):
            return value(first, at) * value(second, at)
        case Div(numerator, denominator):
            return value(numerator, at) / value(denominator, at)
        case Fn("ceil", (inner,)):
            return Fraction(math.ceil(value(inner, at)))
        case Fn("floor", (inner,)):
            return Fraction(math.floor(value(inner, at)))
    raise AssertionError(node)


@settings(max_examples=150, deadline=None)
@given(st.recursive(_leaves, _larger, max_leaves=5), st.recursive(_leaves, _larger, max_leaves=5))
def test_verdicts_agree_with_looking(first: Node, second: Node) -> None:
    """Formulas that are called equal have equal values at all small points."""
    points = [{"n": n, "d_model": d} for n, d in itertools.product(range(1, 14), repeat=2)]
    same = all(value(first, at) == value(second, at) for at in points)
    try:
        verdict = COMPARER.is_equal(first, second)
    except Undecided:
        return
    assert verdict <= same
