"""Bounds on memory and processes by control groups: version 2, else version 1, else none.

Every box gets a group of its own. Where neither version is writable the broker falls back to an address
space limit and a watchdog on the box's memory (watchdog.py).
"""

from __future__ import annotations

import contextlib
import itertools
import time
from pathlib import Path
from typing import Protocol

from autograder.sandbox import leftovers

CONTROLLERS = ("memory", "pids")
FAIRNESS = "cpu"
"""Used where it is there: each box then gets an equal share of the processors, whatever it runs."""
REMOVAL_SECONDS = 2.0


class Group(Protocol):
    """The control group of one box."""

    def add(self, pid: int) -> None:
        """Move a process in; its children follow."""

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group for its memory."""

    def peak_bytes(self) -> int:
        """The most memory the group used."""

    def remove(self) -> None:
        """Kill what is left and remove the group."""


class Driver(Protocol):
    """Makes groups."""

    name: str

    def group(self, *, memory_bytes: int, processes: int) -> Group:
        """A fresh group with these bounds.

        Raises:
            OSError: it could not be made.
        """

    def close(self) -> None:
        """Remove the folder the groups were made in."""


def find_driver(root: Path = Path("/")) -> Driver | None:
    """The best driver that works on this machine; None when no hierarchy is writable."""
    mounts = _hierarchies(root)
    own = _own_groups(root)
    for make in (_version_2, _version_1):
        driver = make(mounts, own)
        if driver is not None:
            return driver
    return None


def _hierarchies(root: Path) -> dict[str, Path]:
    """Controller → mount point of version 1; ``""`` → mount point of version 2."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            point = root / before.split()[4].lstrip("/")
            if kind == "cgroup2":
                found.setdefault("", point)
            elif kind == "cgroup":
                names = options.split()[-1].split(",")
                found.update({name: point for name in (*CONTROLLERS, FAIRNESS) if name in names})
    return found


def _own_groups(root: Path) -> dict[str, str]:
    """Controller (``""`` for version 2) → the path of this process's own group."""
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            own.update({name: path.lstrip("/") for name in names.split(",")})
    return own


def _version_2(mounts: dict[str, Path], own: dict[str, str]) -> Driver | None:
    if "" not in mounts:
        return None
    for parent in dict.fromkeys((mounts[""] / own.get("", ""), mounts[""])):
        with contextlib.suppress(OSError):
            controllers = (parent / "cgroup.controllers").read_text().split()
            if not set(CONTROLLERS) <= set(controllers):
                continue
            (parent / "cgroup.subtree_control").write_text("+memory +pids")
            folder = _make(parent)
            (folder / "cgroup.subtree_control").write_text("+memory +pids")
            if FAIRNESS in controllers:
                for level in (parent, folder):
                    with contextlib.suppress(OSError):
                        (level / "cgroup.subtree_control").write_text(f"+{FAIRNESS}")
            return Version2(folder)
    return None


def _version_1(mounts: dict[str, Path], own: dict[str, str]) -> Driver | None:
    if not set(CONTROLLERS) <= set(mounts):
        return None
    folders = {}
    for name in (name for name in (*CONTROLLERS, FAIRNESS) if name in mounts):
        for parent in dict.fromkeys((mounts[name] / own.get(name, ""), mounts[name])):
            with contextlib.suppress(OSError):
                folders[name] = _make(parent)
                break
    if not set(CONTROLLERS) <= set(folders):
        for folder in folders.values():
            folder.rmdir()
        return None
    return Version1(folders)


def _make(parent: Path) -> Path:
    folder = parent / leftovers.group_name()
    folder.mkdir()
    return folder


class Version2:
    """One folder per box below a delegated one."""

    name = "cgroup v2"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def group(self, *, memory_bytes: int, processes: int) -> Group:
        """A fresh group; see `Driver.group`."""
        folder = self._folder / f"box-{next(self._numbers)}"
        folder.mkdir()
        (folder / "memory.max").write_text(str(memory_bytes))
        (folder / "pids.max").write_text(str(processes))
        (folder / "memory.oom.group").write_text("1")
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (folder / "memory.swap.max").write_text("0")
        return Version2Group(folder)

    def close(self) -> None:
        """Remove the folder; see `Driver.close`."""
        _remove_tree(self._folder)


class Version2Group:
    """The group of one box under version 2."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, pid: int) -> None:
        """See `Group.add`."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """See `Group.out_of_memory`."""
        return _counter(self._folder / "memory.events", "oom_kill") > 0

    def peak_bytes(self) -> int:
        """See `Group.peak_bytes`."""
        return _number(self._folder / "memory.peak")

    def remove(self) -> None:
        """See `Group.remove`."""
        with contextlib.suppress(OSError):
            (self._folder / "cgroup.kill").write_text("1")
        _remove(self._folder)


class Version1:
    """One folder per box in each of the hierarchies."""

    name = "cgroup v1"

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._numbers = itertools.count()

    def group(self, *, memory_bytes: int, processes: int) -> Group:
        """A fresh group; see `Driver.group`."""
        name = f"box-{next(self._numbers)}"
        folders = {controller: folder / name for controller, folder in self._folders.items()}
        for folder in folders.values():
            folder.mkdir()
        memory, pids = (folders[controller] for controller in CONTROLLERS)
        (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))
        (pids / "pids.max").write_text(str(processes))
        return Version1Group(folders)

    def close(self) -> None:
        """Remove the folders; see `Driver.close`."""
        for folder in self._folders.values():
            _remove_tree(folder)


class Version1Group:
    """The groups of one box under version 1."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._memory = folders["memory"]

    def add(self, pid: int) -> None:
        """See `Group.add`."""
        for folder in self._folders.values():
            (folder / "cgroup.procs").write_text(str(pid))

    def out_of_memory(self) -> bool:
        """See `Group.out_of_memory`."""
        return _counter(self._memory / "memory.oom_control", "oom_kill") > 0

    def peak_bytes(self) -> int:
        """See `Group.peak_bytes`."""
        return _number(self._memory / "memory.max_usage_in_bytes")

    def remove(self) -> None:
        """See `Group.remove`."""
        for folder in self._folders.values():
            _remove(folder)


def _counter(path: Path, name: str) -> int:
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _number(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return 0


def _remove_tree(folder: Path) -> None:
    """Remove a driver's folder, and before it the groups of boxes that nobody closed."""
    for group in folder.glob("box-*"):
        _remove(group)
    _remove(folder)


def _remove(folder: Path) -> None:
    """Remove an empty group; the kernel needs a moment after the last process has gone."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.001)
        else:
            return
