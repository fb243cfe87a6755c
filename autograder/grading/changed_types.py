"""Answers in a cell of another type than was given out: what cannot be read there gets manual review.

A notebook shows a student neither that text is not run nor that an error is in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.checks.judging.results import is_blank, review_instead
from autograder.records import Answer, ItemResult, Message, Note, Status

_UNREAD = frozenset({"name.missing", "answer.not-python", "answer.unreadable"})
"""Codes of results that say that code was not read."""


def review_changed_type(
    results: Iterable[ItemResult], answer: Answer, notes: Iterable[Note]
) -> tuple[ItemResult, ...]:
    """Return the results of one question, with manual review instead of a zero for what was not read.

    Args:
        results: of the question.
        answer: that they are about.
        notes: about the submission.
    """
    changed = ("cell-type-changed", answer.grade_id) in {(note.code, note.place) for note in notes}
    if not changed or is_blank(answer):
        return tuple(results)
    return tuple(_review(result) if _is_unread(result, answer) else result for result in results)


def _is_unread(result: ItemResult, answer: Answer) -> bool:
    if result.points or result.reading:
        return False
    if result.code in _UNREAD:
        return True
    return answer.cell_type != "code" and result.status in {Status.FAILED, Status.NO_ANSWER}


def _review(result: ItemResult) -> ItemResult:
    staff = "the cell's type differs from the release's"
    return review_instead(result, Message("review.cell-type"), staff)
