"""nbgrader's tables: opening the database, and creating its tables in one transaction."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from autograder.core.errors import GradebookError
from autograder.core.tables import join_names


def _load_api() -> Any:
    """Return ``nbgrader.api``, without the server extensions and exchanges that its package imports first.

    They are not needed here, and import most of Jupyter's server and converters: 0.45 s of processor time for
    every command that opens a gradebook (``python -c "import autograder.app.classes, nbgrader.api"`` takes
    1.59 s, with this function 1.12 s).
    """
    spec = importlib.util.find_spec("nbgrader")
    if spec is not None and "nbgrader" not in sys.modules:
        bare = importlib.util.module_from_spec(spec)
        # A bare package: importing its submodules needs its path, but not its ``__init__``.
        sys.modules["nbgrader"] = bare
        bare.__dict__["__version__"] = importlib.import_module("nbgrader._version").__version__
    import nbgrader.api

    return nbgrader.api


api = _load_api()
STUDENT: sa.Table = api.Student.__table__
ASSIGNMENT: sa.Table = api.Assignment.__table__
NOTEBOOK: sa.Table = api.Notebook.__table__
CELL: sa.Table = api.BaseCell.__table__
SOURCE_CELL: sa.Table = api.SourceCell.__table__
CELL_DETAILS: tuple[sa.Table, ...] = (
    api.GradeCell.__table__,
    api.SolutionCell.__table__,
    api.TaskCell.__table__,
)
SUBMISSION: sa.Table = api.SubmittedAssignment.__table__
SUBMITTED_NOTEBOOK: sa.Table = api.SubmittedNotebook.__table__
GRADE: sa.Table = api.Grade.__table__
COMMENT: sa.Table = api.Comment.__table__

RECORDED = sa.Table(
    "autograder_recorded",
    sa.MetaData(),
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
)
"""Our own table: the submission that a student's marks were last written from."""

DECIDED = sa.Table(
    "autograder_decided",
    RECORDED.metadata,
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("notebook", sa.String(128), primary_key=True),
    sa.Column("cell", sa.String(128), primary_key=True),
    sa.Column("points", sa.Float, nullable=False),
)
"""Our own table: marks that were copied from another group member."""

_Value = TypeVar("_Value")
_NAMED_AT_ONCE = 400
"""Number of values in one statement; SQLite may allow no more than 999."""
_VERSION = "alembic_version"
_REVISION = re.compile(r"""^((?:down_)?revision)\b[^=\n]*=\s*["'](\w+)["']""", re.MULTILINE)
_RIGHTS = (
    "; whoever grades needs the right to write to the file and to its folder, where SQLite keeps a journal: "
    "give it with chown or chmod, or grade as the owner"
)
_ADVICE = (
    ("readonly database", _RIGHTS),
    ("unable to open database file", _RIGHTS),
    ("disk is full", "; free some space on its disk and try again"),
    ("database is locked", "; another program writes to it: wait for it or end it, and try again"),
    ("disk I/O error", "; its disk cannot be read or written: look at it, or restore the file from a copy"),
)
_UPGRADE = "run `nbgrader db upgrade` in the course, which keeps a copy of the old file"


def open_gradebook(database: Path | str) -> Any:
    """Open nbgrader's gradebook, an ``api.Gradebook``; create it if it is new.

    nbgrader itself stamps a new database by starting ``alembic`` from PATH after it has created the tables,
    and leaves the database unstamped if that fails; here both happen in one transaction.

    Raises:
        GradebookError: the database cannot be opened, or has another nbgrader version.
    """
    url = build_url(database)
    with convert_errors(f"the gradebook {database} cannot be opened"):
        engine = sa.create_engine(url)
        try:
            _create_tables(engine, str(database))
            RECORDED.metadata.create_all(engine)
        finally:
            engine.dispose()
        opened = api.Gradebook(url)
        opened.db.remove()
    return opened


