"""Products of powers, logarithms and exponentials, ordered by how they grow while all symbols do.

A product is written by its logarithm, a sum of scales with rational coefficients: ``n^2 * log(n)`` is
``2*log n + log log n``, and ``2^n`` is ``log(2) * n``. A scale is itself a product of powers: of symbols,
of constants, and of their logarithms. One product is at most a constant times another when the difference
of their logarithms has an upper bound. The symbols grow independently, so that has to hold whichever of
them grows first, or alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, islice, permutations
from typing import TypeVar

from flint import arb

from autograder.algebra.forms.linear import feasible
from autograder.algebra.values.precision import precision
from autograder.errors import Undecided

MAX_PATHS = 128
"""Ways for the symbols to grow that are looked at."""
ROOM = Fraction(1, 1000)
"""A power of a symbol that is looked for in the place of its logarithms."""
BITS = 512
"""Precision at which the sign of a constant is looked for."""

Rational = int | Fraction
Atom = tuple[str, int]
"""A symbol or constant, and how often its logarithm is taken. Constants are ``#2``, ``#3``, ``#5`` …, and
``#?1`` … for what is only known to stay between two positive numbers."""
Scale = tuple[tuple[Atom, Rational], ...]
"""Atoms with powers, sorted; no power is zero."""
Product = tuple[tuple[Scale, Rational], ...]
"""The logarithm of a product: scales with coefficients other than zero, sorted."""
_Key = TypeVar("_Key", Atom, Scale)

ONE: Product = ()
UNKNOWN = "#?"


def collected(parts: Iterable[tuple[_Key, Rational]]) -> tuple[tuple[_Key, Rational], ...]:
    """Add up the numbers of equal keys: powers of atoms, or coefficients of scales."""
    total: dict[_Key, Rational] = {}
    for key, number in parts:
        total[key] = total.get(key, 0) + number
    return tuple(sorted((key, number) for key, number in total.items() if number))


def named(name: str) -> Product:
    """A symbol, or a constant that is no number written out."""
    return (((((name, 1), 1),), 1),)


def raised(base: Product, exponent: Rational) -> Product:
    """A product to a constant power."""
    return tuple((scale, coefficient * exponent) for scale, coefficient in base if exponent)


def quotient(first: Product, second: Product) -> Product:
    """One product divided by another."""
    return collected((*first, *raised(second, -1)))


def of_scale(scale: Scale) -> Product:
    """A scale as a product: its own logarithm is taken."""
    return collected(((((name, times + 1), 1),), power) for (name, times), power in scale)


def to_scale(base: Product) -> Scale | None:
    """The inverse of `of_scale`; None for what is no product of rational powers, such as ``2^n``."""
    if any(len(scale) != 1 or scale[0][1] != 1 or not scale[0][0][1] for scale, _ in base):
        return None
    return collected(((scale[0][0][0], scale[0][0][1] - 1), power) for scale, power in base)


def apart(scale: Scale) -> tuple[Scale, Scale]:
    """What grows or shrinks in a scale, and its constant part."""
    return tuple(one for one in scale if one[0][0][0] != "#"), tuple(one for one in scale if one[0][0][0] == "#")


def growing(base: Product) -> Product:
    """A product without its constant factors."""
    return tuple((scale, coefficient) for scale, coefficient in base if apart(scale)[0])


def names(base: Product) -> set[str]:
    """The symbols of a product."""
    return {name for scale, _ in base for (name, _), _ in apart(scale)[0]}


def sign(parts: Sequence[tuple[Scale | None, Rational]]) -> int:
    """-1, 0 or 1: the sign of a sum of constants, each a scale with a factor; None for an unknown positive one.

    Raises:
        Undecided: the sum is not seen to differ from zero.
    """
    found = {(factor > 0) - (factor < 0) for _, factor in parts}
    if len(found) < 2:
        return found.pop() if found else 0
    total = arb(0)
    with precision(BITS):
        for scale, factor in parts:
            if scale is None or any(times > 1 or name.startswith(UNKNOWN) for (name, times), _ in scale):
                raise Undecided("a difference that may be negative or smaller than either side")
            value = _number(factor)
            for (name, times), power in scale:
                value *= (arb(int(name[1:])).log() if times else arb(int(name[1:]))) ** _number(power)
            total += value
        if total > 0 or total < 0:
            return 1 if total > 0 else -1
    raise Undecided("two constants that may be equal")


def _number(value: Rational) -> arb:
    return arb(value.numerator) / arb(value.denominator)


def _signs(base: Product) -> dict[Scale, int]:
    """Scales that grow or shrink, without their constants, and which way they pull."""
    groups: dict[Scale, list[tuple[Scale | None, Rational]]] = {}
    for scale, coefficient in base:
        moving, constant = apart(scale)
        if moving:
            groups.setdefault(moving, []).append((constant, coefficient))
    return {scale: sign(parts) for scale, parts in groups.items()}


