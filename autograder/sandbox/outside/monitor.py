"""Monitors a box that has no file system and no process namespace of its own, from outside."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Protocol

from autograder.records import Ending, Limits
from autograder.sandbox.outside import scratch, watchdog

MAX_MEASURING_SHARE = 0.1
"""At most this share of the time is spent on looking at the box."""


class Monitor(Protocol):
    """What a box needs from outside that its confinement does not give."""

    def attach(self, pid: int) -> int:
        """Begin with the first process of the box; the process below which all of the box's are."""

    def look(self) -> Ending | None:
        """Why the box has to end now, if it has to."""

    def release(self) -> None:
        """Remove what the box has left. Idempotent."""


class UserClaim(Protocol):
    """A user id that is the box's alone; see `namespaces.Identity`."""

    def release(self) -> None:
        """Give it back."""


class BoxFolder:
    """The folder of one box and, as root, what else its user owns; see `Monitor`."""

    def __init__(self, folder: str, limits: Limits, uid: int | None) -> None:
        self.folder = folder
        self._limits = limits
        self._uid = uid
        self._reaper = 0
        self._next_look = 0.0
        self._released = False

    def attach(self, pid: int) -> int:
        """Remember the reaper, which is the parent of the first process."""
        self._reaper = parent(pid)
        self._next_look = time.monotonic() + watchdog.INTERVAL
        return self._reaper

    def look(self) -> Ending | None:
        """Measure the disk, not more often than is worth it."""
        started = time.monotonic()
        if started < self._next_look:
            return None
        over = self._too_much()
        now = time.monotonic()
        self._next_look = now + max(watchdog.INTERVAL / 2, (now - started) / MAX_MEASURING_SHARE)
        return Ending.DISK if over else None

    def _too_much(self) -> bool:
        limits, measure = self._limits, scratch.Measure()
        for path in (self.folder, *(scratch.files_of_user(self._uid) if self._uid is not None else ())):
            scratch.measure_tree(path, measure, limits.scratch_files)
        scratch.measure_open_files(below(self._reaper) if self._reaper else (), measure)
        return measure.bytes > limits.scratch_mb << 20 or measure.files > limits.scratch_files

    def release(self) -> None:
        """Remove the folder, and as root whatever else the box's user owns."""
        if self._released:
            return
        self._released = True
        scratch.remove_tree(self.folder)
        if self._uid is not None:
            for path in scratch.files_of_user(self._uid):
                scratch.remove_tree(path)


def parent(pid: int) -> int:
    """The parent of a process; 0 when it has ended."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(") ")[2].split()[1])
    return 0


def below(pid: int) -> list[int]:
    """The descendants of a process, asked of each in turn; all processes of a machine would be too many."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for children in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it may end while we look
                new = [int(child) for child in children.read_text().split()]
                found += new
                waiting += new
    return found
