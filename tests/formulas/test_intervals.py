"""Bounds of formulas over the domains of their symbols."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from flint import arb

from autograder.formulas.notation.parse import parse
from autograder.formulas.values.balls import ball, precision
from autograder.formulas.values.evaluate import TooLarge, Undefined
from autograder.formulas.values.intervals import enclose
from tests.formulas.test_definedness import DOMAINS, VOCABULARY

FORMULAS = (
    "n - 1", "1 - p", "1 - p^2", "(1-2*p)^n", "x*x", "x^2*y^2", "x^3 - y", "1/n - 1", "1/x", "1/u", "z/(1+z)",
    "sqrt(n) - 1", "n^0.5", "n^(-0.5)", "p^(1/3)", "d^(-n)", "p^n", "x^n", "exp(x) - 1", "exp(-z)", "ln(n)",
    "ln(p)", "lg(u+1)", "abs(x) - 1", "abs(x - 3)", "sigmoid(x)", "1 - sigmoid(z)", "tanh(z)", "tanh(x)",
    "sin(x)^2", "1 - cos(x)", "max(x, 1)", "min(n, d, 3)", "max(-z, -1)", "ceil(n/2)", "floor(p*3)",
    "(n + d)!", "binomial(n, 2)", "pi - e", "-(x^4)", "(x-y)*(x-y)", "x*y*x", "n^400", "(z^40)^40", "2^(-n)",
)  # fmt: skip


def _draw(domain: str, numbers: random.Random) -> Fraction:
    if domain == "positive integer":
        return Fraction(numbers.choice((1, 1, 2, 3, 7, 40)))
    if domain in ("probability", "unit"):
        return Fraction(numbers.randint(1, 99), 100)
    value = Fraction(numbers.randint(1, 400), 40)
    return -value if domain == "real" and numbers.random() < 0.5 else value


@pytest.mark.parametrize("text", FORMULAS)
def test_enclose_holds_every_value(text: str) -> None:
    """No value at any point of the domain lies outside the bounds."""
    node, numbers = parse(text, VOCABULARY), random.Random(text)
    bounds, seen = enclose(node, DOMAINS), 0
    with precision(128):
        for _ in range(60):
            drawn = {name: _draw(domain, numbers) for name, domain in DOMAINS.items()}
            at = {name: arb(value.numerator) / value.denominator for name, value in drawn.items()}
            try:
                value = ball(node, at)
            except (Undefined, TooLarge):
                continue
            if not value.is_finite():
                continue
            seen += 1
            assert bounds.low == -math.inf or value >= _ball(bounds.low) or value.overlaps(_ball(bounds.low))
            assert (
                bounds.high == math.inf or value <= _ball(bounds.high) or value.overlaps(_ball(bounds.high))
            )
            assert not (bounds.is_nonzero and value.is_zero())
    assert seen


def _ball(bound: Fraction | float) -> arb:
    return arb(bound.numerator) / bound.denominator if not isinstance(bound, float) else arb(bound)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("n - 1", 0, math.inf),
        ("1 - p", 0, 1),
        ("x*x + y^2", 0, math.inf),
        ("1 + exp(-x)", 1, math.inf),
        ("1 - sin(x)^2", 0, 1),
        ("ln(n)", 0, math.inf),
        ("x", -math.inf, math.inf),
        ("(-1)^n", -math.inf, math.inf),
    ],
)
def test_enclose_is_tight_enough(text: str, low: float, high: float) -> None:
    """The usual arguments of roots and logarithms are bounded as closely as proofs need."""
    bounds = enclose(parse(text, VOCABULARY), DOMAINS)
    assert (low, high) == (bounds.low, bounds.high)
