"""What was graded, with what, and when: our own tables beside nbgrader's in the same database.

A result is keyed by all that it depends on (`Key`), so grading the same thing again finds it instead of
repeating it: a killed run resumes, and a finished one changes nothing.
One transaction covers the ledger and the gradebook when both are given the same one::

    with gradebook.transaction() as transaction:
        gradebook.record(graded, rubric, submitted_at, within=transaction)
        ledger.record(key, graded, within=transaction)

Of older results the marks stay, and what they depend on; their notebooks and outputs go (`Ledger.record`).
A kill in between therefore leaves neither, and the next run grades that submission again.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.dialects import postgresql, sqlite

from autograder.errors import GradebookError
from autograder.limits import Budgets
from autograder.records import Graded, Note
from autograder.rubric import Rubric

METADATA = sa.MetaData()

_DIGEST = sa.String(64)
_PRUNED = b"pruned:"
"""Begins a stored result whose notebooks are gone: it shows what was given, and is not found again."""
_USUAL = Budgets()
_MOST_NOTES = 500
_MOST_WORDS = 4_000
"""Characters of one text of a result, where all of them are too many."""

_RUN = sa.Table(
    "autograder_run",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("assignment", sa.String(128), nullable=False),
    sa.Column("rubric_version", sa.Integer, nullable=False),
    sa.Column("rubric", _DIGEST, nullable=False),
    sa.Column("environment", _DIGEST, nullable=False),
    sa.Column("isolation", sa.String(32), nullable=False),
    sa.Column("started_at", sa.DateTime, nullable=False),
    sa.Column("finished_at", sa.DateTime),
)
_ATTEMPT = sa.Table(
    "autograder_attempt",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("student", sa.String(128), nullable=False),
    sa.Column("assignment", sa.String(128), nullable=False),
    sa.Column("submission", _DIGEST, nullable=False),
    sa.Column("submitted_at", sa.DateTime),
    sa.Column("first_graded_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("student", "assignment", "submission"),
)
_RESULT = sa.Table(
    "autograder_result",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("student", sa.String(128), nullable=False),
    sa.Column("assignment", sa.String(128), nullable=False),
    sa.Column("submission", _DIGEST, nullable=False),
    sa.Column("rubric_version", sa.Integer, nullable=False),
    sa.Column("rubric", _DIGEST, nullable=False),
    sa.Column("environment", _DIGEST, nullable=False),
    sa.Column("run", sa.Integer),
    sa.Column("recorded_at", sa.DateTime, nullable=False),
    sa.Column("graded", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("student", "assignment", "submission", "rubric_version", "rubric", "environment"),
)
_CURRENT = sa.Table(
    "autograder_current",
    METADATA,
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("result", sa.Integer, nullable=False),
)


class Key(Struct, frozen=True):
    """All that a result depends on."""

    student: str
    assignment: str
    submission: str
    """Digest of the bytes handed in (`Graded.digest`)."""
    rubric_version: int
    rubric: str
    """Digest of the rubric's file (`Rubric.digest`)."""
    environment: str
    """Digest of what computed it: the program, the reference, the packages, the secret's fingerprint."""

    @classmethod
    def of(cls, student: str, submission: str, rubric: Rubric, environment: str) -> Key:
        """The key of one submission under one rubric."""
        return cls(student, rubric.assignment.name, submission, rubric.version, rubric.digest, environment)


class Attempt(Struct, frozen=True):
    """One distinct submission of a student that was graded at least once. Times are UTC."""

    submission: str
    submitted_at: datetime.datetime | None
    first_graded_at: datetime.datetime


