"""Agreement of two graders who graded the same answers. Exact and pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from autograder.grading.grades import NOTHING


class Agreement(Struct, frozen=True):
    """Agreement of two graders on one item."""

    pairs: int
    equal: int
    """Pairs with the same points."""
    kappa: Fraction | None
    """Cohen's kappa; None without pairs, and if chance alone would give the same points every time."""
    apart: Decimal
    """Mean absolute difference of their points, rounded to 0.01."""


def compute_agreement(pairs: Sequence[tuple[Decimal, Decimal]]) -> Agreement:
    """Compare the points that two graders gave the same answers.

    Kappa is (p - e) / (1 - e): p is the share of equal pairs, e the share expected if each grader had given
    the same points in random order (Cohen 1960). The categories are the points that occur.

    Args:
        pairs: the points of both graders, by answer.
    """
    number = len(pairs)
    if not number:
        return Agreement(0, 0, None, NOTHING)
    equal = sum(first_points == second_points for first_points, second_points in pairs)
    first, second = (
        Counter(first_points for first_points, _ in pairs),
        Counter(second_points for _, second_points in pairs),
    )
    chance = Fraction(sum(first[points] * second[points] for points in first), number * number)
    kappa = None if chance == 1 else (Fraction(equal, number) - chance) / (1 - chance)
    return Agreement(
        number,
        equal,
        kappa,
        compute_mean([abs(first_points - second_points) for first_points, second_points in pairs]),
    )


def compute_mean(points: Sequence[Decimal]) -> Decimal:
    """Return the mean, rounded to 0.01; 0 for no points."""
    return (sum(points, NOTHING) / len(points)).quantize(Decimal("0.01")) if points else NOTHING
