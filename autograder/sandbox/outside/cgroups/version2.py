"""Control groups version 2, also for an ordinary user if a part of the tree was delegated to them.

A group that bounds others must not hold processes itself, and a process may be moved only below a common
ancestor that the mover may write. So the first ancestor of our own group that allows both is used: for root
usually the one above, for a user's systemd service the nearest slice of the user's own tree. If the delegated
group is our own (``Delegate=yes``) and we are alone in it, we move into a leaf of it, as systemd requires of
those it delegates to.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.sandbox.outside.cgroups import base
from autograder.sandbox.outside.cgroups.base import CONTROLLERS, FAIRNESS, Counts, Driver, Group

_MICRO = 1e-6


def find_driver(mount: Path | None, own_path: str) -> Driver | None:
    """Return a driver below the nearest group that lets us bound and move processes; None if there is none.

    Args:
        mount: mount point of the hierarchy.
        own_path: the path of this process's own group in it.
    """
    if mount is None:
        return None
    for parent in _list_parents(mount, own_path):
        with contextlib.suppress(OSError):
            return _create_driver(parent)
    with contextlib.suppress(OSError):
        return _create_driver_inside(mount / own_path)
    return None


def _list_parents(mount: Path, own_path: str) -> Iterator[Path]:
    """Iterate over our own group and those above it, as far as they are mounted."""
    group = mount / own_path
    if ".." in group.parts or not group.is_dir():  # a group outside of the mounted part
        group = mount
    yield group
    while group != mount:
        group = group.parent
        yield group


def _create_driver(parent: Path) -> Driver:
    """Create a driver below one group.

    Raises:
        OSError: we may not use the group.
    """
    there = _read_controllers(parent)
    _enable_controllers(parent, there)
    folder = base.make_folder(parent)
    try:
        _enable_controllers(folder, there)
        _try_to_move(folder)
    except OSError:
        base.remove_tree(folder)
        raise
    return Version2(folder)


def _read_controllers(folder: Path) -> list[str]:
    """Return the controllers of a group.

    Raises:
        OSError: a required one is missing.
    """
    there = (folder / "cgroup.controllers").read_text().split()
    if not set(CONTROLLERS) <= set(there):
        raise OSError(0, f"{folder} has no controllers for memory and processes")
    return there


def _enable_controllers(folder: Path, there: list[str]) -> None:
    """Let the groups below be bounded; the kernel refuses this for a group that holds processes."""
    control = folder / "cgroup.subtree_control"
    passed = control.read_text().split() if control.exists() else []
    if not set(CONTROLLERS) <= set(passed):
        control.write_text(" ".join(f"+{name}" for name in CONTROLLERS))
    if FAIRNESS in there and FAIRNESS not in passed:
        with contextlib.suppress(OSError):  # boxes are bounded without it too
            control.write_text(f"+{FAIRNESS}")


def _try_to_move(folder: Path) -> None:
    """Move a process of our own in: only an attempt shows whether it is permitted."""
    group = folder / "box-probe"
    group.mkdir()
    waiting = [sys.executable, "-I", "-S", "-c", "input()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as probe:
        try:
            (group / "cgroup.procs").write_text(str(probe.pid))
        finally:
            probe.kill()
            probe.wait()
            base.remove(group)


def _create_driver_inside(own_group: Path) -> Driver | None:
    """Create a driver in our own group, which we leave for a leaf of it; only if we are alone in it.

    Raises:
        OSError: we may not use the group; we are back in it.
    """
    _read_controllers(own_group)
    me = str(os.getpid())
    if (own_group / "cgroup.procs").read_text().split() != [me]:
        return None
    leaf = base.make_folder(own_group)
    try:
        (leaf / "cgroup.procs").write_text(me)
        return _create_driver(own_group)
    except OSError:
        with contextlib.suppress(OSError):
            (own_group / "cgroup.procs").write_text(me)
        base.remove(leaf)
        raise


class Version2:
    """One folder per box below a group that holds no processes."""

    name = "cgroup v2"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def create_group(self, *, memory_bytes: int, processes: int) -> Group:
        """Create a fresh group; see `Driver.create_group`."""
        folder = self._folder / f"box-{next(self._numbers)}"
        folder.mkdir()
        (folder / "memory.max").write_text(str(memory_bytes))
        (folder / "pids.max").write_text(str(processes))
        # The kernel kills a whole box for its memory, and never one process of it alone.
        (folder / "memory.oom.group").write_text("1")
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (folder / "memory.swap.max").write_text("0")
        return Version2Group(folder)

    def close(self) -> None:
        """Remove the folder; see `Driver.close`."""
        base.remove_tree(self._folder)


class Version2Group:
    """The group of one box under version 2."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._used = base.KeptFile(folder / "cpu.stat")

    def add_process(self, pid: int) -> None:
        """See `Group.add_process`."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def read_counts(self) -> Counts:
        """See `Group.read_counts`."""
        return Counts(
            refused_processes=base.read_counter(f"{self._folder}/pids.events", "max") or 0,
            killed_for_memory=base.read_counter(f"{self._folder}/memory.events", "oom_kill") or 0,
        )

    def read_processor_seconds(self) -> float | None:
        """See `Group.read_processor_seconds`; the kernel counts this whether or not ``cpu`` is enabled."""
        used = base.read_counter(self._used, "usage_usec")
        return None if used is None else used * _MICRO

    def read_system_seconds(self) -> float:
        """See `Group.read_system_seconds`."""
        return (base.read_counter(self._used, "system_usec") or 0) * _MICRO

    def read_peak_bytes(self) -> int:
        """See `Group.read_peak_bytes`."""
        return base.read_number(f"{self._folder}/memory.peak") or 0

    def remove(self) -> None:
        """See `Group.remove`."""
        self._used.close()
        with contextlib.suppress(OSError):
            (self._folder / "cgroup.kill").write_text("1")
        base.remove(self._folder)
