"""The reaper of a box that has no process namespace: ends everything the box started. Beside the zygote.

A namespace ends all its processes at once. Without one they could leave their parent and their session.
They cannot leave the reaper: orphans below it become its children (PR_SET_CHILD_SUBREAPER), so that it
has no child left only when nothing is left. It ends the box when the box's first process ends, when the
broker lets go of the status socket, and when the zygote dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
from pathlib import Path
from typing import NoReturn

from autograder.sandbox.inside import linux

PROC = Path("/proc")


def run_reaper(status: socket.socket, lifeline: int, uid: int | None) -> int:
    """Become a reaper and fork its box; returns in the box only.

    Args:
        status: the broker's end of it gets the box's descriptor, and at last the report.
        lifeline: a pipe that ends when the zygote does.
        uid: the box's own user id; None where it has none and its processes must be looked for.

    Returns:
        The reaper's process id.
    """
    reaper = os.getpid()
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    pid = os.fork()
    if pid == 0:
        return reaper
    try:
        _watch(pid, status, lifeline, uid)
    finally:
        os._exit(1)


def _watch(pid: int, status: socket.socket, lifeline: int, uid: int | None) -> NoReturn:
    box = os.pidfd_open(pid)
    _close_others(status.fileno(), lifeline, box)
    with contextlib.suppress(OSError):
        socket.send_fds(status, [b"box"], [box])
    poller = select.poll()
    for descriptor in (box, lifeline, status.fileno()):
        poller.register(descriptor, select.POLLIN)
    ended = box in dict(poller.poll())
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(box, signal.SIGKILL)
    _, wait_status = os.waitpid(pid, 0)
    end_everything(uid)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {"cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss << 10}
    if ended:  # otherwise how it ended is our doing, and no word about it is none against the student
        report["status"] = wait_status
    with contextlib.suppress(OSError):
        status.send(json.dumps(report).encode())
    os._exit(0)


def _close_others(*kept: int) -> None:
    first = 0
    for descriptor in sorted(kept):
        linux.close_range(first, descriptor - 1)
        first = descriptor + 1
    linux.close_from(first)


def end_everything(uid: int | None, spared: frozenset[int] = frozenset()) -> None:
    """End every process below this one, and wait for each.

    Args:
        uid: the user id that these processes have and no other process on this machine.
        spared: children that are to live on, with all that is below them.
    """
    while left := _left(spared):
        if uid is None:
            _end_below(os.getpid(), spared)
        else:
            _end_user(uid)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _left(spared: frozenset[int]) -> set[int]:
    """The children that are still there, besides the spared ones."""
    if not spared:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return set()
    return children(os.getpid()) - spared


def _end_user(uid: int) -> None:
    """End all processes of a user in one system call, which no fork can outrun."""
    pid = os.fork()
    if pid == 0:
        os.setresuid(uid, uid, uid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(pid, 0)


def _end_below(root: int, spared: frozenset[int]) -> None:
    """Stop all processes until no new one turns up, since what is stopped cannot fork; then end them."""
    stopped: dict[int, int] = {}
    try:
        while fresh := below(root, spared) - set(stopped):
            for pid in fresh:
                with contextlib.suppress(OSError):
                    stopped[pid] = os.pidfd_open(pid)
                    signal.pidfd_send_signal(stopped[pid], signal.SIGSTOP)
        for descriptor in stopped.values():
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        for descriptor in stopped.values():
            os.close(descriptor)


def below(root: int, spared: frozenset[int] = frozenset()) -> set[int]:
    """Every process below one, without those below the spared ones."""
    family = _family()
    found: set[int] = set()
    waiting = [root]
    while waiting:
        new = family.get(waiting.pop(), set()) - spared - found
        found |= new
        waiting += new
    return found


def children(pid: int) -> set[int]:
    """The children of a process, ended ones included."""
    return _family().get(pid, set())


def _family() -> dict[int, set[int]]:
    """Parent → children, for all processes that can be seen."""
    found: dict[int, set[int]] = {}
    for name in os.listdir(PROC):  # noqa: PTH208 - hundreds of names, several times
        if name.isdigit():
            with contextlib.suppress(OSError):  # it may end while we look
                text = (PROC / name / "stat").read_bytes()
                parent = int(text.rpartition(b") ")[2].split()[1])
                found.setdefault(parent, set()).add(int(name))
    return found