def build_url(database: Path | str) -> str:
    """Return the database URL of a path; a URL is returned unchanged.

    Raises:
        GradebookError: the folder does not exist.
    """
    if isinstance(database, str) and "://" in database:
        return database
    path = Path(database).absolute()
    if not path.parent.is_dir():
        raise GradebookError(f"{path}: the gradebook cannot be created: there is no folder {path.parent}")
    # Another grader may hold the file for as long as it writes one student.
    return sa.URL.create("sqlite", database=str(path), query={"timeout": "60"}).render_as_string()


@contextlib.contextmanager
def convert_errors(action: str) -> Iterator[None]:
    """Turn errors of the database or nbgrader into a GradebookError that begins with ``action``.

    Its message gives the cause and the remedy, without the failed statement.
    """
    try:
        yield
    except sa.exc.DBAPIError as error:
        text = str(error.orig or error)
        advice = next((advice for sign, advice in _ADVICE if sign in text), "")
        raise GradebookError(f"{action}: {text}{advice}") from error
    except (sa.exc.SQLAlchemyError, api.InvalidEntry, api.MissingEntry, UnicodeEncodeError) as error:
        raise GradebookError(f"{action}: {error}") from error


def split_batches(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    """Yield the values in batches that are small enough for one statement."""
    for start in range(0, len(values), _NAMED_AT_ONCE):
        yield values[start : start + _NAMED_AT_ONCE]


def insert_or_update(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[Mapping[str, Any]],
    key: Sequence[str],
) -> None:
    """Insert rows, or update those with the same unique key to these values.

    Args:
        connection: to the database.
        table: the table of the rows.
        rows: column → value.
        key: columns of the unique key.
    """
    if not rows:
        return
    insert: Any = sqlite.insert(table)
    if connection.engine.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # slow to import, and most courses use SQLite

        insert = postgresql.insert(table)
    values = {name: insert.excluded[name] for name in rows[0] if name not in key}
    statement = insert.on_conflict_do_update(index_elements=list(key), set_=values)
    connection.execute(statement, list(rows))


def find_newest_revision(versions: Path) -> str:
    """Return the newest revision: the one that no other follows. Importing alembic for this would be slow.

    Args:
        versions: the folder of nbgrader's migrations.

    Raises:
        GradebookError: there is not exactly one.
    """
    revisions: list[dict[str, str]] = [
        dict(_REVISION.findall(path.read_text("utf-8"))) for path in versions.glob("*.py")
    ]
    newest = {revision.get("revision", "") for revision in revisions} - {
        revision.get("down_revision", "") for revision in revisions
    }
    if len(newest) != 1:
        names = join_names(sorted(newest)) or "none"
        raise GradebookError(f"{versions}: expected one newest revision of nbgrader's tables, found {names}")
    return newest.pop()


def _create_tables(engine: sa.Engine, name: str) -> None:
    """Create and stamp the tables of a new database; stamp a database that nbgrader left unstamped."""
    newest = find_newest_revision(Path(api.__file__).parent / "alembic" / "versions")
    ours: sa.MetaData = api.Base.metadata
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            # Take the write lock before reading, so that two processes do not both create the tables.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        inspector = sa.inspect(connection)
        present = set(inspector.get_table_names())
        if _VERSION in present:
            stamp = connection.execute(sa.text(f"SELECT version_num FROM {_VERSION}")).scalar()  # noqa: S608
            if stamp != newest:
                raise GradebookError(
                    f"{name}: its tables have nbgrader's revision {stamp}, needed is {newest}; {_UPGRADE}"
                )
            return
        # Tables without a stamp may come from an older version: compare their columns.
        for table in ours.sorted_tables:
            if table.name in present:
                columns = {column["name"] for column in inspector.get_columns(table.name)}
                if missing := sorted({column.name for column in table.columns} - columns):
                    raise GradebookError(
                        f"{name}: table {table.name} has no {', '.join(missing)}; {_UPGRADE}"
                    )
        ours.create_all(connection)
        connection.execute(sa.text(f"CREATE TABLE {_VERSION} (version_num VARCHAR(32) NOT NULL)"))
        stamped = sa.text(f"INSERT INTO {_VERSION} (version_num) VALUES (:version)")  # noqa: S608
        connection.execute(stamped, {"version": newest})
