"""The contents of a course folder, to detect changes other than those by grading."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

WRITTEN = frozenset({"gradebook.db", "autograded", "feedback", "staff", ".autograder"})
"""Files that the commands write at the top of a course (docs/operators.md)."""

MOST_BYTES = 1 << 30
"""Bytes that are read of a file; a sparse one of a terabyte is among the attacks."""

Contents = Mapping[str, tuple[object, ...]]


def glance(root: Path) -> Contents:
    """Return every entry with its kind, size and times; cheap enough to run after every submission."""
    return {os.path.relpath(path, root): _status(path) for path in _entries(root)}


def contents(root: Path) -> Contents:
    """Return every entry with its kind, times and a digest of its bytes."""
    return {os.path.relpath(path, root): (*_status(path), _digest(Path(path))) for path in _entries(root)}


def changes(before: Contents, after: Contents) -> Iterator[str]:
    """Return what is new, gone, or changed."""
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            kind = "appeared" if name not in before else "is gone" if name not in after else "changed"
            yield f"{name!a} {kind}"


def _entries(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        if folder == str(root):
            folders[:] = [name for name in folders if name not in WRITTEN]
            files[:] = [name for name in files if not name.startswith("gradebook.db")]
        yield from (f"{folder}/{name}" for name in (*folders, *files))


def _status(path: str) -> tuple[object, ...]:
    status = os.lstat(path)
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return (status.st_mode, status.st_ino, status.st_nlink, status.st_uid, size, status.st_mtime_ns)


def _digest(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    if not path.is_file() or path.lstat().st_size > MOST_BYTES or not os.access(path, os.R_OK):
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()
