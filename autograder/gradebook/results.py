"""What was graded, with what, and when: our own tables beside nbgrader's in the same database.

A result is keyed by all that it depends on (`Key`). It is written in the transaction that writes nbgrader's
marks; a kill in between leaves neither, and the next run grades that submission again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.dialects import postgresql, sqlite

from autograder.limits import Budgets, budgets
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import GradedEntry, Key, bounded, decode, encode

METADATA = sa.MetaData()

_PRUNED = b"pruned:"
"""Begins a stored result whose notebooks are gone: it shows what was given, and is not found again."""

_WHO = ("student", "assignment")
_ON_WHAT = ("rubric_version", "rubric", "environment")


def _names(*names: str, key: bool = False) -> Iterator[sa.Column[Any]]:
    """Columns of names, digests and the rubric's version."""
    for name in names:
        kind = sa.Integer() if name == "rubric_version" else sa.String(128 if name in _WHO else 64)
        yield sa.Column(name, kind, primary_key=key, nullable=False)


_RUN = sa.Table(
    "autograder_run",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *_names("assignment", *_ON_WHAT),
    sa.Column("isolation", sa.String(32), nullable=False),
    sa.Column("started_at", sa.DateTime, nullable=False),
    sa.Column("finished_at", sa.DateTime),
)
_ATTEMPT = sa.Table(
    "autograder_attempt",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *_names(*_WHO, "submission"),
    sa.Column("submitted_at", sa.DateTime),
    sa.Column("first_graded_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint(*_WHO, "submission"),
)
"""Each distinct submission that was graded at least once."""
_RESULT = sa.Table(
    "autograder_result",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *_names(*_WHO, "submission", *_ON_WHAT),
    sa.Column("run", sa.Integer),
    sa.Column("recorded_at", sa.DateTime, nullable=False),
    sa.Column("graded", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint(*_WHO, "submission", *_ON_WHAT),
)
_CURRENT = sa.Table(
    "autograder_current",
    METADATA,
    *_names(*_WHO, key=True),
    sa.Column("result", sa.Integer, nullable=False),
)


def find(connection: sa.Connection, key: Key) -> Graded | None:
    """The result recorded for this key, or None.

    A row that no longer decodes (written by another version) counts as not found and is replaced when the
    submission has been graded again.
    """
    query = sa.select(_RESULT.c.graded).where(*_matches(_RESULT, msgspec.structs.asdict(key)))
    stored = connection.execute(query).scalar()
    return None if stored is None else decode(stored)


def keep(connection: sa.Connection, entry: GradedEntry, run: int | None) -> None:
    """Keep a result and make it the student's current one. Keeping the same again changes nothing.

    Of a student's older results, all but the latest few lose their notebooks (`Budgets.attempts`).
    """
    key, most = entry.key, budgets(entry.rubric.assignment.limits)
    current = _row(connection, key, bounded(entry.graded, most.stored_mb), run)
    student = {"student": key.student, "assignment": key.assignment}
    _upsert(connection, _CURRENT, student, {"result": current})
    _prune(connection, student, current)
    attempt = {**student, "submission": key.submission}
    if connection.execute(sa.select(_ATTEMPT.c.id).where(*_matches(_ATTEMPT, attempt))).scalar() is None:
        times = {"submitted_at": utc(entry.submitted_at), "first_graded_at": _now()}
        _upsert(connection, _ATTEMPT, attempt, times)


def current(connection: sa.Connection, assignment: str, rubric: str) -> dict[str, Graded]:
    """The current result of every student; see `autograder.store.Store.results`."""
    query = (
        sa.select(_CURRENT.c.student, _RESULT.c.graded)
        .join(_RESULT, _RESULT.c.id == _CURRENT.c.result)
        .where(_CURRENT.c.assignment == assignment)
        .order_by(_CURRENT.c.student)
    )
    if rubric:
        query = query.where(_RESULT.c.rubric == rubric)
    found = {student: decode(stored) for student, stored in connection.execute(query).all()}
    return {student: graded for student, graded in found.items() if graded is not None}


def keys(connection: sa.Connection, assignment: str) -> dict[str, Key]:
    """What the current result of every student depends on."""
    query = (
        sa.select(*(_RESULT.c[field] for field in Key.__struct_fields__))
        .join(_CURRENT, _RESULT.c.id == _CURRENT.c.result)
        .where(_CURRENT.c.assignment == assignment)
        .order_by(_CURRENT.c.student)
    )
    return {row.student: Key(*row) for row in connection.execute(query)}


def begin(connection: sa.Connection, rubric: Rubric, environment: str, isolation: str) -> int:
    """Note the start of a run and return its number."""
    values = {
        "assignment": rubric.assignment.name,
        "rubric_version": rubric.version,
        "rubric": rubric.digest,
        "environment": environment,
        "isolation": isolation,
        "started_at": _now(),
    }
    return int(connection.execute(sa.insert(_RUN).values(values).returning(_RUN.c.id)).scalar_one())


def finish(connection: sa.Connection, run: int) -> None:
    """Note the end of a run; a run without one was interrupted."""
    connection.execute(sa.update(_RUN).where(_RUN.c.id == run).values(finished_at=_now()))


def utc(moment: datetime.datetime | None) -> datetime.datetime | None:
    """A time as the database keeps it: UTC without a zone, as nbgrader does."""
    if moment is None or moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _row(connection: sa.Connection, key: Key, stored: bytes, run: int | None) -> int:
    """Write the result row if it is new or differs; return its id."""
    columns = msgspec.structs.asdict(key)
    query = sa.select(_RESULT.c.id, _RESULT.c.graded).where(*_matches(_RESULT, columns))
    found = connection.execute(query).one_or_none()
    if found is None or found.graded != stored:
        _upsert(connection, _RESULT, columns, {"graded": stored, "recorded_at": _now(), "run": run})
        found = connection.execute(query).one()
    return int(found.id)


def _prune(connection: sa.Connection, student: Mapping[str, Any], current: int) -> None:
    """Take the notebooks out of a student's older results."""
    rows = connection.execute(
        sa.select(_RESULT.c.id)
        .where(*_matches(_RESULT, student), sa.func.substr(_RESULT.c.graded, 1, len(_PRUNED)) != _PRUNED)
        .order_by(_RESULT.c.recorded_at.desc(), _RESULT.c.id.desc())
    ).scalars()
    older = [one for one in rows if one != current][Budgets().attempts - 1 :]
    for one in older:
        stored = connection.execute(sa.select(_RESULT.c.graded).where(_RESULT.c.id == one)).scalar_one()
        graded = decode(stored)
        slim = encode(replace(graded, notebooks=())) if graded is not None else b""
        connection.execute(sa.update(_RESULT).where(_RESULT.c.id == one).values(graded=_PRUNED + slim))


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _matches(table: sa.Table, values: Mapping[str, Any]) -> list[sa.ColumnElement[bool]]:
    return [table.c[column] == value for column, value in values.items()]


def _upsert(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Insert a row, or bring the one with this unique key to these values."""
    dialect = connection.engine.dialect.name
    insert = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    statement = insert.values({**key, **values})
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=dict(values)))
