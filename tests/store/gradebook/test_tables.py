"""nbgrader's tables: the newest revision is determined from its migrations."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from autograder.core.errors import GradebookError
from autograder.store.gradebook.book import Gradebook
from autograder.store.gradebook.tables import api, convert_errors, find_newest_revision

MIGRATIONS = Path(api.__file__).parent / "alembic"


def test_the_newest_revision_is_alembics_head() -> None:
    """The revision read from the files equals the head that alembic determines."""
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == find_newest_revision(
        MIGRATIONS / "versions"
    )


@pytest.mark.parametrize(("names", "told"), [([], "found none"), (["a1", "b2"], "found a1, b2")])
def test_without_one_newest_revision_nothing_is_opened(tmp_path: Path, names: list[str], told: str) -> None:
    """No migration, or several newest ones, raise an error that names the folder."""
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"revision = '{name}'\ndown_revision = None\n", "utf-8")
    with pytest.raises(GradebookError, match=told):
        find_newest_revision(tmp_path)


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("attempt to write a readonly database", "the right to write to the file and to its folder"),
        ("unable to open database file", "the right to write to the file and to its folder"),
        ("database or disk is full", "free some space"),
        ("database is locked", "another program writes to it"),
        ("disk I/O error", "restore the file from a copy"),
    ],
)
def test_error_of_the_database_is_words_with_advice(said: str, advice: str) -> None:
    """The message omits the failed statement and the library's link."""
    with pytest.raises(GradebookError) as caught, convert_errors("the gradebook could not be written"):
        raise sa.exc.OperationalError("UPDATE grade SET x", {}, sqlite3.OperationalError(said))
    assert str(caught.value).startswith(f"the gradebook could not be written: {said}; ")
    assert advice in str(caught.value)
    assert "UPDATE" not in str(caught.value)
    assert "http" not in str(caught.value)


def test_gradebook_that_may_not_be_written_says_who_needs_which_right() -> None:
    """If an ordinary user opens another user's gradebook, the error names the missing permission."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "gradebook.db")
        with Gradebook(path):
            pass
        path.chmod(0o444)
        folder.chmod(0o555)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                if os.geteuid() == 0:
                    os.setresuid(61_999, 61_999, 61_999)
                with Gradebook(path) as book, book._open_writing() as connection:
                    connection.exec_driver_sql("CREATE TABLE written (number)")
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test must hear of it
                os.write(writing, f"{type(error).__name__}: {error}".encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as said:
            text = said.read()
        os.waitpid(pid, 0)
        folder.chmod(0o755)
    assert text.startswith("GradebookError: the gradebook could not be written: ")
    assert "the right to write to the file and to its folder" in text
