"""Files that appear complete or not at all, non-blocking reads, and removal of partial files of dead writers.

A file is written under a unique name in its target's folder and then renamed. The writer holds a lock on it
meanwhile, which the kernel releases as soon as the writer dies, for whatever reason. A partial file without a
lock is therefore abandoned; the next writer in that folder removes it.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there files appear whole as well, and nothing is swept
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 64 << 20
"""Maximum size of a file that is read here, unless the caller gives another one."""
_PART = 1 << 20
PARTIAL = re.compile(r"\.autograder-[0-9a-f]{16}\.partial")


def read_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file without blocking: a named pipe's writer may never come.

    Raises:
        OSError: it is missing, no regular file, longer than ``most`` bytes, or not readable; ``strerror``
            says which.
    """
    _refuse_others(path, path.stat())  # before it is opened, which means something to devices
    platform_flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    flags = os.O_RDONLY | sum(platform_flags)
    with os.fdopen(os.open(path, flags), "rb") as file:
        # Checked again on the open file: the path may have been replaced in between.
        _refuse_others(path, os.fstat(file.fileno()))
        # One byte more than allowed shows that the file is too long, even if it grows while it is read.
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"longer than {most:,} bytes", str(path))
    return data


def _refuse_others(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file (a pipe, a socket or a device)", str(path))


def write_bytes(path: Path, content: bytes | Iterable[bytes], *, mode: int = 0o644) -> None:
    """Write ``content``, whole or in parts, to ``path`` atomically, with exactly these permissions.

    Raises:
        OSError: it could not be written; the previous file at ``path`` is unchanged.
    """
    sweep_partials(path.parent)
    partial, descriptor = _create_locked_partial(path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            partial.chmod(mode)
            if fcntl:
                partial.replace(path)  # before the lock goes with the descriptor
        if not fcntl:
            partial.replace(path)  # an open file cannot be renamed there
    # BaseException: an interrupt must not leave a partial file either.
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def copy_file(source: Path, target: Path, *, mode: int = 0o644) -> None:
    """Copy a regular file of any size to ``target`` atomically.

    If the target already has the same content, nothing is written, so its other hard links are kept.

    Raises:
        OSError: the source cannot be read, or the target cannot be written; the target is then unchanged.
    """
    _refuse_others(source, source.stat())
    with contextlib.suppress(OSError):
        if filecmp.cmp(source, target, shallow=False):
            target.chmod(mode)
            return
    with source.open("rb") as content:
        write_bytes(target, iter(lambda: content.read(_PART), b""), mode=mode)


def link_file(source: Path, target: Path) -> None:
    """Create a hard link atomically, or a copy if the file system has no hard links.

    Raises:
        OSError: the file cannot be read, or the link cannot be created.
    """
    try:
        if not target.is_symlink() and target.exists() and target.samefile(source):
            return
        partial = target.with_name(f".autograder-{secrets.token_hex(8)}.partial")
        partial.hardlink_to(source)
    except OSError:
        copy_file(source, target)
        return
    partial.replace(target)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder against all callers, in whichever process.

    If the system or the file system has no such locks, there is no exclusion.
    """
    descriptor = -1
    try:
        with contextlib.suppress(OSError):
            if fcntl:
                descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _create_locked_partial(folder: Path) -> tuple[Path, int]:
    """Create a locked partial file; one that is swept between creation and lock is created again."""
    while True:
        partial = folder / f".autograder-{secrets.token_hex(8)}.partial"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another process's sweep may have unlinked the file before it was locked.
        if os.fstat(descriptor).st_nlink:
            return partial, descriptor
        os.close(descriptor)


def sweep_partials(folder: Path) -> list[Path]:
    """Remove the partial files of dead writers from a folder (not from its subfolders).

    Only regular files of this user with a free lock are touched; links are not followed. Files that cannot be
    inspected or removed are left.
    """
    removed = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PARTIAL.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if _remove_if_free(Path(entry.path)):
                        removed.append(Path(entry.path))
    return removed


def _remove_if_free(path: Path) -> bool:
    if not fcntl:
        return False
    # O_NOFOLLOW and O_NONBLOCK: the entry may have become a link or a pipe since it was listed.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by a living writer: BlockingIOError
        path.unlink()
    finally:
        os.close(descriptor)
    return True
