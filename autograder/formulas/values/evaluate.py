"""Evaluate formulas exactly at given points. Bounded in time and memory.

At points of 90 bits, an exponent with a small value is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from autograder.formulas.nodes import Add, Div, Fn, Mul, Neg, Node, Num, Pow, Sym

if TYPE_CHECKING:
    from typing import TypeAlias

EXACT_BITS = 1 << 14
"""Size of numerators and denominators of exact values; beyond it, formulas are compared by `balls`."""
MAX_EXPONENT = 1000
"""Largest constant exponent, and argument of a factorial."""
Rational: TypeAlias = "int | Fraction"


_OF_ONE: Mapping[str, Callable[[Rational], Rational]] = {
    "ceil": math.ceil, "floor": math.floor, "abs": lambda value: max(value, -value),
}  # fmt: skip
_OF_SEVERAL: Mapping[str, Callable[[list[Rational]], Rational]] = {"max": max, "min": min}


class TooLarge(Exception):
    """A value is beyond the limits."""


class Irrational(Exception):
    """A value is not rational, as far as this module can determine."""


class Undefined(Exception):
    """Division by zero, or a function outside its domain."""


def evaluate_exactly(node: Node, point: Mapping[str, Rational]) -> Rational:
    """Return the exact value of a formula at a point.

    Raises:
        TooLarge: an intermediate value has more than `EXACT_BITS` bits.
        Irrational: a radical, logarithm, symbolic exponent or the like occurs.
        Undefined: division by zero.
        KeyError: a symbol has no value.
    """
    if isinstance(node, Sym):
        return point[node.name]
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Mul):
        return _evaluate_product(node, point)
    if isinstance(node, Pow):
        return _evaluate_power(node, point)
    if isinstance(node, Add):
        return _evaluate_sum(node, point)
    if isinstance(node, Neg):
        return -evaluate_exactly(node.operand, point)
    if isinstance(node, Div):
        return _divide_exactly(
            evaluate_exactly(node.numerator, point), evaluate_exactly(node.denominator, point)
        )
    value = _evaluate_function(node)
    if value.numerator.bit_length() > EXACT_BITS:
        raise TooLarge
    return value


def evaluate_constant(node: Node) -> Rational | None:
    """Return the value of a formula without symbols; None if it has symbols or is not rational.

    Raises:
        TooLarge: beyond the limits.
        Undefined: division by zero.
    """
    try:
        return evaluate_exactly(node, {})
    except (KeyError, Irrational):
        return None


def try_constant(node: Node) -> Rational | None:
    """Return the value of a rational constant within the limits; None for any other formula."""
    try:
        return evaluate_constant(node)
    except (TooLarge, Undefined):
        return None


def _evaluate_product(node: Mul, point: Mapping[str, Rational]) -> Rational:
    product, below = 1, 1
    for factor in node.factors:
        if isinstance(factor, Sym):  # inline, because a call would cost more than everything else
            value = point[factor.name]
        elif isinstance(factor, Num):
            value = factor.value
        else:
            value = evaluate_exactly(factor, point)
        if isinstance(value, int):
            product *= value
        else:  # reduced once, at the end
            product *= value.numerator
            below *= value.denominator
            if below.bit_length() > EXACT_BITS:
                raise TooLarge
        if product.bit_length() > EXACT_BITS:
            raise TooLarge
    return product if below == 1 else _divide_exactly(product, below)


def _evaluate_sum(node: Add, point: Mapping[str, Rational]) -> Rational:
    total: Rational = 0
    for term in node.terms:
        total += evaluate_exactly(term, point)
        if isinstance(total, Fraction) and total.denominator.bit_length() > EXACT_BITS:
            raise TooLarge
    return total


def _divide_exactly(numerator: Rational, denominator: Rational) -> Rational:
    if denominator == 0:
        raise Undefined
    quotient = Fraction(numerator, denominator)
    return quotient.numerator if quotient.denominator == 1 else quotient


def _evaluate_power(node: Pow, point: Mapping[str, Rational]) -> Rational:
    exponent = (
        node.exponent.value if isinstance(node.exponent, Num) else evaluate_exactly(node.exponent, point)
    )
    # A symbolic exponent has 90 bits at a secret point, so it ends here and is compared by balls.
    if not isinstance(exponent, int) or abs(exponent) > MAX_EXPONENT:
        raise Irrational
    base = point[node.base.name] if isinstance(node.base, Sym) else evaluate_exactly(node.base, point)
    # The size of the result is estimated before the power is computed.
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) > EXACT_BITS:
        raise TooLarge
    if exponent >= 0:
        return base**exponent
    return _divide_exactly(1, base**-exponent)


def _evaluate_function(node: Node) -> Rational:
    """Return a function of constants if its value is rational and small."""
    if not isinstance(node, Fn):
        raise Irrational
    values: list[Rational] = []
    for argument in node.arguments:
        value = evaluate_constant(argument)
        if value is None:
            raise Irrational
        values.append(value)
    if node.name in _OF_SEVERAL:
        return _OF_SEVERAL[node.name](values)
    if node.name in _OF_ONE:
        return _OF_ONE[node.name](values[0])
    if node.name == "sqrt":
        return _compute_square_root(values[0])
    if node.name in ("factorial", "binomial"):
        return _compute_combinatorial(node.name, values)
    raise Irrational


def _compute_square_root(value: Rational) -> Rational:
    if value < 0:
        raise Undefined
    root = _divide_exactly(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if root * root != value:
        raise Irrational
    return root


def _compute_combinatorial(name: str, values: list[Rational]) -> int:
    from flint import fmpz  # imported here, because code that only parses numbers does not need it

    whole = [value for value in values if isinstance(value, int)]
    if len(whole) != len(values) or min(whole) < 0:
        raise Irrational
    if max(whole) > MAX_EXPONENT:
        raise TooLarge
    if name == "factorial":  # flint is several times as fast as the standard library
        return int(fmpz.fac_ui(fmpz(whole[0])))
    return int(fmpz.bin_uiui(*whole))