def _ratio(first: Scale, second: Scale) -> Scale:
    return collected((*first, *((atom, -power) for atom, power in second)))


def _vanishes(scale: Scale) -> bool:
    """Whether a scale goes to zero however the symbols grow: each symbol's leading power is negative."""
    leading: dict[str, Rational] = {}
    for (name, _), power in scale:  # sorted: a symbol comes before its logarithms
        leading.setdefault(name, power)
    return bool(leading) and all(power < 0 for power in leading.values())


def bounded(base: Product) -> bool:
    """Whether a product surely has an upper bound: each growing part is outgrown by a shrinking one."""
    signs = _signs(base)
    shrinking = [scale for scale, way in signs.items() if way < 0]
    return all(
        way <= 0 or _vanishes(scale) or any(_vanishes(_ratio(scale, other)) for other in shrinking)
        for scale, way in signs.items()
    )


def vanishing(base: Product) -> bool:
    """Whether a product surely goes to zero."""
    return bounded(base) and any(way < 0 and _vanishes(_ratio((), scale)) for scale, way in _signs(base).items())


def _unbounded(base: Product, groups: Sequence[Iterable[str]]) -> str:
    """The group that takes a product to infinity; empty where it stays finite.

    The symbols of one group are equal, and each group outgrows any function of the next.
    """
    place = {name: str(number) for number, group in enumerate(groups) for name in group}
    renamed = collected(
        (collected(((place.get(name, name), times), power) for (name, times), power in scale), coefficient)
        for scale, coefficient in base
    )
    highest: Scale = ()
    signs = _signs(renamed)
    for scale, way in signs.items():
        difference = _ratio(scale, highest)
        if way and difference and difference[0][1] > 0:  # the first power that differs decides
            highest = scale
    return highest[0][0][0] if highest and signs[highest] > 0 else ""


def faster_in(left: Sequence[Product], right: Sequence[Product]) -> tuple[str, ...]:
    """The symbols in which a sum of products grows faster than another, all others being fixed."""
    found = sorted({name for product in (*left, *right) for name in names(product)})
    return tuple(
        name
        for name in found
        if any(
            all(_unbounded(quotient(one, other), (name, [*{*found} - {name}])) == "0" for other in right)
            for one in left
        )
    )


def bounds(terms: Sequence[Product], product: Product) -> bool | None:
    """Whether a sum is at least a constant times a product, for all large values of the symbols.

    No single term of ``n^2 + d^2`` bounds ``n*d``, but a mean of both does: the exponents of ``n*d`` lie in
    the convex hull of theirs. For pure powers of symbols that decides; where logarithms take part, a point in
    the hull is enough, and beside it other proofs are tried.

    Returns:
        None where neither is proven.
    """
    ratios = [quotient(product, term) for term in terms]
    rows = [dict(scale) for ratio in ratios if (scale := to_scale(ratio)) is not None]
    if len(rows) == len(ratios):
        slowed = {name for scale, _ in product for (name, times), _ in scale if times > 1}
        every = {atom for row in rows for atom in row}
        powers = {atom for atom in every if not atom[1]}
        if not _mean_below(rows, powers):
            return False
        moved = [{**row, **{(name, 0): row.get((name, 0), 0) + ROOM for name in slowed}} for row in rows]
        beside = {atom for atom in every if not atom[1] or atom[0] not in slowed}
        if _mean_below(rows, every) or _mean_below(moved, beside | {(name, 0) for name in slowed}):
            return True
    if any(map(bounded, ratios)):
        return True
    found = sorted({name for ratio in ratios for name in names(ratio)})
    escaped = any(all(_unbounded(ratio, path) for ratio in ratios) for path in _paths(found))
    return False if escaped else None


def _mean_below(rows: Sequence[Mapping[Atom, Rational]], atoms: Iterable[Atom]) -> bool:
    """Whether some mean of the rows is at most zero at every atom."""
    ordered, zero, one = sorted(atoms), Fraction(0), Fraction(1)
    if any(all(row.get(atom, zero) <= 0 for atom in ordered) for row in rows):
        return True
    table = [
        [*(Fraction(row.get(atom, zero)) for row in rows), *(Fraction(atom == other) for other in ordered), zero]
        for atom in ordered
    ]
    return feasible([*table, [*(one for _ in rows), *(zero for _ in ordered), one]])


def _paths(ordered: Sequence[str]) -> Iterator[tuple[Iterable[str], ...]]:
    """Ways for symbols to grow: some are equal and outgrow the others, or one after the other."""
    first = ((chosen,) for size in range(1, len(ordered) + 1) for chosen in combinations(ordered, size))
    second = (((one,), (other,)) for one, other in permutations(ordered, 2))
    for chosen in islice(chain(first, second), MAX_PATHS):
        yield *chosen, [name for name in ordered if not any(name in group for group in chosen)]
