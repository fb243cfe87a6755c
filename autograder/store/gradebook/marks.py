"""The rows of nbgrader's tables for marks and comments: our columns are written, people's are read.

``auto_score``, ``needs_manual_grade`` and ``auto_comment`` are ours. ``manual_score``, ``extra_credit`` and
``manual_comment`` belong to people: only their own decisions are entered there, and only into empty fields.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import GradebookError
from autograder.core.records import GradingResult, Score
from autograder.grading.grades import CellName, PersonMark, compute_automatic_points
from autograder.grading.store import AnswerName, Student
from autograder.rubric import Rubric
from autograder.store.gradebook import tables
from autograder.store.gradebook.cells import COMMENTED, GRADED, GradebookCell, load_cells
from autograder.store.gradebook.tables import api


def _make_key_columns() -> Iterator[sa.Column[str]]:
    for name in ("assignment", "student", "notebook", "cell"):
        yield sa.Column(name, sa.String(128), primary_key=True)


_ITEM = sa.Table(
    "autograder_item_mark",
    tables.RECORDED.metadata,
    *_make_key_columns(),
    sa.Column("item", sa.String(128), primary_key=True),
    sa.Column("points", sa.String(40), nullable=False),
    sa.Column("worth", sa.String(40)),
    sa.Column("of_score", sa.Float, nullable=False),
)
"""Points, the item's worth, and the score of the cell that all its item points add up to."""
_REMARK = sa.Table(
    "autograder_item_remark",
    tables.RECORDED.metadata,
    *_make_key_columns(),
    sa.Column("item", sa.String(128), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
"""Remarks of people on single items."""
_FLAG = sa.Table("autograder_flag", tables.RECORDED.metadata, *_make_key_columns())


def write_items(connection: sa.Connection, assignment: str, answer: AnswerName, mark: PersonMark) -> None:
    """Store a mark's item points, remarks and flag, replacing the earlier ones.

    nbgrader stores one score per cell. Item points are stored with the score they add up to, and count only
    as long as the cell has that score: a different score entered in formgrader is a mark for the whole cell.
    """
    key_values = dict(zip(("assignment", "student", "notebook", "cell"), (assignment, *answer), strict=True))
    for table in (_ITEM, _REMARK, _FLAG):
        connection.execute(
            sa.delete(table).where(*(table.c[name] == value for name, value in key_values.items()))
        )
    if mark.flagged:
        connection.execute(sa.insert(_FLAG).values(key_values))
    if mark.remarks:
        said = [{**key_values, "item": item, "text": text} for item, text in mark.remarks.items()]
        connection.execute(sa.insert(_REMARK), said)
    if mark.items and mark.points is not None:
        rows = [
            {
                **key_values,
                "item": item,
                "points": str(points),
                "worth": str(mark.worth[item]) if item in mark.worth else None,
                "of_score": float(mark.points),
            }
            for item, points in mark.items.items()
        ]
        connection.execute(sa.insert(_ITEM), rows)


def complete_marks(
    connection: sa.Connection, assignment: str, marks: dict[str, dict[CellName, PersonMark]]
) -> dict[str, dict[CellName, PersonMark]]:
    """Add item points, remarks and flags to the marks read from nbgrader's tables."""
    for row in connection.execute(sa.select(_ITEM).where(_ITEM.c.assignment == assignment)):
        cells, name = marks.get(row.student, {}), (row.notebook, row.cell)
        mark = cells.get(name)
        # The score was changed in formgrader: the stored item points no longer explain it.
        if mark is None or mark.points is None or float(mark.points) != row.of_score:
            continue
        worth = {} if row.worth is None else {row.item: Decimal(row.worth)}
        items = {**mark.items, row.item: Decimal(row.points)}
        cells[name] = replace(mark, items=items, worth={**mark.worth, **worth})
    # Remarks and flags may exist for cells without a mark.
    for row in connection.execute(sa.select(_REMARK).where(_REMARK.c.assignment == assignment)):
        cells, name = marks.setdefault(row.student, {}), (row.notebook, row.cell)
        mark = cells.get(name, PersonMark())
        cells[name] = replace(mark, remarks={**mark.remarks, row.item: row.text})
    for row in connection.execute(sa.select(_FLAG).where(_FLAG.c.assignment == assignment)):
        cells = marks.setdefault(row.student, {})
        cells[row.notebook, row.cell] = replace(
            cells.get((row.notebook, row.cell), PersonMark()), flagged=True
        )
    return marks


class CellScore(Struct, frozen=True):
    """The automatic mark of one grade cell."""

    auto: float | None
    """None while every item of the cell waits for manual review."""
    pending: bool
    """An item of the cell waits for manual review."""


def compute_cell_scores(score: Score, rubric: Rubric) -> dict[CellName, CellScore]:
    """Return the automatic marks by (notebook, grade cell), each between zero and the cell's points."""
    return {
        name: CellScore(float(cell.points) if cell.settled else None, cell.pending)
        for name, cell in compute_automatic_points(score, rubric).items()
    }


def compute_class_scores(
    results: Mapping[str, GradingResult], rubrics: Mapping[str, Rubric]
) -> dict[str, dict[CellName, CellScore]]:
    """Return `compute_cell_scores` by student; outlines that share their items are computed once.

    Args:
        results: results of a class.
        rubrics: each student's rubric.
    """
    cached_scores: dict[tuple[int, int], dict[CellName, CellScore]] = {}
    scores_by_student = {}
    for student, graded in results.items():
        # The results stay referenced by the caller, so the ids remain unique during the loop.
        alike = id(graded.score.items), id(rubrics[student])
        if alike not in cached_scores:
            cached_scores[alike] = compute_cell_scores(graded.score, rubrics[student])
        scores_by_student[student] = cached_scores[alike]
    return scores_by_student


def enter_students(connection: sa.Connection, students: Sequence[Student]) -> None:
    """Insert students, or update their non-empty fields."""
    table = tables.STUDENT
    fields = ("first_name", "last_name", "email")
    columns = (table.c.id, *(table.c[field] for field in fields))
    stored: dict[str, sa.Row[Any]] = {}
    for batch in tables.split_batches([member.id for member in students]):
        rows = connection.execute(sa.select(*columns).where(table.c.id.in_(batch)))
        stored |= {row.id: row for row in rows}
    for student in students:
        values = {field: getattr(student, field) for field in fields if getattr(student, field)}
        row = stored.get(student.id)
        if row is None:
            connection.execute(sa.insert(table).values(id=student.id, **values))
        elif any(getattr(row, field) != value for field, value in values.items()):
            connection.execute(sa.update(table).where(table.c.id == student.id).values(values))


def list_submissions(connection: sa.Connection, assignment: str) -> dict[str, str]:
    """Return student → row id of the submission, for every student that nbgrader lists."""
    query = (
        sa.select(tables.SUBMISSION.c.student_id, tables.SUBMISSION.c.id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == tables.SUBMISSION.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
    )
    return {str(student): str(identifier) for student, identifier in connection.execute(query)}


def enter_submissions(
    connection: sa.Connection, assignment: str, submitted_at: Mapping[str, datetime.datetime | None]
) -> dict[str, str]:
    """Return student → row id of the submission; missing rows are created. A time of None changes nothing."""
    table = tables.SUBMISSION
    assignment_query = sa.select(tables.ASSIGNMENT.c.id).where(tables.ASSIGNMENT.c.name == assignment)
    assignment_id = connection.execute(assignment_query).scalar_one()
    query = sa.select(table.c.student_id, table.c.id, table.c.timestamp).where(
        table.c.assignment_id == assignment_id, table.c.student_id.in_(list(submitted_at))
    )
    stored = {row.student_id: row for row in connection.execute(query)}
    new = [
        {
            "id": str(api.new_uuid()),
            "assignment_id": assignment_id,
            "student_id": student,
            "timestamp": moment,
        }
        for student, moment in submitted_at.items()
        if student not in stored
    ]
    if new:
        connection.execute(sa.insert(table), new)
    for student, row in stored.items():
        moment = submitted_at[student]
        if moment is not None and row.timestamp != moment:
            connection.execute(sa.update(table).where(table.c.id == row.id).values(timestamp=moment))
    inserted = {str(row["student_id"]): str(row["id"]) for row in new}
    return {**{student: str(row.id) for student, row in stored.items()}, **inserted}


def are_complete(connection: sa.Connection, listed: Collection[str], places: Sequence[GradebookCell]) -> bool:
    """Decide by counting whether all listed students have all rows; a cell never has two."""
    submission, submitted = tables.SUBMISSION, tables.SUBMITTED_NOTEBOOK
    for table, types in ((tables.GRADE, GRADED), (tables.COMMENT, COMMENTED)):
        cells = [place.id for place in places if place.type in types]
        query = (
            sa.select(sa.func.count())
            .select_from(table)
            .join(submitted, submitted.c.id == table.c.notebook_id)
            .join(submission, submission.c.id == submitted.c.assignment_id)
            .where(table.c.cell_id.in_(cells))
        )
        if connection.execute(query).scalar_one() != len(cells) * len(listed):
            return False
    return True


def complete_rows(
    connection: sa.Connection, submitted: Sequence[str], places: Sequence[GradebookCell]
) -> None:
    """Create the notebook, grade and comment rows that submissions lack."""
    every = dict.fromkeys(place.notebook_id for place in places)
    for batch in tables.split_batches(submitted):
        wanted = [(submission_id, notebook) for submission_id in batch for notebook in every]
        rows = _insert_missing_rows(
            connection, tables.SUBMITTED_NOTEBOOK, ("assignment_id", "notebook_id"), wanted
        )
        for table, types in ((tables.GRADE, GRADED), (tables.COMMENT, COMMENTED)):
            cells = {
                notebook: dict.fromkeys(
                    cell.id for cell in places if cell.notebook_id == notebook and cell.type in types
                )
                for notebook in every
            }
            inner = [(row, cell) for (_, notebook), row in rows.items() for cell in cells.get(notebook, ())]
            _insert_missing_rows(connection, table, ("notebook_id", "cell_id"), inner)


def note_digests(connection: sa.Connection, assignment: str, digests: Mapping[str, str]) -> frozenset[str]:
    """Record which submissions the marks come from; return the students with a new one."""
    table = tables.RECORDED
    query = sa.select(table.c.student, table.c.digest).where(
        table.c.assignment == assignment, table.c.student.in_(list(digests))
    )
    before = {row.student: row.digest for row in connection.execute(query)}
    changed = {student: digest for student, digest in digests.items() if before.get(student) != digest}
    new = [
        {"assignment": assignment, "student": student, "digest": digest}
        for student, digest in changed.items()
        if student not in before
    ]
    if new:
        connection.execute(sa.insert(table), new)
    for student in changed.keys() & before.keys():
        place = (table.c.assignment == assignment, table.c.student == student)
        connection.execute(sa.update(table).where(*place).values(digest=changed[student]))
    return frozenset(changed)


def write_grades(
    connection: sa.Connection,
    submitted: Mapping[str, str],
    scores: Mapping[str, Mapping[CellName, CellScore]],
    resubmitted: Collection[str],
) -> None:
    """Write ``auto_score`` and ``needs_manual_grade`` if they differ.

    Args:
        connection: to the database.
        submitted: student → row id of the submission.
        scores: by student.
        resubmitted: students with a new submission; their manual marks need another look.
    """
    grade = tables.GRADE
    columns = (grade.c.id, grade.c.auto_score, grade.c.manual_score, grade.c.needs_manual_grade)
    query = _select_rows(grade, *columns).where(tables.SUBMISSION.c.id.in_(list(submitted.values())))
    changes = []
    for student, notebook, cell, row, auto, manual, again in connection.execute(query):
        score = scores[student].get((notebook, cell))
        if score is None:
            continue
        # A manual mark stays, but it is flagged if it was given for another submission or automatic score.
        changed = student in resubmitted or auto != score.auto or again
        pending = score.pending if manual is None else changed
        if (auto, again) != (score.auto, pending):
            changes.append({"row": row, "auto": score.auto, "pending": pending})
    write_scores(connection, changes)


def find_overwritten_rows(
    connection: sa.Connection, assignment: str, scores: Mapping[str, Mapping[CellName, CellScore]]
) -> dict[str, list[dict[str, Any]]]:
    """Return, by student, the rows with an automatic score that is not ours, and the values to restore.

    nbgrader's own autograde overwrites them. Manual marks are not touched, nor the flag that asks for another
    look at one.

    Args:
        connection: to the database.
        assignment: its name.
        scores: the recorded scores, by student.
    """
    grade = tables.GRADE
    overwritten_rows: dict[str, list[dict[str, Any]]] = {}
    students = _find_overwritten_students(connection, assignment, scores)
    columns = (grade.c.id, grade.c.auto_score, grade.c.manual_score, grade.c.needs_manual_grade)
    for batch in tables.split_batches(students):
        query = _select_class_rows(grade, assignment, *columns).where(
            tables.SUBMISSION.c.student_id.in_(batch)
        )
        for student, notebook, cell, row, auto, manual, again in connection.execute(query):
            ours = scores[student].get((notebook, cell))
            if ours is not None and ours.auto != auto:
                # For a manual mark the flag asks for another look, and belongs to people.
                pending = ours.pending if manual is None else bool(again)
                overwritten_rows.setdefault(student, []).append(
                    {"row": row, "auto": ours.auto, "pending": pending}
                )
    return overwritten_rows


def _find_overwritten_students(
    connection: sa.Connection, assignment: str, scores: Mapping[str, Mapping[CellName, CellScore]]
) -> list[str]:
    """Return the students with an automatic score that is not ours.

    This query compares whole classes cheaply; most classes have no such student.
    """
    grade, submitted, submission = tables.GRADE, tables.SUBMITTED_NOTEBOOK, tables.SUBMISSION
    names = {cell.id: (cell.notebook, cell.name) for cell in load_cells(connection, assignment)}
    query = (
        sa.select(submission.c.student_id, grade.c.cell_id, grade.c.auto_score)
        .join_from(grade, submitted, submitted.c.id == grade.c.notebook_id)
        .join(submission, submission.c.id == submitted.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
    )
    students = {
        student: None
        for student, cell, auto in connection.execute(query).all()
        if student in scores
        and (ours := scores[student].get(names.get(cell, ("", "")))) is not None
        and ours.auto != auto
    }
    return list(students)


def write_scores(connection: sa.Connection, changes: Sequence[Mapping[str, Any]]) -> None:
    """Write automatic scores, by row."""
    grade = tables.GRADE
    values: dict[str, Any] = {
        "auto_score": sa.bindparam("auto"),
        "needs_manual_grade": sa.bindparam("pending"),
    }
    if changes:
        update = sa.update(grade).where(grade.c.id == sa.bindparam("row")).values(values)
        connection.execute(update, list(changes))


def find_changed_penalties(
    connection: sa.Connection, assignment: str, taken: Mapping[str, Decimal]
) -> list[dict[str, Any]]:
    """Return the notebook rows with an outdated late penalty; a student's first notebook carries all of it.

    nbgrader adds up the penalties of a submission's notebooks.
    """
    submission, row, notebook = tables.SUBMISSION, tables.SUBMITTED_NOTEBOOK, tables.NOTEBOOK
    query = (
        sa.select(submission.c.student_id, row.c.id, row.c.late_submission_penalty)
        .join_from(row, submission, submission.c.id == row.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .join(notebook, notebook.c.id == row.c.notebook_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
        .order_by(submission.c.student_id, notebook.c.name)
    )
    seen: set[str] = set()
    changes = []
    for student, identifier, before in connection.execute(query):
        wanted = float(taken[student]) if student in taken and student not in seen else 0.0
        if student in taken and (before or 0.0) != wanted:
            changes.append({"row": identifier, "penalty": wanted})
        seen.add(student)
    return changes


def write_penalties(connection: sa.Connection, changes: Sequence[Mapping[str, Any]]) -> None:
    """Write late penalties, by notebook row."""
    table = tables.SUBMITTED_NOTEBOOK
    update = sa.update(table).where(table.c.id == sa.bindparam("row"))
    connection.execute(update.values(late_submission_penalty=sa.bindparam("penalty")), list(changes))


def write_comments(
    connection: sa.Connection, submitted: Mapping[str, str], texts: Mapping[str, Mapping[CellName, str]]
) -> None:
    """Write ``auto_comment`` if it differs; a cell without a text gets none.

    Args:
        connection: to the database.
        submitted: student → row id of the submission.
        texts: by student.
    """
    comment = tables.COMMENT
    changes = []
    for batch in tables.split_batches(list(submitted.values())):
        query = _select_rows(comment, comment.c.id, comment.c.auto_comment).where(
            tables.SUBMISSION.c.id.in_(batch)
        )
        for student, notebook, cell, row, before in connection.execute(query):
            text = texts[student].get((notebook, cell)) or None
            if before != text:
                changes.append({"row": row, "text": text})
    if changes:
        update = sa.update(comment).where(comment.c.id == sa.bindparam("row"))
        connection.execute(update.values(auto_comment=sa.bindparam("text")), changes)


def read_marks(connection: sa.Connection, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
    """Return the marks that people entered, by student and cell; untouched cells are left out."""
    grade = tables.GRADE
    columns = (grade.c.manual_score, grade.c.extra_credit, grade.c.needs_manual_grade)
    touched = grade.c.manual_score.is_not(None) | grade.c.extra_credit.is_not(None)
    graded = connection.execute(_select_class_rows(grade, assignment, *columns).where(touched))
    marks: dict[str, dict[CellName, PersonMark]] = {}
    for student, notebook, cell, manual, extra, again in graded:
        mark = PersonMark(_to_decimal(manual), _to_decimal(extra) or Decimal(0), bool(again))
        marks.setdefault(student, {})[notebook, cell] = mark
    comment = tables.COMMENT.c.manual_comment
    commented = _select_class_rows(tables.COMMENT, assignment, comment).where(
        comment.is_not(None), comment != ""
    )
    for student, notebook, cell, text in connection.execute(commented):
        cells = marks.setdefault(student, {})
        mark = cells.get((notebook, cell), PersonMark())
        cells[notebook, cell] = PersonMark(mark.points, mark.extra, mark.again, text)
    return marks


def write_mark(connection: sa.Connection, assignment: str, answer: AnswerName, mark: PersonMark) -> None:
    """Write the mark that a person gave one cell.

    Raises:
        GradebookError: the student has no such cell, or nbgrader stores no comments for it.
    """
    points: dict[str, Any] = {"manual_score": None, "extra_credit": float(mark.extra) or None}
    if mark.points is not None:  # otherwise the cell waits for manual review as before
        points |= {"manual_score": float(mark.points), "needs_manual_grade": mark.again}
    _update_row(connection, assignment, answer, tables.GRADE, points)
    comment = {"manual_comment": mark.comment or None}
    _update_row(connection, assignment, answer, tables.COMMENT, comment, needed=bool(mark.comment))


def _update_row(
    connection: sa.Connection,
    assignment: str,
    answer: AnswerName,
    table: sa.Table,
    values: Mapping[str, Any],
    *,
    needed: bool = True,
) -> None:
    """Update the row of an answer.

    Raises:
        GradebookError: there is none, and it is needed.
    """
    student, notebook, cell = answer
    query = _select_class_rows(table, assignment, table.c.id).where(
        tables.SUBMISSION.c.student_id == student,
        tables.NOTEBOOK.c.name == notebook,
        tables.CELL.c.name == cell,
    )
    row = connection.execute(query).one_or_none()
    if row is None and not needed:
        return
    if row is None:
        raise GradebookError(f"{student!r} has no cell {cell!r} in {assignment!r} for a {table.name}")
    connection.execute(sa.update(table).where(table.c.id == row.id).values(values))


def load_decided_points(connection: sa.Connection, assignment: str) -> dict[AnswerName, Decimal]:
    """Return the points that were copied from another group member, by answer."""
    table = tables.DECIDED
    columns = (table.c.student, table.c.notebook, table.c.cell, table.c.points)
    rows = connection.execute(sa.select(*columns).where(table.c.assignment == assignment))
    points_by_answer = {(row[0], row[1], row[2]): _to_decimal(row[3]) for row in rows}
    return {answer: points for answer, points in points_by_answer.items() if points is not None}


def record_decision(connection: sa.Connection, assignment: str, key: AnswerName, points: float) -> None:
    """Record that a mark was copied from another group member, so that it follows later changes there."""
    table = tables.DECIDED
    values = dict(zip(("assignment", "student", "notebook", "cell"), (assignment, *key), strict=True))
    connection.execute(sa.delete(table).where(*(table.c[name] == value for name, value in values.items())))
    connection.execute(sa.insert(table).values(**values, points=points))


def _select_rows(table: sa.Table, *columns: sa.Column[Any]) -> sa.Select[Any]:
    """Build a query for grade or comment rows of all students: student, notebook, cell and these columns."""
    submission, submitted = tables.SUBMISSION, tables.SUBMITTED_NOTEBOOK
    notebook, cell = tables.NOTEBOOK, tables.CELL
    return (
        sa.select(submission.c.student_id, notebook.c.name, cell.c.name, *columns)
        .join_from(table, submitted, submitted.c.id == table.c.notebook_id)
        .join(submission, submission.c.id == submitted.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .join(notebook, notebook.c.id == submitted.c.notebook_id)
        .join(cell, cell.c.id == table.c.cell_id)
    )


def _select_class_rows(table: sa.Table, assignment: str, *columns: sa.Column[Any]) -> sa.Select[Any]:
    return _select_rows(table, *columns).where(tables.ASSIGNMENT.c.name == assignment)


def _to_decimal(value: float | None) -> Decimal | None:
    """Return the number as it was typed: the shortest decimal that the database's float represents."""
    return Decimal(repr(float(value))) if value is not None and math.isfinite(value) else None


def _insert_missing_rows(
    connection: sa.Connection, table: sa.Table, names: tuple[str, str], wanted: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return row ids by the values of two columns, parent and child; missing rows are inserted.

    Args:
        connection: to the database.
        table: the table of the rows.
        names: names of the two columns.
        wanted: one pair of values for each row.
    """
    parent, child = (table.c[name] for name in names)
    query = sa.select(parent, child, table.c.id)
    present: dict[tuple[str, str], str] = {}
    for batch in tables.split_batches(list(dict.fromkeys(parent_id for parent_id, _ in wanted))):
        selected = connection.execute(query.where(parent.in_(batch)))
        present |= {
            (str(parent_id), str(child_id)): str(identifier) for parent_id, child_id, identifier in selected
        }
    new = {pair: str(api.new_uuid()) for pair in wanted if pair not in present}
    if new:
        rows = [
            {"id": row, names[0]: parent_id, names[1]: child_id} for (parent_id, child_id), row in new.items()
        ]
        connection.execute(sa.insert(table), rows)
    return {**present, **new}
