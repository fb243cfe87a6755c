"""The memory of a box, measured from outside where no control group bounds it.

Proportional set size, not resident set size: pages shared with the zygote are not the box's own.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

INTERVAL = 0.05
"""Seconds between two looks."""

_OWN_PAGES = ("Pss_Anon:", "Pss_Shmem:")


def tree_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Private and shared-anonymous memory of a process and all its descendants."""
    total, open_ids = 0, [pid]
    while open_ids:
        process = proc / str(open_ids.pop())
        with contextlib.suppress(OSError):  # it may end while we look
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith(_OWN_PAGES):
                    total += int(line.split()[1]) << 10
            for children in process.glob("task/*/children"):
                open_ids += [int(child) for child in children.read_text().split()]
    return total
