"""The zygote: confines itself once, imports what boxes need, and forks one box per request.

Started by the broker as a fresh program (never forked from it, so none of the grader's memory comes along):
``python zygote.py CONTROL_FD PACKAGE_ROOT``, the latter by its own descriptor. The first message on the
control socket is the configuration; every later one requests a box and carries four descriptors: requests,
replies, output, and the status socket. Nothing here is trusted once student code runs in a child.
"""

from __future__ import annotations

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
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from autograder.sandbox.inside.jail import BareConfinement, Jail

CONTROL_MESSAGE = 1 << 17
LATE_IMPORTS = {"torch.optim": "torch._dynamo"}
"""Modules that a preloaded module imports on first use; otherwise each box spends a student's time on it.

torch does so for optimizers, gradients that are passed to it, ``torch.func``, ``torch.testing`` and
``key_padding_mask``: 1.6 s of processor time. Rubrics that need none of them preload ``torch`` alone, because
1.6 s are a tenth of grading a class of 200.
"""


def main() -> None:
    """Import, read the configuration, enter the jail, and serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        _serve_broker(control, json.loads(control.recv(CONTROL_MESSAGE)))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the broker must hear of it
        report = {"ready": False, "error": f"{type(error).__name__}: {error}"}
        if isinstance(error, ModuleNotFoundError):
            report["missing"] = str(error.name)
        control.send(json.dumps(report).encode())
        os._exit(1)


def _serve_broker(control: socket.socket, config: dict[str, Any]) -> None:
    # Removed from the configuration, because student code can read this memory.
    sys.path[:] = [*config.pop("sys_path"), sys.argv[2]]
    # All of our own modules are imported before the jail is entered: our files are not visible inside.
    from autograder.sandbox.inside import jail, linux, warm_up
    from autograder.sandbox.inside.shell import make_shell, prevent_programs, prevent_torch_programs

    importlib.import_module("autograder.sandbox.inside.guest")
    # The descriptor of our package's folder: boxes must not inherit it.
    os.close(int(sys.argv[2].rpartition("/")[2]))
    kind = jail.Jail if config["isolation"] == "namespaces" else jail.BareConfinement
    confinement: Jail | BareConfinement = kind(config)
    confinement.isolate_zygote(control)
    _reset_signals()
    _scrub_environment(confinement.home, jail.build_offline_environment(confinement.hub))
    gc.disable()  # imports leave little garbage, and collecting is a tenth of torch's
    prevent_programs()
    _preload(config["preload"])
    if "torch" in sys.modules:
        prevent_torch_programs(sys.modules["torch"])
    shell = make_shell()
    if config["tests"]:
        warm_up.prepare_tests()
    # From here on nothing can be imported from our package's folder, nor found in the importer's cache.
    sys.path.remove(sys.argv[2])
    for path in [path for path in sys.path_importer_cache if path.startswith(sys.argv[2])]:
        del sys.path_importer_cache[path]
    sys.path.insert(0, "")  # as in Jupyter: imports from the notebook's folder
    # Student code can read these.
    sys.argv[:] = ["notebook"]
    sys.orig_argv[:] = ["python", "notebook"]
    config["address_base"] = linux.measure_address_space(confinement.proc)
    # Collections in a box would write to the counters of every object, and so copy the zygote's pages.
    gc.freeze()  # without collecting first: that takes a third of a second for almost nothing
    gc.enable()
    linux.gather_huge_pages(confinement.proc)
    linux.prctl(linux.PR_SET_THP_DISABLE, 1)  # else a box would clear 2 MB for a few kilobytes
    control.send(json.dumps({"ready": True, "landlock": linux.get_landlock_version()}).encode())
    Zygote(control, config, confinement, shell).listen()


class Zygote:
    """Forks boxes on request and reports how each ended."""

    def __init__(
        self, control: socket.socket, config: dict[str, Any], confinement: Jail | BareConfinement, shell: Any
    ) -> None:
        self._control = control
        self._config = config
        self._way = confinement
        self._shell = shell
        self._running: dict[int, tuple[int, socket.socket]] = {}
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def listen(self) -> None:
        """Serve until the broker closes the control socket, or dies."""
        while True:
            for descriptor, _ in self._poller.poll():
                if descriptor in self._running:
                    self._report_end(descriptor)
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._control, CONTROL_MESSAGE, 4)
                if not message:
                    self._way.end_boxes()
                    os._exit(0)
                self._open_box(json.loads(message), descriptors)

    def _open_box(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork a box that gets the given descriptors as its ends of the pipes."""
        *pipes, status_fd = descriptors
        status = socket.socket(fileno=status_fd)
        try:
            pid, pidfd = self._way.fork_box(request, status)
            if pid == 0:
                self._run_box(request, pipes)
            self._running[pidfd] = (pid, status)
            self._poller.register(pidfd, select.POLLIN)
        except OSError as error:
            with contextlib.suppress(OSError):
                status.send(json.dumps({"error": str(error)}).encode())
        # Only the box keeps these ends, so that they close when it ends.
        for pipe in pipes:
            os.close(pipe)

    def _run_box(self, request: dict[str, Any], pipes: list[int]) -> None:
        """Run the box's process: confine, seed, and hand over to the guest, which never returns."""
        from autograder.sandbox.inside import guest, jail

        limits, output = request["limits"], pipes[-1]
        try:
            self._way.begin_box(request)
            # If the kernel divides processor time by session, each box gets its share.
            os.setsid()
            _place_descriptors(*pipes)
            # The descriptors have been rearranged: messages go to standard error from here on.
            output = 2
            if request["bound_address_space"]:
                limits["address_space"] = self._config["address_base"] + (limits["memory_mb"] << 20)
            self._way.isolate_box(request)
            _set_seeds(request["seed"])
        except BaseException as error:  # noqa: BLE001 - our failure must not count as the student's
            os.write(output, f"{type(error).__name__}: {error}".encode())
            os._exit(jail.EXIT_NOT_CONFINED)
        try:
            guest.serve(self._shell, requests=3, replies=4, limits=limits)
        except MemoryError:
            os._exit(jail.EXIT_NO_MEMORY)
        finally:
            os._exit(0)  # even a broken guest must never become a second zygote

    def _report_end(self, pidfd: int) -> None:
        """Collect a box that has ended and report how; the broker may be gone by then."""
        self._poller.unregister(pidfd)
        pid, status = self._running.pop(pidfd)
        report = self._way.collect_box(pid)
        with contextlib.suppress(OSError), status:
            status.send(json.dumps(report).encode())
        os.close(pidfd)


