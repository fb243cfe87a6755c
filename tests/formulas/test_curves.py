"""Test sigmoid, hyperbolic tangent, sine, cosine and absolute value: reading, comparing and writing."""

from __future__ import annotations

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Fn, Sym
from autograder.formulas.notation.parse import parse, parse_canonical
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.latex import to_latex
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.points import Points

DOMAINS = ("positive integer", "positive", "real")


def vocabulary(domain: str) -> Vocabulary:
    """Return a vocabulary of two symbols with this domain."""
    return Vocabulary({"x": Symbol(domain), "y": Symbol(domain)})


def equal(first: str, second: str, domain: str) -> bool:
    """Return whether two formulas are equal for all values of the domain."""
    symbols = vocabulary(domain)
    return Comparer(Points(symbols.domains, b"a test")).is_equal(
        parse(first, symbols), parse(second, symbols)
    )


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sigmoid(x)", "1/(1+exp(-x))"),
        ("sigmoid(x)", "exp(x)/(1+exp(x))"),
        ("sigmoid(-x)", "1-sigmoid(x)"),
        ("sigmoid(x)*(1-sigmoid(x))", "exp(-x)/(1+exp(-x))^2"),
        ("tanh(x)", "2*sigmoid(2*x)-1"),
        ("tanh(x)", "(exp(x)-exp(-x))/(exp(x)+exp(-x))"),
        ("1-tanh(x)^2", "4/(exp(x)+exp(-x))^2"),
        ("sin(x)^2+cos(x)^2", "1"),
        ("sin(2*x)", "2*sin(x)*cos(x)"),
        ("cos(x+y)", "cos(x)*cos(y)-sin(x)*sin(y)"),
        ("|x|", "sqrt(x^2)"),
        ("|x|", "max(x, -x)"),
        ("|x|*|y|", "|x*y|"),
    ],
)
def test_identities_hold(first: str, second: str, domain: str) -> None:
    """Identities hold for symbols of any domain."""
    assert equal(first, second, domain)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sigmoid(x)", "1"), ("sigmoid(x)", "tanh(x)"), ("sigmoid(x)", "1/(1+exp(x))"), ("tanh(x)", "x"),
        ("sin(x)", "cos(x)"), ("sin(x)", "x"), ("sin(x/10000)", "sin(x/1000)"), ("cos(x)", "1"),
        ("sigmoid(x)", "sigmoid(x+1)"), ("|x-y|", "x-y"), ("|x-y|", "x+y"), ("|x|", "0"),
        ("x + sigmoid(x)", "x + 1"), ("tanh(x)^2", "1"),
    ],
)  # fmt: skip
def test_what_differs_is_told_apart(first: str, second: str, domain: str) -> None:
    """Formulas with close values, at one end or near zero, are different."""
    assert not equal(first, second, domain)


def test_a_positive_symbol_is_its_own_absolute_value() -> None:
    """For a positive symbol, |x| is x; for a real one it stays an absolute value."""
    assert Sym("x") == parse("|x|", vocabulary("positive"))
    assert Fn("abs", (Sym("x"),)) == parse("|x|", vocabulary("real"))


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "sin", "cos", "abs"])
def test_they_are_written_and_read_again(name: str) -> None:
    """Curves are read again unchanged from text and LaTeX, also as a base, a factor or an argument."""
    symbols = vocabulary("real")
    for text in (f"{name}(x)", f"{name}(x-y)^2", f"2*{name}(x)*{name}(y)", f"{name}({name}(x)+1)"):
        tree = parse(text, symbols)
        assert tree == parse_canonical(to_text(tree), symbols)
        assert tree == parse(to_latex(tree), symbols)
        assert "<math" in to_mathml(tree)


def test_a_symbol_of_that_name_comes_first() -> None:
    """If σ is declared, σ(x) is a product."""
    symbols = Vocabulary({"σ": Symbol("positive"), "x": Symbol("real")})
    assert parse("σ*x", symbols) == parse("σ(x)", symbols) == parse(r"\sigma(x)", symbols)
