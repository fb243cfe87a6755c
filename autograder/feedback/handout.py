"""What a student had before them: the text of a question, and what stood in the cell of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autograder.errors import CourseError, NotebookError
from autograder.feedback.prose import given_prose
from autograder.notebook.language import in_language
from autograder.notebook.release import Release, ReleaseCell
from autograder.rubric import Question


def released_answer(release: Release, question: Question, cell: str = "") -> ReleaseCell | None:
    """The cell of the release into which an answer was to be written; None where there is none.

    Args:
        release: the student's own.
        question: that is answered.
        cell: the grade_id of the answer's own cell; default: the question's.
    """
    own = release.by_id.get(cell)
    if own is not None and own.is_answer:
        return own
    try:
        return release.by_id[release.answer_cell(question)]
    except CourseError:
        return None


def asked(
    release: Release, answer: ReleaseCell | None, languages: Sequence[str] = (), language: str = ""
) -> tuple[Markup, ...]:
    """The next texts above an answer, up to the cell with code or another answer above them.

    Args:
        release: the student's own.
        answer: its cell.
        languages: of the assignment.
        language: of the reader; a text that is there in several is shown in this one alone.
    """
    wanted = language if language in languages else ""
    found: list[Markup] = []
    for one in reversed(release.cells[: answer.number - 1] if answer else ()):
        if one.cell_type == "markdown" and not (one.is_answer or one.grade):
            found.append(given_prose(_in_language(one.source, languages, wanted)))
        elif found:
            break
    return tuple(found[::-1])


def _in_language(text: str, languages: Sequence[str], wanted: str) -> str:
    try:
        return in_language(text, languages, wanted, "")
    except NotebookError:  # it was released all the same, and is shown as it is
        return text
