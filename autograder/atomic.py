"""Files that are there whole or not at all, read without waiting; what killed writers left is removed.

A file is written under a name of its own beside its target and then renamed. While it is written the
writer holds a lock on it, and the kernel gives that lock back the moment the writer dies, however it
dies. A partial file whose lock is free therefore belongs to nobody; the next writer in that folder
removes it.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there files appear whole as well, and nothing is swept
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 64 << 20
"""Of a file that is read here, where nothing else is said."""
_PART = 1 << 20
PARTIAL = re.compile(r"\.autograder-[0-9a-f]{16}\.partial")


def read(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file. Nothing is waited for: a named pipe's writer may never come.

    Raises:
        OSError: it is missing, no regular file, longer than ``most`` bytes, or not readable; ``strerror``
            says which.
    """
    _refuse_others(path, path.stat())  # before it is opened, which means something to devices
    others = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    flags = os.O_RDONLY | sum(others)
    with os.fdopen(os.open(path, flags), "rb") as file:
        _refuse_others(path, os.fstat(file.fileno()))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"longer than {most:,} bytes", str(path))
    return data


def _refuse_others(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file (a pipe, a socket or a device)", str(path))


def write(path: Path, content: bytes | Iterable[bytes], *, mode: int = 0o644) -> None:
    """Put ``content``, whole or in parts, at ``path`` in one step, with exactly these permissions.

    Raises:
        OSError: it could not be written; what was at ``path`` is as before.
    """
    sweep(path.parent)
    partial, descriptor = _locked_partial(path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            partial.chmod(mode)
            if fcntl:
                partial.replace(path)  # before the lock goes with the descriptor
        if not fcntl:
            partial.replace(path)  # an open file cannot be renamed there
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def copy(source: Path, target: Path, *, mode: int = 0o644) -> None:
    """Put a regular file's content at ``target`` in one step, however large it is.

    Where the same content is there already, nothing is written: other names of that file stay its names.

    Raises:
        OSError: one cannot be read, or the other not be written, which is then as it was before.
    """
    _refuse_others(source, source.stat())
    with contextlib.suppress(OSError):
        if filecmp.cmp(source, target, shallow=False):
            target.chmod(mode)
            return
    sweep(target.parent)
    partial, descriptor = _locked_partial(target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file, _PART)
            file.flush()
            partial.chmod(mode)
            if fcntl:
                partial.replace(target)
        if not fcntl:
            partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def link(source: Path, target: Path) -> None:
    """Give a file another name in one step, or copy it where the disk has no such names.

    Raises:
        OSError: it cannot be read, or the name not be made.
    """
    try:
        if not target.is_symlink() and target.exists() and target.samefile(source):
            return
        partial = target.with_name(f".autograder-{secrets.token_hex(8)}.partial")
        partial.hardlink_to(source)
    except OSError:
        copy(source, target)
        return
    partial.replace(target)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one in a folder among all who ask, in whichever process.

    Where the system or the disk has no such locks nobody is kept out.
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


def _locked_partial(folder: Path) -> tuple[Path, int]:
    """A new locked file; one that was swept between its creation and its lock is made again."""
    while True:
        partial = folder / f".autograder-{secrets.token_hex(8)}.partial"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return partial, descriptor
        os.close(descriptor)


def sweep(folder: Path) -> list[Path]:
    """Remove the partial files of dead writers from a folder (not from those below it).

    Only regular files of this user whose lock is free are touched; links are not followed. What cannot be
    looked at or removed is left.
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
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by a living writer: BlockingIOError
        path.unlink()
    finally:
        os.close(descriptor)
    return True
