"""Outside knowledge about a box's use of its limits: when it must end, and which limits it has met.

Sources, best first: the counters of its control group, its scratch space as the kernel sees it, a look at
its processes. Claims of student code are believed only for the choice of a sentence.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from autograder.core.records import CellRun, Ending, LimitEvent, LimitKind, Limits, Observation
from autograder.sandbox.inside import hints
from autograder.sandbox.inside.jail import EXIT_NO_MEMORY, EXIT_NOT_CONFINED
from autograder.sandbox.outside import watchdog
from autograder.sandbox.outside.cgroups import Counts, Group
from autograder.sandbox.outside.crowding import CrowdingMonitor
from autograder.sandbox.outside.watchdog import Watchdog

SCRATCH = "w"
"""The folder of a box, below its root, in which everything is written."""
_CORES = os.cpu_count() or 1
_WORDS = {met.value: met for met in LimitKind}
_SPACE = {LimitKind.DISK, LimitKind.FILES}
_TICK = 0.5
"""Seconds by which the kernel's own limit on one process may be early."""


class UserClaim(Protocol):
    """A user id that belongs to the box alone; see `namespaces.Identity`."""

    def release_user(self) -> None:
        """Release the user id."""


class Watch:
    """Watches one box. Not thread-safe."""

    def __init__(
        self,
        limits: Limits,
        group: Group | None,
        identity: UserClaim | None = None,
        crowding: CrowdingMonitor | None = None,
    ) -> None:
        self._pid = 0
        self._identity = identity
        self._crowding = crowding
        self._opened = time.monotonic()
        self._limits = limits
        self.group = self._group = group
        self._tree = Watchdog(0)
        self._most_bytes = limits.memory_mb << 20
        self._known = Counts()
        self._full: set[LimitKind] = set()
        self._crowded = False
        self._scratch = -1
        self._next_look = time.monotonic() + (self._estimate_pause(0.0) if group else 0.0)

    def was_crowded(self) -> bool:
        """Return whether the box's user has been short of a shared resource since the box was opened."""
        return self._crowding is not None and self._crowding.was_crowded(self._opened)

    def attach_process(self, pid: int) -> None:
        """Begin to watch process 1 of the box, by its process id on this side."""
        self._pid = pid
        self._tree = Watchdog(pid)
        # Initially all memory of a box is the zygote's, and its share of it changes with the number of boxes.
        # It is added to the limit, so that no box is ended for memory that is not its own.
        self._most_bytes += watchdog.measure_resident_bytes(pid)

    def open_scratch(self) -> None:
        """Open a descriptor on the scratch space; call it when the space exists and before student code runs.

        The descriptor only serves to query how full it is. If the kernel refuses it, or the size is not the
        requested one, only the student's claim is available.
        """
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            self._scratch = os.open(f"/proc/{self._pid}/root/{SCRATCH}", flags)
            room = os.fstatvfs(self._scratch)
            if room.f_blocks * room.f_frsize != self._limits.scratch_mb << 20:
                self.close()

    # ------------------------------------------------------------ limits that end the box

    def get_pause(self) -> float:
        """Return the seconds until `exceeded` has something to check."""
        return max(0.001, self._next_look - time.monotonic())

    def exceeded(self) -> Ending | None:
        """Return the limit for which the box must end now; checks only when a check is due."""
        now = time.monotonic()
        if now < self._next_look:
            return None
        used, memory = self._measure_use()
        self._next_look = now + (self._estimate_pause(used) if self._group else watchdog.INTERVAL)
        if memory > self._most_bytes:
            return Ending.MEMORY
        return Ending.PROCESSOR_TIME if used >= self._limits.processor_seconds else None

    def _measure_use(self) -> tuple[float, int]:
        """Return processor seconds, and bytes of memory if no group bounds them (otherwise 0)."""
        if self._group:
            used = self._group.read_processor_seconds()
            if used is None:
                self._tree.measure_tree(enough=sys.maxsize)
                used = self._tree.processor_seconds
            return used, 0
        # Below the limit an upper bound is enough, and much cheaper.
        memory = self._tree.measure_tree(enough=self._most_bytes).memory_bytes
        return self._tree.processor_seconds, memory

    def _estimate_pause(self, used: float) -> float:
        """Return the shortest time in which all cores together can use up the remaining processor time."""
        return max(watchdog.INTERVAL, (self._limits.processor_seconds - used) / _CORES)

    def processor_seconds(self, *, afresh: bool = False) -> float:
        """Return the processor seconds of all processes of the box, as far as they were counted.

        Args:
            afresh: if the kernel does not count for the whole box, examine its processes now.
        """
        counted = self._group.read_processor_seconds() if self._group else None
        if counted is not None:
            return counted
        if afresh:
            self._tree.measure_tree(enough=sys.maxsize)
        return self._tree.processor_seconds

    def measure_delay(self) -> float | None:
        """See `Watchdog.measure_delay`."""
        return self._tree.measure_delay()

    @property
    def delayed(self) -> float:
        """The last measured delay."""
        return self._tree.delayed

    def find_ending(self, report: Mapping[str, Any]) -> Ending:
        """Find out why the box ended by itself, from the kernel's information.

        Args:
            report: its wait status and processor seconds, if the zygote could report them.
        """
        counts = self._group.read_counts() if self._group else self._known
        if counts.killed_for_memory > self._known.killed_for_memory:
            return Ending.MEMORY
        status = report.get("status")
        if not isinstance(status, int):
            return Ending.CRASHED
        if os.WIFEXITED(status):
            return self._classify_exit(os.WEXITSTATUS(status))
        used = max(report.get("cpu", 0.0), self.processor_seconds())
        return Ending.PROCESSOR_TIME if used >= self._limits.processor_seconds - _TICK else Ending.CRASHED

    def _classify_exit(self, status: int) -> Ending:
        """Classify an exit status; student code may forge our statuses and gains only another sentence."""
        if status == EXIT_NO_MEMORY and self._group is None:  # a group kills before memory is refused
            return Ending.MEMORY
        return Ending.CRASHED if status == EXIT_NOT_CONFINED else Ending.EXITED

    # ------------------------------------------------------------ limits that do not

    def collect_met_limits(
        self, reported: Collection[str] = (), *, printed: bool = False
    ) -> tuple[LimitEvent, ...]:
        """Return the limits met since the last call, in the order of `LimitKind`.

        Args:
            reported: the limits that the reply reports, in words of `LimitKind` and `hints.AGAIN`; under the
                student's control.
            printed: whether this side has counted more output than is kept.
        """
        words = {_WORDS[word] for word in reported if word in _WORDS}
        suspected = LimitKind.PROCESSES in words or hints.AGAIN in reported
        seen = self._read_counters(suspected=suspected) | ({LimitKind.OUTPUT} if printed else set())
        if hints.AGAIN in reported and LimitKind.PROCESSES in seen:
            words.add(LimitKind.PROCESSES)
        full = self._find_full_limits()
        # A space that was full before counts again only if the reply reports it.
        seen |= full - self._full
        if words & _SPACE and full:
            words = words - _SPACE | full  # one error number means either; the kernel knows which
            seen |= full
        self._full = full
        if LimitKind.DESCRIPTORS in words and self._count_descriptors() >= self._limits.descriptors:
            seen.add(LimitKind.DESCRIPTORS)
        return tuple(
            LimitEvent(met, seen=met in seen, told=met in words) for met in LimitKind if met in seen | words
        )

    def mark_run(self, run: CellRun, reported: Collection[str], *, printed: bool) -> CellRun:
        """Add the limits that a cell met to its run; see `collect_met_limits`."""
        truncated = run.truncated or printed
        met = self.collect_met_limits(
            (*reported, LimitKind.OUTPUT.value) if truncated else reported, printed=printed
        )
        return msgspec.structs.replace(run, met=met, truncated=truncated) if met else run

    def confirm_answer(self, observation: Observation, reported: Collection[str]) -> Observation:
        """Add the limits met since the last confirmed answer to the answer of a call."""
        met = self.collect_met_limits(reported)
        return msgspec.structs.replace(observation, met=met) if met else observation

    def _read_counters(self, *, suspected: bool) -> set[LimitKind]:
        if self._group:
            before, self._known = self._known, self._group.read_counts()
            refused = self._known.refused_processes > before.refused_processes
            killed = self._known.killed_for_memory > before.killed_for_memory
            return ({LimitKind.PROCESSES} if refused else set()) | ({LimitKind.MEMORY} if killed else set())
        if suspected:
            self._tree.measure_tree(enough=sys.maxsize)
        crowded = self._tree.most_tasks >= self._limits.processes
        # The maximum never falls: it is reported once, and again only on suspicion.
        new = crowded and (suspected or not self._crowded)
        self._crowded = crowded
        return {LimitKind.PROCESSES} if new else set()

    def _find_full_limits(self) -> set[LimitKind]:
        if self._scratch < 0:
            return set()
        room = os.fstatvfs(self._scratch)
        return ({LimitKind.DISK} if room.f_bavail == 0 else set()) | (
            {LimitKind.FILES} if room.f_favail == 0 else set()
        )

    def _count_descriptors(self) -> int:
        """Return the number of open descriptors of process 1."""
        with contextlib.suppress(OSError):
            return len(list(Path(f"/proc/{self._pid}/fd").iterdir()))
        return 0

    def release_user(self) -> None:
        """Release the box's user once nothing of it runs. Idempotent."""
        if self._identity:
            self._identity.release_user()

    def close(self) -> None:
        """Close the descriptor of the scratch space. Idempotent."""
        if self._scratch >= 0:
            os.close(self._scratch)
            self._scratch = -1
