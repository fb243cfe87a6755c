"""Sums of products with coefficients: what is known of a formula's growth while it is put together.

A coefficient is exact, or only known to stay between two positive (or two negative) constants: that much
is known of the parts of ``max(n, d)``, which is between ``(n + d)/2`` and ``n + d``. Of the difference of
two such coefficients only a bound is known.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from autograder.algebra.growth import scales
from autograder.algebra.growth.reals import Exact, Real, power, sign
from autograder.algebra.growth.scales import ONE, Product
from autograder.errors import Undecided

MAX_TERMS = 24
"""Terms of a sum; a power of a sum with more is not multiplied out."""


class Vague(enum.IntEnum):
    """A coefficient between two constants of this sign; without a sign, between two constants."""

    POSITIVE = 1
    UNKNOWN = 0
    NEGATIVE = -1


Coefficient = int | Fraction | Real | Vague
Sum = Mapping[Product, Coefficient]
"""Products with their coefficients, none of which is zero; the empty sum is zero."""

UNIT: Sum = MappingProxyType({ONE: 1})


def constant(value: Exact) -> Sum:
    """A sum of one constant term."""
    return {ONE: value} if value != 0 else {}


def plus(*sums: Sum) -> Sum:
    """The sum of sums.

    Raises:
        Undecided: there are too many terms.
    """
    return _collected((product, coefficient) for one in sums for product, coefficient in one.items())


def times(first: Sum, second: Sum) -> Sum:
    """The product of two sums; see `plus` for errors."""
    if second == UNIT:
        return first
    if first == UNIT:
        return second
    return _collected(
        (scales.multiplied(left, right), _product(one, other))
        for left, one in first.items()
        for right, other in second.items()
    )


def negative(one: Sum) -> Sum:
    """The sum with its sign turned."""
    return {product: _product(coefficient, -1) for product, coefficient in one.items()}


def raised(base: Sum, exponent: Fraction) -> Sum:
    """A sum to a positive power.

    Raises:
        Undecided: the base is not seen to be positive and the exponent is not whole.
    """
    if len(base) == 1:
        ((product, coefficient),) = base.items()
        if exponent.denominator != 1 and _sign(coefficient) <= 0:
            raise Undecided("a root of a term that may be negative")
        return {scales.raised(product, _plain(exponent)): _power(coefficient, exponent)}
    if exponent.denominator == 1 and len(base) ** exponent.numerator <= MAX_TERMS:
        result = UNIT
        for _ in range(exponent.numerator):
            result = times(result, base)
        return result
    return {scales.raised(product, _plain(exponent)): Vague.POSITIVE for product in leading(base)}


def leading(one: Sum) -> tuple[Product, ...]:
    """The terms that a positive sum is between constants times: those that no other outgrows.

    Raises:
        Undecided: the sum is not seen to become and stay positive.
    """
    positive = [product for product, coefficient in one.items() if _sign(coefficient) > 0]
    for product, coefficient in one.items():
        if _sign(coefficient) <= 0 and not any(
            scales.vanishing(scales.quotient(product, other)) for other in positive
        ):
            raise Undecided("a difference that may be negative or smaller than either side")
    kept: list[Product] = []
    for place, product in enumerate(positive):
        others = (*kept, *positive[place + 1 :])
        if not any(scales.bounded(scales.quotient(product, other)) for other in others):
            kept.append(product)
    return tuple(kept)


def outgrown(one: Sum) -> Product | None:
    """A term that another one outgrows; None where there is none."""
    return next(
        (
            product
            for product in one
            if any(scales.vanishing(scales.quotient(product, other)) for other in one)
        ),
        None,
    )


def inverse(coefficient: Coefficient) -> Coefficient:
    """One divided by a coefficient; only its sign where its value has no form.

    Raises:
        Undecided: it may be zero.
    """
    if isinstance(coefficient, Vague):
        if coefficient is Vague.UNKNOWN:
            raise Undecided("division by what may be zero")
        return coefficient
    parts = coefficient.parts if isinstance(coefficient, Real) else ()
    return Vague(sign(coefficient)) if len(parts) > 1 else power(coefficient, Fraction(-1))


def vague(products: Iterable[Product]) -> Sum:
    """A sum that is between constants times the sum of some products."""
    return dict.fromkeys(products, Vague.POSITIVE)


def _collected(terms: Iterable[tuple[Product, Coefficient]]) -> Sum:
    total: dict[Product, Coefficient] = {}
    for product, coefficient in terms:
        known = total.get(product)
        total[product] = coefficient if known is None else _added(known, coefficient)
    if len(total) > MAX_TERMS:
        raise Undecided("a sum of too many terms")
    return {
        product: coefficient
        for product, coefficient in total.items()
        if isinstance(coefficient, Vague) or coefficient != 0
    }


def _added(first: Coefficient, second: Coefficient) -> Coefficient:
    if not isinstance(first, Vague) and not isinstance(second, Vague):
        return first + second
    return Vague(_sign(first)) if _sign(first) == _sign(second) else Vague.UNKNOWN


def _product(first: Coefficient, second: Coefficient) -> Coefficient:
    if isinstance(first, Vague) or isinstance(second, Vague):
        return Vague(_sign(first) * _sign(second))
    return first * second


def _power(base: Coefficient, exponent: Fraction) -> Coefficient:
    if not isinstance(base, Vague):
        return power(base, exponent)
    even = exponent.denominator == 1 and exponent.numerator % 2 == 0
    return Vague.POSITIVE if even and base is Vague.NEGATIVE else base


def _sign(coefficient: Coefficient) -> int:
    return coefficient.value if isinstance(coefficient, Vague) else sign(coefficient)


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
