"""The program that becomes a zygote, started before the contents of its boxes are known.

A grader imports little more than this before it starts one, and continues importing in the meantime.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess

from autograder.sandbox.runtime import Runtime, get_current_runtime, refuse_other_systems

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Otherwise each thread reserves 64 MB of addresses, and a box bounded by these has room for seven.
    "MALLOC_ARENA_MAX": "2",
    # Puts the memory of torch's import into huge pages from the start, if the system lets programs choose.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


class ZygoteProcess:
    """The program that becomes a zygote; at first it only knows the folders of its modules.

    Attributes:
        runtime: the Python installation that it runs.
        control: our end of the control socket.
        process: the program.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        """Start the program.

        Args:
            runtime: the installation to use; by default the one that runs the grader.

        Raises:
            SandboxUnavailable: not Linux.
            OSError: it could not be started.
        """
        refuse_other_systems()
        self.runtime = runtime or get_current_runtime()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self.process = _started(self.runtime, theirs)
        except BaseException:
            self.control.close()
            raise
        with contextlib.suppress(OSError):  # it has ended; configuring it will report that
            self.control.send(json.dumps(self.runtime.sys_path).encode())

    def read_last_words(self) -> str:
        """Return the last text that it wrote before it ended; empty if it hangs."""
        try:
            _, text = self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return text.decode(errors="replace")[-2000:]

    def end_program(self) -> None:
        """End the program and all of its boxes."""
        with contextlib.suppress(OSError):
            # The zygote ends itself and its boxes when its socket closes.
            self.control.shutdown(socket.SHUT_RDWR)
        self.control.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()


def _started(runtime: Runtime, control: socket.socket) -> subprocess.Popen[bytes]:
    """Start the program with its end of the control socket.

    The package's folder is passed as a descriptor, so that no name in its memory reveals to student code
    where the grader is installed.
    """
    package = os.open(runtime.package_root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    root = f"/proc/self/fd/{package}"
    # Imports nothing from user, site or current folders (-s -S -P), and writes no bytecode (-B).
    program = [runtime.executable, "-s", "-S", "-B", "-P", f"{root}/autograder/sandbox/inside/zygote.py"]
    try:
        return subprocess.Popen(
            [*program, str(control.fileno()), root],
            pass_fds=[control.fileno(), package],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
        )
    finally:
        os.close(package)
