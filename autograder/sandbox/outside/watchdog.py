"""The memory, processor time and tasks of a box, measured from outside where no control group counts them.

Proportional set size, not resident set size: pages shared with the zygote are not the box's own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from autograder.limits import UNKNOWN_WAIT_FACTOR

INTERVAL = 0.05
"""Seconds between two looks."""

_OWN_PAGES = ("Pss_Anon:", "Pss_Shmem:")
_AT_MOST = ("RssAnon:", "RssShmem:")
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class Tree(Struct, frozen=True):
    """A process and all its descendants, at one moment."""

    memory_bytes: int = 0
    """Private and shared-anonymous memory; no less than that where it is at most what was called enough."""
    tasks: int = 0
    """Processes and threads."""
    processor_seconds: float = 0.0
    """Of what runs, and of what it has waited for."""


class Watchdog:
    """Looks at a tree of processes again and again, and remembers what is gone between two looks."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        """Watch a process and its descendants."""
        self._pid = pid
        self._proc = proc
        self._own_seconds: dict[tuple[int, str], float] = {}
        self._delays: dict[str, int] = {}
        self.delayed = 0.0
        """What `delayed_seconds` said last."""
        self._delays_read = time.monotonic()
        self.most_tasks = 0
        self.processor_seconds = 0.0

    def look(self, *, enough: int = 0) -> Tree:
        """The tree as it is now.

        Args:
            enough: bytes up to which an upper bound of the memory will do. The exact number takes the kernel
                milliseconds for a process that has torch loaded, the bound microseconds.
        """
        tasks, seconds = 0, 0.0
        processes: list[str] = []
        for pid, threads in self._walk():
            process = f"{self._proc}/{pid}"
            processes.append(process)
            seconds += self._seconds(pid, process)
            tasks += len(threads)
        memory = sum(_kilobytes(f"{process}/status", _AT_MOST) for process in processes) << 10
        if memory > enough:
            memory = sum(_kilobytes(f"{process}/smaps_rollup", _OWN_PAGES) for process in processes) << 10
        self.most_tasks = max(self.most_tasks, tasks)
        # A process whose end nobody waits for takes its time along; what was seen of it still counts.
        self.processor_seconds = max(self.processor_seconds, seconds, sum(self._own_seconds.values()))
        return Tree(memory, tasks, seconds)

    def _walk(self) -> Iterator[tuple[int, list[str]]]:
        """Every process that is watched, and the folders of its threads."""
        open_ids = [self._pid]
        while open_ids:
            pid = open_ids.pop()
            tasks, threads = f"{self._proc}/{pid}/task", list[str]()
            with contextlib.suppress(OSError):  # it may end while we look
                threads = [f"{tasks}/{one}" for one in os.listdir(tasks)]  # noqa: PTH208 - looked at all the time
            yield pid, threads
            for thread in threads:
                with contextlib.suppress(OSError):
                    open_ids += [int(child) for child in _text(f"{thread}/children").split()]

    def delayed_seconds(self) -> float | None:
        """For how long the box could have computed and was not let to, as far as it was looked at.

        Between two looks that is what one thread waited at most for a processor: of several that wait at the
        same time none is kept for longer by the others' waiting. None where the kernel does not tell.
        """
        now, delays = time.monotonic(), dict[str, int]()
        for _, threads in self._walk():
            for thread in threads:
                with contextlib.suppress(OSError, ValueError):
                    ran, waited, _ = map(int, _text(f"{thread}/schedstat").split())
                    if ran or waited:  # zeros are all that a kernel gives that does not count
                        delays[thread] = waited
        passed = now - self._delays_read
        longest = max((waited - self._delays.get(one, 0) for one, waited in delays.items()), default=0)
        # Where nobody can tell, as much as a call may be kept before that is a fault of ours.
        self.delayed += (
            min(max(longest, 0) / 1e9, passed) if delays else passed * (1 - 1 / UNKNOWN_WAIT_FACTOR)
        )
        self._delays, self._delays_read = delays, now
        return self.delayed if delays else None

    def _seconds(self, pid: int, process: str) -> float:
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = _text(f"{process}/stat").rpartition(") ")[2].split()
            own, waited_for = (int(fields[at]) + int(fields[at + 1]) for at in (11, 13))
            self._own_seconds[pid, fields[19]] = own * _TICK
            return (own + waited_for) * _TICK
        return 0.0


def _text(path: str) -> str:
    """All of a file that the kernel makes up, in as few calls as can be: it is read after every few cells."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 14):
            parts.append(part)
        return b"".join(parts).decode(errors="replace")
    finally:
        os.close(descriptor)


def _kilobytes(path: str, lines: tuple[str, ...]) -> int:
    """The sum of some lines of a file of sizes; 0 where the process has ended."""
    total = 0
    with contextlib.suppress(OSError):
        for line in _text(path).splitlines():
            if line.startswith(lines):
                total += int(line.split()[1])
    return total


def resident_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Anonymous memory that a process has in view, its own or shared; cheap to ask."""
    return _kilobytes(f"{proc}/{pid}/status", _AT_MOST) << 10
