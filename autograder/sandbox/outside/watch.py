"""Outside knowledge about a box's use of its limits: when it must end, and which limits it has met.

Sources, best first: the counters of its control group, its scratch space as the kernel sees it, a look at
its processes. Claims of student code are believed only for the choice of a sentence.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.errors import BoxLost, SandboxFault
from autograder.core.limits import UNKNOWN_WAIT_FACTOR
from autograder.core.records import CellRun, Ending, LimitEvent, LimitKind, Limits, Observation
from autograder.sandbox.inside import limit_hints
from autograder.sandbox.inside.jail import EXIT_NO_MEMORY, EXIT_NOT_CONFINED
from autograder.sandbox.outside.cgroups import Counts, Group, read_kernel_file

SCRATCH = "w"
"""The folder of a box, below its root, in which everything is written."""
_CORES = os.cpu_count() or 1
_WORDS = {met.value: met for met in LimitKind}
_SPACE = {LimitKind.DISK, LimitKind.FILES}
# The kernel counts by ticks; see `limits.KERNEL_CPU_FACTOR`.
_EARLY = 0.5
"""Seconds by which the kernel's own limit on one process may be early."""


class Watch:
    """Watches one box. Not thread-safe."""

    def __init__(
        self,
        limits: Limits,
        group: Group | None,
        crowding: CrowdingMonitor | None = None,
    ) -> None:
        self._pid = 0
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
        self._most_bytes += measure_resident_bytes(pid)

    def open_scratch(self) -> None:
        """Open a descriptor on the scratch space; call it when the space exists and before student code runs.

        The descriptor only serves to query how full it is. If the kernel refuses it, or the size is not the
        requested one, only the student's claim is available.
        """
        # O_PATH reads nothing, and O_NOFOLLOW lets no link lead out of the box.
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            self._scratch = os.open(f"/proc/{self._pid}/root/{SCRATCH}", flags)
            room = os.fstatvfs(self._scratch)
            if room.f_blocks * room.f_frsize != self._limits.scratch_mb << 20:
                self.close()

    # ------------------------------------------------------------ limits that end the box

    def get_pause(self) -> float:
        """Return the seconds until `find_exceeded_limit` has something to check."""
        return max(0.001, self._next_look - time.monotonic())

    def find_exceeded_limit(self) -> Ending | None:
        """Return the limit for which the box must end now; checks only when a check is due."""
        now = time.monotonic()
        if now < self._next_look:
            return None
        used, memory = self._measure_use()
        self._next_look = now + (self._estimate_pause(used) if self._group else INTERVAL)
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
        return max(INTERVAL, (self._limits.processor_seconds - used) / _CORES)

    def read_processor_seconds(self, *, afresh: bool = False) -> float:
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
        used = max(report.get("cpu", 0.0), self.read_processor_seconds())
        return Ending.PROCESSOR_TIME if used >= self._limits.processor_seconds - _EARLY else Ending.CRASHED

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
            reported: the limits that the reply reports, in words of `LimitKind` and `limit_hints.AGAIN`;
                under the student's control.
            printed: whether this side has counted more output than is kept.
        """
        words = {_WORDS[word] for word in reported if word in _WORDS}
        suspected = LimitKind.PROCESSES in words or limit_hints.AGAIN in reported
        seen = self._read_counters(suspected=suspected) | ({LimitKind.OUTPUT} if printed else set())
        if limit_hints.AGAIN in reported and LimitKind.PROCESSES in seen:
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
            LimitEvent(met, measured=met in seen, claimed=met in words)
            for met in LimitKind
            if met in seen | words
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

    def close(self) -> None:
        """Close the descriptor of the scratch space. Idempotent."""
        if self._scratch >= 0:
            os.close(self._scratch)
            self._scratch = -1


# ---------------------------------------------------------------- a look at processes
# The memory, processor time and tasks of a box if no control group counts them. Uses the proportional set
# size, not the resident set size: pages shared with the zygote are not the box's own.


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
                    open_ids += [int(child) for child in read_kernel_file(f"{thread}/children").split()]

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
                    ran, waited, _ = map(int, read_kernel_file(f"{thread}/schedstat").split())
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
            fields = read_kernel_file(f"{process}/stat").rpartition(") ")[2].split()
            own_ticks, waited_for = (int(fields[index]) + int(fields[index + 1]) for index in (11, 13))
            self._own_seconds[pid, fields[19]] = own_ticks * _TICK
            return (own_ticks + waited_for) * _TICK
        return 0.0


def _sum_kilobytes(path: str, lines: tuple[str, ...]) -> int:
    """Return the sum of some lines of a file of sizes; 0 if the process has ended."""
    total = 0
    with contextlib.suppress(OSError):
        for line in read_kernel_file(path).splitlines():
            if line.startswith(lines):
                total += int(line.split()[1])
    return total


def measure_resident_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Return the anonymous memory that a process has mapped, its own or shared; cheap to query."""
    return _sum_kilobytes(f"{proc}/{pid}/status", _AT_MOST) << 10


# ---------------------------------------------------------------- why a box ended
# By whom, if its wait status alone does not tell. Process 1 of a process namespace cannot be killed by a
# signal from inside: the kernel drops every signal it has no handler for, SIGKILL included. Endings from
# inside are recognizable: it exits, it faults (SIGSEGV, SIGBUS, SIGILL, …), it meets a limit that the kernel
# counts, or it does something for which we end it. So a SIGKILL that is none of these came from outside, and
# that is never the student's fault.


EXIT_SECONDS = 3.0
"""How long a dying process may take to be dead: others of its namespace die first."""
NEAR = 0.9
"""The minimum share of its memory that a box used if its own limit was the cause."""
# From include/linux/sched.h of the kernel: the process is being shut down.
_PF_EXITING = 0x4


