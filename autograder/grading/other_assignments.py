"""Notebooks of another assignment of the course that were submitted by mistake."""

from __future__ import annotations

import contextlib

from autograder.core.errors import NotebookError
from autograder.course import Course
from autograder.notebook.document import MAX_BYTES, RawCell, parse_notebook
from autograder.notebook.files import read_below
from autograder.notebook.release import Release


def refuse_other_assignment(course: Course, assignment: str, release: Release, data: bytes) -> None:
    """Refuse a notebook with no answer cell of its assignment, but with answer cells of another one.

    Args:
        course: the course; its other releases are read only if no answer cell is found.
        assignment: that is graded.
        release: of the expected notebook.
        data: the submitted notebook.

    Raises:
        NotebookError: ``other-assignment``, with the name of the notebook's assignment; or see
            `autograder.notebook.document.parse_notebook`.
    """
    ids = _list_answer_ids(parse_notebook(data).cells)
    if not ids or ids & {name for name, cell in release.by_id.items() if cell.is_answer}:
        return
    shared = {other: len(ids & _list_released_ids(course, other)) for other in course.list_assignments()}
    shared.pop(assignment, None)
    # The most similar assignment; courses may reuse some ids in several.
    other = max(shared, key=lambda name: shared[name], default="")
    if other and shared[other]:
        raise NotebookError(
            "other-assignment",
            f"{release.name}.ipynb is a notebook of the assignment {other!r}, not of {assignment!r}. Hand in "
            "the notebook of this assignment.",
        )


def _list_answer_ids(cells: tuple[RawCell, ...]) -> frozenset[str]:
    marks = [cell.nbgrader or {} for cell in cells]
    return frozenset(str(mark.get("grade_id")) for mark in marks if mark.get("solution"))


def _list_released_ids(course: Course, assignment: str) -> frozenset[str]:
    """Return the answer cells of all notebooks in an assignment's release; none if there is no release."""
    folder = course.locate_release(assignment)
    ids: frozenset[str] = frozenset()
    for path in sorted(folder.glob("*.ipynb")):
        with contextlib.suppress(OSError, NotebookError):  # reported when that assignment is graded
            ids |= _list_answer_ids(parse_notebook(read_below(folder, path.name, most=MAX_BYTES)).cells)
    return ids
