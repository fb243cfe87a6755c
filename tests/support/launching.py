"""Fork zygotes from a program that has already imported torch.

A zygote takes about four seconds of processor time to start, mostly for imports, and most tests do not
depend on how it starts. Those fork it from a template: a program started like a zygote, with the same
environment and the preloaded modules only. After the fork it runs the same program: it reads its
configuration, confines itself and finds its imports loaded. The tests of `tests/sandbox`, tests that run
alone, and every freshly started program start a normal zygote.

One server keeps the templates of a test process and of its forked commands. A request contains the modules
to preload and the zygote's three descriptors: control socket, package folder, errors.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn

ADDRESS = "AUTOGRADER_TEST_ZYGOTES"
"""The environment variable with the server's address."""
_MESSAGE = 1 << 16
_PROGRAM = "autograder/sandbox/inside/zygote.py"


# ------------------------------------------------------------------ the server and its templates


def serve(address: str, sys_path: list[str]) -> NoReturn:
    """Serve requests until the first client closes its connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"\0{address}")
    listening.listen(64)
    os.write(1, b"ready\n")
    templates: dict[tuple[str, ...], socket.socket] = {}
    first, _ = listening.accept()
    while True:
        ready, _, _ = select.select([listening, first], [], [])
        if first in ready:
            os._exit(0)
        client, _ = listening.accept()
        with client:
            words, descriptors, _, _ = socket.recv_fds(client, _MESSAGE, 3)
            if not words:
                continue
            preload = tuple(json.loads(words))
            if preload not in templates:
                templates[preload] = _template(
                    preload, sys_path, [listening, first, client, *templates.values()]
                )
            template = templates[preload]
            try:
                socket.send_fds(template, [b"start"], descriptors)
                told, pidfds, _, _ = socket.recv_fds(template, _MESSAGE, 1)
            except OSError:
                told, pidfds = b"", []
            if pidfds:
                socket.send_fds(client, [told], pidfds)
            else:  # the import failed: the normal start reports the error better
                templates.pop(preload).close()
                client.send(b"none")
            for descriptor in (*descriptors, *pidfds):
                os.close(descriptor)


def _template(preload: tuple[str, ...], sys_path: list[str], ours: list[socket.socket]) -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        there.close()
        return here
    here.close()
    for one in ours:
        one.close()
    with contextlib.suppress(BaseException):
        _be_template(preload, sys_path, there)
    os._exit(1)


def _be_template(preload: tuple[str, ...], sys_path: list[str], asked: socket.socket) -> None:
    sys.path[:] = sys_path
    imported = False
    while True:
        words, descriptors, _, _ = socket.recv_fds(asked, _MESSAGE, 3)
        if not words:
            os._exit(0)
        control, package, errors = descriptors
        root = f"/proc/self/fd/{package}"
        if not imported:
            program = runpy.run_path(f"{root}/{_PROGRAM}")
            program["_scrub_environment"]("/w", {})
            _import_ahead(program, preload)
            imported = True
        if pid := os.fork():
            pidfd = os.pidfd_open(pid)
            socket.send_fds(asked, [str(pid).encode()], [pidfd])
            for descriptor in (*descriptors, pidfd):
                os.close(descriptor)
        else:
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(errors, 2)
            os.close(errors)
            sys.argv[:] = [f"{root}/{_PROGRAM}", str(control), root]
            runpy.run_path(sys.argv[0], run_name="__main__")
            os._exit(0)


def _import_ahead(program: dict[str, Any], preload: tuple[str, ...]) -> None:
    """Import the zygote's modules, except for the torch setting that is allowed once per process."""
    if "torch" not in preload:
        program["_preload"]([*preload])
        return
    torch = importlib.import_module("torch")
    threads, torch.set_num_interop_threads = torch.set_num_interop_threads, lambda _: None
    program["_preload"]([*preload])
    torch.set_num_interop_threads = threads


# ------------------------------------------------------------------ the side of the tests


class Forked:
    """The part of `subprocess.Popen` that is used for a zygote."""

    def __init__(self, pid: int, pidfd: int, stderr: IO[bytes]) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self.stderr = stderr

    def poll(self) -> int | None:
        """Return 0 once the process has ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process to end.

        Raises:
            TimeoutExpired: the process is still running.
        """
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired("zygote", timeout or 0)
        return 0

    def kill(self) -> None:
        """Kill the process."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for the process; return its output."""
        self.wait(timeout)
        return b"", self.stderr.read()

    def _ended(self, timeout: float | None) -> int | None:
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return 0 if poller.poll(None if timeout is None else timeout * 1000) else None

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._pidfd)


@contextlib.contextmanager
def templates(sys_path: list[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Run a server of templates; yield its address."""
    address = f"autograder-test-zygotes-{os.getpid()}"
    program = [sys.executable, "-s", "-S", "-B", "-P", __file__, address, json.dumps(sys_path)]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with subprocess.Popen(program, env=environment, cwd="/", **streams) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as first:
            first.connect(f"\0{address}")
            yield address


@contextlib.contextmanager
def forked_zygotes(address: str) -> Iterator[None]:
    """Start this process's sandboxes with preloaded modules from templates."""
    from unittest import mock

    from autograder.sandbox.outside import namespaces

    asked = threading.local()
    real, start = namespaces._start_program, namespaces.ZygoteSandbox.__init__

    def started(self: Any, environment: Any, runtime: Any = None) -> None:
        asked.preload = environment.preload
        try:
            start(self, environment, runtime)
        finally:
            del asked.preload

    def forked(runtime: Any, control: socket.socket) -> Any:
        if not hasattr(asked, "preload"):
            raise OSError("which template it is forked from is not known before the environment is")
        return (asked.preload and _forked(address, asked.preload, runtime, control)) or real(runtime, control)

    with (
        mock.patch.object(namespaces.ZygoteSandbox, "__init__", started),
        mock.patch.object(namespaces, "_start_program", forked),
        mock.patch.dict(os.environ, {ADDRESS: address}),
    ):
        yield


def _forked(address: str, preload: tuple[str, ...], runtime: Any, control: socket.socket) -> Forked | None:
    package = os.open(runtime.package_root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    reading, writing = os.pipe()
    stderr = os.fdopen(reading, "rb")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(f"\0{address}")
            words = json.dumps(preload).encode()
            socket.send_fds(server, [words], [control.fileno(), package, writing])
            told, pidfds, _, _ = socket.recv_fds(server, _MESSAGE, 1)
    finally:
        os.close(package)
        os.close(writing)
    if not pidfds:
        stderr.close()
        return None
    return Forked(int(told), pidfds[0], stderr)


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]))