class Ledger:
    """The results of a course, by key. Safe to use from several threads; each call is a transaction.

    Args:
        engine: the gradebook's (`autograder.gradebook.Gradebook.engine`).

    Raises:
        GradebookError: the tables could not be created.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        try:
            METADATA.create_all(engine)
        except sa.exc.SQLAlchemyError as error:
            raise GradebookError(f"the ledger's tables could not be created: {error}") from error

    def find(self, key: Key) -> Graded | None:
        """The result recorded for this key, or None.

        A row that no longer decodes (written by another version) counts as not found and is replaced
        when the submission has been graded again.
        """
        query = sa.select(_RESULT.c.graded).where(*_matches(_RESULT, msgspec.structs.asdict(key)))
        with self._engine.connect() as connection:
            stored = connection.execute(query).scalar()
        return None if stored is None else decode(stored)

    def record(
        self,
        key: Key,
        graded: Graded,
        *,
        run: int | None = None,
        submitted_at: datetime.datetime | None = None,
        within: sa.Connection | None = None,
        stored_mb: int = _USUAL.stored_mb,
    ) -> None:
        """Keep a result and make it the student's current one. Recording the same again changes nothing.

        Of a student's older results, all but the latest few lose their notebooks (`Budgets.attempts`).

        Args:
            key: what the result depends on.
            graded: the result; lone surrogates in its texts become U+FFFD.
            run: the run that produced it, from `begin`.
            submitted_at: when the student handed it in; a time without zone is taken as UTC.
            within: a transaction to take part in; otherwise the call is one of its own.
            stored_mb: how much room the result may take; see `bounded`.
        """
        with _transaction(self._engine, within) as connection:
            current = self._keep(connection, key, bounded(graded, stored_mb), run)
            student = {"student": key.student, "assignment": key.assignment}
            _upsert(connection, _CURRENT, student, {"result": current})
            _prune(connection, student, current)
            attempt = {**student, "submission": key.submission}
            if not _exists(connection, _ATTEMPT, attempt):
                times = {"submitted_at": utc(submitted_at), "first_graded_at": _now()}
                _upsert(connection, _ATTEMPT, attempt, times)

    def current(self, assignment: str, rubric: str = "") -> dict[str, Graded]:
        """The latest result of every student of an assignment, by student in order.

        Args:
            assignment: its name.
            rubric: only results by the rubric with this digest; default: by any.
        """
        query = (
            sa.select(_CURRENT.c.student, _RESULT.c.graded)
            .join(_RESULT, _RESULT.c.id == _CURRENT.c.result)
            .where(_CURRENT.c.assignment == assignment)
            .order_by(_CURRENT.c.student)
        )
        if rubric:
            query = query.where(_RESULT.c.rubric == rubric)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        found = {student: decode(stored) for student, stored in rows}
        return {student: graded for student, graded in found.items() if graded is not None}

    def attempts(self, student: str, assignment: str) -> tuple[Attempt, ...]:
        """The distinct submissions of one student, in the order of their first grading."""
        query = (
            sa.select(_ATTEMPT.c.submission, _ATTEMPT.c.submitted_at, _ATTEMPT.c.first_graded_at)
            .where(_ATTEMPT.c.student == student, _ATTEMPT.c.assignment == assignment)
            .order_by(_ATTEMPT.c.id)
        )
        with self._engine.connect() as connection:
            return tuple(Attempt(*row) for row in connection.execute(query))

    def begin(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """Note the start of a run and return its number."""
        values = {
            "assignment": rubric.assignment.name,
            "rubric_version": rubric.version,
            "rubric": rubric.digest,
            "environment": environment,
            "isolation": isolation,
            "started_at": _now(),
        }
        with _transaction(self._engine) as connection:
            number = connection.execute(sa.insert(_RUN).values(values).returning(_RUN.c.id)).scalar_one()
        return int(number)

    def finish(self, run: int) -> None:
        """Note the end of a run; a run without one was interrupted."""
        with _transaction(self._engine) as connection:
            connection.execute(sa.update(_RUN).where(_RUN.c.id == run).values(finished_at=_now()))

    def interrupted(self, assignment: str) -> tuple[int, ...]:
        """The runs of an assignment that were begun and never finished."""
        query = sa.select(_RUN.c.id).where(_RUN.c.assignment == assignment, _RUN.c.finished_at.is_(None))
        with self._engine.connect() as connection:
            return tuple(connection.execute(query.order_by(_RUN.c.id)).scalars())

    @staticmethod
    def _keep(connection: sa.Connection, key: Key, stored: bytes, run: int | None) -> int:
        """Write the result row if it is new or differs; return its id."""
        found = connection.execute(
            sa.select(_RESULT.c.id, _RESULT.c.graded).where(*_matches(_RESULT, msgspec.structs.asdict(key)))
        ).one_or_none()
        if found is not None and found.graded == stored:
            return int(found.id)
        values = {"graded": stored, "recorded_at": _now(), "run": run}
        _upsert(connection, _RESULT, msgspec.structs.asdict(key), values)
        identifier = sa.select(_RESULT.c.id).where(*_matches(_RESULT, msgspec.structs.asdict(key)))
        return int(connection.execute(identifier).scalar_one())


def bounded(graded: Graded, mb: int) -> bytes:
    """A result as JSON of a bounded size: the marks are whole, what is too much is left out.

    An honest result is never that large, and notebooks are cut before (`autograder.grading.keeping`).
    """
    stored = encode(graded)
    if len(stored) <= mb << 20:
        return stored
    score = graded.score
    notes = [_short(note) for note in score.notes[:_MOST_NOTES]]
    notes.append(Note("result-cut", f"the result was larger than {mb} MB; notebooks and long texts are gone"))
    items = tuple(_short(item) for item in score.items)
    score = replace(score, notes=tuple(notes), items=items)
    return encode(replace(graded, score=score, notebooks=()))


def _short(record: Any) -> Any:
    """The record with its longest texts cut."""
    return msgspec.convert(_cut(msgspec.to_builtins(record)), type(record))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MOST_WORDS]
    if isinstance(value, list | tuple):
        return [_cut(entry) for entry in value]
    return {name: _cut(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _prune(connection: sa.Connection, student: Mapping[str, Any], current: int) -> None:
    """Take the notebooks out of a student's older results."""
    rows = connection.execute(
        sa.select(_RESULT.c.id)
        .where(*_matches(_RESULT, student), sa.func.substr(_RESULT.c.graded, 1, len(_PRUNED)) != _PRUNED)
        .order_by(_RESULT.c.recorded_at.desc(), _RESULT.c.id.desc())
    ).scalars()
    older = [one for one in rows if one != current][_USUAL.attempts - 1 :]
    for one in older:
        stored = connection.execute(sa.select(_RESULT.c.graded).where(_RESULT.c.id == one)).scalar_one()
        graded = decode(stored)
        slim = encode(replace(graded, notebooks=())) if graded is not None else b""
        connection.execute(sa.update(_RESULT).where(_RESULT.c.id == one).values(graded=_PRUNED + slim))


