"""Reasons for open points that the program could not decide, one item each, for staff."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograder.core.records import GradingResult, Status
from autograder.grading.grades import Standing
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.rubric import Rubric

_MOST_REASON = 1000


class WaitingItem(Struct, frozen=True):
    """Item that was meant to be graded automatically, but needs manual review."""

    student: str
    place: str
    """Question and item."""
    why: str


def list_waiting_items(graded: GradingResult, stands: Standing, rubric: Rubric) -> Iterator[WaitingItem]:
    """Yield a student's items in manual review with cells not marked yet; items marked by hand are left out.

    Args:
        graded: result of grading.
        stands: the student's marks, including manual ones.
        rubric: the common rubric.
    """
    pending = {(entry.id, cell.name) for entry in stands.questions for cell in entry.cells if cell.pending}
    # Items marked by hand always wait, which needs no explanation.
    cells = {
        (question.id, item.id): item.cell or question.id
        for question in rubric.questions
        for item in question.items
        if not item.manual
    }
    for entry in graded.score.items:
        cell = cells.get((entry.question, entry.item))
        if entry.status is Status.NEEDS_REVIEW and (entry.question, cell) in pending:
            yield WaitingItem(
                to_printable_text(graded.score.student, 200),
                f"{entry.question}, {entry.item}",
                to_printable_text(entry.staff or "no reason is known", _MOST_REASON),
            )
