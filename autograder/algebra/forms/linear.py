"""Linear programs in exact fractions: the simplex method with Bland's rule, which always ends."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq

from autograder.errors import Undecided

MAX_STEPS = 400
"""Exchanges; Bland's rule ends long before for the sizes that occur."""


def feasible(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether equations with right-hand sides from 0 have a solution from 0.

    Args:
        rows: of each equation the coefficients, then the right-hand side.

    Raises:
        Undecided: it takes too long.
    """
    return cheapest(rows, [Fraction(0)] * (len(rows[0]) - 1)) is not None


def cheapest(rows: Sequence[Sequence[Fraction]], costs: Sequence[Fraction]) -> list[Fraction] | None:
    """A solution from 0 of equations with right-hand sides from 0 for which a linear cost is least.

    Each row starts with an artificial variable of its own, whose column is not kept; they leave the basis
    for good. What one of them costs outweighs everything else.

    Args:
        rows: as for `feasible`.
        costs: of each variable; bounded below on the solutions.

    Returns:
        None where the equations have no solution from 0.

    Raises:
        Undecided: it takes too long, or the cost has no least value.
    """
    table = [[fmpq(value.numerator, value.denominator) for value in row] for row in rows]
    width = len(costs)
    basis = [width + number for number in range(len(table))]  # from `width` on: artificial
    heavy = [-sum(column, fmpq(0)) for column in zip(*table, strict=True)]  # what those cost
    light = [*(fmpq(cost.numerator, cost.denominator) for cost in costs), fmpq(0)]
    for _ in range(MAX_STEPS):
        entering = next((at for at in range(width) if (heavy[at] or light[at]) < 0), None)
        if entering is None:
            return None if heavy[-1] else _solution(table, basis, width)
        ratios = [
            (row[-1] / row[entering], basis[number], number)
            for number, row in enumerate(table)
            if row[entering] > 0
        ]
        if not ratios:
            raise Undecided("a linear program without a least value")
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        chosen = table[leaving] = [value / pivot for value in table[leaving]]
        for row in (*table[:leaving], *table[leaving + 1 :], heavy, light):
            factor = row[entering]
            if factor:
                row[:] = [
                    value - factor * other if other else value
                    for value, other in zip(row, chosen, strict=True)
                ]
        basis[leaving] = entering
    raise Undecided("a linear program that takes too long")


def _solution(table: Sequence[Sequence[fmpq]], basis: Sequence[int], width: int) -> list[Fraction]:
    found = [Fraction(0)] * width
    for row, variable in zip(table, basis, strict=True):
        if variable < width:
            found[variable] = Fraction(int(row[-1].p), int(row[-1].q))
    return found
