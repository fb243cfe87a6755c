"""Automatic scores that are not ours any more: nbgrader's own autograde writes over them.

What people gave is never touched: neither their marks nor whether one is to be looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from autograder.gradebook import tables
from autograder.gradebook.marks import CellScore
from autograder.gradebook.people import of_class
from autograder.grades import CellName


def overwritten(
    connection: sa.Connection, assignment: str, scores: Mapping[str, Mapping[CellName, CellScore]]
) -> dict[str, list[dict[str, Any]]]:
    """The grade rows whose automatic score differs, by student, each with what it is to be again.

    Args:
        connection: to the database.
        assignment: whose rows.
        scores: what was recorded, by student.
    """
    grade = tables.GRADE
    columns = (grade.c.id, grade.c.auto_score, grade.c.manual_score, grade.c.needs_manual_grade)
    found: dict[str, list[dict[str, Any]]] = {}
    for student, notebook, cell, row, auto, manual, again in connection.execute(
        of_class(grade, assignment, *columns)
    ):
        ours = scores.get(student, {}).get((notebook, cell))
        if ours is not None and ours.auto != auto:
            pending = ours.pending if manual is None else bool(again)
            found.setdefault(student, []).append({"row": row, "auto": ours.auto, "pending": pending})
    return found


def put_back(connection: sa.Connection, rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write the scores that `overwritten` found."""
    grade = tables.GRADE
    update = sa.update(grade).where(grade.c.id == sa.bindparam("row"))
    values: dict[str, Any] = {
        "auto_score": sa.bindparam("auto"),
        "needs_manual_grade": sa.bindparam("pending"),
    }
    for changes in rows.values():
        connection.execute(update.values(values), changes)
