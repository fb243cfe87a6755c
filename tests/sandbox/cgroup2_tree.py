"""Simulate control groups version 2 on plain files, with the kernel's rules from cgroups(7).

Writes below the tree are intercepted. Interface files appear and vanish with their folder. Controllers are
passed from parent to child, and a group with processes passes none on. A process moves only if the mover may
write both the target and the common ancestor.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

_FILES = {
    "": {"cgroup.procs": "", "cgroup.controllers": "", "cgroup.subtree_control": "", "cgroup.kill": ""},
    "memory": {
        "memory.max": "max\n",
        "memory.swap.max": "max\n",
        "memory.oom.group": "0\n",
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
        "memory.peak": "0\n",
    },
    "pids": {"pids.max": "max\n", "pids.events": "max 0\n"},
    "cpu": {},
}
CPU_STAT = "usage_usec 0\nuser_usec 0\nsystem_usec 0\n"


class Kernel:
    """A machine whose only hierarchy is version 2, as seen by this process.

    Attributes:
        root: the folder used as ``/``.
        top: the mount point of the hierarchy.
        owned: groups that this process's user may write, including new subgroups; None: all.
    """

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, controllers: str = "cpu memory pids") -> None:
        self.root = root
        self.top = root / "sys/fs/cgroup"
        self.owned: set[Path] | None = None
        self._mkdir, self._rmdir, self._write = Path.mkdir, Path.rmdir, Path.write_text
        (root / "proc/self").mkdir(parents=True)
        mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
        (root / "proc/self/mountinfo").write_text(mounts)
        self.top.mkdir(parents=True)
        self._populate(self.top, controllers.split())
        kernel = self

        def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
            kernel.make(path) if kernel.knows(path) else kernel._mkdir(path, *arguments, **options)

        def rmdir(path: Path) -> None:
            kernel.remove(path) if kernel.knows(path) else kernel._rmdir(path)

        def write_text(path: Path, text: str, *arguments: Any, **options: Any) -> int:
            if kernel.knows(path):
                kernel.write(path, text)
                return len(text)
            return kernel._write(path, text, *arguments, **options)

        patch.setattr(Path, "mkdir", mkdir)
        patch.setattr(Path, "rmdir", rmdir)
        patch.setattr(Path, "write_text", write_text)

    def knows(self, path: Path) -> bool:
        """Return whether a path is in the hierarchy."""
        return path.is_relative_to(self.top)

    # ------------------------------------------------------------ used by tests

    def slices(self, path: str, *, passes_on: str = "cpu memory pids") -> Path:
        """Create a group and its parents as systemd does; all but the last pass controllers on."""
        folder = self.top
        for part in (*path.split("/"), ""):
            if part:
                self._set(folder, "cgroup.subtree_control", passes_on)
                folder = folder / part
                if not folder.is_dir():
                    self._mkdir(folder)
                    self._populate(folder, passes_on.split())
        return folder

    def enter(self, folder: Path, *others: int) -> None:
        """Move this process, and others, into a group."""
        for pid in (os.getpid(), *others):
            self._set(folder, "cgroup.procs", f"{self.read(folder / 'cgroup.procs')}{pid}\n")
        own = folder.relative_to(self.top).as_posix()
        self._write(self.root / "proc/self/cgroup", f"0::/{'' if own == '.' else own}\n")

    def made(self) -> list[str]:
        """Return every group of ours, relative to the mount point."""
        return sorted(path.relative_to(self.top).as_posix() for path in self.top.rglob("autograder-*"))

    def processes(self, folder: Path) -> set[int]:
        """Return the living processes of a group."""
        pids = {int(line) for line in self.read(folder / "cgroup.procs").split()}
        return {pid for pid in pids if _alive(pid)}

    @staticmethod
    def read(path: Path) -> str:
        """Return a file's text."""
        return path.read_text()

    # ------------------------------------------------------------ the kernel's side

    def make(self, folder: Path) -> None:
        """Create a group as mkdir(2) does."""
        self._permit(folder.parent)
        self._mkdir(folder)
        if self.owned is not None:
            self.owned.add(folder)
        self._populate(folder, self.read(folder.parent / "cgroup.subtree_control").split())

    def remove(self, folder: Path) -> None:
        """Remove a group as rmdir(2) does."""
        self._permit(folder.parent)
        if any(path.is_dir() for path in folder.iterdir()) or self.processes(folder):
            raise OSError(errno.EBUSY, "Device or resource busy")
        for file in folder.iterdir():
            file.unlink()
        self._rmdir(folder)

    def write(self, path: Path, text: str) -> None:
        """Handle a write into an interface file."""
        folder = path.parent
        self._permit(folder)
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        if path.name == "cgroup.subtree_control":
            self._pass_on(folder, text)
        elif path.name == "cgroup.procs":
            self._move(folder, int(text))
        elif path.name == "cgroup.kill":
            self._set(folder, "cgroup.procs", "")
        else:
            self._write(path, text)

    def _pass_on(self, folder: Path, text: str) -> None:
        names = [word.removeprefix("+") for word in text.split()]
        if not set(names) <= set(self.read(folder / "cgroup.controllers").split()):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        if folder != self.top and self.processes(folder):
            raise OSError(errno.EBUSY, "Device or resource busy")
        passed = dict.fromkeys([*self.read(folder / "cgroup.subtree_control").split(), *names])
        self._set(folder, "cgroup.subtree_control", " ".join(passed))
        for child in folder.iterdir():
            if child.is_dir():
                self._populate(child, list(passed))

    def _move(self, folder: Path, pid: int) -> None:
        holder = next((one for one in self._groups() if pid in self.processes(one)), None)
        if folder != self.top and self.read(folder / "cgroup.subtree_control").strip():
            raise OSError(errno.EBUSY, "Device or resource busy")
        own = self.top / self.read(self.root / "proc/self/cgroup").strip().removeprefix("0::/")
        common = Path(os.path.commonpath((holder or own, folder)))  # a child starts in its parent's group
        self._permit(common)
        if holder is not None:
            rest = self.processes(holder) - {pid}
            self._set(holder, "cgroup.procs", "".join(f"{one}\n" for one in rest))
        self._set(folder, "cgroup.procs", f"{self.read(folder / 'cgroup.procs')}{pid}\n")
        if pid == os.getpid():
            self._write(self.root / "proc/self/cgroup", f"0::/{folder.relative_to(self.top)}\n")

    def _groups(self) -> list[Path]:
        return [self.top, *(path for path in self.top.rglob("*") if path.is_dir())]

    def _permit(self, folder: Path) -> None:
        if self.owned is not None and folder not in self.owned:
            raise PermissionError(errno.EACCES, "Permission denied")

    def _populate(self, folder: Path, controllers: list[str]) -> None:
        files = dict(_FILES[""])
        for name in controllers:
            files |= _FILES[name]
        for name, text in files.items():
            if not (folder / name).exists():
                self._set(folder, name, text)
        self._set(folder, "cpu.stat", CPU_STAT)
        self._set(folder, "cgroup.controllers", " ".join(controllers))

    def _set(self, folder: Path, name: str, text: str) -> None:
        self._write(folder / name, text)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
