"""Points that people give item by item: their bounds, their sum, and what they become when a rubric changes.

Exact and pure. An item with negative points is a deduction: it takes between all of them and nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from autograder.grades import NOTHING
from autograder.records import Score, Status
from autograder.rubric import Item, Question

_CENTS = 100


def bounded_by(item: Item) -> tuple[Decimal, Decimal]:
    """The least and the most points that a person can give an item."""
    return min(item.points, NOTHING), max(item.points, NOTHING)


def lies_within(points: Decimal, item: Item) -> bool:
    """Whether a person can give an item so many points; what is no number is not within."""
    least, most = bounded_by(item)
    return points.is_finite() and least <= points <= most


def rescaled(points: Decimal, of: Decimal, now: Decimal) -> Decimal:
    """What a mark is worth after its item's points have changed.

    Full stays full and none stays none; others stay in proportion, rounded to 0.01, halves away from zero.
    Between a credit and a deduction there is no proportion: what was given for one is nothing of the other.

    Args:
        points: as given.
        of: what the item was worth then.
        now: what it is worth; the result lies between this and zero.
    """
    if not points or of * now <= 0:
        return NOTHING
    exact = min(max(Fraction(points) / Fraction(of), Fraction(0)), Fraction(1)) * Fraction(now)
    if exact in (points, now):
        return points if exact == points else now
    cents = Decimal(int(abs(exact) * _CENTS + Fraction(1, 2)))
    return min(cents / _CENTS, abs(now)).copy_sign(now)


def cell_points(
    question: Question,
    cell: str,
    verdicts: Mapping[str, Decimal | None],
    given: Mapping[str, Decimal],
) -> Decimal | None:
    """The points of a grade cell: what people gave its items and, of the others, what grading found.

    Args:
        question: that has the cell.
        cell: its ``grade_id``.
        verdicts: by item, what grading found; None, or no entry, where a person decides.
        given: by item, what people gave.

    Returns:
        The sum, within zero and the cell's points (`autograder.grades.automatic_points`); None while one of
        its items has neither.

    Raises:
        KeyError: the question has no such cell.
    """
    possible = question.cells()[cell]
    points = [given.get(item.id, verdicts.get(item.id)) for item in items_of(question, cell)]
    known = [one for one in points if one is not None]
    if len(known) < len(points):
        return None
    return min(max(sum(known, NOTHING), NOTHING), possible)


def items_of(question: Question, cell: str) -> tuple[Item, ...]:
    """The items whose points a grade cell carries, in the rubric's order."""
    return tuple(item for item in question.items if (item.cell or question.id) == cell)


def verdicts_of(question: Question, cell: str, score: Score) -> dict[str, Decimal | None]:
    """What grading found of the items of a cell; None where a person decides.

    An item worth nothing has nothing, whatever a person will say of it.
    """
    results = {result.item: result for result in score.items if result.question == question.id}
    found: dict[str, Decimal | None] = {}
    for item in items_of(question, cell):
        result = results.get(item.id)
        if result is not None and result.status is not Status.NEEDS_REVIEW:
            found[item.id] = result.points
        else:
            found[item.id] = None if item.points else NOTHING
    return found
