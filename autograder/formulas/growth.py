"""Compute and compare growth of formulas: ``O(n*d*(n + d))`` for a cost of ``12*n*d^2 + n^2*d``.

All symbols are positive and grow without bound, independently of one another; assumptions between them are
substituted first. A product is represented by its logarithm, a sum of scales with rational coefficients:
``n^2 * log(n)`` is ``2*log n + log log n``, and ``2^n`` is ``log(2) * n``. A scale is itself a product of
powers of atoms: of symbols, of constants, and of their logarithms. A growth is a quotient of two sums of
products; so ``min(n, d)``, which is ``n*d/(n + d)`` up to a factor of two, has one. A factor that is only
known to stay between two positive numbers becomes a new constant, so that two of them never cancel.

Two formulas are alike if each is at most a constant times the other, for all large values of the symbols.
Whatever is not proven either way is `Undecided`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import chain, combinations, islice, permutations
from typing import Any

from flint import arb, fmpz
from msgspec import Struct

from autograder.formulas.equality.relations import Assumption
from autograder.formulas.errors import Undecided
from autograder.formulas.forms.linear import clash
from autograder.formulas.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    substitute,
    symbols,
)  # fmt: skip
from autograder.formulas.notation.landau import body_of
from autograder.formulas.values.balls import precision

MAX_TERMS = 24  # of a sum; a power of a sum with more is not multiplied out
MAX_LEADING = 8  # terms of which none outgrows another; their pairs are compared
MAX_WORK = 2000  # pairs of terms that are multiplied or compared for one formula
MAX_CHOSEN = 8  # in a binomial that is written out
MAX_POWER = 1000  # a constant exponent
MAX_BITS = 4096  # of the numbers in front of products
MAX_FACTORED_BITS = 64  # of a number that is factored into primes
MAX_PATHS = 128  # ways for the symbols to grow that are tried
POWER_MARGIN = Fraction(1, 1000)  # a power of a symbol that bounds its logarithm
BITS = 512  # of precision for the sign of a constant

Rational = int | Fraction
Atom = tuple[str, int]
"""A symbol or constant, and how often its logarithm is taken. Constants: primes, as ``#2``, and ``#?1`` …"""
Scale = tuple[tuple[Atom, Rational], ...]
"""Atoms with nonzero powers, sorted."""
Product = tuple[tuple[Scale, Rational], ...]
"""The logarithm of a product: scales with nonzero coefficients, sorted."""
Sum = Mapping[Product, Rational]
"""Products with nonzero numeric factors; the empty sum is zero."""
Growth = tuple[Sum, Sum]
"""Numerator and denominator; the denominator is eventually positive."""
Order = tuple[tuple[Product, ...], tuple[Product, ...]]
"""An order of growth: the leading terms of a numerator, and those of a denominator."""
_Part = tuple[tuple[Any, Rational], ...]
"""A scale or a product."""

ONE: Product = ()
UNIT: Sum = {ONE: 1}
UNKNOWN = "#?"
"""Prefix of constants with unknown values."""


class GrowthComparison(Struct, frozen=True):
    """How the expected growth compares with an answer: at most, or at least, a constant times as large."""

    at_most: bool
    at_least: bool
    faster_in: tuple[str, ...] = ()
    """Symbols in which it grows faster than the answer, the others being fixed."""
    slower_in: tuple[str, ...] = ()

    @property
    def alike(self) -> bool:
        """Whether both are of the same order."""
        return self.at_most and self.at_least


def order(statement: Node, assumptions: Iterable[Assumption] = ()) -> Order:
    """Compute the order of growth of a formula, or of the formula in a statement.

    Args:
        statement: a tree that `landau` parsed, or a formula.
        assumptions: symbol → formula, ordered so that each uses only symbols that are resolved before it.

    Raises:
        Undecided: its growth cannot be determined.
    """
    node = body_of(statement)
    for name, formula in reversed(tuple(assumptions)):
        node = substitute(node, name, formula)
    growing = _Growing()
    above, below = map(growing.leading, growing.of(node))
    return above, below


def compared(asked: Order, answer: Order) -> GrowthComparison:
    """Compare two orders of growth.

    Raises:
        Undecided: neither that one bounds the other, nor that it does not, could be proven.
    """
    left, right = (
        _Growing().leading({_times(one, other): 1 for one in above for other in below})
        for above, below in ((asked[0], answer[1]), (answer[0], asked[1]))
    )
    if set(left) == set(right):
        return GrowthComparison(at_most=True, at_least=True)
    return GrowthComparison(
        _bounded(left, right), _bounded(right, left), _faster_in(left, right), _faster_in(right, left)
    )


