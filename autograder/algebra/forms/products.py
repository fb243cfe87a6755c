"""A term as it is written: the numbers in it, and its bases with their powers."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from msgspec import Struct

from autograder.algebra.nodes import Add, Div, Mul, Neg, Node, Num, Pow
from autograder.algebra.values.evaluate import TooLarge, Undefined, constant_value

MAX_POWER = 1000
Bare = frozenset[tuple[Hashable, Fraction]]
"""Bases with the sums of their powers."""


class Product(Struct, frozen=True):
    """What is multiplied in a term, above and below the fraction line.

    Attributes:
        above: the numbers above, in order; a number to a constant power is one number.
        below: the numbers below.
        powers: bases with their powers, in order, as often as they are written; those below are negative.
    """

    above: tuple[Fraction, ...] = ()
    below: tuple[Fraction, ...] = ()
    powers: tuple[tuple[Hashable, Fraction], ...] = ()

    def bare(self) -> Bare:
        """The bases with the sums of their powers; without numbers."""
        total: dict[Hashable, Fraction] = {}
        for base, power in self.powers:
            total[base] = total.get(base, Fraction(0)) + power
        return frozenset((base, power) for base, power in total.items() if power)

    def number(self) -> Fraction | None:
        """The number in front; None where a denominator is zero."""
        total = Fraction(1)
        for number in self.above:
            total *= number
        for number in self.below:
            if not number:
                return None
            total /= number
        return total

    def cancels(self) -> bool:
        """Whether a base stands above and below."""
        up = {base for base, power in self.powers if power > 0}
        return any(base in up for base, power in self.powers if power < 0)


def product_of(node: Node) -> Product:
    """Take a term apart; a sum in it, a function or a symbolic power is a base of its own.

    Sums are the same base however their terms are ordered.
    """
    match node:
        case Num(value):
            return Product((Fraction(value),))
        case Neg(operand):
            return product_of(operand)
        case Mul(factors):
            parts = [product_of(factor) for factor in factors]
            return Product(
                tuple(number for part in parts for number in part.above),
                tuple(number for part in parts for number in part.below),
                tuple(power for part in parts for power in part.powers),
            )
        case Div(numerator, denominator):
            return _joined(product_of(numerator), _inverse(product_of(denominator)))
        case Pow(base, exponent):
            return _power(node, base, exponent)
        case Add(terms):
            return Product(powers=((frozenset(_signed(term) for term in terms), Fraction(1)),))
    return Product(powers=((node, Fraction(1)),))


def _joined(first: Product, second: Product) -> Product:
    return Product(first.above + second.above, first.below + second.below, first.powers + second.powers)


def _inverse(one: Product) -> Product:
    return Product(one.below, one.above, tuple((base, -power) for base, power in one.powers))


def _power(node: Pow, base: Node, exponent: Node) -> Product:
    """A power of a product is the product of the powers, where the exponent is a whole constant."""
    power, value = _constant(exponent), _constant(node)
    if value is not None:
        return Product((value,))
    if power is None or abs(power) > MAX_POWER:
        return Product(powers=((node, Fraction(1)),))
    inner = product_of(base)
    if power != int(power) and (inner.above or inner.below or len(inner.powers) > 1):
        return Product(powers=((base, power),))
    if power < 0:
        inner = _inverse(inner)
    times = abs(power)
    return Product(
        tuple(_raised(number, times) for number in inner.above),
        tuple(_raised(number, times) for number in inner.below),
        tuple((one, by * times) for one, by in inner.powers),
    )


def _raised(number: Fraction, power: Fraction) -> Fraction:
    """A number to a whole power; only whether it is 1 matters where the power is large."""
    size = max(number.numerator.bit_length(), number.denominator.bit_length())
    return number**power.numerator if size * power.numerator <= 4096 else number


def _signed(term: Node) -> tuple[Fraction | None, Bare]:
    """A term of a sum with its sign, so that equal sums are equal bases."""
    sign = 1
    while isinstance(term, Neg):
        term, sign = term.operand, -sign
    written = product_of(term)
    number = written.number()
    return (None if number is None else sign * number, written.bare())


def _constant(node: Node) -> Fraction | None:
    try:
        value = constant_value(node)
    except (TooLarge, Undefined):
        return None
    return None if value is None else Fraction(value)
