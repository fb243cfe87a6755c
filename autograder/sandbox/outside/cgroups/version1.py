"""Control groups version 1: one folder per box in each of several hierarchies."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

from autograder.sandbox.outside.cgroups import base
from autograder.sandbox.outside.cgroups.base import ACCOUNTING, CONTROLLERS, FAIRNESS, Counts, Driver, Group

_NANO = 1e-9
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def find_driver(mounts: dict[str, Path], own_groups: dict[str, str]) -> Driver | None:
    """Return a driver if both required hierarchies are writable.

    Args:
        mounts: controller → mount point.
        own_groups: controller → the path of this process's own group.
    """
    if not set(CONTROLLERS) <= set(mounts):
        return None
    folders: dict[str, Path] = {}
    names_by_mount: dict[Path, str] = {}
    for name in (name for name in (*CONTROLLERS, FAIRNESS, ACCOUNTING) if name in mounts):
        if (
            mounts[name] in names_by_mount
        ):  # mounted together, as cpu and cpuacct often are: one folder serves both
            folders[name] = folders[names_by_mount[mounts[name]]]
            continue
        # Our own group first, then the top of the hierarchy.
        for parent in dict.fromkeys((mounts[name] / own_groups.get(name, ""), mounts[name])):
            with contextlib.suppress(OSError):
                folders[name] = base.make_folder(parent)
                names_by_mount[mounts[name]] = name
                break
    if not set(CONTROLLERS) <= set(folders):
        for folder in set(folders.values()):
            folder.rmdir()
        return None
    return Version1(folders)


class Version1:
    """One folder per box in each of the hierarchies."""

    name = "cgroup v1"

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._numbers = itertools.count()

    def create_group(self, *, memory_bytes: int, processes: int) -> Group:
        """Create a fresh group; see `Driver.create_group`."""
        name = f"box-{next(self._numbers)}"
        folders = {controller: folder / name for controller, folder in self._folders.items()}
        for folder in set(folders.values()):
            folder.mkdir()
        memory, pids = (folders[controller] for controller in CONTROLLERS)
        # In this order: the kernel refuses a limit of memory with swap below that of memory alone.
        (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))
        (pids / "pids.max").write_text(str(processes))
        return Version1Group(folders)

    def close(self) -> None:
        """Remove the folders; see `Driver.close`."""
        for folder in set(self._folders.values()):
            base.remove_tree(folder)


class Version1Group:
    """The groups of one box under version 1."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = set(folders.values())
        memory, pids = (folders[controller] for controller in CONTROLLERS)
        self._peak = str(memory / "memory.max_usage_in_bytes")
        self._killed, self._refused = str(memory / "memory.oom_control"), str(pids / "pids.events")
        accounting = folders.get(ACCOUNTING)
        self._used = base.KeptFile(accounting / "cpuacct.usage") if accounting else None
        self._split = str(accounting / "cpuacct.stat") if accounting else None

    def add_process(self, pid: int) -> None:
        """See `Group.add_process`."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def read_counts(self) -> Counts:
        """See `Group.read_counts`."""
        return Counts(
            refused_processes=base.read_counter(self._refused, "max") or 0,
            killed_for_memory=base.read_counter(self._killed, "oom_kill") or 0,
        )

    def read_processor_seconds(self) -> float | None:
        """See `Group.read_processor_seconds`."""
        used = base.read_number(self._used) if self._used else None
        return None if used is None else used * _NANO

    def read_system_seconds(self) -> float:
        """See `Group.read_system_seconds`; the kernel counts ticks."""
        return (base.read_counter(self._split, "system") or 0) * _TICK if self._split else 0.0

    def read_peak_bytes(self) -> int:
        """See `Group.read_peak_bytes`."""
        return base.read_number(self._peak) or 0

    def remove(self) -> None:
        """See `Group.remove`."""
        if self._used:
            self._used.close()
        for folder in self._folders:
            base.remove(folder)