def _collected(parts: Iterable[tuple[Any, Rational]]) -> _Part:
    """Add up the numbers of equal keys, and drop zeros."""
    total: dict[Any, Rational] = {}
    for key, number in parts:
        total[key] = total.get(key, 0) + number
    return tuple(sorted((key, number) for key, number in total.items() if number))


def _plus(*sums: Sum) -> Sum:
    found = dict(_collected(part for one in sums for part in one.items()))
    if len(found) > MAX_TERMS:
        raise Undecided("a sum of too many terms")
    return found


def _times(first: _Part, second: _Part, by: Rational = 1) -> _Part:
    """Return a product or scale times a power of another one."""
    if not second:
        return first
    return _collected((*first, *((key, number * by) for key, number in second)))


def _named(name: str) -> Product:
    """Return a symbol or constant as a product."""
    return (((((name, 1), 1),), 1),)


def _of_scale(scale: Scale) -> Product:
    """Return a scale as a product, by taking its logarithm."""
    return _collected(((((name, times + 1), 1),), power) for (name, times), power in scale)


def _to_scale(base: Product) -> Scale | None:
    """Return the inverse of `_from_scale`; None for anything but products of rational powers."""
    if any(len(scale) != 1 or scale[0][1] != 1 or not scale[0][0][1] for scale, _ in base):
        return None
    return _collected(((scale[0][0][0], scale[0][0][1] - 1), power) for scale, power in base)


def _apart(scale: Scale) -> tuple[Scale, Scale]:
    """Split a scale into the part that grows or shrinks, and its constants."""
    moving = tuple(part for part in scale if part[0][0][0] != "#")
    return moving, tuple(part for part in scale if part[0][0][0] == "#") if len(moving) < len(scale) else ()


def _known(scale: Scale) -> bool:
    """Return whether all constants of a scale have known positive values."""
    return not any(name.startswith(UNKNOWN) or (name[0] == "#" and times > 1) for (name, times), _ in scale)


def _pulls(base: Product) -> dict[Scale, int]:
    """Return the moving scales of a product with the signs of their coefficients, 0 if unknown."""
    groups: dict[Scale, list[tuple[Scale, Rational]]] = {}
    for scale, coefficient in base:
        moving, constants = _apart(scale)
        if moving:
            groups.setdefault(moving, []).append((constants, coefficient))
    return {moving: _sign(group) for moving, group in groups.items()}


def _sign(parts: Sequence[tuple[Scale, Rational]]) -> int:
    """Return the sign of a sum of constants with numeric factors, 0 if unknown."""
    if len({number > 0 for _, number in parts}) == 1:
        return 1 if parts[0][1] > 0 else -1
    if not all(_known(scale) for scale, _ in parts):
        return 0
    with precision(BITS):
        total = arb(0)
        for scale, number in parts:
            value = arb(number.numerator) / number.denominator
            for (name, times), power in scale:
                base = arb(int(name[1:]))
                value *= (base.log() if times else base) ** (arb(power.numerator) / power.denominator)
            total += value
        # A comparison of balls is true only if it is certain; a ball around zero stays unknown.
        return 1 if total > 0 else -1 if total < 0 else 0


def _vanishes(scale: Scale) -> bool:
    """Return whether a scale certainly goes to zero: the leading power of each symbol is negative."""
    leading: dict[str, Rational] = {}
    for (name, _), power in scale:  # sorted: a symbol comes before its logarithms
        leading.setdefault(name, power)
    return bool(leading) and all(power < 0 for power in leading.values())


def _trend(base: Product) -> int:
    """Return -1 if a product certainly goes to zero, 0 if it certainly has an upper bound, else 1.

    It has an upper bound if each growing part is outgrown by a shrinking one.
    """
    pulls = _pulls(base)
    shrinking = [scale for scale, way in pulls.items() if way < 0]
    if not all(
        way < 0 or _vanishes(scale) or any(_vanishes(_times(scale, other, -1)) for other in shrinking)
        for scale, way in pulls.items()
    ):
        return 1
    return -any(_vanishes(_times((), scale, -1)) for scale in shrinking)


