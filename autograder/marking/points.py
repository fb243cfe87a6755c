"""Points given item by item: their bounds, their sum, and their conversion when a rubric changes.

Exact and pure. An item with negative points is a deduction: its points are between that number and zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from autograder.core.records import Score, Status
from autograder.grading.grades import NOTHING
from autograder.rubric import Item, Question

_CENTS = 100


def get_bounds(item: Item) -> tuple[Decimal, Decimal]:
    """Return the least and the most points that a grader can give an item."""
    return min(item.points, NOTHING), max(item.points, NOTHING)


def is_within(points: Decimal, item: Item) -> bool:
    """Decide whether an item can get these points; infinity and NaN are outside."""
    least, most = get_bounds(item)
    return points.is_finite() and least <= points <= most


def scale_points(points: Decimal, of: Decimal, now: Decimal) -> Decimal:
    """Convert the points of a mark after its item's points have changed.

    Full stays full and zero stays zero; other points stay in proportion, rounded to 0.01, halves away from
    zero. There is no proportion between a credit and a deduction: the result is zero then.

    Args:
        points: as given.
        of: the item's points at that time.
        now: the item's current points; the result is between them and zero.
    """
    if not points or of * now <= 0:
        return NOTHING
    exact = min(max(Fraction(points) / Fraction(of), Fraction(0)), Fraction(1)) * Fraction(now)
    # Unchanged points keep their decimals instead of being rounded to cents.
    if exact in (points, now):
        return points if exact == points else now
    # Exact fractions: Decimal division would round twice and could break ties in the wrong direction.
    cents = Decimal(int(abs(exact) * _CENTS + Fraction(1, 2)))
    return min(cents / _CENTS, abs(now)).copy_sign(now)


def compute_cell_points(
    question: Question,
    cell: str,
    verdicts: Mapping[str, Decimal | None],
    manual_points: Mapping[str, Decimal],
) -> Decimal | None:
    """Return the points of a grade cell: manual points of its items or else verdicts of grading.

    Args:
        question: the question with the cell.
        cell: its ``grade_id``.
        verdicts: results of grading by item; None, or no entry, if it needs manual review.
        manual_points: manual points by item.

    Returns:
        The sum, clipped to zero and the cell's points (see `compute_automatic_points`); None
        if an item has neither.

    Raises:
        KeyError: the question has no such cell.
    """
    possible = question.list_cells()[cell]
    points = [manual_points.get(item.id, verdicts.get(item.id)) for item in list_items(question, cell)]
    decided_points = [value for value in points if value is not None]
    if len(decided_points) < len(points):
        return None
    return min(max(sum(decided_points, NOTHING), NOTHING), possible)


def list_items(question: Question, cell: str) -> tuple[Item, ...]:
    """Return the items that contribute points to a grade cell, in the rubric's order."""
    return tuple(item for item in question.items if (item.cell or question.id) == cell)


def collect_verdicts(question: Question, cell: str, score: Score) -> dict[str, Decimal | None]:
    """Return the verdicts of grading on the items of a cell; None if an item needs manual review.

    An item worth zero points always has zero.
    """
    results = {result.item: result for result in score.items if result.question == question.id}
    verdicts: dict[str, Decimal | None] = {}
    for item in list_items(question, cell):
        result = results.get(item.id)
        if result is not None and result.status is not Status.NEEDS_REVIEW:
            verdicts[item.id] = result.points
        else:
            verdicts[item.id] = None if item.points else NOTHING
    return verdicts
