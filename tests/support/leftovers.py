"""Traces that a box may leave on this machine, compared before and after."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from autograder.sandbox.inside import linux
from autograder.sandbox.outside.namespaces import NamespaceSandbox

PATIENCE_SECONDS = 60.0
PR_SET_CHILD_SUBREAPER = 36


class Traces(Struct, frozen=True):
    """Everything of a sandbox that can be counted from outside."""

    descriptors: int
    """Open descriptors in this process."""
    processes: frozenset[int]
    """Descendants of this process, including zygotes and processes in their boxes."""
    groups: frozenset[str]
    """Control groups of this process's sandboxes."""
    mounts: int
    """Mounts visible to this process."""


def traces() -> Traces:
    """Return the traces once they have stopped changing."""
    gc.collect()  # objects of earlier tests in reference cycles must not be closed during this one
    deadline = time.monotonic() + PATIENCE_SECONDS
    last = _traces()
    while time.monotonic() < deadline:
        time.sleep(0.03)
        now = _traces()
        if now == last:
            break
        last = now
    return last


def _traces() -> Traces:
    return Traces(
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        processes=frozenset(descendants(os.getpid())),
        groups=frozenset(control_groups()),
        mounts=len(Path("/proc/self/mountinfo").read_text().splitlines()),
    )


def settled(before: Traces) -> Traces:
    """Return the traces once they equal the earlier ones, or after a timeout."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (now := _traces()) != before and time.monotonic() < deadline:
        time.sleep(0.03)
    return now


@contextlib.contextmanager
def adopted_orphans() -> Iterator[None]:
    """Become the subreaper of all descendants.

    So all processes that a test leaves are descendants of this process, unlike those of other graders.
    """
    linux.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        linux.prctl(PR_SET_CHILD_SUBREAPER, 0)


def descendants(pid: int) -> list[int]:
    """Return every living descendant of a process; zombies do not count."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(int(process.name))
    found, open_ids = [], [pid]
    while open_ids:
        below = children.get(open_ids.pop(), [])
        found += below
        open_ids += below
    return sorted(found)


def is_running(pid: int) -> bool:
    """Return whether a process runs; zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def control_groups() -> list[str]:
    """Return the control groups created by this process, in any hierarchy."""
    pattern = f"autograder-{os.getpid()}-*"
    roots = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*")]
    found: list[str] = []
    for root in roots:
        if root.is_dir():
            for line in _own_paths():
                for folder in (root / line).glob(pattern):
                    found += [str(folder), *(str(box) for box in folder.glob("box-*"))]
    return sorted(set(found))


def _own_paths() -> list[str]:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return ["", *(line.split(":", 2)[2].lstrip("/") for line in lines)]


def zygote_pid(sandbox: NamespaceSandbox) -> int:
    """Return the broker's direct child; the zygote and all boxes are its descendants."""
    return sandbox.pid
