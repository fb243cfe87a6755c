"""How a class did, item by item. Exact where it counts, and pure."""

from __future__ import annotations

import statistics as numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder.grades import NOTHING, Standing
from autograder.marking.agreement import mean
from autograder.records import ItemResult, Score, Status
from autograder.rubric import Item, Question, Rubric

_FEWEST = 10
"""With fewer students nothing is said of how an item goes with the others."""
_BARS = 10


class ItemFigures(Struct, frozen=True):
    """One item in a class."""

    question: Question
    item: Item
    settled: int
    """Students whose points are known."""
    waiting: int
    unanswered: int
    full: int
    none: int
    mean: Decimal
    discrimination: float | None
    """Correlation of the item's points with those of all the others; None where it cannot be told."""
    mistakes: tuple[tuple[str, int], ...]
    """Codes of named mistakes, the most frequent first."""


class ClassFigures(Struct, frozen=True):
    """A whole class."""

    students: int
    mean: Decimal
    median: Decimal
    bars: tuple[int, ...]
    """Students by tenths of the possible points, from none to all."""
    items: tuple[ItemFigures, ...]


def figures(
    rubric: Rubric,
    scores: Mapping[str, Score],
    stands: Mapping[str, Standing],
    given: Mapping[str, Mapping[tuple[str, str], Decimal]],
) -> ClassFigures:
    """The figures of a class.

    Args:
        rubric: the common one.
        scores: the automatic results, by student.
        stands: where everybody stands, with what people gave.
        given: by student, what people gave items, by question and item.
    """
    totals = {student: stands[student].total for student in scores}
    results = {
        student: {(one.question, one.item): one for one in score.items} for student, score in scores.items()
    }
    items = tuple(
        _item(question, item, results, totals, given)
        for question in rubric.questions
        for item in question.items
    )
    points = list(totals.values())
    return ClassFigures(
        len(points),
        mean(points),
        numbers.median(points) if points else NOTHING,
        _bars(points, rubric.assignment.points),
        items,
    )


def _bars(points: Sequence[Decimal], possible: Decimal) -> tuple[int, ...]:
    found = Counter(min(_BARS - 1, max(0, int(_BARS * one / possible))) for one in points if possible > 0)
    return tuple(found[place] for place in range(_BARS))


def _item(
    question: Question,
    item: Item,
    results: Mapping[str, Mapping[tuple[str, str], ItemResult]],
    totals: Mapping[str, Decimal],
    given: Mapping[str, Mapping[tuple[str, str], Decimal]],
) -> ItemFigures:
    place = (question.id, item.id)
    points: dict[str, Decimal] = {}
    unanswered, codes = 0, Counter[str]()
    for student, found in results.items():
        result = found.get(place)
        unanswered += result is not None and result.status is Status.NO_ANSWER
        if result is not None and result.status is Status.FAILED and result.code:
            codes[result.code] += 1
        if place in given.get(student, {}):
            points[student] = given[student][place]
        elif result is not None and result.status is not Status.NEEDS_REVIEW:
            points[student] = result.points
    return ItemFigures(
        question,
        item,
        len(points),
        len(results) - len(points),
        unanswered,
        sum(one == item.points for one in points.values()),
        sum(one == 0 for one in points.values()),
        mean(list(points.values())),
        _discrimination(points, totals),
        tuple(codes.most_common(5)),
    )


def _discrimination(points: Mapping[str, Decimal], totals: Mapping[str, Decimal]) -> float | None:
    own = [float(one) for one in points.values()]
    rest = [float(totals[student] - one) for student, one in points.items()]
    if len(own) < _FEWEST or len(set(own)) == 1 or len(set(rest)) == 1:
        return None
    return numbers.correlation(own, rest)
