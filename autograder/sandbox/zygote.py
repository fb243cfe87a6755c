"""The zygote: jails itself once, imports what boxes need, and forks one box per request.

Started by the broker as a fresh program (never forked from it, so nothing of the grader's memory comes
along): ``python zygote.py CONTROL_FD PACKAGE_ROOT``. The first message on the control socket is the
configuration; every later one asks for a box and carries three descriptors: requests, replies, output,
and a fourth, the status socket. Nothing here is trusted once student code runs in a child.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import os
import random
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
    from autograder.sandbox import guest, jail, linux

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
    config["address_base"] = _address_space(proc)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the reapers
    control.send(json.dumps({"ready": True, "landlock": linux.landlock_version()}).encode())
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, CONTROL_MESSAGE, 4)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            _reaper(json.loads(message), descriptors, config, proc, shell)
        for descriptor in descriptors:
            os.close(descriptor)


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


def _address_space(proc: int) -> int:
    """Bytes of address space in use, read through the kept descriptor."""
    descriptor = os.open("self/statm", os.O_RDONLY, dir_fd=proc)
    try:
        return int(os.read(descriptor, 100).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    finally:
        os.close(descriptor)


def _reaper(request: dict[str, Any], fds: list[int], config: dict[str, Any], proc: int, shell: Any) -> None:
    """Fresh namespaces, one child as their process 1; hand out its pidfd, wait, report how it ended."""
    from autograder.sandbox import jail, linux

    requests, replies, output, status_fd = fds
    status = socket.socket(fileno=status_fd)
    try:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        uid, gid = os.getuid(), os.getgid()
        linux.unshare(linux.ALL_NAMESPACES)
        jail.write_id_maps(proc, uid, gid)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        child = os.fork()
        if child == 0:
            _box(request, (requests, replies, output), config, shell)
        for descriptor in (requests, replies, output):
            os.close(descriptor)
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        linux.drop_capabilities()
        linux.no_new_privileges()
        pidfd = os.pidfd_open(child)
        socket.send_fds(status, [b"box"], [pidfd])
        os.close(pidfd)
        _, wait_status, usage = os.wait4(child, 0)
        report = {"status": wait_status, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss << 10}
        status.send(json.dumps(report).encode())
    except OSError as error:
        status.send(json.dumps({"error": str(error)}).encode())
    os._exit(0)


def _box(request: dict[str, Any], fds: tuple[int, int, int], config: dict[str, Any], shell: Any) -> None:
    """Process 1 of a box: confine, seed, and hand over to the guest, which never returns."""
    from autograder.sandbox import guest, jail, linux

    try:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        _place_descriptors(*fds)
        limits = request["limits"]
        if request["bound_address_space"]:
            limits["address_space"] = config["address_base"] + (limits["memory_mb"] << 20)
        jail.confine_box(limits, base64.b64decode(config["filter"]), config["files"], config["readable"])
        os.environ["TMPDIR"] = "/tmp"
        _seed(request["seed"])
    except BaseException as error:  # noqa: BLE001 - nothing of ours may pass for the student's failure
        os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(jail.EXIT_NOT_CONFINED)
    guest.serve(shell, requests=3, replies=4, limits=limits)
    os._exit(0)


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
        sys.modules["torch"].manual_seed(seed)


if __name__ == "__main__":
    main()
