"""Run the service in a separate process, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psycopg

from autograder.service.postgres import build_url
from autograder.service.setup import DATABASE_URL
from autograder.web import api_client
from autograder.web.maintenance import get_folder
from tests.support.leftovers import descendants, is_running

STARTING_SECONDS = 120.0


class Served:
    """A served course as a context manager; it ends with SIGTERM and checks that no process remains.

    Args:
        course: its folder.
        words: further options of ``autograder serve``.
        program: the command that starts the program.
    """

    def __init__(
        self, course: Path, *words: str, program: Sequence[str] = (sys.executable, "-m", "autograder")
    ) -> None:
        self.course = course
        self.slug = "exam"
        self._words = words
        self._program = program
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[str] | None = None
        self.said: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        """Start the service and wait until it answers requests."""
        command = [*self._program, "serve", str(self.course), "--port", str(self.port)]
        with (self.course / "serve.log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, "--name", self.slug, *self._words],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        wait_for(self.answers, STARTING_SECONDS, "the service does not answer")

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            self.said += process.stdout

    def end(self) -> int:
        """Send SIGTERM, as a service manager does; return the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(180)

    @property
    def pid(self) -> int:
        """Return the id of the process that answers requests."""
        assert self._process is not None
        return self._process.pid

    def kill(self, victim: str) -> bool:
        """Kill ``web``, ``worker`` or ``database``; return whether there was such a process."""
        if victim == "web":
            assert self._process is not None
            self._process.kill()
            self._process.wait()
            return True
        pid = self.child(victim)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(pid)

    def kill_and_restart(self) -> None:
        """Kill the service's first process, wait until all that it started have ended, and serve again."""
        left = descendants(self.pid)
        self.kill("web")
        wait_for(lambda: not any(map(is_running, left)), 300, "left of a killed service")
        self.start()

    def child(self, name: str) -> int:
        """Return the process id of the ``worker`` or ``database``, or 0."""
        wanted = {"worker": "autograder worker", "database": "postgres -D"}[name]
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                status = (path / "stat").read_text().rpartition(")")[2].split()
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if int(status[1]) == self.pid and wanted in words:
                    return int(path.name)
        return 0

    def pages(self) -> list[int]:
        """Return the ids of all processes that answer requests."""
        wanted, found = b"autograder.web.extra_process", [self.pid]
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                status = (path / "stat").read_text().rpartition(")")[2].split()
                if int(status[1]) == self.pid and wanted in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    def address(self, path: str = "") -> str:
        """Return the address of a page."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def answers(self) -> bool:
        """Return whether the service is healthy."""
        try:
            with urllib.request.urlopen(self.address("healthz"), timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    @property
    def database_url(self) -> str:
        """Return the URL of the service's database."""
        return build_url(get_folder(self.course) / "database")

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the result rows of a database statement."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()

    def accounts(self, students: Sequence[str], role: str = "student") -> dict[str, str]:
        """Create members' accounts with the password ``password``; return their keys."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.accounts", self.slug, role, *students],
            env={**os.environ, DATABASE_URL: self.database_url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return dict(json.loads(done.stdout))

    def hand_in(self, assignment: str, key: str, files: Mapping[str, bytes], folder: Path) -> dict[str, Any]:
        """Submit files as ``autograder submit`` does; return the receipt.

        Raises:
            ServiceError: the submission was refused, or the service is unreachable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text(key)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        page = self.address(f"app/c/{self.slug}/a/{assignment}/")
        api_client.submit_files(
            [folder / name for name in files], page, folder / "key", folder / "receipt.json"
        )
        return dict(json.loads((folder / "receipt.json").read_text()))


def wait_for(done: Any, seconds: float, otherwise: str, again: float = 0.05) -> None:
    """Poll a condition until it is true; fail after a timeout."""
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, otherwise
        time.sleep(again)
