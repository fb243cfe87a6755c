"""The released texts that a student had: the text of a question, and the cell of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autograder.core.errors import CourseError, NotebookError
from autograder.notebook.language import select_language
from autograder.notebook.release import Release, ReleaseCell
from autograder.pages.feedback.prose import render_given_prose
from autograder.rubric import Question


def find_released_cell(release: Release, question: Question, cell: str = "") -> ReleaseCell | None:
    """Return the release's cell for an answer; None if there is none.

    Args:
        release: the student's own release.
        question: question that is answered.
        cell: grade_id of the answer's own cell; default: the question's.
    """
    item_cell = release.by_id.get(cell)
    # An item may have its own answer cell within the question.
    if item_cell is not None and item_cell.is_answer:
        return item_cell
    try:
        return release.by_id[release.find_answer_cell(question)]
    except CourseError:
        return None


def list_prompts(
    release: Release, answer: ReleaseCell | None, languages: Sequence[str] = (), language: str = ""
) -> tuple[Markup, ...]:
    """Return the texts directly above an answer, up to a cell with code or another answer.

    Args:
        release: the student's own release.
        answer: cell of the answer.
        languages: languages of the assignment.
        language: language of the reader; a text in several languages is shown in this one only.
    """
    wanted = language if language in languages else ""
    texts: list[Markup] = []
    for cell in reversed(release.cells[: answer.number - 1] if answer else ()):
        if cell.cell_type == "markdown" and not (cell.is_answer or cell.grade):
            texts.append(render_given_prose(_select_language(cell.source, languages, wanted)))
        elif texts:
            # Other cells below the prompt are skipped; above it they end the search.
            break
    return tuple(texts[::-1])


def _select_language(text: str, languages: Sequence[str], wanted: str) -> str:
    """Return a text in one language."""
    try:
        return select_language(text, languages, wanted, "")
    except NotebookError:  # it was released like this, so it is shown unchanged
        return text
