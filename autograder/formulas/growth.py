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
from autograder.formulas.forms.linear import is_infeasible
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
    collect_symbols,
    substitute_symbol,
)  # fmt: skip
from autograder.formulas.notation.landau import get_body
from autograder.formulas.values.balls import set_precision

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


def compute_order(statement: Node, assumptions: Iterable[Assumption] = ()) -> Order:
    """Compute the order of growth of a formula, or of the formula in a statement.

    Args:
        statement: a tree that `landau` parsed, or a formula.
        assumptions: symbol → formula, ordered so that each uses only symbols that are resolved before it.

    Raises:
        Undecided: its growth cannot be determined.
    """
    node = get_body(statement)
    for name, formula in reversed(tuple(assumptions)):
        node = substitute_symbol(node, name, formula)
    builder = _GrowthBuilder()
    above, below = map(builder.find_leading_terms, builder.compute_growth(node))
    return above, below


def compare_orders(expected: Order, answer: Order) -> GrowthComparison:
    """Compare two orders of growth.

    Raises:
        Undecided: neither that one bounds the other, nor that it does not, could be proven.
    """
    left, right = (
        _GrowthBuilder().find_leading_terms(
            {_combine_parts(upper, lower): 1 for upper in above for lower in below}
        )
        for above, below in ((expected[0], answer[1]), (answer[0], expected[1]))
    )
    if set(left) == set(right):
        return GrowthComparison(at_most=True, at_least=True)
    return GrowthComparison(
        _is_bounded(left, right),
        _is_bounded(right, left),
        _find_faster_symbols(left, right),
        _find_faster_symbols(right, left),
    )


def _sum_by_key(parts: Iterable[tuple[Any, Rational]]) -> _Part:
    """Add up the numbers of equal keys, and drop zeros."""
    total: dict[Any, Rational] = {}
    for key, number in parts:
        total[key] = total.get(key, 0) + number
    return tuple(sorted((key, number) for key, number in total.items() if number))


def _add_sums(*sums: Sum) -> Sum:
    total = dict(_sum_by_key(part for summand in sums for part in summand.items()))
    if len(total) > MAX_TERMS:
        raise Undecided("a sum of too many terms")
    return total


def _combine_parts(first: _Part, second: _Part, by: Rational = 1) -> _Part:
    """Return a product or scale times a power of another one."""
    if not second:
        return first
    return _sum_by_key((*first, *((key, number * by) for key, number in second)))


def _from_name(name: str) -> Product:
    """Return a symbol or constant as a product."""
    return (((((name, 1), 1),), 1),)


def _from_scale(scale: Scale) -> Product:
    """Return a scale as a product, by taking its logarithm."""
    return _sum_by_key(((((name, times + 1), 1),), power) for (name, times), power in scale)


def _to_scale(base: Product) -> Scale | None:
    """Return the inverse of `_from_scale`; None for anything but products of rational powers."""
    if any(len(scale) != 1 or scale[0][1] != 1 or not scale[0][0][1] for scale, _ in base):
        return None
    return _sum_by_key(((scale[0][0][0], scale[0][0][1] - 1), power) for scale, power in base)


def _split_constants(scale: Scale) -> tuple[Scale, Scale]:
    """Split a scale into the part that grows or shrinks, and its constants."""
    moving = tuple(part for part in scale if part[0][0][0] != "#")
    return moving, tuple(part for part in scale if part[0][0][0] == "#") if len(moving) < len(scale) else ()


def _has_known_constants(scale: Scale) -> bool:
    """Return whether all constants of a scale have known positive values."""
    return not any(name.startswith(UNKNOWN) or (name[0] == "#" and times > 1) for (name, times), _ in scale)


def _collect_scale_signs(base: Product) -> dict[Scale, int]:
    """Return the moving scales of a product with the signs of their coefficients, 0 if unknown."""
    groups: dict[Scale, list[tuple[Scale, Rational]]] = {}
    for scale, coefficient in base:
        moving, constants = _split_constants(scale)
        if moving:
            groups.setdefault(moving, []).append((constants, coefficient))
    return {moving: _compute_sign(group) for moving, group in groups.items()}


