"""Test whether formulas are equal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import FormulaError, Undecided
from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow, Sym, Tuple
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse, parse_tuple
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points
from tests.formulas.examples import NAMES, VOCABULARY, polynomials

COMPARER = Comparer(Points(VOCABULARY.domains, b"a test"))
HEADS = COMPARER.with_assumptions([parse_single("d_model = n_heads*d_head", VOCABULARY)])


def equal(first: str, second: str, comparer: Comparer = COMPARER) -> bool:
    """Return the verdict on two texts."""
    return comparer.is_equal(parse(first, VOCABULARY), parse(second, VOCABULARY))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(d+h)^2", "d^2 + 2*d*h + h^2"),
        ("(d^2-h^2)/(d-h)", "d+h"),
        ("1/(1/d + 1/h)", "d*h/(d+h)"),
        ("0.1*d + 0.2*d", "0.3*d"),
        ("(d+1)^200", "(d+1)^199*(d+1)"),
        ("(d*h)^90", "d^90*h^90"),
        ("-(d*h)^90/d^89/2", "-0.5*d*h^90"),
        ("(d*h)^90*d^(-90)", "h^90"),
        ("(d*h)^90*max(1/2, 1/3)", "d^90*h^90/2"),
        ("(d*h)^90*sqrt(d)", "(d*h)^90*d^(1/2)"),
        ("sqrt(d)*sqrt(d)", "d"),
        ("sqrt(d^2)", "d"),
        ("sqrt(4)*d", "2d"),
        ("sqrt(2)*sqrt(3)", "sqrt(6)"),
        ("d^(1/2)", "sqrt(d)"),
        ("log(d*h)", "log(d) + log(h)"),
        ("log2(d)", "ln(d)/ln(2)"),
        ("log(d, 10)", "lg d"),
        ("exp(log(d))", "d"),
        ("e^d", "exp(d)"),
        ("2^(n+1)", "2*2^n"),
        ("2^n*2^d", "2^(n+d)"),
        ("n^n", "exp(n*log(n))"),
        ("n!", "n*(n-1)!"),
        ("5!", "120"),
        ("binomial(n, 2)", "n*(n-1)/2"),
        ("binomial(6, 2)", "15"),
        ("binomial(n,2)*binomial(d,2)", "n*(n-1)/2*d*(d-1)/2"),
        ("n!/(2*(n-2)!)", "binomial(n,2)"),
        ("binomial(n,3)+binomial(n,2)+n", "n*(n-1)*(n-2)/6+n*(n-1)/2+n"),
        ("max(d, h)", "max(h, d)"),
        ("max(d, h) + min(d, h)", "d + h"),
        ("max(2, 3)*d", "3d"),
        ("max(1, n)", "n"),
        ("sqrt((n-d)^2)", "max(n-d, d-n)"),
    ],
)
def test_equal(first: str, second: str) -> None:
    """Formulas that are equal for all positive whole numbers are equal in any notation."""
    assert equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("8*d^2", "8*d"),
        ("12*n_layers*d^2", "12"),
        ("d/3", "0.333333333333333333*d"),
        ("d + 1/10^300", "d"),
        ("(d+1)^200", "(d+1)^200 + 1"),
        ("(d*h)^90", "d^90*h^91"),
        ("sqrt(d)", "d"),
        ("sqrt(2)", "1.41421356237309504880168872420969807856967187537694"),
        ("sqrt((n-d)^2)", "n-d"),
        ("max(n, d)", "n"),
        ("max(n, d)", "d"),
        ("max(n, 1000)", "1000"),
        ("min(n, 1000)", "n"),
        ("log(d)", "lg(d)"),
        ("2^n", "n^2"),
        ("n!", "n^n"),
        ("pi", "3.14159265358979323846264338327950288419716939937510582097494459"),
        ("sqrt(d) + 2^(-300)", "sqrt(d)"),
        ("d/(h-h)", "d"),
        ("exp(1)^d", "2.718281828459045^d"),
        ("min(n, 10^9)", "n"),
        ("n + max(0, n - 10^20)", "n"),
        ("n*2^(1/10^60)", "n"),
        ("900! + 901!", "902*900! + 1"),
    ],
)
def test_different(first: str, second: str) -> None:
    """Formulas that differ for some values are different, however small the difference."""
    assert not equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("exp(exp(exp(exp(n))))", "n"),
        ("(((d^1000)^1000)^1000)", "d"),
        ("1/(d-d)", "2/(h-h)"),
        ("sqrt(d) + 2^(-900)", "sqrt(d)"),
        ("n*2^(10^-900)", "n"),
        ("n^(1 + 10^-900)", "n"),
        ("n*exp(10^-900)", "n"),
    ],
)
def test_beyond_the_limits_nothing_is_claimed(first: str, second: str) -> None:
    """Comparisons beyond the limits are undecided."""
    with pytest.raises(Undecided):
        equal(first, second)


@pytest.mark.parametrize(
    ("first", "second", "without"),
    [
        ("12*d^2", "4*n_heads*d_model*d_head + 8*d_model^2", False),
        ("d", "h*d_k", False),
        ("d*h", "h*d", True),
        ("sqrt(d)", "sqrt(h)*sqrt(d_k)", False),
    ],
)
def test_assumptions_are_substitutions(first: str, second: str, without: bool) -> None:
    """Under d_model = n_heads*d_head more formulas are equal; without it they differ."""
    assert equal(first, second, HEADS)
    assert without == equal(first, second)


def test_an_assumption_does_not_merge_everything() -> None:
    """Under an assumption, different formulas remain different."""
    assert not equal("11*d^2", "12*d^2", HEADS)


def test_chained_assumptions_are_settled_in_any_order() -> None:
    """An assumption may use a symbol that another assumption defines."""
    relations = [parse_single(text, VOCABULARY) for text in ("d_ff = 4*d_model", "d_model = n_heads*d_head")]
    for order in (relations, relations[::-1]):
        assert equal("2*d*d_ff", "8*(h*d_k)^2", COMPARER.with_assumptions(order))


@pytest.mark.parametrize(
    "texts",
    [
        ("d*h = n*d_k",),
        ("d = h", "h = d"),
        ("d = h", "d = n"),
        ("d = sqrt(h)",),
    ],
)
def test_unusable_assumptions_are_refused(texts: tuple[str, ...]) -> None:
    """An assumption must define one symbol by a rational formula, without cycles."""
    with pytest.raises(FormulaError):
        COMPARER.with_assumptions([parse_single(text, VOCABULARY) for text in texts])


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("d_model = n_heads*d_head", True),
        ("n_heads*d_head = d_model", True),
        ("d_head = d_model/n_heads", True),
        ("n_heads = d_model/d_head", True),
        ("d_model/n_heads = d_head", True),
        ("d_model - n_heads*d_head = 0", True),
        ("1 = n_heads*d_head/d_model", True),
        ("2*d_model = 2*n_heads*d_head", True),
        ("d_model*n = n*n_heads*d_head", True),
        ("d_head = d_model", False),
        ("d_model = n_heads + d_head", False),
        ("d_head = n_heads/d_model", False),
        ("d_model = 2*n_heads*d_head", False),
        ("d_model = d_model", False),
        ("0 = 0", False),
        ("1 = 1", False),
    ],
)
def test_relations_are_equal_in_every_arrangement(text: str, same: bool) -> None:
    """A relation may be solved for any symbol or for none."""
    right = parse_single("d_model = n_heads*d_head", VOCABULARY)
    assert same == COMPARER.is_equal(parse_single(text, VOCABULARY), right)
    assert same == COMPARER.is_equal(right, parse_single(text, VOCABULARY))


def test_relations_with_the_same_solutions_are_left_open() -> None:
    """The squared relation has the same positive solutions, but is undecided."""
    right = parse_single("d_model = n_heads*d_head", VOCABULARY)
    with pytest.raises(Undecided):
        COMPARER.is_equal(parse_single("d_model^2 = n_heads^2*d_head^2", VOCABULARY), right)


def test_tuples_are_equal_entry_by_entry() -> None:
    """Tuples are compared by order, length and value, in any notation."""
    right = parse_tuple("(3*d, 4*d)", VOCABULARY)
    assert COMPARER.is_equal(parse_tuple("(2d+d, d*4)", VOCABULARY), right)
    assert not COMPARER.is_equal(parse_tuple("(4*d, 3*d)", VOCABULARY), right)
    assert not COMPARER.is_equal(parse_tuple("(3*d, 4*d, 1)", VOCABULARY), right)
    assert not COMPARER.is_equal(parse("3*d", VOCABULARY), Tuple((Mul((Num(3), Sym("d_model"))),)))


def rearranged(node: Node) -> Node:
    """Return an equal tree: commuted, with moved signs, expanded powers and distributed sums."""
    match node:
        case Add(terms):
            return Add(tuple(rearranged(term) for term in reversed(terms)))
        case Mul((Add(terms), *rest)):
            return Add(tuple(Mul((*map(rearranged, rest), rearranged(term))) for term in terms))
        case Mul(factors):
            return Mul(tuple(rearranged(factor) for factor in reversed(factors)))
        case Neg(operand):
            return Mul((Neg(Num(1)), rearranged(operand)))
        case Div(numerator, denominator):
            return Mul((rearranged(numerator), Pow(rearranged(denominator), Neg(Num(1)))))
        case Pow(base, Num(3)):
            return Mul((rearranged(base), rearranged(base), rearranged(base)))
    return Div(Mul((Num(6), node)), Num(6))


def value(node: Node, at: dict[str, Fraction]) -> Fraction:
    """Return the value of a formula without using the code under test."""
    match node:
        case Num(number):
            return Fraction(number)
        case Sym(name):
            return at[name]
        case Neg(operand):
            return -value(operand, at)
        case Add(terms):
            return sum((value(term, at) for term in terms), Fraction(0))
        case Mul(factors):
            product = Fraction(1)
            for factor in factors:
                product *= value(factor, at)
            return product
        case Div(numerator, denominator):
            return value(numerator, at) / value(denominator, at)
        case Pow(base, exponent):
            return value(base, at) ** int(value(exponent, at))
    raise AssertionError(node)


@given(polynomials)
def test_equal_by_construction(node: Node) -> None:
    """A formula equals its rearranged form."""
    try:
        assert COMPARER.is_equal(node, rearranged(node))
    except Undecided:  # a division by zero at every point
        with pytest.raises(ZeroDivisionError):
            value(node, {name: Fraction(index + 5, 7) for index, name in enumerate(NAMES)})


@given(polynomials, polynomials, st.lists(st.integers(1, 50), min_size=len(NAMES), max_size=len(NAMES)))
def test_unequal_by_witness(first: Node, second: Node, values: list[int]) -> None:
    """Formulas with different values at some point are never equal."""
    at = {name: Fraction(number) for name, number in zip(NAMES, values, strict=True)}
    try:
        assume(value(first, at) != value(second, at))
    except ZeroDivisionError:
        assume(condition=False)
    assert not COMPARER.is_equal(first, second)


@given(polynomials, st.sampled_from(NAMES))
def test_a_changed_formula_is_different(node: Node, name: str) -> None:
    """Adding a term or a factor makes a different formula."""
    at = {known: Fraction(index + 5, 7) for index, known in enumerate(NAMES)}
    try:
        assume(value(node, at) != 0)
    except ZeroDivisionError:
        assume(condition=False)
    assert not COMPARER.is_equal(node, Add((node, Sym(name))))
    assert not COMPARER.is_equal(node, Mul((node, Sym(name))))


@pytest.mark.parametrize(
    ("domain", "same"), [("positive integer", True), ("positive", False), ("real", False)]
)
def test_domains_decide(domain: str, same: bool) -> None:
    """max(1, x) equals x for whole numbers, but not for all numbers."""
    vocabulary = Vocabulary({"x": Symbol(domain=domain)})
    comparer = Comparer(Points({"x": domain}, b"a test"))
    for _ in range(3):
        assert same == comparer.is_equal(parse("max(1, x)", vocabulary), parse("x", vocabulary))


@pytest.mark.parametrize(
    "letter", ["a", "C", "e", "E", "i", "I", "k", "N", "O", "Q", "S", "pi", "beta", "lambda"]
)
def test_verdicts_are_the_same_whatever_a_constant_is_called(letter: str) -> None:
    """A declared symbol has no other meaning, even if its name is also a number, function or word."""
    vocabulary = Vocabulary({"x": Symbol(domain="real"), letter: Symbol(domain="real")})
    comparer = Comparer(Points(vocabulary.domains, b"a test"))
    right = parse(f"{letter}*x + 2*{letter}", vocabulary)
    assert comparer.is_equal(parse(f"{letter}*(x + 2)", vocabulary), right)
    assert not comparer.is_equal(parse(f"{letter}*(x + 1)", vocabulary), right)
