"""Bounds on memory and processes by control groups: version 2, else version 1, else none.

Every box gets its own group. If neither version is writable, the broker falls back to an address space limit
and a watchdog on the box's memory and processor time (`watch.Watchdog`).

Version 2 also works for an ordinary user if a part of the tree was delegated to them. A group that bounds
others must not hold processes itself, and a process may be moved only below a common ancestor that the mover
may write. So the first ancestor of our own group that allows both is used: for root usually the one above,
for a user's systemd service the nearest slice of the user's own tree. If the delegated group is our own
(``Delegate=yes``) and we are alone in it, we move into a leaf of it, as systemd requires of those it
delegates to.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

CONTROLLERS = ("memory", "pids")
"""Without these there is no driver."""
FAIRNESS = "cpu"
"""Used if available: each box then gets an equal share of the processors, whatever it runs."""
ACCOUNTING = "cpuacct"
"""Used if available: the processor time of all of a box's processes together (version 1)."""
REMOVAL_SECONDS = 2.0


class Counts(Struct, frozen=True):
    """The kernel's counters for a group so far. Student code cannot change any of them."""

    refused_processes: int = 0
    """Forks and threads that were refused because of the bound on processes."""
    killed_for_memory: int = 0
    """Processes that were killed because of the bound on memory."""


class Counter(NamedTuple):
    """A number in a file of the kernel, by its name; a file without names holds one number."""

    path: Path
    name: str = ""
    unit: float = 1.0

    def read(self) -> float | None:
        """Return the present number; None if the kernel does not have it."""
        with contextlib.suppress(OSError, ValueError):
            for line in read_kernel_file(str(self.path)).splitlines():
                name, _, value = line.rpartition(" ")
                if name == self.name:
                    return int(value) * self.unit
        return None