def _compute_sign(parts: Sequence[tuple[Scale, Rational]]) -> int:
    """Return the sign of a sum of constants with numeric factors, 0 if unknown."""
    if len({number > 0 for _, number in parts}) == 1:
        return 1 if parts[0][1] > 0 else -1
    if not all(_has_known_constants(scale) for scale, _ in parts):
        return 0
    with set_precision(BITS):
        total = arb(0)
        for scale, number in parts:
            value = arb(number.numerator) / number.denominator
            for (name, times), power in scale:
                base = arb(int(name[1:]))
                value *= (base.log() if times else base) ** (arb(power.numerator) / power.denominator)
            total += value
        # A comparison of balls is true only if it is certain; a ball around zero stays unknown.
        return 1 if total > 0 else -1 if total < 0 else 0


def _is_vanishing(scale: Scale) -> bool:
    """Return whether a scale certainly goes to zero: the leading power of each symbol is negative."""
    leading: dict[str, Rational] = {}
    for (name, _), power in scale:  # sorted: a symbol comes before its logarithms
        leading.setdefault(name, power)
    return bool(leading) and all(power < 0 for power in leading.values())


def _find_trend(base: Product) -> int:
    """Return -1 if a product certainly goes to zero, 0 if it certainly has an upper bound, else 1.

    It has an upper bound if each growing part is outgrown by a shrinking one.
    """
    signs = _collect_scale_signs(base)
    shrinking = [scale for scale, way in signs.items() if way < 0]
    if not all(
        way < 0
        or _is_vanishing(scale)
        or any(_is_vanishing(_combine_parts(scale, other, -1)) for other in shrinking)
        for scale, way in signs.items()
    ):
        return 1
    return -any(_is_vanishing(_combine_parts((), scale, -1)) for scale in shrinking)


def _is_outgrown(product: Product, candidates: Iterable[Product]) -> bool:
    """Return whether the quotient of a product and one of several candidates certainly goes to zero."""
    return any(_find_trend(_combine_parts(product, other, -1)) < 0 for other in candidates)


def _find_escape(base: Product, groups: Sequence[Iterable[str]]) -> str:
    """Return the index of the group that takes a product to infinity, as text; empty if none is found.

    The symbols of one group are equal, and each group outgrows any function of the next. A symbol in two
    groups belongs to the first.
    """
    group_of = {name: str(number) for number, group in reversed([*enumerate(groups)]) for name in group}
    signs = _collect_scale_signs(_sum_by_key(
        (
            _sum_by_key(((group_of.get(name, name), times), power) for (name, times), power in scale),
            coefficient,
        )
        for scale, coefficient in base
    ))  # fmt: skip
    # Scales are ordered by their leading powers; the highest one decides whether the product diverges.
    highest: Scale = ()
    for scale in signs:
        difference = _combine_parts(scale, highest, -1)
        if difference and difference[0][1] > 0:  # the first power that differs decides
            highest = scale
    return highest[0][0][0] if highest and signs[highest] > 0 else ""


def _collect_names(products: Iterable[Product]) -> list[str]:
    """Return the names of the symbols in some products, sorted."""
    return sorted(
        {name for product in products for scale, _ in product for (name, _), _ in _split_constants(scale)[0]}
    )


def _find_faster_symbols(left: Sequence[Product], right: Sequence[Product]) -> tuple[str, ...]:
    """Return the symbols in which a sum of products grows faster than another, all others being fixed."""
    ratios = [[_combine_parts(product, other, -1) for other in right] for product in left]
    names = _collect_names((*left, *right))
    return tuple(
        name
        for name in names
        if any(all(_find_escape(ratio, ((name,), names)) == "0" for ratio in row) for row in ratios)
    )


def _is_bounded(left: Sequence[Product], right: Sequence[Product]) -> bool:
    """Return whether the sum of some products is at most a constant times the sum of others."""
    verdicts = [_is_bound(right, product) for product in left]
    if None in verdicts and False not in verdicts:
        raise Undecided("the growth could not be compared")
    return False not in verdicts


