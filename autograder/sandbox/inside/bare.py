"""The level `none`: a forked process in its own folder, with resource limits and no protection.

Runs in the zygote only. For trying out notebooks that you wrote yourself; see docs/security.md.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from autograder.sandbox.inside import jail, linux, models


class BareConfinement:
    """The level `none`; see `autograder.sandbox.inside.zygote.Confinement`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._folder: str = config["folder"]
        self._zygote = os.getpid()
        self._box_folders: dict[int, Path] = {}
        self._numbers = itertools.count()
        self.home = f"{self._folder}/zygote"
        self.hub = self._folder + models.HUB
        self.proc = jail.open_proc()

    def isolate_zygote(self, control: socket.socket) -> None:
        """Write the environment's files to the folder."""
        del control
        Path(self.home).mkdir()
        jail.write_contents(self._folder, jail.list_files(self._config))
        models.lay_out(self._folder, jail.DATA, seen_below=self._folder)
        self._config["files"] = jail.list_top_names(self._config)

    def fork_box(self, request: dict[str, Any], status: socket.socket) -> tuple[int, int]:
        """Fork the first process of a box."""
        folder = Path(self._folder, "boxes", str(next(self._numbers)))
        request["folder"] = str(folder)
        pid = os.fork()
        if pid == 0:
            return 0, -1
        self._box_folders[pid] = folder
        pidfd = os.pidfd_open(pid)
        socket.send_fds(status, [b"box"], [pidfd])
        return pid, pidfd

    def begin_box(self, request: dict[str, Any]) -> None:
        """Die with the zygote."""
        del request
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        # The zygote may have died before prctl: then the signal would never come.
        if os.getppid() != self._zygote:
            raise ProcessLookupError("the zygote is gone")

    def isolate_box(self, request: dict[str, Any]) -> None:
        """Move into the box's own folder and limit resources."""
        folder = Path(request["folder"])
        work, temporary = folder / "w", folder / "tmp"
        for path in (work, temporary):
            path.mkdir(mode=0o700, parents=True)
        os.chdir(work)
        for name in self._config["files"]:
            Path(name).symlink_to(f"{self._folder}{jail.DATA}/{name}")
        os.environ.update(
            HOME=str(work),
            IPYTHONDIR=f"{work}/.ipython",
            MPLCONFIGDIR=f"{work}/.matplotlib",
            TMPDIR=str(temporary),
        )
        if "tempfile" in sys.modules:
            vars(sys.modules["tempfile"])["tempdir"] = None  # cached while the zygote imported modules
        # The kernel would count every process of the user, not only those of the box.
        processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        jail.limit_resources({**request["limits"], "processes": processes})

    def end_boxes(self) -> None:
        """End every box and remove the folder: a killed broker cannot do it."""
        for pid in list(self._box_folders):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.collect_box(pid)
        shutil.rmtree(self._folder, ignore_errors=True)

    def collect_box(self, pid: int) -> dict[str, Any]:
        """End the process group of a box that has ended, and remove its folder."""
        # Before waiting: while its leader is a zombie, the id of the group is not assigned to another one.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        report = jail.wait_for(pid)
        shutil.rmtree(self._box_folders.pop(pid), ignore_errors=True)
        return report
