"""Control groups that a killed grader left behind: named so that their owner can be identified, and removed.

A name holds the process that made the group, the process namespace of its id, and the time. The owner is
alive if a process with that id exists and started before the group: an id that was assigned again belongs to
a younger process. In another process namespace the id means nothing; groups that were made there are left
alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"autograder-(\d+)-(\d+)-(\d+)")
REMOVAL_SECONDS = 1.0


def build_group_name() -> str:
    """Build a unique name for a folder of control groups of this process."""
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
    deadline = time.monotonic() + REMOVAL_SECONDS
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