def encode(graded: Graded) -> bytes:
    """A result as JSON; exact, but for lone surrogates, which UTF-8 cannot carry."""
    try:
        return msgspec.json.encode(graded)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(graded)))


def decode(stored: bytes) -> Graded | None:
    """The result that `encode` wrote, or None when the bytes are of another version."""
    try:
        return msgspec.json.decode(stored, type=Graded)
    except msgspec.MsgspecError:
        return None


def utc(moment: datetime.datetime | None) -> datetime.datetime | None:
    """A time as the database keeps it: UTC without a zone, as nbgrader does."""
    if moment is None or moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


@contextlib.contextmanager
def transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that holds SQLite's write lock from its start.

    SQLite otherwise takes it at the first write, and two processes that have both read by then cannot
    both go on.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


@contextlib.contextmanager
def _transaction(engine: sa.Engine, within: sa.Connection | None = None) -> Iterator[sa.Connection]:
    if within is not None:
        yield within
        return
    with transaction(engine) as connection:
        yield connection


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _matches(table: sa.Table, values: Mapping[str, Any]) -> list[sa.ColumnElement[bool]]:
    return [table.c[column] == value for column, value in values.items()]


def _exists(connection: sa.Connection, table: sa.Table, key: Mapping[str, Any]) -> bool:
    query = sa.select(sa.exists().where(*_matches(table, key)))
    return bool(connection.execute(query).scalar_one())


def _upsert(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Insert a row, or bring the one with this unique key to these values."""
    dialect = connection.engine.dialect.name
    insert = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    statement = insert.values({**key, **values})
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=dict(values)))


def _whole(value: Any) -> Any:
    """The same plain data with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_whole(entry) for entry in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(entry) for name, entry in value.items()}
    return value