def read_kernel_file(path: str) -> str:
    """Read a file of the kernel in as few system calls as possible: this is done around every cell and call.

    Raises:
        OSError: it does not exist, or not any more.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 14):
            parts.append(part)
        return b"".join(parts).decode(errors="replace")
    finally:
        os.close(descriptor)


class Group(Struct, frozen=True):
    """The control group of one box: its folders, and what the kernel counts."""

    folders: frozenset[Path]
    refused: Counter
    killed: Counter
    peak: Counter
    used: Counter | None

    def add_process(self, pid: int) -> None:
        """Move a process in; its children follow.

        Raises:
            OSError: the kernel refused.
        """
        for folder in self.folders:
            # Children that it has already forked stay outside: a box is moved before it runs student code.
            (folder / "cgroup.procs").write_text(str(pid))

    def read_counts(self) -> Counts:
        """Return the counters so far."""
        return Counts(int(self.refused.read() or 0), int(self.killed.read() or 0))

    def read_processor_seconds(self) -> float | None:
        """Return the processor time of all processes that were ever in it; None if it is not accounted."""
        return self.used.read() if self.used else None

    def read_peak_bytes(self) -> int:
        """Return the peak memory of the group."""
        return int(self.peak.read() or 0)

    def remove(self) -> None:
        """Kill the remaining processes, as far as one file does that, and remove the group."""
        for folder in self.folders:
            with contextlib.suppress(OSError):  # version 1 does not have it
                (folder / "cgroup.kill").write_text("1")
            remove_folder(folder)


class Driver:
    """Creates groups, each in a folder of its own in every hierarchy."""

    name = ""

    def __init__(self, folders: dict[str, Path]) -> None:
        """Use these folders of ours.

        Args:
            folders: by controller.
        """
        self._folders = folders
        self._numbers = itertools.count()

    def create_group(self, *, memory_bytes: int, processes: int) -> Group:
        """Create a fresh group with these bounds.

        Raises:
            OSError: it could not be created.
        """
        name = f"box-{next(self._numbers)}"
        folders = {controller: folder / name for controller, folder in self._folders.items()}
        for folder in set(folders.values()):
            folder.mkdir()
        return self._limit_group(folders, memory_bytes, processes)

    def _limit_group(self, folders: dict[str, Path], memory_bytes: int, processes: int) -> Group:
        raise NotImplementedError

    def close(self) -> None:
        """Remove our folders, after the groups of boxes that were never closed."""
        for folder in set(self._folders.values()):
            _remove_tree(folder)


class Version1(Driver):
    """One folder per box in each of several hierarchies."""

    name = "cgroup v1"

    def _limit_group(self, folders: dict[str, Path], memory_bytes: int, processes: int) -> Group:
        memory, pids = (folders[controller] for controller in CONTROLLERS)
        # In this order: the kernel refuses a limit of memory with swap below that of memory alone.
        (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))
        (pids / "pids.max").write_text(str(processes))
        accounting = folders.get(ACCOUNTING)
        return Group(
            frozenset(folders.values()),
            refused=Counter(pids / "pids.events", "max"),
            killed=Counter(memory / "memory.oom_control", "oom_kill"),
            peak=Counter(memory / "memory.max_usage_in_bytes"),
            used=Counter(accounting / "cpuacct.usage", unit=1e-9) if accounting else None,
        )


class Version2(Driver):
    """One folder per box below a group that holds no processes."""

    name = "cgroup v2"

    def _limit_group(self, folders: dict[str, Path], memory_bytes: int, processes: int) -> Group:
        (folder,) = folders.values()
        (folder / "memory.max").write_text(str(memory_bytes))
        (folder / "pids.max").write_text(str(processes))
        # The kernel kills a whole box for its memory, and never one process of it alone.
        (folder / "memory.oom.group").write_text("1")
        with contextlib.suppress(OSError):  # absent where the kernel has no swap accounting
            (folder / "memory.swap.max").write_text("0")
        return Group(
            frozenset((folder,)),
            refused=Counter(folder / "pids.events", "max"),
            killed=Counter(folder / "memory.events", "oom_kill"),
            peak=Counter(folder / "memory.peak"),
            # Counted whether or not the controller ``cpu`` is enabled.
            used=Counter(folder / "cpu.stat", "usage_usec", 1e-6),
        )


def find_driver(root: Path = Path("/")) -> Driver | None:
    """Return the best driver that works on this machine; None if no hierarchy is writable."""
    mounts = _find_hierarchies(root)
    own_groups = _read_own_groups(root)
    return _find_version2(mounts.get(""), own_groups.get("", "")) or _find_version1(mounts, own_groups)


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


def _find_version1(mounts: dict[str, Path], own_groups: dict[str, str]) -> Driver | None:
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
        # Mounted together, as cpu and cpuacct often are: one folder serves both.
        if mounts[name] in names_by_mount:
            folders[name] = folders[names_by_mount[mounts[name]]]
            continue
        # Our own group first, then the top of the hierarchy.
        for parent in dict.fromkeys((mounts[name] / own_groups.get(name, ""), mounts[name])):
            with contextlib.suppress(OSError):
                folders[name] = _make_folder(parent)
                names_by_mount[mounts[name]] = name
                break
    if not set(CONTROLLERS) <= set(folders):
        for folder in set(folders.values()):
            folder.rmdir()
        return None
    return Version1(folders)


def _find_version2(mount: Path | None, own_path: str) -> Driver | None:
    """Return a driver below the nearest group that lets us bound and move processes; None if there is none.

    Args:
        mount: mount point of the hierarchy.
        own_path: the path of this process's own group in it.
    """
    if mount is None:
        return None
    # Upwards, because a process may be moved only below a common ancestor that we may write.
    for parent in _list_parents(mount, own_path):
        with contextlib.suppress(OSError):
            return _create_version2(parent)
    with contextlib.suppress(OSError):
        return _create_version2_inside(mount / own_path)
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


def _create_version2(parent: Path) -> Driver:
    """Create a driver below one group.

    Raises:
        OSError: we may not use the group.
    """
    there = _read_controllers(parent)
    _enable_controllers(parent, there)
    folder = _make_folder(parent)
    try:
        _enable_controllers(folder, there)
        _try_to_move(folder)
    except OSError:
        _remove_tree(folder)
        raise
    return Version2({"": folder})


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
            remove_folder(group)


def _create_version2_inside(own_group: Path) -> Driver | None:
    """Create a driver in our own group, which we leave for a leaf of it; only if we are alone in it.

    Raises:
        OSError: we may not use the group; we are back in it.
    """
    _read_controllers(own_group)
    me = str(os.getpid())
    if (own_group / "cgroup.procs").read_text().split() != [me]:
        return None
    leaf = _make_folder(own_group)
    try:
        (leaf / "cgroup.procs").write_text(me)
        return _create_version2(own_group)
    except OSError:
        with contextlib.suppress(OSError):
            (own_group / "cgroup.procs").write_text(me)
        remove_folder(leaf)
        raise


def _make_folder(parent: Path) -> Path:
    """Create a folder with a name that identifies the process that made it, and with its priority."""
    folder = parent / build_group_name()
    folder.mkdir()
    # Between groups nice values do not count: the boxes of a grader in the background would get as much as
    # the pages of the service. Each step of niceness is a fifth less, see sched(7).
    niceness = os.nice(0)
    with contextlib.suppress(OSError):
        if (folder / "cpu.shares").exists():
            (folder / "cpu.shares").write_text(str(round(1024 / 1.25**niceness)))
        elif (folder / "cpu.weight.nice").exists():
            (folder / "cpu.weight.nice").write_text(str(niceness))
    return folder


def _remove_tree(folder: Path) -> None:
    """Remove a driver's folder, after the groups of boxes that were never closed."""
    for group in folder.glob("box-*"):
        remove_folder(group)
    remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Remove an empty group; the kernel needs a moment after its last process has ended."""
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


# ---------------------------------------------------------------- orphans
# Groups that a killed grader left behind are named so that their owner can be identified. A name holds the
# process that made the group, the process namespace of its id, and the time. The owner is alive if a process
# with that id exists and started before the group: an id that was assigned again belongs to a younger
# process. In another process namespace the id means nothing; groups that were made there are left alone.

_NAME = re.compile(r"autograder-(\d+)-(\d+)-(\d+)")
SWEEP_SECONDS = 1.0


def build_group_name() -> str:
    """Build a unique name for a folder of control groups of this process."""
    # The clock in which /proc/<pid>/stat counts the start of a process; others stop while a laptop sleeps.
    created = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return f"autograder-{os.getpid()}-{_read_process_namespace(Path('/'))}-{created}"


def sweep_groups(root: Path = Path("/")) -> list[Path]:
    """Remove the groups of dead graders, including processes that still run in them.

    Only folders of this user that no living process can have made are touched; a group that the kernel
    refuses to remove is left for the next time.
    """
    removed = []
    for folder in _find_candidates(root):
        with contextlib.suppress(OSError):
            if (
                folder.lstat().st_uid == os.geteuid()
                and _is_orphan(folder.name, root)
                and _remove_group(folder)
            ):
                removed.append(folder)
    return removed


def _find_candidates(root: Path) -> Iterator[Path]:
    """Find folders with our names in each hierarchy: at its top, in our own group, above and next to it."""
    parents: dict[Path, None] = {}
    with contextlib.suppress(OSError):
        mounts = (root / "proc/self/mountinfo").read_text(errors="replace").splitlines()
        tops = [root / line.split()[4].lstrip("/") for line in mounts if " - cgroup" in line]
        own_lines = (root / "proc/self/cgroup").read_text(errors="replace").splitlines()
        for top in tops:
            for path in {line.split(":", 2)[2].strip("/") for line in own_lines}:
                group = top / path
                # Paths with ".." are groups outside of what is mounted here.
                if ".." not in group.parts and group.is_dir():
                    parents |= dict.fromkeys(
                        (group, *(candidate for candidate in group.parents if top in candidate.parents))
                    )
                    parents |= dict.fromkeys(
                        candidate for candidate in _list_folders(group.parent) if top in candidate.parents
                    )
            parents[top] = None
    for parent in parents:
        yield from (folder for folder in _list_folders(parent) if _NAME.fullmatch(folder.name))


def _list_folders(parent: Path) -> list[Path]:
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _is_orphan(name: str, root: Path) -> bool:
    match = _NAME.fullmatch(name)
    if not match:
        return False
    pid, namespace, created = (int(number) for number in match.groups())
    if namespace != _read_process_namespace(root):
        return False
    try:
        fields = (root / "proc" / str(pid) / "stat").read_text(errors="replace").rpartition(") ")[2].split()
        started, state = int(fields[19]), fields[0]
    # The owner is gone.
    except FileNotFoundError:
        return True
    except (OSError, IndexError, ValueError):
        return False
    return state in "ZX" or started * 1_000_000_000 // os.sysconf("SC_CLK_TCK") > created


def _read_process_namespace(root: Path) -> int:
    """Return the number of this process's process namespace; 0 if it is not known."""
    with contextlib.suppress(OSError, ValueError):
        return int((root / "proc/self/ns/pid").readlink().name.strip("pid:[]"))
    return 0


def _remove_group(folder: Path) -> bool:
    """Remove a group and its subgroups; processes in it are killed first."""
    deadline = time.monotonic() + SWEEP_SECONDS
    while True:
        for group in (*_list_folders(folder), folder):
            with contextlib.suppress(OSError):
                # A group can be removed only when it is empty, which takes the kernel a moment after a kill.
                group.rmdir()
        if not folder.exists():
            return True
        if time.monotonic() > deadline:
            return False
        for group in (*_list_folders(folder), folder):
            _kill_group(group)
        time.sleep(0.005)


def _kill_group(group: Path) -> None:
    with contextlib.suppress(OSError):
        if (group / "cgroup.kill").exists():
            (group / "cgroup.kill").write_text("1")
            return
        for line in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                _kill_member(int(line), group)


def _kill_member(pid: int, group: Path) -> None:
    """Kill a process if it is still a member after a descriptor pins it, so that no other one is hit."""
    descriptor = os.pidfd_open(pid)
    try:
        if str(pid) in (group / "cgroup.procs").read_text().split():
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        os.close(descriptor)
