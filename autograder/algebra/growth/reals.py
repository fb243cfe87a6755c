"""Exact real constants: what powers and logarithms of rational numbers, pi and e give.

A constant is a sum of rational multiples of products such as ``2^(1/2) * log(3) * log(2)^-1``. Rational
numbers stay plain ``int`` and ``Fraction``; only the others are a `Real`. Equal constants have equal
forms where powers, quotients and logarithms of single products are concerned; a difference whose sign
cannot be seen leaves the question undecided.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import arb, fmpz
from msgspec import Struct

from autograder.algebra.values.precision import precision
from autograder.errors import Undecided

MAX_FACTORED_BITS = 64
"""Numbers above this are not taken apart into primes."""
MAX_POWER_BITS = 4096
"""Size of a rational power."""
MAX_PARTS = 32
PRECISIONS = (64, 256, 1024, 4096)
"""Bits at which a sign is looked for, in turn."""

Atom = tuple[str, int]
"""``("root", p)``: the prime p, to a power between 0 and 1; ``("log", p)``; ``("pi", 0)``; ``("e", 0)``."""
Product = tuple[tuple[Atom, Fraction], ...]
"""Atoms to powers other than zero, sorted."""


class Real(Struct, frozen=True):
    """A constant that is no rational number as far as its form tells; its parts are sorted."""

    parts: tuple[tuple[Product, Fraction], ...]

    def __add__(self, other: Exact) -> Exact:
        return _summed((*self.parts, *_parts(other)))

    def __mul__(self, other: Exact) -> Exact:
        return _summed(
            _multiplied(left, right, first * second)
            for left, first in self.parts
            for right, second in _parts(other)
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Exact:
        return self * -1

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __rsub__(self, other: Exact) -> Exact:
        return -self + other


Exact = int | Fraction | Real
"""An exact constant."""


def _atom(kind: str, number: int, by: int | Fraction = 1, factor: int | Fraction = 1) -> Real:
    """A multiple of one atom to a power other than zero."""
    return Real((((((kind, number), Fraction(by)),), Fraction(factor)),))


PI = _atom("pi", 0)
E = _atom("e", 0)


def sign(value: Exact) -> int:
    """-1, 0 or 1.

    Raises:
        Undecided: the value is not seen to differ from zero.
    """
    if not isinstance(value, Real):
        return (value > 0) - (value < 0)
    if len(value.parts) == 1:  # every atom is positive
        return 1 if value.parts[0][1] > 0 else -1
    for bits in PRECISIONS:
        with precision(bits):
            ball = sum((_ball(product) * _number(factor) for product, factor in value.parts), arb(0))
            if ball > 0:
                return 1
            if ball < 0:
                return -1
    raise Undecided("two constants that may be equal")


def power(base: Exact, exponent: Fraction) -> Exact:
    """A positive constant to a rational power; any constant but zero to a whole one.

    Raises:
        Undecided: the base is a sum of irrational parts, or a number is too large.
    """
    parts = _parts(base)
    if len(parts) != 1:
        raise Undecided("a power of a sum of irrational constants")
    ((product, factor),) = parts
    result: Exact = _rational_power(factor, exponent)
    raised = tuple((atom, by * exponent) for atom, by in product)
    for atom, by in raised:
        if atom[0] == "root":
            result = result * _rational_power(Fraction(atom[1]), by)
        elif by.denominator != 1 and atom[0] == "log":
            raise Undecided("a root of a logarithm")
        else:
            result = result * _atom(*atom, by)
    return result


def logarithm(value: Exact) -> Exact:
    """The natural logarithm of a positive constant.

    Raises:
        Undecided: the constant is a sum of irrational parts, or contains a logarithm or pi.
    """
    parts = _parts(value)
    if len(parts) != 1:
        raise Undecided("the logarithm of a sum of irrational constants")
    ((product, factor),) = parts
    result: Exact = 0
    for prime, count in _primes(factor):
        result = result + _atom("log", prime, 1, count)
    for (kind, number), by in product:
        if kind == "root":
            result = result + _atom("log", number, 1, by)
        elif kind == "e":
            result = result + by
        else:
            raise Undecided("the logarithm of a logarithm, or of pi")
    return result


def exponential(value: Exact) -> Exact | None:
    """e to the power of a constant; None where that has no form here."""
    result: Exact = 1
    for product, factor in _parts(value):
        if not product:
            if not factor:
                continue
            result = result * _atom("e", 0, factor)
        elif len(product) == 1 and product[0][0][0] == "log" and product[0][1] == 1:
            result = result * power(product[0][0][1], factor)
        else:
            return None
    return result


def rational(value: Exact) -> Fraction | None:
    """The value as a fraction; None for an irrational one."""
    return None if isinstance(value, Real) else Fraction(value)


def _parts(value: Exact) -> tuple[tuple[Product, Fraction], ...]:
    return value.parts if isinstance(value, Real) else (((), Fraction(value)),)


def _summed(parts: Iterable[tuple[Product, Fraction]]) -> Exact:
    total: dict[Product, Fraction] = {}
    for product, factor in parts:
        total[product] = total.get(product, Fraction(0)) + factor
    kept = tuple(sorted((product, factor) for product, factor in total.items() if factor))
    if len(kept) > MAX_PARTS:
        raise Undecided("a constant of too many parts")
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Real(kept)


def _multiplied(left: Product, right: Product, factor: Fraction) -> tuple[Product, Fraction]:
    """The product of two products; whole powers of a prime become part of the factor."""
    powers = dict(left)
    for atom, by in right:
        powers[atom] = powers.get(atom, Fraction(0)) + by
    for atom, by in powers.items():
        if atom[0] == "root":
            whole = by.numerator // by.denominator
            factor *= _whole_power(Fraction(atom[1]), whole)
            powers[atom] = by - whole
    return tuple(sorted((atom, by) for atom, by in powers.items() if by)), factor


def _whole_power(base: Fraction, exponent: int) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) > MAX_POWER_BITS:
        raise Undecided("a constant is too large")
    return base**exponent


def _rational_power(base: Fraction, exponent: Fraction) -> Exact:
    if exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    result: Exact = 1
    for prime, count in _primes(base):
        by = exponent * count
        whole = by.numerator // by.denominator
        result = result * _whole_power(Fraction(prime), whole)
        if by != whole:
            result = result * _atom("root", prime, by - whole)
    return result


def _primes(value: Fraction) -> list[tuple[int, int]]:
    """Primes with their exponents, those of the denominator negative."""
    if value <= 0:
        raise Undecided("a root or logarithm of a number that is not positive")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise Undecided("a root or logarithm of a number that is too large")
    return [
        (int(prime), way * int(count))
        for number, way in ((value.numerator, 1), (value.denominator, -1))
        if number > 1
        for prime, count in fmpz(number).factor()
    ]


def _ball(product: Product) -> arb:
    total = arb(1)
    for (kind, number), by in product:
        base = {"pi": arb.pi, "e": arb.const_e}[kind]() if number == 0 else arb(number)
        total *= (base.log() if kind == "log" else base) ** _number(by)
    return total


def _number(value: Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator)
