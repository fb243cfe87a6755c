"""A box's own folder where no tmpfs can be mounted: made, measured from outside, and removed.

What lies in it was written by student code: names, links, depths and modes are hostile. Nothing is
followed; no path is longer than two names; nothing here recurses.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

SHARED_FOLDERS = ("/dev/shm", "/tmp", "/var/tmp", "/run/lock", "/var/lock")
"""Where every user of a machine may write, as far as nothing else forbids it."""

DEEPEST = 100
"""Folders within folders; more than that count as too many files."""

PREFIX = "autograder-boxes-"
UNCLAIMED_SECONDS = 60
"""A folder that is younger may be about to be claimed."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 512


class Measure:
    """How much disk a box uses, added up while looking.

    Attributes:
        bytes: on disk, by allocated blocks.
        files: files, folders and links.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.files = 0
        self._seen: set[tuple[int, int]] = set()

    def add(self, status: os.stat_result) -> None:
        """Count a file, a folder or a link once, whatever its names."""
        identity = (status.st_dev, status.st_ino)
        if identity not in self._seen:
            self._seen.add(identity)
            self.bytes += status.st_blocks * _BLOCK
            self.files += 1


def measure_tree(path: str, measure: Measure, most_files: int) -> None:
    """Add a file, or a folder and what lies below it, until there are more files than that."""
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        measure.add(status)
        if not stat.S_ISDIR(status.st_mode):
            return
        walk = [(top := os.open(path, _FOLDER), iter(os.listdir(top)))]  # noqa: PTH208 - by descriptor
        try:
            while walk and measure.files <= most_files:
                _measure_next(walk, measure, most_files)
        finally:
            for descriptor, _ in walk:
                os.close(descriptor)


def _measure_next(walk: list[tuple[int, Iterator[str]]], measure: Measure, most_files: int) -> None:
    parent, names = walk[-1]
    name = next(names, None)
    if name is None:
        os.close(walk.pop()[0])
        return
    with contextlib.suppress(OSError):  # it may go while we look
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        measure.add(status)
        if stat.S_ISDIR(status.st_mode):
            if len(walk) >= DEEPEST:
                measure.files = most_files + 1
                return
            inner = os.open(name, _FOLDER, dir_fd=parent)
            walk.append((inner, iter(os.listdir(inner))))  # noqa: PTH208


def measure_open_files(pids: Iterable[int], measure: Measure) -> None:
    """Add files that have no name any more and are still open or mapped by one of the processes."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                with contextlib.suppress(OSError):
                    status = Path(f"/proc/{pid}/fd/{name}").stat()
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                        measure.add(status)
        with contextlib.suppress(OSError):
            _measure_mapped(Path(f"/proc/{pid}/maps").read_bytes(), measure)


def _measure_mapped(maps: bytes, measure: Measure) -> None:
    """Nameless files by their mappings; how long they are is seen only as far as they are mapped."""
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].endswith(b" (deleted)") and not fields[5].startswith(b"/dev/zero"):
            start, _, end = fields[0].partition(b"-")
            measure.bytes += int(end, 16) - int(start, 16)


def claim(folder: str) -> int:
    """Mark a folder as in use for as long as the returned descriptor is open in this process."""
    descriptor = os.open(folder, _FOLDER)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def sweep(base: str) -> None:
    """Remove the folders that nobody claims any more: their graders were killed."""
    for entry in os.scandir(base):
        if not entry.name.startswith(PREFIX):
            continue
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if status.st_uid != os.geteuid() or time.time() - status.st_ctime < UNCLAIMED_SECONDS:
                continue
            os.close(claim(entry.path))
            remove_tree(entry.path)


def files_of_user(uid: int) -> list[str]:
    """What a user has put into the folders that all users share."""
    found = []
    for folder in SHARED_FOLDERS:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == uid:
                        found.append(entry.path)
    return found


def remove_tree(path: str) -> None:
    """Remove a file, a link or a folder with all that is in it, however deep and whatever its modes.

    Folders within folders are moved up before they are emptied, so that no path grows. What cannot be
    removed stays; nobody else's files are touched, since no link is followed.
    """
    parent, name = os.path.split(path)
    with contextlib.suppress(OSError):
        above = os.open(parent, _FOLDER)
        try:
            if not _unlink(name, above):
                _empty(name, above)
                os.rmdir(name, dir_fd=above)
        finally:
            os.close(above)


def _empty(name: str, above: int) -> None:
    top = _enter(name, above)
    numbers = itertools.count()
    token = secrets.token_hex(8)
    try:
        while names := [name for name in os.listdir(top) if not _unlink(name, top)]:  # noqa: PTH208
            for name in names:  # noqa: PLR1704 - the names below it, from here on
                inner = _enter(name, top)
                try:
                    for entry in os.listdir(inner):  # noqa: PTH208
                        if not _unlink(entry, inner):
                            os.chmod(entry, 0o700, dir_fd=inner)
                            os.rename(entry, f"{token}-{next(numbers)}", src_dir_fd=inner, dst_dir_fd=top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _enter(name: str, above: int) -> int:
    """Open a folder after making it usable; whoever could have changed its modes or its name is dead."""
    status = os.stat(name, dir_fd=above, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        os.chmod(name, 0o700, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)


def _unlink(name: str, above: int) -> bool:
    """Remove a name that is no folder."""
    if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=above)
    return True