def _is_bound(terms: Sequence[Product], product: Product) -> bool | None:
    """Return whether a sum is at least a constant times a product; None if neither is proven.

    No single term of ``n^2 + d^2`` bounds ``n*d``, but a mean of both does: the exponents of ``n*d`` are in
    the convex hull of theirs. For pure powers of symbols that decides. With logarithms it is sufficient,
    because each of them is at most a small power; that there is no bound is shown by other means.
    """
    ratios = [_combine_parts(product, other, -1) for other in terms]
    if any(_find_trend(ratio) <= 0 for ratio in ratios) or not terms:
        return bool(terms)
    rows = [dict(scale) for ratio in ratios if (scale := _to_scale(ratio)) is not None]
    if len(rows) == len(ratios):
        if not is_infeasible([{atom: power for atom, power in row.items() if not atom[1]} for row in rows]):
            return False
        slow = {
            atom for row in rows for name, times in row for atom in ((name, below) for below in range(times))
        }
        # A small power of an atom outgrows its logarithm: n^0.001 bounds log n up to a constant.
        rows += [{(name, times): POWER_MARGIN, (name, times + 1): -1} for name, times in slow]
        if is_infeasible(rows):
            return True
    escaped = any(
        all(_find_escape(ratio, path) for ratio in ratios) for path in _generate_paths(_collect_names(ratios))
    )
    return False if escaped else None


def _generate_paths(names: Sequence[str]) -> Iterator[tuple[Iterable[str], ...]]:
    """Yield ways for symbols to grow: some are equal and outgrow the others, or one after the other."""
    first = ((chosen,) for size in range(1, len(names) + 1) for chosen in combinations(names, size))
    second = (((leader,), (follower,)) for leader, follower in permutations(names, 2))
    for chosen in islice(chain(first, second), MAX_PATHS):
        yield *chosen, names


def _split_into_primes(value: Rational) -> Product:
    """Return a positive number as a product of powers of primes."""
    if value <= 0:
        raise Undecided("a root or logarithm of a number that is not positive")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise Undecided("a root or logarithm of a number that is too large")
    return _sum_by_key(
        ((((f"#{prime}", 1), 1),), way * int(count))
        for number, way in ((value.numerator, 1), (value.denominator, -1))
        for prime, count in (fmpz(number).factor() if number > 1 else ())
    )


