"""Commands of the service that cannot start or finish: a sentence, exit code 3, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from autograder.service import setup
from autograder.service.postgres import EmbeddedPostgres
from autograder.web.maintenance import get_folder
from tests.cli.running import run


def refuse(*words: str) -> str:
    """Run a command that has to be refused in one sentence; return it."""
    done = run(*words)
    assert 3 == done.returncode, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def make_keys(course: Path) -> None:
    """Make the keys of a service that has a database of its own."""
    for name in ("receipt-key", "session-key"):
        setup.load_or_create_key(get_folder(course), name)


@pytest.fixture
def no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """No database is named in the environment."""
    monkeypatch.delenv(setup.DATABASE_URL, raising=False)


@pytest.mark.usefixtures("no_url")
def test_serve_refuses_an_embedded_database_when_the_service_has_another_one(tmp_path: Path) -> None:
    """Otherwise a forgotten variable would start a second, empty service."""
    make_keys(tmp_path)
    told = refuse("serve", str(tmp_path))
    assert f"set {setup.DATABASE_URL} to its URL" in told
    assert not (get_folder(tmp_path) / "database").exists()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL server, on which tests make databases of their own."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("database")) as running:
        yield running


def make_database(database: EmbeddedPostgres, name: str) -> str:
    """Make an empty database; return its URL."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{database.url.rpartition('/')[0]}/{name}"


@pytest.mark.usefixtures("no_url")
def test_restore_names_the_database(database: EmbeddedPostgres, tmp_path: Path) -> None:
    """The one of the URL, or the embedded one if none is set; without the password."""
    first, second = (make_database(database, name) for name in ("first", "second"))
    with psycopg.connect(first, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (number integer)")
    course, copy = tmp_path / "course", tmp_path / "copy"
    make_keys(course)
    assert 0 == run("backup", str(copy), "--course", str(course), "--database-url", first).returncode
    named = run("restore", str(copy), "--course", str(tmp_path / "a"), "--database-url", second)
    embedded = run("restore", str(copy), "--course", str(tmp_path / "b"))
    assert "the database second at " in named.stdout
    assert psycopg.conninfo.conninfo_to_dict(database.url)["password"] not in named.stdout
    assert f"embedded database (no {setup.DATABASE_URL} is set)" in embedded.stdout
