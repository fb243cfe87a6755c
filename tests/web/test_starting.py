"""Commands of the service that cannot start or finish: a message, exit code 3, nothing left behind."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from autograder.cli import service
from autograder.core.errors import ServiceError
from autograder.service import setup
from autograder.service.postgres import EmbeddedPostgres
from autograder.web import processes
from autograder.web.maintenance import get_folder
from tests.cli.running import run


def refuse(*words: str) -> str:
    """Run a command that must fail, and return the last line of its error."""
    done = run(*words)
    assert 3 == done.returncode, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def make_keys(course: Path) -> None:
    """Create the keys of a service with a separate database."""
    for name in ("receipt-key", "session-key"):
        setup.load_or_create_key(get_folder(course), name)


@pytest.fixture
def no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the database from the environment."""
    monkeypatch.delenv(setup.DATABASE_URL, raising=False)


@pytest.mark.usefixtures("no_url")
def test_serve_refuses_an_embedded_database_when_the_service_has_another_one(tmp_path: Path) -> None:
    """Otherwise a missing environment variable would start a second, empty service."""
    make_keys(tmp_path)
    message = refuse("serve", str(tmp_path))
    assert f"set {setup.DATABASE_URL} to its URL" in message
    assert not (get_folder(tmp_path) / "database").exists()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """Provide a PostgreSQL server for databases of tests."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("database")) as running:
        yield running


def make_database(database: EmbeddedPostgres, name: str) -> str:
    """Create an empty database and return its URL."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{database.url.rpartition('/')[0]}/{name}"


@pytest.mark.usefixtures("no_url")
def test_restore_names_the_database(database: EmbeddedPostgres, tmp_path: Path) -> None:
    """The message names the database of the URL, or the embedded one, without the password."""
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


@pytest.mark.parametrize("command", ["serve", "worker", "backup", "backup --as-course", "restore"])
def test_a_database_that_does_not_respond_is_named(command: str, tmp_path: Path) -> None:
    """The message names host and port, but not the password."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    make_keys(tmp_path)
    copy = tmp_path / "copy"
    if command == "restore":
        copy.mkdir()
        for name in ("receipt-key", "session-key", "database.dump"):
            (copy / name).write_bytes((get_folder(tmp_path) / "receipt-key").read_bytes())
    words = {
        "serve": ["serve", str(tmp_path)],
        "worker": ["worker"],
        "backup": ["backup", str(copy), "--course", str(tmp_path)],
        "backup --as-course": ["backup", str(copy), "--course", str(tmp_path), "--as-course", "exam"],
        "restore": ["restore", str(copy), "--course", str(tmp_path / "new")],
    }[command]
    message = refuse(*words, "--database-url", f"postgresql://us:of-us@127.0.0.1:{port}/exams")
    assert f"the database exams at 127.0.0.1, port {port}, does not respond" in message
    assert "of-us" not in message


def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the port and the option to change it."""
    monkeypatch.setattr(processes, "_PATIENCE_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServiceError, match=rf"cannot listen at 127\.0\.0\.1, port {port}: .*--port"):
            processes.open_sockets("127.0.0.1", port)


@pytest.mark.parametrize(
    "address", ["exams.example.org", "https://exams.example.org/", "ftp://exams.example.org", "https://"]
)
def test_serve_refuses_an_address_that_is_none(address: str, tmp_path: Path) -> None:
    """The address must be valid, because links to the pages begin with it."""
    message = refuse("serve", str(tmp_path), "--address", address)
    assert f"expected an address such as https://exams.example.org; got {address!r}" in message
    assert not get_folder(tmp_path).exists()


def list_files(folder: Path) -> list[str]:
    """Return the names of everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("made_before", [False, True])
def test_a_failed_backup_can_be_repeated(
    database: EmbeddedPostgres, tmp_path: Path, made_before: bool
) -> None:
    """A failed backup leaves the folder missing or empty, as before."""
    course, copy = tmp_path / "course", tmp_path / "copy"
    make_keys(course)
    if made_before:
        copy.mkdir()
    words = ["backup", str(copy), "--course", str(course), "--database-url"]
    before = list_files(tmp_path)
    refuse(*words, f"{database.url}-missing")
    assert before == list_files(tmp_path)
    assert 0 == run(*words, database.url).returncode


@pytest.mark.usefixtures("no_url")
def test_a_refused_restore_leaves_nothing(database: EmbeddedPostgres, tmp_path: Path) -> None:
    """A restore into a non-empty database, or from a damaged dump, leaves files unchanged."""
    full = make_database(database, "full")
    with psycopg.connect(full, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (number integer)")
    source, copy, course = tmp_path / "source", tmp_path / "copy", tmp_path / "new"
    make_keys(source)
    assert 0 == run("backup", str(copy), "--course", str(source), "--database-url", full).returncode
    before = list_files(tmp_path)
    message = refuse("restore", str(copy), "--course", str(course), "--database-url", full)
    assert "the database is not empty" in message
    assert before == list_files(tmp_path)
    (copy / "database.dump").write_bytes(b"damaged")
    course.mkdir()
    (course / "notes.txt").touch()
    assert "pg_restore: " in refuse("restore", str(copy), "--course", str(course))
    assert ["notes.txt"] == list_files(course)


@pytest.mark.parametrize("command", ["serve", "worker", "backup", "restore"])
def test_the_missing_extra_is_named(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the service exist without its packages, and name the missing extra."""
    monkeypatch.setitem(sys.modules, "django", None)
    call: dict[str, Callable[[], None]] = {
        "serve": lambda: service.serve(tmp_path),
        "worker": service.worker,
        "backup": lambda: service.backup(tmp_path / "copy", tmp_path),
        "restore": lambda: service.restore(tmp_path / "copy", tmp_path),
    }
    with pytest.raises(ServiceError, match=r"pip install 'nbexam\[service\]'"):
        call[command]()
