"""Why a box ended, and by whom, if its wait status alone does not tell.

Process 1 of a process namespace cannot be killed by a signal from inside: the kernel drops every signal it
has no handler for, SIGKILL included. Endings from inside are recognizable: it exits, it faults (SIGSEGV,
SIGBUS, SIGILL, …), it meets a limit that the kernel counts, or it does something for which we end it. So a
SIGKILL that is none of these came from outside, and that is never the student's fault.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.core.errors import BoxLost, SandboxFault
from autograder.core.records import Ending

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
