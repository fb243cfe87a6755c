"""Makes the zygote's memory cheap to copy: the cost of a fork, and of an exit, is per page table entry.

With torch a zygote holds some 50,000 small anonymous pages, and copying and freeing their entries is most of
the cost of a box. Gathered into huge pages they are a hundred entries. A box that writes to one gets a small
page as before: the kernel splits the entry, not the memory.
"""

from __future__ import annotations

import os

from autograder.sandbox.inside import linux

HUGE_BYTES = 2 << 20


def measure_address_space(proc: int) -> int:
    """Return the bytes of address space in use.

    Args:
        proc: a descriptor of /proc; see `jail.open_proc`.
    """
    return int(_read_file(proc, "self/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def gather(proc: int) -> bool:
    """Gather this process's anonymous memory into huge pages; return whether any range could be.

    None can if the kernel has no such call (before Linux 6.1) or no room: forks are then only more expensive.
    One request per range: the kernel first waits for all processors, however small the request is.

    Args:
        proc: a descriptor of /proc; see `jail.open_proc`.
    """
    gathered = False
    for start, end in find_anonymous_ranges(_read_file(proc, "self/maps").decode()):
        first, last = -(-start // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
        if first < last:
            gathered |= linux.merge_range(first, last - first)
    return gathered


def find_anonymous_ranges(maps: str) -> list[tuple[int, int]]:
    """Find the address ranges of private memory that belongs to no file, in the text of /proc/self/maps."""
    ranges = []
    for line in maps.splitlines():
        addresses, mode, _, _, inode, *_ = line.split()
        if mode == "rw-p" and inode == "0" and not line.endswith("[stack]"):
            start, _, end = addresses.partition("-")
            ranges.append((int(start, 16), int(end, 16)))
    return ranges


def _read_file(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY, dir_fd=proc)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
