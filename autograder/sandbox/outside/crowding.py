"""Detects whether the kernel's quotas of a user are used up, from outside, by a process of that user.

An ordinary user's boxes share one user. One box can use up the descriptors in flight in sockets or the memory
of pipes for all others; a data loader in another box then raises an exception, or waits forever. A waiting
box cannot be queried, and its answers are under the student's control. So a small program of the grader
checks periodically: the kernel compares the user's descriptors in flight with the limit of the sending
process, and therefore the program has the same limit as a box.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import subprocess
import sys
import time

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
