"""Writes one submission's automatic marks and comments into nbgrader's tables; only what differs."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from nbgrader.api import new_uuid

from autograder.gradebook import tables
from autograder.gradebook.cells import COMMENTED, GRADED, Place
from autograder.gradebook.roster import Student
from autograder.grades import CellName, automatic_points
from autograder.records import Score
from autograder.rubric import Rubric


class CellScore(Struct, frozen=True):
    """The automatic mark of one grade cell."""

    auto: float | None
    """None while every item of the cell waits for a human."""
    pending: bool
    """Some item of the cell waits for a human."""


def cell_scores(score: Score, rubric: Rubric) -> dict[CellName, CellScore]:
    """The automatic marks by (notebook, grade cell), each within zero and the cell's points."""
    return {
        name: CellScore(float(cell.points) if cell.settled else None, cell.pending)
        for name, cell in automatic_points(score, rubric).items()
    }


def enter_student(connection: sa.Connection, student: Student) -> None:
    """Insert a student, or bring the filled fields up to date."""
    table = tables.STUDENT
    fields = ("first_name", "last_name", "email")
    values = {field: getattr(student, field) for field in fields if getattr(student, field)}
    query = sa.select(*(table.c[field] for field in fields)).where(table.c.id == student.id)
    stored = connection.execute(query).mappings().one_or_none()
    if stored is None:
        connection.execute(sa.insert(table).values(id=student.id, **values))
    elif any(stored[field] != value for field, value in values.items()):
        connection.execute(sa.update(table).where(table.c.id == student.id).values(values))


def enter_submission(connection: sa.Connection, score: Score, submitted_at: datetime.datetime | None) -> str:
    """The id of the student's submission row, made if missing; an unknown time changes nothing."""
    table = tables.SUBMISSION
    assignment = sa.select(tables.ASSIGNMENT.c.id).where(tables.ASSIGNMENT.c.name == score.assignment)
    assignment_id = connection.execute(assignment).scalar_one()
    query = sa.select(table.c.id, table.c.timestamp).where(
        table.c.assignment_id == assignment_id, table.c.student_id == score.student
    )
    stored = connection.execute(query).one_or_none()
    if stored is None:
        identifier = str(new_uuid())
        connection.execute(
            sa.insert(table).values(
                id=identifier, assignment_id=assignment_id, student_id=score.student, timestamp=submitted_at
            )
        )
        return identifier
    if submitted_at is not None and stored.timestamp != submitted_at:
        connection.execute(sa.update(table).where(table.c.id == stored.id).values(timestamp=submitted_at))
    return str(stored.id)


def complete_rows(connection: sa.Connection, submission: str, places: Sequence[Place]) -> None:
    """Give a submission the notebook, grade and comment rows that it lacks."""
    notebooks = _missing_rows(
        connection,
        tables.SUBMITTED_NOTEBOOK,
        {"assignment_id": submission},
        "notebook_id",
        dict.fromkeys(place.notebook_id for place in places),
    )
    for notebook_id, row in notebooks.items():
        cells = [place for place in places if place.notebook_id == notebook_id]
        for table, types in ((tables.GRADE, GRADED), (tables.COMMENT, COMMENTED)):
            wanted = dict.fromkeys(cell.id for cell in cells if cell.type in types)
            _missing_rows(connection, table, {"notebook_id": row}, "cell_id", wanted)


def note_digest(connection: sa.Connection, score: Score, digest: str) -> bool:
    """Remember which submission the marks are from; True when it is another one than before."""
    table = tables.RECORDED
    key = {"assignment": score.assignment, "student": score.student}
    matches = [table.c[column] == value for column, value in key.items()]
    before = connection.execute(sa.select(table.c.digest).where(*matches)).scalar()
    if before is None:
        connection.execute(sa.insert(table).values(**key, digest=digest))
    elif before != digest:
        connection.execute(sa.update(table).where(*matches).values(digest=digest))
    return before != digest


def write_grades(
    connection: sa.Connection, submission: str, scores: Mapping[CellName, CellScore], *, resubmitted: bool
) -> None:
    """Write ``auto_score`` and ``needs_manual_grade`` where they differ."""
    grade = tables.GRADE
    columns = (grade.c.auto_score, grade.c.manual_score, grade.c.needs_manual_grade)
    changes = []
    for row in _rows(connection, grade, columns, submission):
        score = scores.get((row["notebook"], row["cell"]))
        if score is None:
            continue
        pending = score.pending
        if row["manual_score"] is not None:
            changed = resubmitted or row["auto_score"] != score.auto
            pending = changed or row["needs_manual_grade"]
        if (row["auto_score"], row["needs_manual_grade"]) != (score.auto, pending):
            changes.append({"row": row["id"], "auto": score.auto, "pending": pending})
    if changes:
        update = sa.update(grade).where(grade.c.id == sa.bindparam("row"))
        values: dict[str, Any] = {
            "auto_score": sa.bindparam("auto"),
            "needs_manual_grade": sa.bindparam("pending"),
        }
        connection.execute(update.values(values), changes)


def write_comments(connection: sa.Connection, submission: str, texts: Mapping[CellName, str]) -> None:
    """Write ``auto_comment`` where it differs; a cell without a text gets none."""
    comment = tables.COMMENT
    changes = []
    for row in _rows(connection, comment, (comment.c.auto_comment,), submission):
        text = texts.get((row["notebook"], row["cell"])) or None
        if row["auto_comment"] != text:
            changes.append({"row": row["id"], "text": text})
    if changes:
        update = sa.update(comment).where(comment.c.id == sa.bindparam("row"))
        connection.execute(update.values(auto_comment=sa.bindparam("text")), changes)


def _rows(
    connection: sa.Connection, table: sa.Table, columns: Iterable[sa.Column[Any]], submission: str
) -> Sequence[sa.RowMapping]:
    """The grade or comment rows of one submission, with the names of their notebook and cell."""
    submitted, notebook, cell = tables.SUBMITTED_NOTEBOOK, tables.NOTEBOOK, tables.CELL
    query = (
        sa.select(table.c.id, notebook.c.name.label("notebook"), cell.c.name.label("cell"), *columns)
        .join(submitted, submitted.c.id == table.c.notebook_id)
        .join(notebook, notebook.c.id == submitted.c.notebook_id)
        .join(cell, cell.c.id == table.c.cell_id)
        .where(submitted.c.assignment_id == submission)
    )
    return connection.execute(query).mappings().all()


def _missing_rows(
    connection: sa.Connection, table: sa.Table, parent: Mapping[str, str], column: str, wanted: Iterable[str]
) -> dict[str, str]:
    """Insert a row for each wanted value of ``column`` that has none; return value → row id."""
    (parent_column, parent_id) = next(iter(parent.items()))
    query = sa.select(table.c[column], table.c.id).where(table.c[parent_column] == parent_id)
    present = {str(value): str(identifier) for value, identifier in connection.execute(query)}
    new = {value: str(new_uuid()) for value in wanted if value not in present}
    if new:
        rows = [{"id": identifier, column: value, **parent} for value, identifier in new.items()]
        connection.execute(sa.insert(table), rows)
    return {**present, **new}
