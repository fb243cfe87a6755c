"""The memory, processor time and tasks of a box, measured from outside if no control group counts them.

Uses the proportional set size, not the resident set size: pages shared with the zygote are not the box's own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from autograder.core.limits import UNKNOWN_WAIT_FACTOR

INTERVAL = 0.05
"""Seconds between two measurements."""

_OWN_PAGES = ("Pss_Anon:", "Pss_Shmem:")
_AT_MOST = ("RssAnon:", "RssShmem:")
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class ProcessTree(Struct, frozen=True):
    """A process and all its descendants, at one moment."""

    memory_bytes: int = 0
    """Private and shared-anonymous memory; an upper bound of it if that is at most ``enough``."""
    tasks: int = 0
    """Processes and threads."""
    processor_seconds: float = 0.0
    """Processor time of running processes, and of ended ones that were waited for."""


class Watchdog:
    """Measures a tree of processes repeatedly, and remembers what disappeared between two measurements."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        """Watch a process and its descendants."""
        self._pid = pid
        self._proc = proc
        self._own_seconds: dict[tuple[int, str], float] = {}
        self._delays: dict[str, int] = {}
        self.delayed = 0.0
        """The last result of `measure_delay`."""
        self._delays_read = time.monotonic()
        self.most_tasks = 0
        self.processor_seconds = 0.0

    def measure_tree(self, *, enough: int = 0) -> ProcessTree:
        """Measure the tree as it is now.

        Args:
            enough: bytes up to which an upper bound of the memory will do. The exact number takes the kernel
                milliseconds for a process that has torch loaded, the bound microseconds.
        """
        tasks, seconds = 0, 0.0
        processes: list[str] = []
        for pid, threads in self._walk_processes():
            process = f"{self._proc}/{pid}"
            processes.append(process)
            seconds += self._read_seconds(pid, process)
            tasks += len(threads)
        # The cheap upper bound first.
        memory = sum(_sum_kilobytes(f"{process}/status", _AT_MOST) for process in processes) << 10
        if memory > enough:
            memory = sum(_sum_kilobytes(f"{process}/smaps_rollup", _OWN_PAGES) for process in processes) << 10
        self.most_tasks = max(self.most_tasks, tasks)
        # If no process waits for a child, its time is lost with it; the part that was seen still counts.
        self.processor_seconds = max(self.processor_seconds, seconds, sum(self._own_seconds.values()))
        return ProcessTree(memory, tasks, seconds)

    def _walk_processes(self) -> Iterator[tuple[int, list[str]]]:
        """Iterate over the watched processes, with the folders of their threads."""
        open_ids = [self._pid]
        while open_ids:
            pid = open_ids.pop()
            tasks, threads = f"{self._proc}/{pid}/task", list[str]()
            with contextlib.suppress(OSError):  # it may end while we look
                threads = [f"{tasks}/{name}" for name in os.listdir(tasks)]  # noqa: PTH208 - a hot path
            yield pid, threads
            for thread in threads:
                with contextlib.suppress(OSError):
                    open_ids += [int(child) for child in _read_text(f"{thread}/children").split()]

    def measure_delay(self) -> float | None:
        """Return how long the box could have computed but had no processor, as far as it was measured.

        Between two measurements this is the longest time that one thread waited for a processor: if several
        wait at the same time, none is delayed further by the others' waiting. None if the kernel does not
        report it.
        """
        now, delays = time.monotonic(), dict[str, int]()
        for _, threads in self._walk_processes():
            for thread in threads:
                with contextlib.suppress(OSError, ValueError):
                    ran, waited, _ = map(int, _read_text(f"{thread}/schedstat").split())
                    if ran or waited:  # a kernel that does not count reports zeros
                        delays[thread] = waited
        passed = now - self._delays_read
        longest = max((waited - self._delays.get(task, 0) for task, waited in delays.items()), default=0)
        # If the kernel does not report it, assume the longest delay that is not yet a fault of ours.
        self.delayed += (
            min(max(longest, 0) / 1e9, passed) if delays else passed * (1 - 1 / UNKNOWN_WAIT_FACTOR)
        )
        self._delays, self._delays_read = delays, now
        return self.delayed if delays else None

    def _read_seconds(self, pid: int, process: str) -> float:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # See proc(5), counted after the name: 11 and 12 are its own ticks, 13 and 14 those of children it
            # has waited for; 19 is the start time, which a later process with the same id does not share.
            fields = _read_text(f"{process}/stat").rpartition(") ")[2].split()
            own_ticks, waited_for = (int(fields[index]) + int(fields[index + 1]) for index in (11, 13))
            self._own_seconds[pid, fields[19]] = own_ticks * _TICK
            return (own_ticks + waited_for) * _TICK
        return 0.0


def _read_text(path: str) -> str:
    """Read a file of the kernel in as few system calls as possible: this runs after every few cells."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 14):
            parts.append(part)
        return b"".join(parts).decode(errors="replace")
    finally:
        os.close(descriptor)


def _sum_kilobytes(path: str, lines: tuple[str, ...]) -> int:
    """Return the sum of some lines of a file of sizes; 0 if the process has ended."""
    total = 0
    with contextlib.suppress(OSError):
        for line in _read_text(path).splitlines():
            if line.startswith(lines):
                total += int(line.split()[1])
    return total


def measure_resident_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Return the anonymous memory that a process has mapped, its own or shared; cheap to query."""
    return _sum_kilobytes(f"{proc}/{pid}/status", _AT_MOST) << 10
