"""A notebook and its rubric must name the same cells with the same points."""

from __future__ import annotations

from decimal import Decimal

from autograder.errors import CourseError, RubricError
from autograder.notebook.release import Release
from autograder.rubric import Question, Rubric
from autograder.tables import hint


def check_agreement(release: Release, rubric: Rubric) -> None:
    """Refuse a notebook (source or release) that disagrees with its rubric.

    Raises:
        RubricError: an answer cell or a grade cell is missing, points differ, or a cell with points is
            not in the rubric; names the cell, what was expected and what came.
    """
    place = f"notebook {release.name!r}"
    names = [notebook.name for notebook in rubric.assignment.notebooks]
    if release.name not in names:
        raise RubricError(f"the rubric's notebooks are: {', '.join(names)}", place)
    expected: dict[str, Decimal] = {}
    for question in rubric.questions:
        if question.notebook == release.name:
            _check_answer_cell(release, question)
            expected |= question.cells()
    found = {cell.grade_id: cell for cell in release.cells if cell.points is not None}
    for grade_id, points in expected.items():
        cell = found.get(grade_id)
        if cell is None:
            raise RubricError(
                f"the rubric gives {points} points to {grade_id!r}, but no cell is graded under "
                f"that name; {hint(grade_id, found)}",
                place,
            )
        if cell.points != points:
            raise RubricError(
                f"points: the rubric says {points}, the notebook {cell.points}",
                f"{place}, cell {cell.number} ({grade_id})",
            )
    for grade_id, cell in found.items():
        if grade_id not in expected:
            raise RubricError(
                f"{grade_id!r} carries {cell.points} points but is not in the rubric, so that nothing would "
                "be asked for them: add a question or an item with this cell, or take the points off the "
                f"cell; {hint(grade_id, expected)}",
                f"{place}, cell {cell.number}",
            )


def _check_answer_cell(release: Release, question: Question) -> None:
    try:
        release.answer_cell(question)
    except CourseError as error:
        raise RubricError(str(error)) from error
