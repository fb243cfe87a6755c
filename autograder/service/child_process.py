"""Starts a program that ends with its parent, and that may refuse to run as root, as PostgreSQL does.

``python -m autograder.service.child_process PROGRAM ARGUMENT…``

For root, the program runs in a user namespace in which root has another user id. Files remain owned by root,
so ownership in the course does not change, and no parent folder has to be opened for another user. Sources:
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
"""User id that root has inside the namespace; anything but 0."""


def main(command: list[str]) -> None:
    """Replace this process with the program.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    if os.geteuid() == 0:
        _check_result(libc.unshare(_NEWUSER), "unshare(CLONE_NEWUSER)")
        # The kernel accepts gid_map only after setgroups is denied: user_namespaces(7).
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{_INSIDE} 0 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{_INSIDE} 0 1", encoding="ascii")
    # SIGINT is PostgreSQL's fast shutdown: it disconnects clients without waiting and loses no data.
    _check_result(libc.prctl(_SET_PDEATHSIG, int(signal.SIGINT)), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit(1)  # the parent ended before prctl took effect
    os.setsid()  # Ctrl-C goes to the service only, which stops its database last
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _check_result(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
