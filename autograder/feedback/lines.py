"""The lines of the rubric as they stand: each item with its points, or with what a person gave."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.grades import NOTHING, CellPoints, QuestionPoints, Standing
from autograder.records import ItemResult, Message, Score, Status
from autograder.rubric import Question, Rubric

_SILENT = "passed"
"""The message that says no more than the status."""


class RubricLine(Struct, frozen=True):
    """One item as it stands."""

    result: ItemResult
    marked: bool = False
    """A person's mark stands for it."""
    shared: bool = False
    """That mark is for several lines together, so none of them has points of its own."""

    @property
    def lost(self) -> Decimal:
        """Points that could have been had; a deduction that was made counts, an open item does not."""
        if self.shared or self.result.status is Status.NEEDS_REVIEW:
            return NOTHING
        return max(NOTHING, max(self.result.possible, NOTHING) - self.result.points)

    @property
    def silent(self) -> bool:
        """There is no sentence: the status says all."""
        return self.result.student.code == _SILENT


def rubric_lines(score: Score, rubric: Rubric, standing: Standing) -> dict[str, tuple[RubricLine, ...]]:
    """The lines of each question, by its id, as the student's page has them."""
    results = {(result.question, result.item): result for result in score.items}
    return {
        question.id: _lines(
            question,
            [results[question.id, item.id] for item in question.items if (question.id, item.id) in results],
            points,
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    }


def _lines(
    question: Question, results: Sequence[ItemResult], points: QuestionPoints
) -> tuple[RubricLine, ...]:
    """The items that have a result, in the rubric's order."""
    of_item = {item.id: item.cell or question.id for item in question.items}
    found: dict[str, RubricLine] = {}
    for cell in points.cells:
        inside = [result for result in results if of_item[result.item] == cell.name]
        found |= {line.result.item: line for line in _cell_lines(question, cell, inside)}
    return tuple(found[result.item] for result in results)


def _cell_lines(question: Question, cell: CellPoints, results: Sequence[ItemResult]) -> list[RubricLine]:
    """The lines of one cell; those that a person's mark is made of have their own points.

    Where what is known of the items is not what the cell has, the mark is for its lines together.
    """
    if not cell.by_person:
        return _bounded([RubricLine(result) for result in results])
    if not _several(question, cell.name):
        return [_marked(replace(one, points=cell.points, possible=cell.possible), cell) for one in results]
    given = [(one, cell.items.get(one.item)) for one in results]
    lines = _bounded(
        [
            RubricLine(one) if points is None else _marked(replace(one, points=points), cell)
            for one, points in given
        ]
    )
    known = all(points is not None or one.status is not Status.NEEDS_REVIEW for one, points in given)
    if known and _missed(lines) == cell.possible - cell.points:
        return lines
    return [replace(_marked(one, cell, full=cell.points >= cell.possible), shared=True) for one in results]


def _several(question: Question, cell: str) -> bool:
    """Whether a cell has several lines, which a person may have marked together."""
    return sum((item.cell or question.id) == cell for item in question.items) > 1


def _missed(lines: Sequence[RubricLine]) -> Decimal:
    """What lines have not of what they could, whether it is settled or not."""
    return sum((max(line.result.possible, NOTHING) - line.result.points for line in lines), NOTHING)


def _bounded(lines: Sequence[RubricLine]) -> list[RubricLine]:
    """The lines of a cell with deductions that take away what is there, and never more.

    Those of grading come first: what a person takes away is taken from the rest.
    """
    left = sum((line.result.points for line in lines if line.result.points > 0), NOTHING)
    kept = list(lines)
    for at in sorted(range(len(kept)), key=lambda at: kept[at].marked):
        result = kept[at].result
        if result.points < 0:
            taken = max(result.points, -left)
            left += taken
            kept[at] = replace(kept[at], result=replace(result, points=taken))
    return kept


def _marked(result: ItemResult, cell: CellPoints, *, full: bool | None = None) -> RubricLine:
    """A line that a person's mark stands for.

    Args:
        result: with the points it has by that mark.
        cell: that was marked.
        full: nothing is missing; default: as its points say.
    """
    full = result.points >= result.possible if full is None else full
    status = Status.NEEDS_REVIEW if cell.pending else Status.PASSED if full else Status.FAILED
    # What was said of a line that a person has decided on otherwise would only confuse.
    silent = full or result.status is Status.NEEDS_REVIEW
    message = Message(_SILENT) if silent else result.student
    return RubricLine(replace(result, status=status, student=message), marked=True)


def lost_points(question: Question, lines: Sequence[RubricLine], points: QuestionPoints) -> Decimal:
    """What the question lost: its lines, and cells whose lines were marked together."""
    together = (
        max(NOTHING, cell.possible - cell.points)
        for cell in marked_together(question, lines, points)
        if not cell.pending
    )
    return sum((line.lost for line in lines), NOTHING) + sum(together, NOTHING)


def marked_together(
    question: Question, lines: Sequence[RubricLine], points: QuestionPoints
) -> tuple[CellPoints, ...]:
    """The cells in which a person's mark is for several lines, none of which has points of its own."""
    alone = {line.result.item for line in lines if not line.shared}
    cells = {item.cell or question.id for item in question.items if item.id in alone}
    return tuple(
        cell
        for cell in points.cells
        if cell.by_person and cell.name not in cells and _several(question, cell.name)
    )
