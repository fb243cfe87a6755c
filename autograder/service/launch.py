"""Runs a program that ends with its parent, and that may refuse to be root, as PostgreSQL does.

``python -m autograder.service.launch PROGRAM ARGUMENT…``

As root the program runs in a user namespace in which root has another number. Files stay root's, so nothing
in the course changes hands, and no folder above it has to be opened for another user. Sources:
user_namespaces(7), prctl(2).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_NEWUSER = 0x1000_0000
_SET_PDEATHSIG = 1
_INSIDE = 1000
"""The number that root has inside; any but 0."""


def main(command: list[str]) -> None:
    """Become the program.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    if os.geteuid() == 0:
        _checked(libc.unshare(_NEWUSER), "unshare(CLONE_NEWUSER)")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{_INSIDE} 0 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{_INSIDE} 0 1", encoding="ascii")
    # SIGINT is PostgreSQL's fast shutdown: nobody is waited for, and nothing is lost.
    _checked(libc.prctl(_SET_PDEATHSIG, int(signal.SIGINT)), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit(1)  # it ended before the line above
    os.setsid()  # a Ctrl-C is for the service, which ends its database last
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _checked(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
