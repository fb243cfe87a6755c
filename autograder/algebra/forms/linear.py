"""Linear programs in exact fractions: the simplex method with Bland's rule, which always ends."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from autograder.errors import Undecided

MAX_STEPS = 400
"""Exchanges; Bland's rule ends long before for the sizes that occur."""


def feasible(rows: list[list[Fraction]]) -> bool:
    """Whether equations with right-hand sides from 0 have a solution from 0.

    Args:
        rows: of each equation the coefficients, then the right-hand side. They are changed.

    Raises:
        Undecided: it takes too long.
    """
    return cheapest(rows, [Fraction(0)] * (len(rows[0]) - 1)) is not None


def cheapest(rows: list[list[Fraction]], costs: Sequence[Fraction]) -> list[Fraction] | None:
    """A solution from 0 of equations with right-hand sides from 0 for which a linear cost is least.

    Each row starts with an artificial variable of its own, whose column is not kept; they leave the basis
    for good. What one of them costs outweighs everything else.

    Args:
        rows: as for `feasible`; they are changed.
        costs: of each variable; bounded below on the solutions.

    Returns:
        None where the equations have no solution from 0.

    Raises:
        Undecided: it takes too long, or the cost has no least value.
    """
    width = len(costs)
    basis = [width + number for number in range(len(rows))]  # from `width` on: artificial
    heavy = [-sum(column) for column in zip(*rows, strict=True)]  # what the artificial variables cost
    light = [*costs, Fraction(0)]
    for _ in range(MAX_STEPS):
        entering = next((at for at in range(width) if (heavy[at], light[at]) < (0, 0)), None)
        if entering is None:
            if heavy[-1]:
                return None
            found = [Fraction(0)] * width
            for row, variable in zip(rows, basis, strict=True):
                if variable < width:
                    found[variable] = row[-1]
            return found
        ratios = [
            (row[-1] / row[entering], basis[number], number)
            for number, row in enumerate(rows)
            if row[entering] > 0
        ]
        if not ratios:
            raise Undecided("a linear program without a least value")
        leaving = min(ratios)[2]
        _exchange(rows, leaving, entering)
        for line in (heavy, light):
            factor = line[entering]
            if factor:
                line[:] = [value - factor * other for value, other in zip(line, rows[leaving], strict=True)]
        basis[leaving] = entering
    raise Undecided("a linear program that takes too long")


def _exchange(rows: list[list[Fraction]], leaving: int, entering: int) -> None:
    pivot = rows[leaving][entering]
    rows[leaving] = [value / pivot for value in rows[leaving]]
    for number, row in enumerate(rows):
        factor = row[entering]
        if number != leaving and factor:
            rows[number] = [value - factor * other for value, other in zip(row, rows[leaving], strict=True)]
