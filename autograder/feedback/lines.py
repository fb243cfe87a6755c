"""The lines of the rubric for one student, with people's marks put in the place of automatic results."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.grades import NOTHING, CellPoints, QuestionPoints
from autograder.records import ItemResult, Message, Status
from autograder.rubric import Question


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


def lines(
    question: Question, results: Sequence[ItemResult], points: QuestionPoints
) -> tuple[RubricLine, ...]:
    """The items that have a result, in the rubric's order."""
    cells = {cell.name: cell for cell in points.cells}
    of_item = {item.id: item.cell or question.id for item in question.items}
    return tuple(
        _line(result, cells[of_item[result.item]], shared=_shared(question, of_item[result.item]))
        for result in results
    )


def lost(question: Question, found: Sequence[RubricLine], points: QuestionPoints) -> Decimal:
    """What the question lost: its lines, and cells that were marked as a whole."""
    together = (
        max(NOTHING, cell.possible - cell.points)
        for cell in points.cells
        if cell.by_person and not cell.pending and _shared(question, cell.name)
    )
    return sum((line.lost for line in found), NOTHING) + sum(together, NOTHING)


def together(question: Question, points: QuestionPoints) -> tuple[CellPoints, ...]:
    """The cells of several lines that a person marked as a whole."""
    return tuple(cell for cell in points.cells if cell.by_person and _shared(question, cell.name))


def _shared(question: Question, cell: str) -> bool:
    return sum((item.cell or question.id) == cell for item in question.items) > 1


def _line(result: ItemResult, cell: CellPoints, *, shared: bool) -> RubricLine:
    if not cell.by_person:
        return RubricLine(result)
    full = cell.points >= cell.possible
    status = Status.NEEDS_REVIEW if cell.pending else Status.PASSED if full else Status.FAILED
    # What was said of a line that a person has decided on otherwise would only confuse.
    silent = full or result.status is Status.NEEDS_REVIEW
    message = Message("passed") if silent else result.student
    decided = replace(result, status=status, student=message)
    if not shared:
        decided = replace(decided, points=cell.points, possible=cell.possible)
    return RubricLine(decided, marked=True, shared=shared)
