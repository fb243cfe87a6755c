"""Stored results: the submission, the versions it was graded with, and when; tables of our own.

They share a database with nbgrader's tables. A result is keyed by everything it depends on (`ResultKey`). It
is written in the transaction that writes nbgrader's marks; a kill in between leaves neither, and the next
run grades that submission again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from autograder.core.limits import Budgets, compute_budgets
from autograder.core.records import GradingResult
from autograder.grading.store import (
    GradedEntry,
    OutlineReader,
    ResultKey,
    decode_result,
    encode_bounded,
    encode_result,
)
from autograder.rubric import Rubric
from autograder.store.gradebook import tables

METADATA = sa.MetaData()

_PRUNED = b"pruned:"
"""Prefix of a stored result without notebooks: its marks are shown, but it is not reused for grading."""

_WHO = ("student", "assignment")
_ON_WHAT = ("rubric_version", "rubric", "environment")


def _make_columns(*names: str, key: bool = False) -> Iterator[sa.Column[Any]]:
    """Yield the columns for names, digests and the rubric's version."""
    for name in names:
        kind = sa.Integer() if name == "rubric_version" else sa.String(128 if name in _WHO else 64)
        yield sa.Column(name, kind, primary_key=key, nullable=False)


_RUN = sa.Table(
    "autograder_run",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *_make_columns("assignment", *_ON_WHAT),
    sa.Column("isolation", sa.String(32), nullable=False),
    sa.Column("started_at", sa.DateTime, nullable=False),
    sa.Column("finished_at", sa.DateTime),
)
_RESULT = sa.Table(
    "autograder_result",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    *_make_columns(*_WHO, "submission", *_ON_WHAT),
    sa.Column("run", sa.Integer),
    sa.Column("recorded_at", sa.DateTime, nullable=False),
    sa.Column("graded", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint(*_WHO, "submission", *_ON_WHAT),
)
_CURRENT = sa.Table(
    "autograder_current",
    METADATA,
    *_make_columns(*_WHO, key=True),
    sa.Column("result", sa.Integer, nullable=False),
)


_OF_KEY = sa.select(_RESULT.c.graded).where(
    *(_RESULT.c[name] == sa.bindparam(name) for name in ResultKey.__struct_fields__)
)
"""Query for the result of a key. Built once, because building it takes longer than running it."""


def find_result(connection: sa.Connection, key: ResultKey) -> GradingResult | None:
    """Return the result recorded for this key, or None.

    A row that no longer decodes (written by another version) counts as missing and is replaced as soon as the
    submission has been graded again.
    """
    stored = connection.execute(_OF_KEY, msgspec.structs.asdict(key)).scalar()
    # A pruned row starts with `_PRUNED`, which is not JSON, and so decodes to None.
    return None if stored is None else decode_result(stored)


def keep_results(
    connection: sa.Connection, assignment: str, entries: Sequence[GradedEntry], run: int | None
) -> None:
    """Store results of different students and make them current. Storing the same again changes nothing.

    All but a student's latest few results lose their notebooks (`Budgets.attempts`).
    """
    students = [entry.key.student for entry in entries]
    rows = _write_results(connection, entries, run)
    current = [
        {"student": student, "assignment": assignment, "result": rows[student]} for student in students
    ]
    tables.insert_or_update(connection, _CURRENT, current, _WHO)
    _prune_results(connection, assignment, rows)


class OutlineCache:
    """Cache of result outlines, so that each result is decoded once."""

    def __init__(self) -> None:
        self.read = OutlineReader().read_outline
        self.by_row: dict[int, tuple[datetime.datetime, GradingResult | None]] = {}
        """Outline by row id, with the time the result was recorded."""


def load_current_results(
    connection: sa.Connection, assignment: str, rubric: str, outlines: OutlineCache | None
) -> dict[str, GradingResult]:
    """Return the current result of every student; see `autograder.grading.store.Store.load_results`.

    Args:
        connection: to the database.
        assignment: its name.
        rubric: digest of the rubric, as there.
        outlines: cache for outlines, which are returned; None: return whole results.
    """
    read = decode_result if outlines is None else outlines.read
    decoded = {} if outlines is None else outlines.by_row
    query = (
        sa.select(_CURRENT.c.student, _RESULT.c.id, _RESULT.c.recorded_at)
        .join(_RESULT, _RESULT.c.id == _CURRENT.c.result)
        .where(_CURRENT.c.assignment == assignment)
        .order_by(_CURRENT.c.student)
    )
    if rubric:
        query = query.where(_RESULT.c.rubric == rubric)
    rows = connection.execute(query).all()
    # A row can be rewritten under the same id, so a cached outline is valid only for its recording time.
    new = [row.id for row in rows if decoded.get(row.id, (None,))[0] != row.recorded_at]
    for batch in tables.split_batches(new):
        stored = sa.select(_RESULT.c.id, _RESULT.c.recorded_at, _RESULT.c.graded).where(
            _RESULT.c.id.in_(batch)
        )
        for row, moment, graded in connection.execute(stored):
            decoded[row] = moment, read(graded)
    results = {student: decoded[row][1] for student, row, _ in rows}
    return {student: graded for student, graded in results.items() if graded is not None}


def load_keys(connection: sa.Connection, assignment: str) -> dict[str, ResultKey]:
    """Return the key of every student's current result."""
    query = (
        sa.select(*(_RESULT.c[field] for field in ResultKey.__struct_fields__))
        .join(_CURRENT, _RESULT.c.id == _CURRENT.c.result)
        .where(_CURRENT.c.assignment == assignment)
        .order_by(_CURRENT.c.student)
    )
    return {row[0]: ResultKey(*row) for row in connection.execute(query).all()}


def start_run(connection: sa.Connection, rubric: Rubric, environment: str, isolation: str) -> int:
    """Record the start of a run and return its number."""
    values = {
        "assignment": rubric.assignment.name,
        "rubric_version": rubric.version,
        "rubric": rubric.digest,
        "environment": environment,
        "isolation": isolation,
        "started_at": _get_now(),
    }
    return int(connection.execute(sa.insert(_RUN).values(values).returning(_RUN.c.id)).scalar_one())


def finish_run(connection: sa.Connection, run: int) -> None:
    """Record the end of a run; a run without an end was interrupted."""
    connection.execute(sa.update(_RUN).where(_RUN.c.id == run).values(finished_at=_get_now()))


def to_utc(moment: datetime.datetime | None) -> datetime.datetime | None:
    """Convert a time to the form that the database stores: UTC without a zone, as in nbgrader."""
    if moment is None or moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _write_results(
    connection: sa.Connection, entries: Sequence[GradedEntry], run: int | None
) -> dict[str, int]:
    """Write the result rows that are new or differ; return their ids by student."""
    names = ResultKey.__struct_fields__
    query = sa.select(_RESULT.c.id, _RESULT.c.graded, *(_RESULT.c[name] for name in names)).where(
        _RESULT.c.assignment == entries[0].key.assignment,
        _RESULT.c.student.in_([entry.key.student for entry in entries]),
        _RESULT.c.submission.in_([entry.key.submission for entry in entries]),
    )
    stored = {
        entry.key: encode_bounded(entry.graded, compute_budgets(entry.rubric.assignment.limits).stored_mb)
        for entry in entries
    }
    before = {ResultKey(*row[2:]): row.graded for row in connection.execute(query)}
    changed = [
        {**msgspec.structs.asdict(key), "graded": content, "recorded_at": _get_now(), "run": run}
        for key, content in stored.items()
        if before.get(key) != content
    ]
    tables.insert_or_update(connection, _RESULT, changed, names)
    # The upsert returns no ids, so they are read afterwards.
    row_ids = {ResultKey(*row[2:]): int(row.id) for row in connection.execute(query)}
    return {key.student: row_ids[key] for key in stored}


def _prune_results(connection: sa.Connection, assignment: str, current: Mapping[str, int]) -> None:
    """Remove the notebooks from older results of the students with these current results."""
    rows = connection.execute(
        sa.select(_RESULT.c.student, _RESULT.c.id)
        .where(
            _RESULT.c.assignment == assignment,
            _RESULT.c.student.in_(list(current)),
            sa.func.substr(_RESULT.c.graded, 1, len(_PRUNED)) != _PRUNED,
        )
        .order_by(_RESULT.c.recorded_at.desc(), _RESULT.c.id.desc())
    )
    older_rows: dict[str, list[int]] = {}
    for student, row in rows:
        if row != current[student]:
            older_rows.setdefault(student, []).append(row)
    # The current result is not in the lists, but is one of the attempts to keep.
    for row_id in (row for row_ids in older_rows.values() for row in row_ids[Budgets().attempts - 1 :]):
        stored = connection.execute(sa.select(_RESULT.c.graded).where(_RESULT.c.id == row_id)).scalar_one()
        graded = decode_result(stored)
        slim = encode_result(replace(graded, notebooks=())) if graded is not None else b""
        connection.execute(sa.update(_RESULT).where(_RESULT.c.id == row_id).values(graded=_PRUNED + slim))


def _get_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
