"""Bounds on memory and processes by control groups: version 2, else version 1, else none.

Every box gets its own group. If neither version is writable, the broker falls back to an address space limit
and a watchdog on the box's memory and processor time (watchdog.py).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from autograder.sandbox.outside.cgroups import version1, version2
from autograder.sandbox.outside.cgroups.base import ACCOUNTING, CONTROLLERS, FAIRNESS, Counts, Driver, Group
from autograder.sandbox.outside.cgroups.version1 import Version1
from autograder.sandbox.outside.cgroups.version2 import Version2

__all__ = ["Counts", "Driver", "Group", "Version1", "Version2", "find_driver"]


def find_driver(root: Path = Path("/")) -> Driver | None:
    """Return the best driver that works on this machine; None if no hierarchy is writable."""
    mounts = _find_hierarchies(root)
    own_groups = _read_own_groups(root)
    return version2.find_driver(mounts.get(""), own_groups.get("", "")) or version1.find_driver(
        mounts, own_groups
    )


def _find_hierarchies(root: Path) -> dict[str, Path]:
    """Return controller → mount point of version 1; ``""`` → mount point of version 2."""
    mount_points: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            point = root / before.split()[4].lstrip("/")
            if kind == "cgroup2":
                mount_points.setdefault("", point)
            elif kind == "cgroup":
                names = options.split()[-1].split(",")
                wanted = (*CONTROLLERS, FAIRNESS, ACCOUNTING)
                mount_points.update({name: point for name in wanted if name in names})
    return mount_points


def _read_own_groups(root: Path) -> dict[str, str]:
    """Return controller (``""`` for version 2) → the path of this process's own group."""
    groups: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            groups.update({name: path.lstrip("/") for name in names.split(",")})
    return groups
