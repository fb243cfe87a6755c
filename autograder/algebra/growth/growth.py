"""How a formula grows while its symbols do, up to constant factors; exact where it has an answer.

A growth is a quotient of two sums of products; so ``min(n, d)``, which is ``n*d/(n + d)`` up to a factor
of two, has one. What no quotient of sums describes leaves the question undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.algebra.growth import reals, scales, sums
from autograder.algebra.growth.reals import Exact, Real
from autograder.algebra.growth.scales import ONE, Product, Scale
from autograder.algebra.growth.sums import UNIT, Sum, Vague
from autograder.algebra.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.errors import Undecided

MAX_WORK = 2000
"""Pairs of terms that are multiplied or compared for one formula."""
MAX_CHOSEN = 8
"""Largest second argument of a binomial that is written out."""
MAX_POWER = 1000
"""Largest constant exponent."""


class Growth(Struct, frozen=True, eq=False):
    """A quotient of two sums; the denominator is positive from somewhere on."""

    above: Sum
    below: Sum = UNIT


_HALF = Growth({ONE: Fraction(1, 2)})


def growth(node: Node) -> Growth:
    """The growth of a formula whose symbols are positive and all grow without bound.

    Raises:
        Undecided: it has none that can be told here, within `MAX_WORK`.
    """
    return _Growing().of(node)


class _Growing:
    """Puts one growth together, and counts what that costs."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_WORK

    def of(self, node: Node) -> Growth:
        match node:
            case Sym(name):
                return Growth({scales.symbol(name): 1})
            case Num(value):
                return Growth(sums.constant(value))
            case Const(name):
                return Growth({ONE: reals.PI if name == "pi" else reals.E})
            case Neg(operand):
                inner = self.of(operand)
                return Growth(sums.negative(inner.above), inner.below)
            case Add(terms):
                return self._total([self.of(term) for term in terms])
            case Mul(factors):
                return self._product([self.of(factor) for factor in factors])
            case Div(numerator, denominator):
                return self._product([self.of(numerator), self._inverse(self.of(denominator))])
            case Pow(base, exponent):
                return self._power(self.of(base), self.of(exponent))
        return self._function(node)

    def _function(self, node: Fn) -> Growth:
        first, *others = [self.of(argument) for argument in node.arguments]
        match node.name:
            case "sqrt":
                return self._power(first, _HALF)
            case "exp":
                return _exponential(first)
            case "log" | "ln" | "lg":
                bases = [Growth({ONE: 10})] if node.name == "lg" else others
                divisors = [self._inverse(self._logarithm(base)) for base in bases]
                return self._product([self._logarithm(first), *divisors])
            case "max":  # between the mean of positive values and their sum
                return self._total([self._positive(argument) for argument in (first, *others)])
            case "min":  # between the harmonic sum of positive values and a multiple of it
                turned = [self._inverse(self._positive(argument)) for argument in (first, *others)]
                return self._inverse(self._total(turned))
            case "ceil" | "floor":
                return self._rounded(self._positive(first), up=node.name == "ceil")
            case "factorial":
                return self._factorial(first)
            case "binomial":
                return self._binomial(first, others[0])
        raise Undecided(f"the growth of {node.name} is not known")

    def _spend(self, pairs: int) -> None:
        self._left -= pairs
        if self._left < 0:
            raise Undecided("a formula that takes too long")

    def _times(self, first: Sum, second: Sum) -> Sum:
        self._spend(len(first) * len(second))
        return sums.times(first, second)

    def _leading(self, one: Sum) -> tuple[Product, ...]:
        self._spend(len(one) * len(one))
        return sums.leading(one)

    def _raised(self, base: Sum, exponent: Fraction) -> Sum:
        self._spend(len(base) ** min(int(exponent) + 1, 4))
        return sums.raised(base, exponent) if base != UNIT else UNIT

    def _total(self, parts: Sequence[Growth]) -> Growth:
        if all(part.below == UNIT for part in parts):
            return Growth(sums.plus(*(part.above for part in parts)))
        above, below = parts[0].above, parts[0].below
        for part in parts[1:]:
            if part.below == below:
                above = sums.plus(above, part.above)
            else:
                above = sums.plus(self._times(above, part.below), self._times(part.above, below))
                below = self._times(below, part.below)
        return Growth(above, below)

    def _product(self, parts: Sequence[Growth]) -> Growth:
        above, below = parts[0].above, parts[0].below
        for part in parts[1:]:
            above, below = self._times(above, part.above), self._times(below, part.below)
        return Growth(above, below)

    def _inverse(self, one: Growth) -> Growth:
        """One divided by it; a single term below is divided by at once."""
        if not one.above:
            raise Undecided("division by zero")
        below = one.above if len(one.above) == 1 else sums.vague(self._leading(one.above))
        if len(below) > 1:
            return Growth(one.below, below)
        ((product, coefficient),) = below.items()
        turned = {scales.raised(product, -1): sums.inverse(coefficient)}
        return Growth(self._times(one.below, turned))

    def _positive(self, one: Growth) -> Growth:
        return Growth(sums.vague(self._leading(one.above)), one.below)

    def _power(self, base: Growth, exponent: Growth) -> Growth:
        constant = _constant(exponent)
        if isinstance(constant, Real) and reals.sign(constant) > 0 and len(base.above) > 1:
            return Growth(
                sums.vague(scales.raised(product, constant) for product in self._leading(base.above)),
                sums.vague(scales.raised(product, constant) for product in base.below),
            )
        if constant is None or isinstance(constant, Real):
            return _exponential(self._product([exponent, self._logarithm(base)]))
        by = Fraction(constant)
        if abs(by) > MAX_POWER:
            raise Undecided("a large power")
        if by == 0:
            return Growth(UNIT)
        if by < 0:
            base = self._inverse(base)
        return Growth(self._raised(base.above, abs(by)), self._raised(base.below, abs(by)))

    def _logarithm(self, one: Growth) -> Growth:
        """The natural logarithm."""
        above = self._logarithm_of_sum(one.above)
        if one.below == UNIT:
            return Growth(above)
        return Growth(sums.plus(above, sums.negative(self._logarithm_of_sum(one.below))))

    def _logarithm_of_sum(self, one: Sum) -> Sum:
        if not one:
            raise Undecided("the logarithm of zero")
        if len(one) == 1:
            ((product, coefficient),) = one.items()
            if not isinstance(coefficient, Vague):
                constant = sums.constant(reals.logarithm(coefficient))
                return sums.plus(_logarithm_of_product(product), constant)
        # It is that of the largest term, up to an added constant, which is small beside what grows.
        largest: list[Product] = []
        for product in self._leading(one):
            parts = self._leading(_logarithm_of_product(product))
            if not parts or not all(scales.vanishing(scales.raised(part, -1)) for part in parts):
                raise Undecided("the logarithm of a sum that may stay small")
            largest.extend(parts)
        return sums.vague(largest)

    def _rounded(self, one: Growth, *, up: bool) -> Growth:
        """What is positive is rounded up to 1 at least; rounded down it halves at most, from 1 on."""
        if up:
            return self._total([one, Growth(sums.vague((ONE,)))])
        if one.below != UNIT or not all(
            scales.vanishing(scales.raised(product, -1)) for product in one.above
        ):
            raise Undecided("the rounding of what may stay small")
        return one

    def _factorial(self, argument: Growth) -> Growth:
        """Stirling: ``n!`` is ``n^(n + 1/2) * e^-n`` up to a factor."""
        if _constant(argument) is not None:
            return Growth(sums.vague((ONE,)))
        if len(argument.above) != 1 or argument.below != UNIT:
            raise Undecided("the factorial of a sum")
        logarithm = self._logarithm(argument)
        turned = Growth(sums.negative(argument.above))
        power = [self._product([argument, logarithm]), self._product([_HALF, logarithm]), turned]
        return Growth(sums.vague(_exponential(self._total(power)).above))

    def _binomial(self, total: Growth, chosen: Growth) -> Growth:
        count = _constant(chosen)
        if not isinstance(count, int | Fraction) or count != int(count) or not 0 <= count <= MAX_CHOSEN:
            raise Undecided("a binomial of two symbols")
        factors = [
            self._product([
                self._total([total, Growth(sums.constant(-number))]), Growth({ONE: Fraction(1, number + 1)})
            ])
            for number in range(int(count))
        ]  # fmt: skip
        return self._product([Growth(UNIT), *factors])