class _GrowthBuilder:
    """Computes the growth of one formula, within a budget of work."""

    __slots__ = ("_left", "_unknowns")

    def __init__(self) -> None:
        self._left = MAX_WORK
        self._unknowns = 0

    def compute_growth(self, node: Node) -> Growth:
        """Return the growth of a formula.

        Raises:
            Undecided: it cannot be determined within `MAX_WORK`.
        """
        match node:
            case Sym(name):
                return {_from_name(name): 1}, UNIT
            case Num(value):
                return {ONE: value} if value else {}, UNIT
            case Const(name):
                return {(((), 1),) if name == "e" else _from_name(UNKNOWN): 1}, UNIT
            case Neg(operand):
                return self._build_product(({ONE: -1}, UNIT), self.compute_growth(operand))
            case Add(parts):
                return self._build_sum(*map(self.compute_growth, parts))
            case Mul(parts):
                return self._build_product(*map(self.compute_growth, parts))
            case Div(above, below):
                return self._build_product(
                    self.compute_growth(above), self._invert_growth(self.compute_growth(below))
                )
            case Pow(base, exponent):
                return self._build_power(self.compute_growth(base), self.compute_growth(exponent))
        return self._compute_function(node.name, node.arguments)

    def _compute_function(self, name: str, parts: tuple[Node, ...]) -> Growth:
        first, *remaining = parts
        match name:
            case "sqrt":
                return self.compute_growth(Pow(first, Num(Fraction(1, 2))))
            case "exp":
                return self.compute_growth(Pow(Const("e"), first))
            case "log" | "ln" | "lg":
                bases = [Num(10)] if name == "lg" else remaining
                growth, *below = (
                    (self._build_logarithm(self.compute_growth(part)), UNIT) for part in (first, *bases)
                )
                return self._build_product(growth, *map(self._invert_growth, below))
            case "max":  # between the mean of the positive values and their sum
                return self._build_sum(*map(self._compute_positive, parts))
            case "min":  # between the harmonic sum of positive values and a multiple of it
                return self._invert_growth(
                    self._build_sum(*map(self._invert_growth, map(self._compute_positive, parts)))
                )
            case "ceil":  # positive values are rounded up to at least 1
                return self._compute_function("max", (first, Num(1)))
            # From 1 on, rounding down at most halves.
            case "floor" if (growth := self.compute_growth(first))[1] == UNIT:
                return self._attach_unknown(self._find_large_terms(growth[0])), UNIT
        return self._compute_combinatorial(name, first, *remaining)

    def _compute_combinatorial(self, name: str, first: Node, *remaining: Node) -> Growth:
        """Handle small binomials and factorials: Stirling, ``n^(n + 1/2) * e^-n`` up to a factor."""
        if name == "factorial" and not collect_symbols(first):
            return self._attach_unknown(), UNIT
        if name == "factorial" and (growth := self.compute_growth(first))[1] == UNIT and len(growth[0]) == 1:
            self._find_large_terms(growth[0])
            stirling = Mul((Pow(Div(first, Const("e")), first), Fn("sqrt", (first,))))
            return self._attach_unknown(self.compute_growth(stirling)[0]), UNIT
        if (
            name == "binomial"
            and isinstance(remaining[0], Num)
            and remaining[0].value in range(1, MAX_CHOSEN + 1)
        ):
            count = int(remaining[0].value)
            falling = tuple(Add((first, Neg(Num(number)))) for number in range(count))
            return self.compute_growth(Div(Mul(falling), Num(math.factorial(count))))
        raise Undecided(f"the growth of {name} is not known")

    def find_leading_terms(self, total: Sum) -> tuple[Product, ...]:
        """Return the terms of a positive sum that no other outgrows; the sum is their sum up to constants.

        Raises:
            Undecided: the sum is not proven to become and stay positive.
        """
        self._count_work(len(total) * len(total))
        # Constant factors do not change the order of growth.
        moving = {
            product: tuple(part for part in product if _split_constants(part[0])[0]) for product in total
        }
        positive = list(dict.fromkeys(moving[product] for product, number in total.items() if number > 0))
        if not all(number > 0 or _is_outgrown(product, positive) for product, number in total.items()):
            raise Undecided("a difference that may be negative or smaller than either side")
        kept: list[Product] = []
        for position, product in enumerate(positive):
            rivals = (*kept, *positive[position + 1 :])
            if not any(_find_trend(_combine_parts(product, other, -1)) <= 0 for other in rivals):
                kept.append(product)
        if len(kept) > MAX_LEADING:
            raise Undecided("too many leading terms")
        return tuple(kept)

    def _find_large_terms(self, total: Sum) -> tuple[Product, ...]:
        """Return the leading terms of a sum that goes to infinity."""
        leading_terms = self.find_leading_terms(total)
        if not leading_terms or not all(_is_outgrown(ONE, (product,)) for product in leading_terms):
            raise Undecided("the logarithm, rounding or factorial of what may stay small")
        return leading_terms

    def _count_work(self, pairs: int) -> None:
        self._left -= pairs
        if self._left < 0:
            raise Undecided("a formula that takes too long")

    def _attach_unknown(self, products: Iterable[Product] = (ONE,)) -> Sum:
        """Return the sum of some products times a new constant of unknown value."""
        self._unknowns += 1
        return {_combine_parts(product, _from_name(f"{UNKNOWN}{self._unknowns}")): 1 for product in products}

    def _compute_positive(self, part: Node) -> Growth:
        above, below = self.compute_growth(part)
        return self._attach_unknown(self.find_leading_terms(above)), below

    def _expand_product(self, first: Sum, second: Sum) -> Sum:
        self._count_work(len(first) * len(second))
        return _add_sums(
            *(
                {_combine_parts(left, right): first[left] * second[right] for right in second}
                for left in first
            )
        )

    def _build_sum(self, *parts: Growth) -> Growth:
        above, below = parts[0]
        for over, under in parts[1:]:
            if under == below:
                above = _add_sums(above, over)
            else:
                above = _add_sums(self._expand_product(above, under), self._expand_product(over, below))
                below = self._expand_product(below, under)
        return above, below

    def _build_product(self, *parts: Growth) -> Growth:
        above, below = (reduce(self._expand_product, sums) for sums in zip(*parts, strict=True))
        return above, below

    def _invert_growth(self, growth: Growth) -> Growth:
        """Return 1 divided by a growth; a single term in the denominator is divided by at once."""
        above, below = growth
        divisor = above if len(above) == 1 else self._attach_unknown(self.find_leading_terms(above))
        if not divisor:
            raise Undecided("division by zero")
        # A sum of several terms has no inverse among sums, so it becomes the denominator.
        if len(divisor) > 1:
            return below, divisor
        return self._expand_product(
            below, {_combine_parts((), part, -1): Fraction(1, by) for part, by in divisor.items()}
        ), UNIT

    def _build_power(self, base: Growth, exponent: Growth) -> Growth:
        by, below = exponent
        if below != UNIT:
            raise Undecided("a fraction in an exponent")
        # An exponent with a symbol: base^by = e^(by * log base).
        if by.keys() - {ONE}:
            return self._expand_exponential(self._expand_product(by, self._build_logarithm(base))), UNIT
        number: Rational = by.get(ONE, 0)
        if number < 0:
            # Sums have no negative powers, so the quotient is inverted first.
            base, number = self._invert_growth(base), -number
        above, under = base
        return self._expand_power(above, number), self._expand_power(under, number)

    def _expand_power(self, base: Sum, exponent: Rational) -> Sum:
        """Return a sum to a power that is not negative."""
        if exponent == 0 or base == UNIT:
            return UNIT
        if exponent > MAX_POWER:
            raise Undecided("a large power")
        if len(base) == 1:
            ((product, number),) = base.items()
            if exponent.denominator != 1:
                return {_combine_parts((), _combine_parts(product, _split_into_primes(number)), exponent): 1}
            if max(number.numerator.bit_length(), number.denominator.bit_length()) * exponent > MAX_BITS:
                raise Undecided("a constant is too large")
            return {_combine_parts((), product, exponent): number**exponent.numerator}
        if exponent.denominator == 1 and len(base) ** exponent.numerator <= MAX_TERMS:
            result = UNIT
            for _ in range(exponent.numerator):
                result = self._expand_product(result, base)
            return result
        return self._attach_unknown(
            _combine_parts((), product, exponent) for product in self.find_leading_terms(base)
        )

    def _build_logarithm(self, growth: Growth) -> Sum:
        """Return the natural logarithm."""
        above, below = map(self._expand_logarithm, growth)
        return _add_sums(above, {product: -number for product, number in below.items()})

    def _expand_logarithm(self, total: Sum) -> Sum:
        if len(total) == 1:
            ((product, number),) = total.items()
            if all(_split_constants(scale)[0] or _has_known_constants(scale) for scale, _ in product):
                parts = (*product, *_split_into_primes(number))
                return _add_sums(*({_from_scale(scale): coefficient} for scale, coefficient in parts))
        if not total:
            raise Undecided("the logarithm of zero")
        # It is the logarithm of the largest term, up to an added constant, which is negligible.
        logarithms = [self._expand_logarithm({product: 1}) for product in self.find_leading_terms(total)]
        return self._attach_unknown(
            [part for logarithm in logarithms for part in self._find_large_terms(logarithm)]
        )

    def _expand_exponential(self, exponent: Sum) -> Sum:
        """Return e to the power of a sum that is known up to an added constant."""
        parts: list[tuple[Scale, Rational]] = []
        for product, number in exponent.items():
            scale = _to_scale(product)
            if _is_outgrown(product, (ONE,)) or not (
                _collect_names((product,)) or (scale is not None and _has_known_constants(scale))
            ):
                parts.extend(*self._attach_unknown())
            elif scale is not None and _has_known_constants(scale):
                parts.append((scale, number))
            else:
                raise Undecided("an exponent that is not known exactly, or an exponential itself")
        return {_sum_by_key(parts): 1}
