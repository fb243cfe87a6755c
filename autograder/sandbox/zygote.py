"""The zygote: jails itself once, imports what boxes need, and forks one box per request.

Started by the broker as a fresh program (never forked from it, so nothing of the grader's memory comes
along): ``python zygote.py CONTROL_FD PACKAGE_ROOT``. The first message on the control socket is the
configuration; every later one asks for a box and carries three descriptors: requests, replies, output,
and a fourth, the status socket. Nothing here is trusted once student code runs in a child.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

CONTROL_MESSAGE = 1 << 17


def main() -> None:
    """Read the configuration, enter the jail, and serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(control.recv(CONTROL_MESSAGE))
    sys.path[:] = [*config["sys_path"], sys.argv[2]]
    try:
        _serve(control, config)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the broker must hear of it
        control.send(json.dumps({"ready": False, "error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)


def _serve(control: socket.socket, config: dict[str, Any]) -> None:
    # All of our own modules are imported before the jail is entered: inside there are no files of ours.
    from autograder.sandbox import guest, jail, linux, pages

    proc = jail.open_proc()
    jail.enter(config, proc)
    # Student code can read this memory: where files lie on the machine is no business of its own.
    config["files"] = [name for name, _ in config["files"]]
    config["packages"] = [name for name, _ in config["packages"]]
    config["readable"] = jail.covered(config["readable"])
    if os.fork():
        # The outer process only waits: it keeps the jail's process 1 a child of the broker's child.
        control.close()
        os.wait()
        os._exit(0)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    _signals_as_usual()
    linux.drop_capabilities()
    linux.no_new_privileges()
    _scrub_environment()
    _preload(config["preload"])
    shell = guest.make_shell()
    if config["packages"]:
        sys.path.insert(0, jail.PACKAGES)
    sys.path.remove(sys.argv[2])
    sys.path.insert(0, "")  # as in Jupyter: what lies beside the notebook can be imported
    sys.argv[:] = ["notebook"]
    config["address_base"] = pages.address_space(proc)
    gc.collect()
    gc.freeze()
    pages.gather(proc)
    control.send(json.dumps({"ready": True, "landlock": linux.landlock_version()}).encode())
    Zygote(control, config, proc, shell).listen()


class Zygote:
    """Forks boxes on request and reports how each ended."""

    def __init__(self, control: socket.socket, config: dict[str, Any], proc: int, shell: Any) -> None:
        self._control = control
        self._config = config
        self._proc = proc
        self._shell = shell
        self._running: dict[int, tuple[int, socket.socket]] = {}
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def listen(self) -> None:
        """Serve until the broker closes the control socket, or dies."""
        while True:
            for descriptor, _ in self._poller.poll():
                if descriptor in self._running:
                    self._report(descriptor)
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._control, CONTROL_MESSAGE, 4)
                if not message:
                    os._exit(0)
                self._open(json.loads(message), descriptors)

    def _open(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork process 1 of a box and hand a descriptor of it to the broker."""
        from autograder.sandbox import linux

        *pipes, status_fd = descriptors
        status = socket.socket(fileno=status_fd)
        ids = os.getuid(), os.getgid()
        try:
            pid, pidfd = linux.fork_into(linux.ALL_NAMESPACES)
            if pid == 0:
                self._box(request, pipes, ids)
            self._running[pidfd] = (pid, status)
            self._poller.register(pidfd, select.POLLIN)
            socket.send_fds(status, [b"box"], [pidfd])
        except OSError as error:
            with contextlib.suppress(OSError):
                status.send(json.dumps({"error": str(error)}).encode())
        for pipe in pipes:
            os.close(pipe)

    def _box(self, request: dict[str, Any], pipes: list[int], ids: tuple[int, int]) -> None:
        """Process 1 of a box: confine, seed, and hand over to the guest, which never returns."""
        from autograder.sandbox import guest, jail, linux

        config, limits, output = self._config, request["limits"], pipes[-1]
        try:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            jail.write_id_maps(self._proc, *ids)
            os.setsid()
            _place_descriptors(*pipes)
            output = 2
            if request["bound_address_space"]:
                limits["address_space"] = config["address_base"] + (limits["memory_mb"] << 20)
            jail.confine_box(limits, base64.b64decode(config["filter"]), config["files"], config["readable"])
            os.environ["TMPDIR"] = "/tmp"
            _seed(request["seed"])
        except BaseException as error:  # noqa: BLE001 - nothing of ours may pass for the student's failure
            os.write(output, f"{type(error).__name__}: {error}".encode())
            os._exit(jail.EXIT_NOT_CONFINED)
        try:
            guest.serve(self._shell, requests=3, replies=4, limits=limits)
        finally:
            os._exit(0)  # whatever student code did to the guest, it never becomes a second zygote

    def _report(self, pidfd: int) -> None:
        """Collect a box that has ended and say how; the broker may be gone by then."""
        self._poller.unregister(pidfd)
        pid, status = self._running.pop(pidfd)
        _, wait_status, usage = os.wait4(pid, 0)
        report = {"status": wait_status, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss << 10}
        with contextlib.suppress(OSError), status:
            status.send(json.dumps(report).encode())
        os.close(pidfd)


def _signals_as_usual() -> None:
    """A grader started in the background ignores interruptions, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _scrub_environment() -> None:
    os.environ.clear()
    os.environ.update(
        HOME="/w",
        IPYTHONDIR="/w/.ipython",
        LANG="C.UTF-8",
        LOGNAME="student",
        MKL_NUM_THREADS="1",
        MPLBACKEND="module://matplotlib_inline.backend_inline",
        MPLCONFIGDIR="/w/.matplotlib",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        PATH="/usr/bin:/bin",
        PYTHONDONTWRITEBYTECODE="1",
        TMPDIR="/w",
        USER="student",
    )


def _preload(modules: list[str]) -> None:
    """Import what boxes share, with one thread."""
    importlib.import_module("numpy.random")
    for name in modules:
        importlib.import_module(name)
    if "torch" in sys.modules:
        _warm_torch(sys.modules["torch"])


def _warm_torch(torch: ModuleType) -> None:
    """Resolve what torch imports late, so that every child does not repeat it in memory of its own."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    importlib.import_module("torch._dynamo")
    module = torch.nn.Linear(2, 2)
    for optimizer in (torch.optim.SGD, torch.optim.Adam):
        optimizer(module.parameters(), 0.1).step()


def _place_descriptors(requests: int, replies: int, output: int) -> None:
    """0 null, 1 and 2 output, 3 requests, 4 replies; everything else closed."""
    from autograder.sandbox import linux

    null = os.open("/dev/null", os.O_RDONLY)
    high = [
        os.dup2(descriptor, 100 + i) for i, descriptor in enumerate((null, output, output, requests, replies))
    ]
    for target, descriptor in enumerate(high):
        os.dup2(descriptor, target)
    linux.close_from(len(high))


def _seed(seed: int) -> None:
    random.seed(seed)
    sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        # torch.manual_seed formats a stack trace at every call, for devices that are not here.
        sys.modules["torch"].default_generator.manual_seed(seed)


if __name__ == "__main__":
    main()
