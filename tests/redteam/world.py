"""Targets of hostile code on this machine, set up so that reaching them is detected."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

SECRET_WORD = "the-word-nobody-may-read"


class World(Struct, frozen=True):
    """Files, listeners and a process outside of every box."""

    folder: Path
    files: tuple[Path, ...]
    listeners: tuple[socket.socket, ...]
    victim: subprocess.Popen[bytes]

    def targets(self) -> dict[str, object]:
        """Return everything that an attack needs to know."""
        return {
            "files": self.paths(),
            "home": str(Path.home()),
            "processes": [os.getpid(), self.victim.pid],
            "port": self.listeners[0].getsockname()[1],
            "abstract": _abstract_name(),
            "word": SECRET_WORD,
        }

    def paths(self) -> list[str]:
        """Return the paths of the baits."""
        return [str(path) for path in self.files]

    def state(self) -> tuple[object, ...]:
        """Return everything that an attack must not change."""
        files = [
            (
                str(path),
                path.stat().st_mode,
                path.stat().st_mtime_ns,
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
            for path in self.files
        ]
        listing = sorted(str(path) for path in self.folder.rglob("*"))
        return (files, listing, self.victim.poll())

    def visits(self) -> int:
        """Return the connections since the last call."""
        count = 0
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                count += 1
        return count


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[World]:
    """Create a course with a gradebook and two submissions, a home, listeners, and a process as a target."""
    contents = {
        "gradebook.db": b"marks",
        "submitted/other/exam/exam.ipynb": b"{}",
        "source/exam/exam.ipynb": SECRET_WORD.encode(),
        "rubrics/exam.toml": b"points = 90",
        "home/.bashrc": b"",
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o666)  # if it were visible, only the confinement would protect it
    internet = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + _abstract_name())
    abstract.listen()
    for listener in (internet, abstract):
        listener.setblocking(False)
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], cwd="/")
    try:
        yield World(folder, tuple(folder / name for name in contents), (internet, abstract), victim)
    finally:
        victim.kill()
        victim.wait()
        internet.close()
        abstract.close()


def _abstract_name() -> str:
    return f"autograder-redteam-{os.getpid()}"
