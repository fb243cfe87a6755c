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


def is_infeasible(rows: Iterable[Row], free: AbstractSet[Any] = frozenset()) -> bool:
    """Return whether some sums can never all be positive together.

    Args:
        rows: the sums.
        free: the unknowns that may be negative; all others are zero or more.

    Raises:
        Undecided: elimination takes too long.
    """
    pending = set(map(_to_whole_numbers, rows))
    while not any(_is_never_positive(row, free) for row in pending):
        counts = Counter((unknown, number > 0) for row in pending for unknown, number in row)
        if not counts:
            return False
        # Eliminate the unknown that adds the fewest rows: p positive and n negative ones become p*n.
        _, chosen = min(
            (
                counts[candidate, True] * counts[candidate, False]
                - counts[candidate, True]
                - counts[candidate, False],
                candidate,
            )
            for candidate, _ in counts
        )
        pending = _remove_unknown(chosen, pending, free=chosen in free)
        if len(pending) > MAX_ROWS:
            raise Undecided("inequalities that take too long")
    return True


def _to_whole_numbers(row: Row) -> _Row:
    """Return the same row with whole coefficients that have no common divisor."""
    common = math.lcm(*[number.denominator for number in row.values()])
    numbers = [
        (unknown, number.numerator * (common // number.denominator))
        for unknown, number in row.items()
        if number
    ]
    divisor = math.gcd(*[number for _, number in numbers])
    return frozenset([(unknown, number // divisor) for unknown, number in numbers])


def _is_never_positive(row: _Row, free: AbstractSet[Any]) -> bool:
    """Return whether a sum is certainly never positive."""
    return all(number < 0 and unknown not in free for unknown, number in row)


def _remove_unknown(chosen: Any, rows: AbstractSet[_Row], *, free: bool) -> set[_Row]:
    """Eliminate an unknown.

    Every two rows in which it has opposite signs are combined into one in which it cancels.
    """
    numbers = [dict(row) for row in rows]
    remaining = {row for row, coefficients in zip(rows, numbers, strict=True) if chosen not in coefficients}
    above = [coefficients for coefficients in numbers if coefficients.get(chosen, 0) > 0]
    for below in numbers:
        if below.get(chosen, 0) < 0:
            if not free:
                # The unknown is not negative, so without its negative term the sum is at least as large.
                remaining.add(_to_whole_numbers({**below, chosen: 0}))
            for coefficients in above:
                both = {*coefficients, *below}
                remaining.add(_to_whole_numbers({
                    unknown: coefficients[chosen] * below.get(unknown, 0)
                    - below[chosen] * coefficients.get(unknown, 0)
                    for unknown in both
                }))  # fmt: skip
    return remaining
