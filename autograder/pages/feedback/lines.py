"""Lines of the rubric with their current points: each item's own, or those that a marker gave."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import ItemResult, Message, Score, Status
from autograder.grading.grades import NOTHING, CellPoints, QuestionPoints, Standing
from autograder.rubric import Question, Rubric

_SILENT = "passed"
"""The message that adds nothing to the status."""


class RubricLine(Struct, frozen=True):
    """One item with its current result."""

    result: ItemResult
    marked: bool = False
    """A manual mark replaces its result."""
    shared: bool = False
    """This mark is for several lines together, so none of them has its own points."""

    @property
    def lost(self) -> Decimal:
        """Points that could have been earned; an applied deduction counts, an open item does not."""
        if self.shared or self.result.status is Status.NEEDS_REVIEW:
            return NOTHING
        # A deduction has negative possible points and costs the points that it took.
        return max(NOTHING, max(self.result.possible, NOTHING) - self.result.points)

    @property
    def silent(self) -> bool:
        """Whether the status needs no further sentence."""
        return self.result.student.code == _SILENT


def list_rubric_lines(score: Score, rubric: Rubric, standing: Standing) -> dict[str, tuple[RubricLine, ...]]:
    """Return the lines of each question, by its id, for the student's page."""
    results = {(result.question, result.item): result for result in score.items}
    return {
        question.id: _list_lines(
            question,
            [results[question.id, item.id] for item in question.items if (question.id, item.id) in results],
            points,
        )
        for question, points in zip(rubric.questions, standing.questions, strict=True)
    }


def _list_lines(
    question: Question, results: Sequence[ItemResult], points: QuestionPoints
) -> tuple[RubricLine, ...]:
    """Return the items that have a result, in the rubric's order."""
    of_item = {item.id: item.cell or question.id for item in question.items}
    line_by_item: dict[str, RubricLine] = {}
    for cell in points.cells:
        inside = [result for result in results if of_item[result.item] == cell.name]
        line_by_item |= {line.result.item: line for line in _list_cell_lines(question, cell, inside)}
    return tuple(line_by_item[result.item] for result in results)


def _list_cell_lines(question: Question, cell: CellPoints, results: Sequence[ItemResult]) -> list[RubricLine]:
    """Return the lines of one cell; those included in a manual mark have their own points.

    If the points known per item do not add up to the cell's points, the mark is for its lines together.
    """
    if not cell.by_person:
        return _limit_deductions([RubricLine(result) for result in results])
    # A cell with one line has exactly the marker's points.
    if not _has_several(question, cell.name):
        return [
            _mark_line(replace(item_result, points=cell.points, possible=cell.possible), cell)
            for item_result in results
        ]
    item_points = [(item_result, cell.items.get(item_result.item)) for item_result in results]
    lines = _limit_deductions(
        [
            RubricLine(item_result)
            if points is None
            else _mark_line(replace(item_result, points=points), cell)
            for item_result, points in item_points
        ]
    )
    # The points per item are only shown if they explain the mark of the cell completely.
    is_complete = all(
        points is not None or item_result.status is not Status.NEEDS_REVIEW
        for item_result, points in item_points
    )
    if is_complete and _sum_missed(lines) == cell.possible - cell.points:
        return lines
    return [
        replace(_mark_line(item_result, cell, full=cell.points >= cell.possible), shared=True)
        for item_result in results
    ]


def _has_several(question: Question, cell: str) -> bool:
    """Decide whether a cell has several lines, which may have been marked together."""
    return sum((item.cell or question.id) == cell for item in question.items) > 1


def _sum_missed(lines: Sequence[RubricLine]) -> Decimal:
    """Return the points that lines lack, whether they are final or not."""
    return sum((max(line.result.possible, NOTHING) - line.result.points for line in lines), NOTHING)


def _limit_deductions(lines: Sequence[RubricLine]) -> list[RubricLine]:
    """Limit the deductions of a cell to the points that are there.

    Automatic deductions come first: a marker's deduction reduces the remaining points.
    """
    # Deductions cannot take more than the positive points of the cell.
    left = sum((line.result.points for line in lines if line.result.points > 0), NOTHING)
    kept = list(lines)
    # The sort is stable, so automatic deductions keep the rubric's order.
    for position in sorted(range(len(kept)), key=lambda position: kept[position].marked):
        result = kept[position].result
        if result.points < 0:
            taken = max(result.points, -left)
            left += taken
            kept[position] = replace(kept[position], result=replace(result, points=taken))
    return kept


def _mark_line(result: ItemResult, cell: CellPoints, *, full: bool | None = None) -> RubricLine:
    """Return a line with a manual mark.

    Args:
        result: result with the points of this mark.
        cell: cell that was marked.
        full: no points are missing; default: derived from the points.
    """
    full = result.points >= result.possible if full is None else full
    # Partial points count as failed; the points column shows how many were earned.
    status = Status.NEEDS_REVIEW if cell.pending else Status.PASSED if full else Status.FAILED
    # The automatic message would contradict a mark that decides otherwise.
    silent = full or result.status is Status.NEEDS_REVIEW
    message = Message(_SILENT) if silent else result.student
    return RubricLine(replace(result, status=status, student=message), marked=True)


def sum_lost_points(question: Question, lines: Sequence[RubricLine], points: QuestionPoints) -> Decimal:
    """Return the points that a question lost: its lines, and cells with lines marked together."""
    together = (
        max(NOTHING, cell.possible - cell.points)
        for cell in find_shared_cells(question, lines, points)
        if not cell.pending
    )
    return sum((line.lost for line in lines), NOTHING) + sum(together, NOTHING)


def find_shared_cells(
    question: Question, lines: Sequence[RubricLine], points: QuestionPoints
) -> tuple[CellPoints, ...]:
    """Return the cells with a manual mark for several lines, none of which has its own points."""
    alone = {line.result.item for line in lines if not line.shared}
    cells = {item.cell or question.id for item in question.items if item.id in alone}
    return tuple(
        cell
        for cell in points.cells
        if cell.by_person and cell.name not in cells and _has_several(question, cell.name)
    )
