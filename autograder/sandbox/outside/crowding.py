"""Whether what the kernel grants to a user is used up, measured from outside by a process of that user.

An ordinary user's boxes share one user. One box can use up the descriptors under way in sockets or the memory
of pipes for all others; a data loader beside it then raises, or waits for ever. A box that waits cannot be
asked, and what a box says is the student's word. So a small program of the grader's own looks from time to
time: the kernel compares the user's descriptors under way with the limit of the process that sends, and
therefore it has the same limit as a box.
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
"""When it was crowded last (monotonic clock, 0: never), the limit of descriptors, the number of looks."""
_LOOK_SECONDS = 5.0
"""How long to wait for a look that was asked for; it takes a millisecond on an idle machine."""
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
    """A program that looks four times a second, and when it is asked to."""

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
        """Look with the limit that the boxes have which are opened now."""
        struct.pack_into("q", self._shared, 8, descriptors)

    def was_crowded(self, since: float) -> bool:
        """Whether something was used up at some time since then; takes a look now, too.

        Args:
            since: by the monotonic clock.
        """
        looks = self._read()[2]
        # The look under way may have begun before what is asked about; the one after it has not.
        deadline = time.monotonic() + _LOOK_SECONDS
        while self._read()[2] < looks + 2 and self._process.poll() is None and time.monotonic() < deadline:
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                os.write(self._process.stdin.fileno(), b"?")
            time.sleep(0.001)
        return self._read()[0] >= since

    def _read(self) -> tuple[float, int, int]:
        last, limit, looks = _FIELDS.unpack_from(self._shared, 0)
        return last, limit, looks

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._shared.close()
