"""The interface of control groups, and helpers to read, create and remove folders of the kernel's tree."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from autograder.sandbox.outside import orphans

CONTROLLERS = ("memory", "pids")
"""Without these there is no driver."""
FAIRNESS = "cpu"
"""Used if available: each box then gets an equal share of the processors, whatever it runs."""
ACCOUNTING = "cpuacct"
"""Used if available: the processor time of all of a box's processes together (version 1)."""
REMOVAL_SECONDS = 2.0
_MOST = 4096


class Counts(Struct, frozen=True):
    """The kernel's counters for a group so far. Student code cannot change any of them."""

    refused_processes: int = 0
    """Forks and threads that were refused because of the bound on processes."""
    killed_for_memory: int = 0
    """Processes that were killed because of the bound on memory."""


class Group(Protocol):
    """The control group of one box."""

    def add_process(self, pid: int) -> None:
        """Move a process in; its children follow.

        Raises:
            OSError: the kernel refused.
        """

    def read_counts(self) -> Counts:
        """Return the counters so far."""

    def read_processor_seconds(self) -> float | None:
        """Return the processor time of all processes that were ever in it; None if it is not accounted."""

    def read_system_seconds(self) -> float:
        """Return the part of it spent in the kernel; 0 if it is not reported."""

    def read_peak_bytes(self) -> int:
        """Return the peak memory of the group."""

    def remove(self) -> None:
        """Kill the remaining processes and remove the group."""


class Driver(Protocol):
    """Creates groups."""

    name: str

    def create_group(self, *, memory_bytes: int, processes: int) -> Group:
        """Create a fresh group with these bounds.

        Raises:
            OSError: it could not be created.
        """

    def close(self) -> None:
        """Remove the folder that holds the groups."""


def make_folder(parent: Path) -> Path:
    """Create a folder with a name that identifies the process that made it."""
    folder = parent / orphans.build_group_name()
    folder.mkdir()
    return folder


class KeptFile:
    """A short file of the kernel that is kept open, because it is read around every cell and question."""

    def __init__(self, path: Path) -> None:
        """Set the path; the file is opened on first use."""
        self._path = path
        self._descriptor = -1

    def read_text(self) -> str:
        """Return its present content.

        Raises:
            OSError: it does not exist, or not any more.
        """
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        # From the start each time: the kernel produces the content anew.
        return os.pread(self._descriptor, _MOST, 0).decode()

    def close(self) -> None:
        """Close the descriptor. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_counter(source: str | KeptFile, name: str) -> int | None:
    """Read one line of a file of counters (``name value``); None if the kernel does not have it."""
    with contextlib.suppress(OSError, ValueError):
        for line in _read_text(source).splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return None


def read_number(source: str | KeptFile) -> int | None:
    """Read a file that holds one number; None if the kernel does not have it."""
    with contextlib.suppress(OSError, ValueError):
        return int(_read_text(source))
    return None


def _read_text(source: str | KeptFile) -> str:
    """Read a short file. Counters are read often: `Path` would double the cost."""
    if isinstance(source, KeptFile):
        return source.read_text()
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST).decode()
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Remove a driver's folder, after the groups of boxes that were never closed."""
    for group in folder.glob("box-*"):
        remove(group)
    remove(folder)


def remove(folder: Path) -> None:
    """Remove an empty group; the kernel needs a moment after its last process has ended."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.001)
        else:
            return