def _outgrown(product: Product, others: Iterable[Product]) -> bool:
    """Return whether the quotient of a product and one of several candidates certainly goes to zero."""
    return any(_trend(_times(product, other, -1)) < 0 for other in others)


def _escapes(base: Product, groups: Sequence[Iterable[str]]) -> str:
    """Return the index of the group that takes a product to infinity, as text; empty if none is found.

    The symbols of one group are equal, and each group outgrows any function of the next. A symbol in two
    groups belongs to the first.
    """
    place = {name: str(number) for number, group in reversed([*enumerate(groups)]) for name in group}
    pulls = _pulls(_collected(
        (_collected(((place.get(name, name), times), power) for (name, times), power in scale), coefficient)
        for scale, coefficient in base
    ))  # fmt: skip
    # Scales are ordered by their leading powers; the highest one decides whether the product diverges.
    highest: Scale = ()
    for scale in pulls:
        difference = _times(scale, highest, -1)
        if difference and difference[0][1] > 0:  # the first power that differs decides
            highest = scale
    return highest[0][0][0] if highest and pulls[highest] > 0 else ""


def _names(several: Iterable[Product]) -> list[str]:
    """Return the names of the symbols in some products, sorted."""
    return sorted({name for product in several for scale, _ in product for (name, _), _ in _apart(scale)[0]})


def _faster_in(left: Sequence[Product], right: Sequence[Product]) -> tuple[str, ...]:
    """Return the symbols in which a sum of products grows faster than another, all others being fixed."""
    ratios = [[_times(one, other, -1) for other in right] for one in left]
    names = _names((*left, *right))
    return tuple(
        name
        for name in names
        if any(all(_escapes(ratio, ((name,), names)) == "0" for ratio in row) for row in ratios)
    )


def _bounded(left: Sequence[Product], right: Sequence[Product]) -> bool:
    """Return whether the sum of some products is at most a constant times the sum of others."""
    verdicts = [_bounds(right, product) for product in left]
    if None in verdicts and False not in verdicts:
        raise Undecided("the growth could not be compared")
    return False not in verdicts


def _bounds(several: Sequence[Product], product: Product) -> bool | None:
    """Return whether a sum is at least a constant times a product; None if neither is proven.

    No single term of ``n^2 + d^2`` bounds ``n*d``, but a mean of both does: the exponents of ``n*d`` are in
    the convex hull of theirs. For pure powers of symbols that decides. With logarithms it is sufficient,
    because each of them is at most a small power; that there is no bound is shown by other means.
    """
    ratios = [_times(product, other, -1) for other in several]
    if any(_trend(ratio) <= 0 for ratio in ratios) or not several:
        return bool(several)
    rows = [dict(scale) for ratio in ratios if (scale := _to_scale(ratio)) is not None]
    if len(rows) == len(ratios):
        if not clash([{atom: power for atom, power in row.items() if not atom[1]} for row in rows]):
            return False
        slow = {
            atom for row in rows for name, times in row for atom in ((name, below) for below in range(times))
        }
        # A small power of an atom outgrows its logarithm: n^0.001 bounds log n up to a constant.
        rows += [{(name, times): POWER_MARGIN, (name, times + 1): -1} for name, times in slow]
        if clash(rows):
            return True
    escaped = any(all(_escapes(ratio, path) for ratio in ratios) for path in _paths(_names(ratios)))
    return False if escaped else None


def _paths(names: Sequence[str]) -> Iterator[tuple[Iterable[str], ...]]:
    """Yield ways for symbols to grow: some are equal and outgrow the others, or one after the other."""
    first = ((chosen,) for size in range(1, len(names) + 1) for chosen in combinations(names, size))
    second = (((one,), (other,)) for one, other in permutations(names, 2))
    for chosen in islice(chain(first, second), MAX_PATHS):
        yield *chosen, names


def _primes(value: Rational) -> Product:
    """Return a positive number as a product of powers of primes."""
    if value <= 0:
        raise Undecided("a root or logarithm of a number that is not positive")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise Undecided("a root or logarithm of a number that is too large")
    return _collected(
        ((((f"#{prime}", 1), 1),), way * int(count))
        for number, way in ((value.numerator, 1), (value.denominator, -1))
        for prime, count in (fmpz(number).factor() if number > 1 else ())
    )


