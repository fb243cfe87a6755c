"""What a control group promises, and how the folders of the kernel's tree are read, made and removed."""

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
"""Used where it is there: each box then gets an equal share of the processors, whatever it runs."""
ACCOUNTING = "cpuacct"
"""Used where it is there: the processor time of all of a box's processes together (version 1)."""
REMOVAL_SECONDS = 2.0
_MOST = 4096


class Counts(Struct, frozen=True):
    """What the kernel has counted for a group so far. Student code cannot change any of it."""

    refused_processes: int = 0
    """Forks and threads that were refused for the bound on processes."""
    killed_for_memory: int = 0
    """Processes that were killed for the bound on memory."""


class Group(Protocol):
    """The control group of one box."""

    def add(self, pid: int) -> None:
        """Move a process in; its children follow.

        Raises:
            OSError: the kernel refused.
        """

    def counts(self) -> Counts:
        """What was counted so far."""

    def processor_seconds(self) -> float | None:
        """Of all processes that ever were in it; None where this is not accounted."""

    def system_seconds(self) -> float:
        """Of these the ones in the kernel; 0 where it does not tell."""

    def peak_bytes(self) -> int:
        """The most memory the group used."""

    def remove(self) -> None:
        """Kill what is left and remove the group."""


class Driver(Protocol):
    """Makes groups."""

    name: str

    def group(self, *, memory_bytes: int, processes: int) -> Group:
        """A fresh group with these bounds.

        Raises:
            OSError: it could not be made.
        """

    def close(self) -> None:
        """Remove the folder the groups were made in."""


def make(parent: Path) -> Path:
    """A fresh folder whose name says which process made it."""
    folder = parent / orphans.group_name()
    folder.mkdir()
    return folder


class KeptFile:
    """A short file of the kernel's that is kept open: it is read around every cell and question."""

    def __init__(self, path: Path) -> None:
        """It is opened when it is first read."""
        self._path = path
        self._descriptor = -1

    def text(self) -> str:
        """All of it, as it is now.

        Raises:
            OSError: it is not there, or not any more.
        """
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._descriptor, _MOST, 0).decode()

    def close(self) -> None:
        """Give the descriptor back. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def counter(source: str | KeptFile, name: str) -> int | None:
    """One line of a file of counters (``name value``); None where the kernel does not have it."""
    with contextlib.suppress(OSError, ValueError):
        for line in _text(source).splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return None


def number(source: str | KeptFile) -> int | None:
    """A file that holds one number; None where the kernel does not have it."""
    with contextlib.suppress(OSError, ValueError):
        return int(_text(source))
    return None


def _text(source: str | KeptFile) -> str:
    """All of a short file. Counters are read often: `Path` would double the price."""
    if isinstance(source, KeptFile):
        return source.text()
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST).decode()
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Remove a driver's folder, and before it the groups of boxes that nobody closed."""
    for group in folder.glob("box-*"):
        remove(group)
    remove(folder)


def remove(folder: Path) -> None:
    """Remove an empty group; the kernel needs a moment after the last process has gone."""
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
