"""The embedded database: created once, reused, recovered after a kill, and private."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from autograder.core.errors import ServiceError
from autograder.service import setup
from autograder.service.postgres import EmbeddedPostgres


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    """Data survive a stop and a kill; checksums are on, and no network port is open."""
    folder = tmp_path / "database"
    with EmbeddedPostgres(folder) as first:
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (number integer)")
            connection.execute("INSERT INTO kept VALUES (1)")
            shown = [
                connection.execute(f"SHOW {name}").fetchone()
                for name in ("listen_addresses", "data_checksums")
            ]
            assert [("",), ("on",)] == shown
        os.kill(first.pid, signal.SIGKILL)
        while first.is_running():
            time.sleep(0.05)
        first.start()
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("INSERT INTO kept VALUES (2)")
    assert not first.is_running()
    with EmbeddedPostgres(folder) as second, psycopg.connect(second.url) as connection:
        assert [(1,), (2,)] == connection.execute("SELECT number FROM kept ORDER BY number").fetchall()


def test_only_its_owner_reaches_it(tmp_path: Path) -> None:
    """Folder and password are private, and connections without the password are rejected."""
    folder = tmp_path / "database"
    with EmbeddedPostgres(folder) as running:
        modes = [
            stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "password", folder / "socket")
        ]
        assert [0o700, 0o600, 0o700] == modes
        password = (folder / "password").read_text()
        with pytest.raises(psycopg.OperationalError, match="authentication"):
            psycopg.connect(running.url.replace(password, "guessed"))
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(running.url.replace(f":{password}", ""))


def test_a_folder_has_one_database_at_a_time(tmp_path: Path) -> None:
    """A second service gets an error, and the first one continues."""
    with EmbeddedPostgres(tmp_path / "database") as running:
        with pytest.raises(ServiceError, match="another service uses this database"):
            EmbeddedPostgres(tmp_path / "database")
        assert running.is_running()


def test_one_that_is_still_ending_is_waited_for(tmp_path: Path) -> None:
    """A restarted service waits until the database of the killed one has shut down."""
    folder = tmp_path / "database"
    first = EmbeddedPostgres(folder)
    first.start()
    first._lock.close()  # released when a service dies
    ending = threading.Timer(1, first.stop)
    ending.start()
    with EmbeddedPostgres(folder) as second:
        assert not first.pid
        assert second.is_running()
    ending.join()


def test_a_folder_that_was_half_made_is_made_again(tmp_path: Path) -> None:
    """A folder left by an interrupted initialisation is recreated."""
    folder = tmp_path / "database"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "PG_VERSION").write_text("16\n")
    with EmbeddedPostgres(folder) as running, psycopg.connect(running.url) as connection:
        assert (1,) == connection.execute("SELECT 1").fetchone()


def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    """Socket paths are limited to 107 bytes, so a private folder elsewhere is used for longer ones."""
    folder = tmp_path / ("long" * 20) / "database"
    with EmbeddedPostgres(folder) as running, psycopg.connect(running.url) as connection:
        assert (1,) == connection.execute("SELECT 1").fetchone()


@pytest.mark.slow
def test_it_ends_with_its_service(tmp_path: Path) -> None:
    """The database stops even if its service is killed, so that the folder can be used again."""
    program = (
        "import sys, time, pathlib\n"
        "from autograder.service.postgres import EmbeddedPostgres\n"
        "with EmbeddedPostgres(pathlib.Path(sys.argv[1])) as running:\n"
        "    print(running.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    folder = tmp_path / "database"
    service = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert service.stdout is not None
    pid = int(service.stdout.readline())
    service.kill()
    service.wait()
    service.stdout.close()
    until = time.monotonic() + 300
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
    with EmbeddedPostgres(folder) as again:
        assert again.is_running()


@pytest.mark.parametrize(
    "url",
    ["", "sqlite:///gradebook.db", "postgresql://host/name?nonsense=1", "mysql://user:secret@host/name"],
)
def test_what_is_no_url_of_postgresql_is_told(url: str) -> None:
    """The error does not repeat the URL, which may contain a password."""
    with pytest.raises(ServiceError, match="expected postgresql://user:password@host/name") as error:
        setup.build_database_settings(url)
    assert "secret" not in str(error.value)


def test_the_services_secrets_are_private(tmp_path: Path) -> None:
    """A key is created once, with private permissions; readable or damaged ones are rejected."""
    key = setup.load_or_create_key(tmp_path / "service", "key")
    path = tmp_path / "service" / "key"
    assert (32, 0o600) == (len(key), stat.S_IMODE(path.stat().st_mode))
    assert key == setup.load_or_create_key(tmp_path / "service", "key")
    path.chmod(0o644)
    with pytest.raises(ServiceError, match="other users can read"):
        setup.load_or_create_key(tmp_path / "service", "key")
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(ServiceError, match="expected 32 bytes, found 5"):
        setup.load_or_create_key(tmp_path / "service", "key")
