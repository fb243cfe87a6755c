"""Confinement without namespaces and mounts (`reduced`), and hardly any (`none`). Runs in the zygote only.

What is left of the jail: a user id of the box's own where the grader runs as root, no capabilities,
resource limits, Landlock, the system call filter, and a reaper that ends what the box leaves. `none` keeps
the resource limits and the reaper. What each level lacks is in docs/security.md.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

from autograder.sandbox.inside import jail, linux, models, reaper, selfonly, semaphores
from autograder.sandbox.outside import scratch

CLOSED = "closed to others"
"""Part of the message when a box of another user cannot read the interpreter; see `explain_failure`."""
MACHINE = ("/proc/cpuinfo", "/sys/devices/system/cpu")
SHARED_MEMORY = "/dev/shm"
LANDLOCK_TRUNCATION = 3
"""Since this version Landlock says who may cut off a file."""
LANDLOCK_SIGNALS = 6
"""Since this version Landlock keeps signals and abstract sockets within the box."""


class Reduced:
    """The levels `reduced` and `none`; see `autograder.sandbox.inside.zygote.Confinement`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._bare = config["isolation"] == "none"
        self._folder: str = config["folder"]
        self._reaper = 0
        self._users: dict[int, int | None] = {}
        self._lifeline, self._alive = os.pipe2(os.O_CLOEXEC)
        self.home = f"{self._folder}/zygote"
        self.hub = self._folder + models.HUB
        self.proc = jail.open_proc()

    def enter(self, control: socket.socket) -> None:
        """Lay out the environment's files; as root, see to it that boxes can read the interpreter."""
        del control
        config = self._config
        jail.write_contents(self._folder, jail.contents(config))
        models.lay_out(self._folder, jail.DATA, seen_below=self._folder)
        config["files"] = jail.beside(config)
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        if self._bare:
            return
        if config["uid"] is not None:
            open_up(config["readable"])
        else:
            semaphores.install()
        config["readable"], config["listed"] = _unmasked(config["readable"], config["masked"])
        linux.no_new_privileges()

    def fork(self, request: dict[str, Any], status: socket.socket) -> tuple[int, int]:
        """A reaper, and below it the box."""
        pid = os.fork()
        if pid == 0:
            os.close(self._alive)
            self._reaper = reaper.run_reaper(status, self._lifeline, request["uid"])
            return 0, -1
        self._users[pid] = request["uid"]
        return pid, os.pidfd_open(pid)

    def begin(self, request: dict[str, Any]) -> None:
        """As root, become the box's own user; then die with the reaper."""
        uid = request["uid"]
        if uid is not None:
            linux.drop_bounding_set()
            os.setgroups([])
            os.setresgid(*[self._config["uid"]] * 3)
            os.setresuid(uid, uid, uid)
            _end_others()
        if not self._bare:
            linux.clear_capabilities()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._reaper:
            raise ProcessLookupError("the reaper is gone")

    def confine(self, request: dict[str, Any]) -> None:
        """Settle in the box's own folder, and give up everything else."""
        limits, place = request["limits"], Path(request["folder"])
        for name in ("w", "tmp"):
            (place / name).mkdir(mode=0o700)
        os.chdir(place / "w")
        for name in self._config["files"]:
            Path(name).symlink_to(f"{self._folder}{jail.DATA}/{name}")
        _settle(place)
        jail.limit_resources(limits)
        if not self._bare:
            self._give_up(request, place)

    def _give_up(self, request: dict[str, Any], place: Path) -> None:
        config = self._config
        linux.no_new_privileges()
        version = min(linux.landlock_version(), config["landlock"])
        if version:
            own = (self._folder + jail.DATA, self.hub)
            readable = (*config["readable"], *own, *MACHINE)
            # Files there carry the box's own user id, by which the broker finds them again.
            shared = (SHARED_MEMORY,) if request["uid"] is not None else ()
            devices = tuple(f"/dev/{name}" for name in jail.DEVICES)
            existing = tuple(path for path in readable if Path(path).exists())
            linux.landlock(existing, (str(place),), devices, config["listed"], shared, version=version)
        if request["uid"] is None:
            scoped = version >= LANDLOCK_SIGNALS
            rest = selfonly.program(os.getpid(), signals=not scoped, truncation=version < LANDLOCK_TRUNCATION)
            linux.load_filter(rest)
        linux.load_filter(base64.b64decode(config["filter"]))

    def leave(self) -> None:
        """End every box and remove the folder; a broker that was killed cannot do so."""
        os.close(self._alive)
        reapers = list(self._users)
        for pid in reapers:
            self.collect(pid)
        scratch.remove_tree(self._folder)

    def collect(self, pid: int) -> dict[str, Any] | None:
        """Nothing to report when the reaper has done so; otherwise end what it has left behind."""
        _, status, _ = os.wait4(pid, 0)
        uid = self._users.pop(pid)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return None
        reaper.end_everything(uid, frozenset(self._users))
        return {}


def _end_others() -> None:
    """End what a killed grader may have left under this id; nobody living holds a claim to it."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return


def _settle(place: Path) -> None:
    home = str(place / "w")
    os.environ.update(
        HOME=home,
        IPYTHONDIR=f"{home}/.ipython",
        MPLCONFIGDIR=f"{home}/.matplotlib",
        TMPDIR=str(place / "tmp"),
    )
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None  # found out before, for the zygote


def _unmasked(readable: list[str], masked: list[str]) -> tuple[list[str], list[str]]:
    """Landlock allows and never forbids: a folder with hidden parts is listed, and its other parts are read.

    Returns the trees to read and those to list.
    """
    trees, listed = [], []
    for tree in readable:
        hidden = {path for path in masked if Path(path).is_relative_to(tree)}
        parents = {str(Path(path).parent) for path in hidden}
        if not hidden:
            trees.append(tree)
            continue
        listed.append(tree)
        waiting = [tree]
        while waiting:
            for entry in os.scandir(waiting.pop()):
                if any(Path(parent).is_relative_to(entry.path) for parent in parents):
                    waiting.append(entry.path)
                elif entry.path not in hidden:
                    trees.append(entry.path)
    return trees, listed


def open_up(readable: list[str]) -> None:
    """Show places below folders that are closed to other users, in a private view of the file system.

    Only root has an interpreter below a private home, and only then is a mount needed.

    Raises:
        OSError: it is refused; the text says what to do.
    """
    places = [str(Path(path).resolve()) for path in readable if Path(path).exists()]
    hidden = {place: closed for place in places if (closed := closed_ancestor(Path(place))) is not None}
    if not hidden:
        return
    try:
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
        views = [(place, linux.clone_mount(place, execute=True)) for place in hidden]
        for closed in set(hidden.values()):
            linux.mount("tmpfs", str(closed), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=1m")
        for place, tree in views:
            jail.attach(place, tree)
    except OSError as error:
        names = ", ".join(sorted(hidden))
        raise OSError(error.errno, f"{names}: {CLOSED}, and no private view could be made") from error


def closed_ancestor(path: Path) -> Path | None:
    """The outermost folder on the way to a place that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None