def _reset_signals() -> None:
    """Reset signals: a grader started in the background ignores interrupts, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _scrub_environment(home: str, further: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(
        HOME=home,
        IPYTHONDIR=f"{home}/.ipython",
        # One thread each: an operator with several OpenMP threads here and several in a child deadlocks,
        # and results of sums depend on the number of threads.
        JOBLIB_MULTIPROCESSING="0",  # otherwise joblib starts programs; without them it runs serially
        LANG="C.UTF-8",
        LOGNAME="student",
        MKL_NUM_THREADS="1",
        MPLBACKEND="module://matplotlib_inline.backend_inline",
        MPLCONFIGDIR=f"{home}/.matplotlib",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        PATH="/usr/bin:/bin",
        PYTHONDONTWRITEBYTECODE="1",
        TMPDIR=home,
        TORCHDYNAMO_DISABLE="1",  # torch.compile needs a compiler, and programs cannot be started here
        USER="student",
        **further,
    )


def _preload(modules: list[str]) -> None:
    """Import the modules that boxes share, with one thread."""
    importlib.import_module("numpy.random")
    for name in modules:
        importlib.import_module(name)
    for name in LATE_IMPORTS.keys() & set(modules):
        importlib.import_module(LATE_IMPORTS[name])
    if "torch" in sys.modules:
        _prepare_torch(sys.modules["torch"])


def _prepare_torch(torch: ModuleType) -> None:
    """Trigger torch's late imports, so that each child does not repeat them in its own memory."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    # torch.manual_seed records a stack trace for devices that are absent here, and reads files for it.
    for devices in (torch.cuda, torch.xpu, torch.mtia):
        devices.traceback = SimpleNamespace(format_stack=list)
    if "torch._dynamo" in sys.modules:  # otherwise the first optimizer would import it
        module = torch.nn.Linear(2, 2)
        for optimizer in (torch.optim.SGD, torch.optim.Adam):
            optimizer(module.parameters(), 0.1).step()


def _place_descriptors(requests: int, replies: int, output: int) -> None:
    """Arrange the descriptors: 0 null, 1 and 2 output, 3 requests, 4 replies; close all others."""
    from autograder.sandbox.inside import linux

    null = os.open("/dev/null", os.O_RDONLY)
    # First to high numbers: a descriptor could already have the number of another one's target.
    high = [
        os.dup2(descriptor, 100 + i) for i, descriptor in enumerate((null, output, output, requests, replies))
    ]
    for target, descriptor in enumerate(high):
        os.dup2(descriptor, target)
    linux.close_from(len(high))


def _set_seeds(seed: int) -> None:
    random.seed(seed)
    # numpy accepts 32-bit seeds only.
    sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        # torch.manual_seed formats a stack trace at every call, for devices that are not here.
        sys.modules["torch"].default_generator.manual_seed(seed)


if __name__ == "__main__":
    main()
