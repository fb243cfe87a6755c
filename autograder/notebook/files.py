"""Read a notebook file without following any link that a student may have put there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from autograder.core.errors import NotebookError
from autograder.notebook.document import MAX_BYTES


def read_below(folder: Path, path: str, *, most: int = MAX_BYTES) -> bytes:
    """Return the content of a student's file below a folder; no part of the path may be a link.

    Args:
        folder: folder of the submission.
        path: path below it; see `autograder.core.paths`.
        most: most bytes that are read.

    Raises:
        NotebookError: see `read_file`.
    """
    *folders, name = path.split("/")
    if not folders:
        return read_file(folder / name, only_name=True, most=most)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    above = -1
    try:
        # Only the submission's folder itself may be a link: staff made it.
        above = os.open(folder, flags & ~os.O_NOFOLLOW)
        for folder_name in folders:
            # Walk with descriptors, so that no folder can be exchanged for a link after it was checked.
            inner = os.open(folder_name, flags, dir_fd=above)
            os.close(above)
            above = inner
        return read_file(folder / path, only_name=True, most=most, above=above)
    except FileNotFoundError as error:
        raise NotebookError("missing", f"{path!a}: there is no such file; hand it in.") from error
    except OSError as error:
        text = f"{path!a}: a folder on the way is a link, or no folder; hand in the folder itself."
        raise NotebookError("symlink", text) from error
    finally:
        if above >= 0:
            os.close(above)


def read_file(
    path: Path, *, only_name: bool = False, most: int = MAX_BYTES, above: int | None = None
) -> bytes:
    """Return the content of a submitted notebook; only of a regular file, never through a link.

    The folder is trusted, its entry is not: the checks are made on the opened file, so that it cannot be
    exchanged in between.

    Args:
        path: path of the file.
        only_name: refuse a file that has another name on the same disk, unless it and its folder belong to
            one user other than ours. An unpacked archive can create a second name of any file here, including
            the answer key.
        most: most bytes that are read.
        above: descriptor of the file's folder, if its path must not be walked again.

    Raises:
        NotebookError: ``missing``, ``symlink``, ``dangling-symlink``, ``directory``, ``not-a-file``,
            ``too-large``, ``not-readable`` or ``hard-link``.
    """
    # Non-blocking, because opening a named pipe would wait forever for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    name = ascii(path.name)
    try:
        # Systems without O_NOFOLLOW can only check before opening.
        if above is None and not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise _make_link_error(path, name)
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path if above is None else path.name, flags, dir_fd=above)
    except FileNotFoundError as error:
        # Only submissions are read by their only name.
        advice = "; hand it in." if only_name else "."
        raise NotebookError("missing", f"{name}: there is no such file{advice}") from error
    except IsADirectoryError as error:
        raise _make_directory_error(name) from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise _make_link_error(path, name) from error
        if isinstance(error, OSError) and error.errno == errno.ENXIO:  # a socket
            raise _make_type_error(name) from error
        raise NotebookError("not-readable", f"{name}: cannot be opened: {error}") from error
    try:
        folder = path.parent if above is None else above
        return _read_content(descriptor, name, folder, only_name=only_name, most=most)
    finally:
        os.close(descriptor)


def _has_same_owner(status: os.stat_result, folder: int | Path) -> bool:
    """Decide whether a file has the same owner as its folder, and this owner is neither root nor our user.

    A user who creates a second name of a file does not become its owner. So a file to which a classmate
    linked still belongs to its author, and the link in the classmate's folder is recognised as foreign. If
    all files belong to the grading user, owners prove nothing: an archive that we unpacked can contain such a
    link.
    """
    try:
        owner = os.stat(folder).st_uid  # noqa: PTH116 - it may be a descriptor
    except OSError:
        return False
    return status.st_uid == owner and owner not in (0, os.geteuid())


def _read_content(descriptor: int, name: str, folder: int | Path, *, only_name: bool, most: int) -> bytes:
    """Return the content of an open file, if it is a regular file within the limits."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise _make_directory_error(name)
    if not stat.S_ISREG(status.st_mode):
        raise _make_type_error(name)
    if only_name and status.st_nlink > 1 and not _has_same_owner(status, folder):
        raise NotebookError(
            "hard-link",
            f"{name}: the file has {status.st_nlink} names on this disk and may be somebody else's. "
            "Staff look at it; where all is well, they copy the file and grade it again.",
        )
    if status.st_size > most:
        advice = "Clear all outputs, save and hand it in again." if name.endswith(".ipynb'") else ""
        raise NotebookError(
            "too-large", f"{name}: {status.st_size:,} bytes; at most {most:,} are read. {advice}".rstrip()
        )
    parts = []
    # One byte more than allowed shows that the file grew after it was measured.
    remaining = most + 1
    at_once = min(status.st_size + 1, 1 << 20)  # a buffer that is much too large costs more than to read
    try:
        while remaining > 0 and (part := os.read(descriptor, min(remaining, at_once))):
            parts.append(part)
            remaining -= len(part)
    except OSError as error:
        raise NotebookError("not-readable", f"{name}: cannot be read: {error.strerror}") from error
    if not remaining:
        raise NotebookError("too-large", f"{name}: grew beyond {most:,} bytes while it was read.")
    return b"".join(parts)


def _make_link_error(path: Path, name: str) -> NotebookError:
    """Return the error for a link."""
    try:
        exists = path.exists()
    except OSError:
        exists = False
    if exists:
        return NotebookError("symlink", f"{name}: is a link; hand in the notebook itself.")
    return NotebookError(
        "dangling-symlink", f"{name}: is a link that leads nowhere; hand in the notebook itself."
    )


def _make_directory_error(name: str) -> NotebookError:
    """Return the error for a folder."""
    return NotebookError("directory", f"{name}: is a folder; hand in the notebook file itself.")


def _make_type_error(name: str) -> NotebookError:
    """Return the error for a pipe, socket or device."""
    return NotebookError("not-a-file", f"{name}: expected a file, got a pipe, socket or device.")