class _Growing:
    """Computes the growth of one formula, within a budget of work."""

    __slots__ = ("_left", "_unknowns")

    def __init__(self) -> None:
        self._left = MAX_WORK
        self._unknowns = 0

    def of(self, node: Node) -> Growth:
        """Return the growth of a formula.

        Raises:
            Undecided: it cannot be determined within `MAX_WORK`.
        """
        match node:
            case Sym(name):
                return {_named(name): 1}, UNIT
            case Num(value):
                return {ONE: value} if value else {}, UNIT
            case Const(name):
                return {(((), 1),) if name == "e" else _named(UNKNOWN): 1}, UNIT
            case Neg(operand):
                return self._product(({ONE: -1}, UNIT), self.of(operand))
            case Add(parts):
                return self._total(*map(self.of, parts))
            case Mul(parts):
                return self._product(*map(self.of, parts))
            case Div(above, below):
                return self._product(self.of(above), self._inverse(self.of(below)))
            case Pow(base, exponent):
                return self._power(self.of(base), self.of(exponent))
        return self._function(node.name, node.arguments)

    def _function(self, name: str, parts: tuple[Node, ...]) -> Growth:
        first, *others = parts
        match name:
            case "sqrt":
                return self.of(Pow(first, Num(Fraction(1, 2))))
            case "exp":
                return self.of(Pow(Const("e"), first))
            case "log" | "ln" | "lg":
                bases = [Num(10)] if name == "lg" else others
                found, *below = ((self._logarithm(self.of(part)), UNIT) for part in (first, *bases))
                return self._product(found, *map(self._inverse, below))
            case "max":  # between the mean of the positive values and their sum
                return self._total(*map(self._positive, parts))
            case "min":  # between the harmonic sum of positive values and a multiple of it
                return self._inverse(self._total(*map(self._inverse, map(self._positive, parts))))
            case "ceil":  # positive values are rounded up to at least 1
                return self._function("max", (first, Num(1)))
            case "floor" if (found := self.of(first))[1] == UNIT:  # from 1 on, rounding down at most halves
                return self._vague(self._large(found[0])), UNIT
        return self._counted(name, first, *others)

    def _counted(self, name: str, first: Node, *others: Node) -> Growth:
        """Handle small binomials and factorials: Stirling, ``n^(n + 1/2) * e^-n`` up to a factor."""
        if name == "factorial" and not symbols(first):
            return self._vague(), UNIT
        if name == "factorial" and (found := self.of(first))[1] == UNIT and len(found[0]) == 1:
            self._large(found[0])
            stirling = Mul((Pow(Div(first, Const("e")), first), Fn("sqrt", (first,))))
            return self._vague(self.of(stirling)[0]), UNIT
        if name == "binomial" and isinstance(others[0], Num) and others[0].value in range(1, MAX_CHOSEN + 1):
            count = int(others[0].value)
            falling = tuple(Add((first, Neg(Num(number)))) for number in range(count))
            return self.of(Div(Mul(falling), Num(math.factorial(count))))
        raise Undecided(f"the growth of {name} is not known")

    def leading(self, one: Sum) -> tuple[Product, ...]:
        """Return the terms of a positive sum that no other outgrows; the sum is their sum up to constants.

        Raises:
            Undecided: the sum is not proven to become and stay positive.
        """
        self._spend(len(one) * len(one))
        # Constant factors do not change the order of growth.
        moving = {product: tuple(part for part in product if _apart(part[0])[0]) for product in one}
        positive = list(dict.fromkeys(moving[product] for product, number in one.items() if number > 0))
        if not all(number > 0 or _outgrown(product, positive) for product, number in one.items()):
            raise Undecided("a difference that may be negative or smaller than either side")
        kept: list[Product] = []
        for place, product in enumerate(positive):
            others = (*kept, *positive[place + 1 :])
            if not any(_trend(_times(product, other, -1)) <= 0 for other in others):
                kept.append(product)
        if len(kept) > MAX_LEADING:
            raise Undecided("too many leading terms")
        return tuple(kept)

    def _large(self, one: Sum) -> tuple[Product, ...]:
        """Return the leading terms of a sum that goes to infinity."""
        found = self.leading(one)
        if not found or not all(_outgrown(ONE, (product,)) for product in found):
            raise Undecided("the logarithm, rounding or factorial of what may stay small")
        return found

    def _spend(self, pairs: int) -> None:
        self._left -= pairs
        if self._left < 0:
            raise Undecided("a formula that takes too long")

    def _vague(self, several: Iterable[Product] = (ONE,)) -> Sum:
        """Return the sum of some products times a new constant of unknown value."""
        self._unknowns += 1
        return {_times(product, _named(f"{UNKNOWN}{self._unknowns}")): 1 for product in several}

    def _positive(self, part: Node) -> Growth:
        above, below = self.of(part)
        return self._vague(self.leading(above)), below

    def _times(self, first: Sum, second: Sum) -> Sum:
        self._spend(len(first) * len(second))
        return _plus(*({_times(one, other): first[one] * second[other] for other in second} for one in first))

    def _total(self, *parts: Growth) -> Growth:
        above, below = parts[0]
        for over, under in parts[1:]:
            if under == below:
                above = _plus(above, over)
            else:
                above = _plus(self._times(above, under), self._times(over, below))
                below = self._times(below, under)
        return above, below

    def _product(self, *parts: Growth) -> Growth:
        above, below = (reduce(self._times, sums) for sums in zip(*parts, strict=True))
        return above, below

    def _inverse(self, one: Growth) -> Growth:
        """Return 1 divided by a growth; a single term in the denominator is divided by at once."""
        above, below = one
        divisor = above if len(above) == 1 else self._vague(self.leading(above))
        if not divisor:
            raise Undecided("division by zero")
        # A sum of several terms has no inverse among sums, so it becomes the denominator.
        if len(divisor) > 1:
            return below, divisor
        return self._times(
            below, {_times((), part, -1): Fraction(1, by) for part, by in divisor.items()}
        ), UNIT

    def _power(self, base: Growth, exponent: Growth) -> Growth:
        by, below = exponent
        if below != UNIT:
            raise Undecided("a fraction in an exponent")
        # An exponent with a symbol: base^by = e^(by * log base).
        if by.keys() - {ONE}:
            return self._exponential(self._times(by, self._logarithm(base))), UNIT
        number: Rational = by.get(ONE, 0)
        if number < 0:
            # Sums have no negative powers, so the quotient is inverted first.
            base, number = self._inverse(base), -number
        above, under = base
        return self._raised(above, number), self._raised(under, number)

    def _raised(self, base: Sum, exponent: Rational) -> Sum:
        """Return a sum to a power that is not negative."""
        if exponent == 0 or base == UNIT:
            return UNIT
        if exponent > MAX_POWER:
            raise Undecided("a large power")
        if len(base) == 1:
            ((product, number),) = base.items()
            if exponent.denominator != 1:
                return {_times((), _times(product, _primes(number)), exponent): 1}
            if max(number.numerator.bit_length(), number.denominator.bit_length()) * exponent > MAX_BITS:
                raise Undecided("a constant is too large")
            return {_times((), product, exponent): number**exponent.numerator}
        if exponent.denominator == 1 and len(base) ** exponent.numerator <= MAX_TERMS:
            result = UNIT
            for _ in range(exponent.numerator):
                result = self._times(result, base)
            return result
        return self._vague(_times((), product, exponent) for product in self.leading(base))

    def _logarithm(self, one: Growth) -> Sum:
        """Return the natural logarithm."""
        above, below = map(self._logarithm_of, one)
        return _plus(above, {product: -number for product, number in below.items()})

    def _logarithm_of(self, one: Sum) -> Sum:
        if len(one) == 1:
            ((product, number),) = one.items()
            if all(_apart(scale)[0] or _known(scale) for scale, _ in product):
                parts = (*product, *_primes(number))
                return _plus(*({_of_scale(scale): coefficient} for scale, coefficient in parts))
        if not one:
            raise Undecided("the logarithm of zero")
        # It is the logarithm of the largest term, up to an added constant, which is negligible.
        found = [self._logarithm_of({product: 1}) for product in self.leading(one)]
        return self._vague([part for logarithm in found for part in self._large(logarithm)])

    def _exponential(self, exponent: Sum) -> Sum:
        """Return e to the power of a sum that is known up to an added constant."""
        parts: list[tuple[Scale, Rational]] = []
        for product, number in exponent.items():
            scale = _to_scale(product)
            if _outgrown(product, (ONE,)) or not (
                _names((product,)) or (scale is not None and _known(scale))
            ):
                parts.extend(*self._vague())
            elif scale is not None and _known(scale):
                parts.append((scale, number))
            else:
                raise Undecided("an exponent that is not known exactly, or an exponential itself")
        return {_collected(parts): 1}
