"""Why a box ended, and by whom, where its wait status alone does not say.

Process 1 of a process namespace cannot be killed by a signal from inside: the kernel drops every signal it
has no handler for, SIGKILL included. What does end it from inside is told apart: it exits, it faults
(SIGSEGV, SIGBUS, SIGILL, …), it meets a limit that the kernel counts, or it does what we end it for. So a
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

from autograder.errors import BoxLost, SandboxFault
from autograder.records import Ending

EXIT_SECONDS = 3.0
"""How long a dying process may take to be dead: others of its namespace die first."""
NEAR = 0.9
"""The share of its memory a box has had at least when its own limit was what it met."""
_PF_EXITING = 0x4


def ends_by_itself(pidfd: int, pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether a process ends without our doing: it has ended, or is ending and then does.

    Its pipes close before it is dead, so that closed pipes alone do not tell.
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
        return True  # not there any more


def check(
    ending: Ending,
    report: Mapping[str, Any],
    *,
    by_itself: bool,
    process_one: bool,
    memory: tuple[int, int] = (0, 0),
) -> None:
    """Let an ending pass that student code can have caused.

    Args:
        ending: what the wait status and the counters say.
        report: the zygote's: ``status`` is the wait status; missing where the zygote died first.
        by_itself: whether it ended before we killed it; see `ends_by_itself`.
        process_one: whether it was process 1 of a process namespace of its own.
        memory: the most that was used and the limit, in bytes; zeros where unknown.

    Raises:
        BoxLost: the box was ended from outside.
        SandboxFault: the zygote was.
    """
    status = report.get("status")
    if ending is Ending.MEMORY:
        used, limit = memory
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
    """Whether a process is number 1 of a namespace of its own.

    Args:
        status: its lines in ``/proc/self/fdinfo/<pidfd>``; ``NSpid`` counts from this side's namespace
            inwards.
    """
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == "1"
    return False
