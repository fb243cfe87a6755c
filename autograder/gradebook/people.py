"""Reads what people gave in formgrader: marks, extra credit and comments. Nothing is written here."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from autograder.gradebook import tables
from autograder.grades import CellName, PersonMark


def read_marks(connection: sa.Connection, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
    """What people gave, by student and cell; only cells that a person touched."""
    grade = tables.GRADE
    columns = (grade.c.manual_score, grade.c.extra_credit, grade.c.needs_manual_grade)
    touched = grade.c.manual_score.is_not(None) | grade.c.extra_credit.is_not(None)
    graded = connection.execute(of_class(grade, assignment, *columns).where(touched))
    found: dict[str, dict[CellName, PersonMark]] = {}
    for student, notebook, cell, manual, extra, again in graded:
        mark = PersonMark(_exact(manual), _exact(extra) or Decimal(0), bool(again))
        found.setdefault(student, {})[notebook, cell] = mark
    comment = tables.COMMENT.c.manual_comment
    commented = of_class(tables.COMMENT, assignment, comment).where(comment.is_not(None), comment != "")
    for student, notebook, cell, text in connection.execute(commented):
        cells = found.setdefault(student, {})
        mark = cells.get((notebook, cell), PersonMark())
        cells[notebook, cell] = PersonMark(mark.points, mark.extra, mark.again, text)
    return found


def of_class(table: sa.Table, assignment: str, *columns: sa.Column[Any]) -> sa.Select[Any]:
    """The grade or comment rows of a whole class: student, notebook, cell, and these columns."""
    submission, submitted = tables.SUBMISSION, tables.SUBMITTED_NOTEBOOK
    notebook, cell = tables.NOTEBOOK, tables.CELL
    return (
        sa.select(submission.c.student_id, notebook.c.name, cell.c.name, *columns)
        .join_from(table, submitted, submitted.c.id == table.c.notebook_id)
        .join(submission, submission.c.id == submitted.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .join(notebook, notebook.c.id == submitted.c.notebook_id)
        .join(cell, cell.c.id == table.c.cell_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
    )


def _exact(value: float | None) -> Decimal | None:
    """The number as it was typed: the shortest one that the database's float stands for."""
    return Decimal(repr(float(value))) if value is not None and math.isfinite(value) else None
