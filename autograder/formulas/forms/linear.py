"""Decide systems of linear inequalities exactly, by Fourier–Motzkin elimination."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

from autograder.formulas.errors import Undecided

MAX_ROWS = 400  # inequalities, those that follow from others among them

Row = Mapping[Any, int | Fraction]
"""The coefficient of each unknown in a sum."""
_Row = frozenset[tuple[Any, int]]


def clash(rows: Iterable[Row], free: AbstractSet[Any] = frozenset()) -> bool:
    """Return whether some sums can never all be positive together.

    Args:
        rows: the sums.
        free: the unknowns that may be negative; all others are zero or more.

    Raises:
        Undecided: elimination takes too long.
    """
    left = set(map(_whole, rows))
    while not any(_never(row, free) for row in left):
        found = Counter((unknown, number > 0) for row in left for unknown, number in row)
        if not found:
            return False
        # Eliminate the unknown that adds the fewest rows: p positive and n negative ones become p*n.
        _, chosen = min(
            (found[one, True] * found[one, False] - found[one, True] - found[one, False], one)
            for one, _ in found
        )
        left = _without(chosen, left, free=chosen in free)
        if len(left) > MAX_ROWS:
            raise Undecided("inequalities that take too long")
    return True


def _whole(row: Row) -> _Row:
    """Return the same row with whole coefficients that have no common divisor."""
    common = math.lcm(*[number.denominator for number in row.values()])
    numbers = [
        (one, number.numerator * (common // number.denominator)) for one, number in row.items() if number
    ]
    divisor = math.gcd(*[number for _, number in numbers])
    return frozenset([(one, number // divisor) for one, number in numbers])


def _never(row: _Row, free: AbstractSet[Any]) -> bool:
    """Return whether a sum is certainly never positive."""
    return all(number < 0 and unknown not in free for unknown, number in row)


def _without(chosen: Any, rows: AbstractSet[_Row], *, free: bool) -> set[_Row]:
    """Eliminate an unknown.

    Every two rows in which it has opposite signs are combined into one in which it cancels.
    """
    numbers = [dict(row) for row in rows]
    found = {row for row, own in zip(rows, numbers, strict=True) if chosen not in own}
    above = [own for own in numbers if own.get(chosen, 0) > 0]
    for below in numbers:
        if below.get(chosen, 0) < 0:
            if not free:
                # The unknown is not negative, so without its negative term the sum is at least as large.
                found.add(_whole({**below, chosen: 0}))
            for own in above:
                both = {*own, *below}
                found.add(_whole({
                    one: own[chosen] * below.get(one, 0) - below[chosen] * own.get(one, 0) for one in both
                }))  # fmt: skip
    return found
