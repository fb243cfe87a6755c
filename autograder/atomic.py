"""Files that are there whole or not at all, and the removal of what a killed writer left half-written.

A file is written under a name of its own beside its target and then renamed. While it is written the
writer holds a lock on it, and the kernel gives that lock back the moment the writer dies, however it
dies. A partial file whose lock is free therefore belongs to nobody; the next writer in that folder
removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there files appear whole as well, and nothing is swept
    fcntl = None  # type: ignore[assignment]

PARTIAL = re.compile(r"\.autograder-[0-9a-f]{16}\.partial")


def write(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Put ``content`` at ``path`` in one step, with exactly these permissions.

    Raises:
        OSError: it could not be written; what was at ``path`` is as before.
    """
    sweep(path.parent)
    partial, descriptor = _locked_partial(path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            partial.chmod(mode)
            if fcntl:
                partial.replace(path)  # before the lock goes with the descriptor
        if not fcntl:
            partial.replace(path)  # an open file cannot be renamed there
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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
