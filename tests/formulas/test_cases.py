"""Test the comparison of maxima, minima and absolute values by cases."""

from __future__ import annotations

from fractions import Fraction

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.forms import linear
from autograder.formulas.forms.signs import is_never_negative
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points

VOCABULARY = Vocabulary({
    **{name: Symbol() for name in ("n", "d", "h", "k", "d_ff", "d_model", "n_heads", "t", "w")},
    "x": Symbol("real"), "y": Symbol("real"), "p": Symbol("probability"), "q": Symbol("probability"),
    "a": Symbol("positive"), "u": Symbol("unit"),
})  # fmt: skip
POINTS = Points(VOCABULARY.domains, b"a test")
COMPARER = Comparer(POINTS)


def equal(first: str, second: str) -> bool | None:
    """Return the verdict on two texts; None if undecided."""
    try:
        return COMPARER.is_equal(parse(first, VOCABULARY), parse(second, VOCABULARY))
    except Undecided:
        return None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("n*max(4d, d_ff, h*n)", "max(4*n*d, n*d_ff, h*n^2)"),
        ("max(n, d) + min(n, d)", "n + d"),
        ("max(n, d)*min(n, d)", "n*d"),
        ("max(n, max(d, h))", "max(h, d, n)"),
        ("-min(-n, -d)", "max(n, d)"),
        ("max(n, min(d, n))", "n"),
        ("log(max(n, d))", "max(log(n), log(d))"),
        ("2^max(n, d)", "max(2^n, 2^d)"),
        ("max(1, n)", "n"),
        ("abs(n - d)", "max(n, d) - min(n, d)"),
        ("(x + abs(x))/2", "max(0, x)"),
        ("abs(x*y)", "abs(x)*abs(y)"),
        ("abs(n*d)", "n*d"),
        ("max(x, y) + ln(1 + exp(-abs(x - y)))", "ln(exp(x) + exp(y))"),
        ("min(1, t/w)", "min(t, w)/w"),
        ("d^(-1/2)*min(t^(-1/2), t*w^(-3/2))", "min(1/sqrt(t), t/w^(3/2))/sqrt(d)"),
        ("floor(max(n, d)/2)", "max(floor(n/2), d//2)"),
        ("(n + d + sqrt((n-d)^2))/2", "max(n, d)"),
        ("sqrt(x^2)", "max(x, -x)"),
        ("sqrt((x*y)^2)", "sqrt(x^2)*sqrt(y^2)"),
        ("max(0, x) - max(0, -x)", "x"),
        ("log(1 + exp(x))", "max(0, x) + log(1 + exp(-sqrt(x^2)))"),
        ("max(p, 1-p)", "1 - min(p, 1-p)"),
        ("max(p*q, p)", "p"),
        ("max(ln(n), sqrt(n), d)", "max(n^(1/2), log(n), d)"),
        ("n + 2*max(n, d, n^(1/3)*d^(2/3))", "max(d, n, d^(2/3)*n^(1/3))*2 + n"),
    ],
)
def test_equal(first: str, second: str) -> None:
    """Maxima are equal if every case is; impossible cases do not count."""
    assert equal(first, second)
    assert equal(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("max(4*n*d, h*n^2)", "max(4*n*d, n*d_ff, h*n^2)"),
        ("max(n, d)", "max(n, d, 1000)"),
        ("max(n, d)", "max(n, d, n + d - 10^6)"),
        ("max(n^2 + d^2, 3n*d)", "n^2 + d^2"),
        ("max(n, d, h)", "max(n, d, h, k)"),
        ("max(n, d)", "min(n, d)"),
        ("min(n, 10^9)", "n"),
        ("max(1000000*n, d)", "1000000*n"),
        ("max(n, d)", "n + d"),
        ("max(x, 0)", "x"),
        ("max(p, q)", "p"),
        ("max(a, 1)", "a"),
        ("max(n, sqrt(d))", "n"),
        ("min(1/sqrt(t), t/w^(3/2))", "min(1/sqrt(t), t/w^(1/2))"),
        ("max(2n - 10, n, d)", "max(n, d)"),
        ("max(100n, n^2, 49n + 2500)", "max(100n, n^2)"),
    ],
)
def test_different(first: str, second: str) -> None:
    """A missing argument makes a difference if it decides anywhere."""
    assert equal(first, second) is False
    assert equal(second, first) is False


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("max(n^2, d^2, n*d)", "max(n^2, d^2)"),
        ("max(n^2 + d^2, 2n*d)", "n^2 + d^2"),
        ("max(n, d, n/2 + d/2)", "max(n, d)"),
        ("max(sqrt(n*d), n, d)", "max(n, d)"),
        ("max(sqrt(n), n)", "n"),
        ("max(log(n), n)", "n"),
        ("max(p, 1-p, 1/2)", "max(p, 1-p)"),
        ("max(n, d, n^(1/3)*d^(2/3))", "max(n, d)"),
        ("max(3n - 1, n^2 + 1)", "n^2 + 1"),
    ],
)
def test_arguments_that_may_never_decide_go_to_a_person(first: str, second: str) -> None:
    """An argument that never decides at sampled points is undecided, unless there is an easy proof."""
    assert equal(first, second) is None


