"""The zygote's memory, made cheap to copy: a fork is paid by the page table entry, and so is an exit.

With torch in it a zygote holds some 50,000 small anonymous pages, and copying and freeing their entries is
most of what a box costs. Gathered into huge pages they are a hundred entries. A box that writes to one gets
a small page of its own as before: the kernel splits the entry, not the memory.
"""

from __future__ import annotations

import os

from autograder.sandbox.inside import linux

HUGE_BYTES = 2 << 20


def address_space(proc: int) -> int:
    """Bytes of address space in use.

    Args:
        proc: a descriptor on /proc; see `jail.open_proc`.
    """
    return int(_read(proc, "self/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def gather(proc: int) -> bool:
    """Gather this process's anonymous memory into huge pages where they fit; whether some range could.

    None can where the kernel has no such call (before Linux 6.1) or no room: then forks are dearer, no more.
    Each range is asked for at once: the kernel first waits for all processors, whatever it is asked for.

    Args:
        proc: a descriptor on /proc; see `jail.open_proc`.
    """
    gathered = False
    for start, end in anonymous(_read(proc, "self/maps").decode()):
        first, last = -(-start // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
        if first < last:
            gathered |= linux.collapse(first, last - first)
    return gathered


def anonymous(maps: str) -> list[tuple[int, int]]:
    """Address ranges of private memory that belongs to no file, from the text of /proc/self/maps."""
    ranges = []
    for line in maps.splitlines():
        addresses, mode, _, _, inode, *_ = line.split()
        if mode == "rw-p" and inode == "0" and not line.endswith("[stack]"):
            start, _, end = addresses.partition("-")
            ranges.append((int(start, 16), int(end, 16)))
    return ranges


def _read(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY, dir_fd=proc)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
