"""Orders of growth while all symbols grow: which product outgrows which.

A product is written by its logarithm, a sum of scales with exact coefficients: ``n^2 * log(n)`` is
``2*log n + log log n``, ``2^n`` is ``log(2) * n``. A scale is itself a product of powers of symbols, of
their logarithms, of the logarithms of these, and so on. One product is at most a constant times another,
for all large enough values of the symbols, when the difference of their logarithms has an upper bound.

The symbols grow independently: a product is only called larger in general when it is larger whichever
symbol grows first, or only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice, permutations

from autograder.algebra.growth.reals import Exact, sign

MAX_PATHS = 128
"""Ways for the symbols to grow that are looked at."""

Rational = int | Fraction
Scale = tuple[tuple[tuple[str, int], Rational], ...]
"""((symbol, how often its logarithm is taken), power), sorted; no power is zero."""
Product = tuple[tuple[Scale, Exact], ...]
"""The logarithm of a product: scales with coefficients other than zero, sorted by scale."""
Rank = tuple[tuple[int, int, Rational], ...]
"""(group of the path, how often the logarithm is taken, power), sorted."""
Path = tuple[frozenset[str], ...]
"""Groups of symbols; those of one group are equal, and each group outgrows any function of the next."""

ONE: Product = ()


def symbol(name: str) -> Product:
    """A symbol."""
    return ((_logarithm(name, 1), 1),)


def _logarithm(name: str, times: int) -> Scale:
    return (((name, times), 1),)


def product(parts: Iterable[tuple[Scale, Exact]]) -> Product:
    """Collect the parts of a logarithm."""
    total: dict[Scale, Exact] = {}
    for scale, coefficient in parts:
        total[scale] = total.get(scale, 0) + coefficient
    return tuple(sorted((scale, total[scale]) for scale in total if total[scale] != 0))


def multiplied(first: Product, second: Product) -> Product:
    """The product of two products."""
    return product((*first, *second)) if first and second else first or second


def raised(base: Product, exponent: Exact) -> Product:
    """A product to a constant power."""
    return product((scale, coefficient * exponent) for scale, coefficient in base)


def quotient(first: Product, second: Product) -> Product:
    """One product divided by another."""
    return product((*first, *((scale, -coefficient) for scale, coefficient in second)))


def of_scale(scale: Scale) -> Product:
    """A scale as a product: its own logarithm is taken."""
    return product((_logarithm(name, times + 1), power) for (name, times), power in scale)


def to_scale(base: Product) -> Scale | None:
    """The inverse of `of_scale`; None for what is no product of rational powers, such as ``2^n``."""
    powers: list[tuple[tuple[str, int], Rational]] = []
    for scale, coefficient in base:
        if len(scale) != 1 or not isinstance(coefficient, int | Fraction):
            return None
        ((name, times), power) = scale[0]
        if times == 0 or power != 1:
            return None
        powers.append(((name, times - 1), coefficient))
    return tuple(sorted(powers))


def names(base: Product) -> set[str]:
    """The symbols of a product."""
    return {name for scale, _ in base for (name, _), _ in scale}


def bounded(base: Product) -> bool:
    """Whether a product surely has an upper bound: each growing part is outgrown by a shrinking one."""
    growing = [scale for scale, coefficient in base if sign(coefficient) > 0]
    shrinking = [scale for scale, coefficient in base if sign(coefficient) < 0]
    return all(
        _vanishes(scale) or any(_vanishes(_ratio(scale, other)) for other in shrinking) for scale in growing
    )


def vanishing(base: Product) -> bool:
    """Whether a product surely goes to zero."""
    return bounded(base) and any(
        sign(coefficient) < 0 and _vanishes(_ratio((), scale)) for scale, coefficient in base
    )


def unbounded_along(base: Product, path: Path) -> bool:
    """Whether a product goes to infinity along a path."""
    return _higher(_limit(base, path), ())


def unbounded_in(base: Product, name: str) -> bool:
    """Whether a product goes to infinity with one symbol, all others being fixed large numbers."""
    others = frozenset(names(base) - {name})
    rank = _limit(base, (frozenset((name,)), others))
    return bool(rank) and rank[0][0] == 0 and _higher(rank, ())


def _limit(base: Product, path: Path) -> Rank:
    """The rank of what decides along a path, where that is positive; else the rank of a constant."""
    place = {name: number for number, group in enumerate(path) for name in group}
    ranks: dict[Rank, Exact] = {}
    for scale, coefficient in base:
        rank = _rank(scale, place)
        ranks[rank] = ranks.get(rank, 0) + coefficient
    leading: Rank | None = None
    for rank, coefficient in ranks.items():
        if coefficient != 0 and (leading is None or _higher(rank, leading)):
            leading = rank
    return leading if leading is not None and sign(ranks[leading]) > 0 else ()


def paths(symbols: Iterable[str]) -> Iterator[Path]:
    """Ways for symbols to grow: some are equal and outgrow the others, or one after the other."""
    ordered = sorted(symbols)
    for chosen in islice(_groups(ordered), MAX_PATHS):
        rest = [name for name in ordered if not any(name in group for group in chosen)]
        yield (*chosen, frozenset(rest)) if rest else chosen


def _groups(ordered: Sequence[str]) -> Iterator[Path]:
    for size in range(1, len(ordered) + 1):
        for chosen in combinations(ordered, size):
            yield (frozenset(chosen),)
    for first, second in permutations(ordered, 2):
        yield (frozenset((first,)), frozenset((second,)))


def _ratio(first: Scale, second: Scale) -> Scale:
    powers: dict[tuple[str, int], Rational] = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) - power
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def _vanishes(scale: Scale) -> bool:
    """Whether a scale goes to zero however the symbols grow: each symbol's leading power is negative."""
    leading: dict[str, Rational] = {}
    for (name, _), power in scale:  # sorted: a symbol comes before its logarithms
        leading.setdefault(name, power)
    return bool(leading) and all(power < 0 for power in leading.values())


def _rank(scale: Scale, place: dict[str, int]) -> Rank:
    powers: dict[tuple[int, int], Rational] = {}
    for (name, times), power in scale:
        key = (place[name], times)
        powers[key] = powers.get(key, 0) + power
    return tuple((*key, power) for key, power in sorted(powers.items()) if power)


def _higher(first: Rank, second: Rank) -> bool:
    """Whether a rank is above another: the first power in which they differ decides."""
    left = {(group, times): power for group, times, power in first}
    right = {(group, times): power for group, times, power in second}
    for key in sorted(left.keys() | right.keys()):
        difference = left.get(key, 0) - right.get(key, 0)
        if difference:
            return difference > 0
    return False
