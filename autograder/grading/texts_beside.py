"""Blank answers whose question has a text in which the student may have written them.

Many exams ask for a formula or a choice in a code cell and for the reason in a text cell below. Some students
write both into the text, which nothing reads, so the blank answer gets manual review instead of a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.checks.base import Check
from autograder.checks.judging.results import is_blank, review_instead
from autograder.records import Answer, ItemResult, Message, Status
from autograder.rubric import Question


def find_text_beside(question: Question, check: Check, answer: Answer, answers: Mapping[str, Answer]) -> str:
    """Return the grade_id of a text of the same question that may contain its blank answer; else nothing.

    Args:
        question: of the rubric.
        check: of the question.
        answer: to it.
        answers: all answers of the notebook, by grade_id.
    """
    if not is_blank(answer) or answer.cell_type != "code":
        return ""
    cells = {item.cell for item in question.items}
    stem = f"{answer.grade_id.removesuffix('-answer')}-"  # "task3-a-why" may be a question of its own
    texts = (
        text
        for name, text in answers.items()
        if (name in cells or name.startswith(stem)) and text.cell_type != "code" and text.changed
    )
    return next((text.grade_id for text in texts if check.is_in_text(text.source)), "")


def review_blank(results: Sequence[ItemResult], staff: str) -> tuple[ItemResult, ...]:
    """Return the results of a question, with manual review instead of zeros for a blank answer.

    Args:
        results: of the question.
        staff: the reason, for staff.
    """
    return tuple(
        review_instead(result, Message("review.text-beside"), staff)
        if result.status is Status.NO_ANSWER
        else result
        for result in results
    )