def _constant(one: Growth) -> Exact | None:
    """The value of a growth that is an exact constant."""
    if one.below != UNIT or one.above.keys() - {ONE}:
        return None
    value = one.above.get(ONE, 0)
    return None if isinstance(value, Vague) else value


def _exponential(exponent: Growth) -> Growth:
    """e to the power of a growth that is known up to an added constant."""
    if exponent.below != UNIT:
        raise Undecided("a fraction in an exponent")
    parts: list[tuple[Scale, Exact]] = []
    factor: sums.Coefficient = 1
    for product, coefficient in exponent.above.items():
        scale = scales.to_scale(product)
        if product == ONE and not isinstance(coefficient, Vague):
            value = reals.exponential(coefficient)
            factor = Vague.POSITIVE if value is None or isinstance(factor, Vague) else factor * value
        elif product == ONE or scales.vanishing(product):
            factor = Vague.POSITIVE
        elif scale is None or isinstance(coefficient, Vague):
            raise Undecided(
                "an exponent that is only known up to a constant factor, or an exponential itself"
            )
        else:
            parts.append((scale, coefficient))
    return Growth({scales.product(parts): factor})


def _logarithm_of_product(product: Product) -> Sum:
    return sums.plus(*({scales.of_scale(scale): coefficient} for scale, coefficient in product))