@pytest.mark.parametrize("number", [78, 111, 161, 227, 246, 260])
def test_a_tie_in_one_formula_hides_no_difference(number: int) -> None:
    """A tie at the sampled points does not hide a difference: the comparison is undecided."""
    least = "2*d_ff - 4*n_heads, 4*d_model, n_heads*n"
    first, second = f"min(2*n_heads^2*d_model, {least})", f"min({least})"
    comparer = Comparer(Points(VOCABULARY.domains, f"secret {number}".encode()))
    with pytest.raises(Undecided):
        comparer.is_equal(parse(first, VOCABULARY), parse(second, VOCABULARY))


def test_argument_that_decides_only_inside_an_idle_maximum_is_undecided() -> None:
    """The maximum is above the other argument of the minimum at all sampled points.

    Therefore each argument decides somewhere, but none changes the sampled values. For ``d_ff = d_model = 1``
    and 1,000 heads, the two formulas differ.
    """
    formula = (
        "min(max(n + {}*d_model*d_ff, d_ff*d_ff, 59*d_ff*n_heads*d_ff + 26*d_ff + 3*d_model*n_heads*d_model),"
        " 48*d_ff*n_heads + n_heads*n_heads)"
    )
    assert equal(formula.format(3), formula.format(13)) is None


def test_linear_inequalities_are_decided_exactly() -> None:
    """Infeasible systems of linear inequalities are found exactly, also with whole variables."""
    third = Fraction(1, 3)
    assert linear.is_infeasible([{"x": Fraction(1), "y": -third}, {"x": Fraction(-3), "y": Fraction(1)}])
    assert not linear.is_infeasible([{"x": Fraction(1), "y": -third}, {"x": Fraction(-2), "y": Fraction(1)}])
    assert linear.is_infeasible([{"x": Fraction(-1)}])
    assert not linear.is_infeasible([{"x": Fraction(-1)}], {"x"})


@pytest.mark.parametrize(
    ("text", "never_negative", "positive"),
    [
        ("n", True, True),
        ("n*d - 1 + n", True, True),
        ("n - 1", True, False),
        ("n^2 - n", True, False),
        ("n - d", False, False),
        ("2*n*d - n - d", True, False),
        ("p - p^2", True, True),
        ("1 - u", True, False),
        ("1 - u^2 + n", True, False),
        ("1/n - 1", False, False),
        ("x^2", True, False),
        ("x^2 + n", True, True),
        ("exp(x) + sqrt(y)", True, True),
        ("a", True, True),
        ("a - a^2", False, False),
        ("sqrt(n)*d - sqrt(n)", True, False),
        ("log(a)", False, False),
        ("abs(x) + max(y, 1)", True, True),
        ("-n", False, False),
        ("n/(d - h)", False, False),
    ],
)
def test_signs(text: str, never_negative: bool, positive: bool) -> None:
    """Simple formulas that are never negative, or always positive, are recognised."""
    node = parse(text, VOCABULARY)
    assert never_negative is is_never_negative(node, VOCABULARY.domains)
    assert positive is is_never_negative(node, VOCABULARY.domains, strictly=True)