def has_ended_itself(pidfd: int, pid: int, proc: Path = Path("/proc")) -> bool:
    """Return whether a process ends without our doing: it has ended, or is ending and then does.

    Its pipes close before it is dead, so closed pipes alone do not prove it.
    """
    ended = select.poll()
    ended.register(pidfd, select.POLLIN)
    deadline = time.monotonic() + EXIT_SECONDS
    while not ended.poll(1):
        if not _is_ending(pid, proc) or time.monotonic() > deadline:
            return bool(ended.poll(0))
    return True


def _is_ending(pid: int, proc: Path) -> bool:
    try:
        # The name before the last bracket is the process's own choice, and may contain brackets and blanks.
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(") ")[2].split()
        return bool(int(fields[6]) & _PF_EXITING)
    except (OSError, IndexError, ValueError):
        return True  # the process is gone


def check_cause(
    ending: Ending,
    report: Mapping[str, Any],
    *,
    by_itself: bool,
    process_one: bool,
    memory: tuple[int, int] = (0, 0),
) -> None:
    """Accept an ending that student code can have caused.

    Args:
        ending: the ending according to the wait status and the counters.
        report: the zygote's: ``status`` is the wait status; missing if the zygote died first.
        by_itself: whether it ended before we killed it; see `has_ended_itself`.
        process_one: whether it was process 1 of a process namespace.
        memory: the peak usage and the limit, in bytes; zeros if unknown.

    Raises:
        BoxLost: the box was ended from outside.
        SandboxFault: the zygote was.
    """
    status = report.get("status")
    if ending is Ending.MEMORY:
        used, limit = memory
        # Killed for memory while below its own limit: the machine as a whole had none left.
        if 0 < used < NEAR * limit:
            raise BoxLost("the machine ran out of memory and the kernel ended a box within its limit")
        return
    if ending is not Ending.CRASHED or not by_itself:
        return
    if not isinstance(status, int):
        raise SandboxFault("the zygote ended before it could say how the box ended")
    if process_one and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        raise BoxLost("process 1 of the box was killed from outside")


def is_process_one(status: str) -> bool:
    """Return whether a process is number 1 of a separate namespace.

    Args:
        status: its lines in ``/proc/self/fdinfo/<pidfd>``; ``NSpid`` counts from this side's namespace
            inwards.
    """
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == "1"
    return False


# ---------------------------------------------------------------- quotas of a user
# Whether they are used up is detected from outside, by a process of that user. An ordinary user's boxes share
# one user. One box can use up the descriptors in flight in sockets or the memory of pipes for all others; a
# data loader in another box then raises an exception, or waits forever. A waiting box cannot be queried, and
# its answers are under the student's control. So a small program of the grader checks periodically: the
# kernel compares the user's descriptors in flight with the limit of the sending process, and therefore the
# program has the same limit as a box.


_FIELDS = struct.Struct("dqq")
"""Time of the last shortage (monotonic clock, 0: never), the limit of descriptors, the number of checks."""
_LOOK_SECONDS = 5.0
"""How long to wait for a requested check; it takes a millisecond on an idle machine."""
_PROGRAM = """
import errno, fcntl, mmap, os, resource, select, socket, struct, sys, time

def is_crowded():
    one, other = socket.socketpair()
    ends = os.pipe()
    try:
        socket.send_fds(one, [b"?"], [0])
        return fcntl.fcntl(ends[0], 1032) < 65536  # F_GETPIPE_SZ
    except OSError as error:
        return error.errno == errno.ETOOMANYREFS
    finally:
        one.close()
        other.close()
        for end in ends:
            os.close(end)

shared = mmap.mmap(int(sys.argv[1]), mmap.PAGESIZE)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
while True:
    limit, = struct.unpack_from("q", shared, 8)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, hard), hard))
    if is_crowded():
        struct.pack_into("d", shared, 0, time.monotonic())
    looks, = struct.unpack_from("q", shared, 16)
    struct.pack_into("q", shared, 16, looks + 1)
    if select.select([0], [], [], 0.25)[0] and not os.read(0, 4096):
        break  # the grader has ended
"""


class CrowdingMonitor:
    """A program that checks four times a second, and on request."""

    def __init__(self, descriptors: int) -> None:
        """Start the program.

        Args:
            descriptors: the limit of a box; see `limit_descriptors`.

        Raises:
            OSError: it cannot be started.
        """
        shared = os.memfd_create("autograder-crowding", os.MFD_CLOEXEC)
        try:
            os.ftruncate(shared, mmap.PAGESIZE)
            self._shared = mmap.mmap(shared, mmap.PAGESIZE)
            self.limit_descriptors(descriptors)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(shared)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[shared],
                env={},
                cwd="/",
            )
        finally:
            os.close(shared)

    def limit_descriptors(self, descriptors: int) -> None:
        """Check with the limit of the boxes that are opened from now on."""
        struct.pack_into("q", self._shared, 8, descriptors)

    def was_crowded(self, since: float) -> bool:
        """Return whether a quota was used up at some time since then; includes a check that begins now.

        Args:
            since: by the monotonic clock.
        """
        looks = self._read_fields()[2]
        # The check in progress may have begun before the requested time; the one after it has not.
        deadline = time.monotonic() + _LOOK_SECONDS
        while (
            self._read_fields()[2] < looks + 2
            and self._process.poll() is None
            and time.monotonic() < deadline
        ):
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                os.write(self._process.stdin.fileno(), b"?")
            time.sleep(0.001)
        return self._read_fields()[0] >= since

    def _read_fields(self) -> tuple[float, int, int]:
        last, limit, looks = _FIELDS.unpack_from(self._shared, 0)
        return last, limit, looks

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._shared.close()
