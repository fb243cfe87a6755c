"""List the files in an archive or a folder; a dangerous file is refused individually, never the whole.

All of it is hostile: students choose names and contents. A name is treated only as text; the caller decides
where a file is written.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from msgspec import Struct

from autograder.core.errors import SourceError
from autograder.core.tables import escape_name
from autograder.core.wording import Phrase, format_size
from autograder.course import find_name_fault
from autograder.messages import build_localised_text

MOST_FILE = 256 << 20
"""Bytes of one file, unpacked."""
MOST_ATTEMPT = 1 << 30
"""Bytes of all files of one attempt."""
MOST_SOURCE = 32 << 30
"""Bytes of all files of one archive or folder."""
MOST_FILES = 2_000
"""Files of one attempt."""
MOST_ENTRIES = 200_000
"""Files of one archive or folder that are inspected."""
MOST_RATIO = 200
"""Maximum compression ratio of a file; text is compressed to a tenth, and only decompression bombs to less
than a hundredth."""
RATIO_FROM = 16 << 20
"""Size in bytes from which the ratio is checked: smaller files do no harm."""
MOST_PATH = 400
"""Maximum length of a path in an archive, in characters."""
MOST_NAME = 200
"""Maximum length of one name in UTF-8 bytes; file systems allow 255, and we add a few."""
_CHUNK = 1 << 20
_MEMBER = b"PK\x01\x02"
"""Signature of each entry in an archive's directory."""
# Bits of a member's general purpose flags (APPNOTE.TXT, 4.4.4).
_ENCRYPTED = 0x1
_UTF8 = 0x800
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)
_LEFTOVERS = frozenset(
    ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints", "__pycache__")
)
"""Files that systems and editors add; they are not part of the submission."""


class PackedFile(Struct, frozen=True, eq=False):
    """One file, not read yet."""

    path: str
    """Path in the archive or folder, with ``/`` as separator; treated as text, never opened."""
    size: int
    """Bytes as stated by the archive; reading stops there."""
    open: Callable[[], IO[bytes]]
    owner: int = -1
    """The user id of its owner; -1 for files in an archive."""

    def read(self, most: int) -> bytes:
        """Return the whole content.

        Raises:
            SourceError: it is longer than ``most`` bytes, or damaged.
        """
        if self.size > most:
            raise SourceError(
                build_localised_text(
                    "fault.file-larger",
                    file=escape_name(self.path),
                    size=format_size(self.size),
                    most=format_size(most),
                )
            )
        return b"".join(self.read_chunks())

    def read_chunks(self) -> Iterator[bytes]:
        """Yield the content in chunks.

        Raises:
            SourceError: it is damaged, or cannot be unpacked; gives the reason.
        """
        try:
            with self.open() as file:
                while part := file.read(_CHUNK):
                    yield part
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise SourceError(build_localised_text("fault.not-unpacked")) from error


class RefusedFile(Struct, frozen=True):
    """A file that was refused, with the reason."""

    place: str
    """Its printable path."""
    reason: Phrase


class SourceFiles(Struct, frozen=True, eq=False):
    """The content of an archive or a folder."""

    entries: tuple[PackedFile, ...]
    refused: tuple[RefusedFile, ...]


def refuse_file(path: str, reason: Phrase) -> RefusedFile:
    """Create the record of a refused file."""
    return RefusedFile(escape_name(path), reason)


@contextlib.contextmanager
def open_source(path: Path) -> Iterator[SourceFiles]:
    """List the files in a folder, or in a zip archive, which stays open meanwhile.

    Raises:
        SourceError: there is nothing of this name, or it is neither.
    """
    if path.is_dir():
        yield _list_folder(path)
        return
    try:
        with path.open("rb") as file, _open_zip(file, str(path)) as archive:
            yield list_archive(archive)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def open_archive(file: IO[bytes], name: str) -> Iterator[SourceFiles]:
    """List the files in an archive that a student submitted.

    Raises:
        SourceError: it is no archive.
    """
    if _has_too_many_members(file):
        raise SourceError(
            build_localised_text("fault.archive-too-many", file=escape_name(name), most=MOST_FILES)
        )
    with _open_zip(file, name) as archive:
        yield list_archive(archive)


def _has_too_many_members(file: IO[bytes]) -> bool:
    """Decide whether an archive may list more files than allowed, before memory is spent on them.

    `zipfile` builds a record of some 600 bytes for each entry of the directory, however many there are, and
    each entry begins with this signature.
    """
    # Counts may be too high, as file contents can hold the signature; an honest archive is far from the
    # limit.
    number, tail = 0, b""
    file.seek(0)
    while part := file.read(_CHUNK):
        part = tail + part
        number += part.count(_MEMBER)
        tail = part[1 - len(_MEMBER) :]  # shorter than a signature, so none is counted twice
    file.seek(0)
    return number > MOST_FILES


def _open_zip(file: IO[bytes], name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise SourceError(build_localised_text("fault.no-archive", file=escape_name(name))) from error


def list_archive(archive: zipfile.ZipFile) -> SourceFiles:
    """List the files of an archive; encrypted files, links, bombs and invalid paths are refused."""
    entries, faults, total, names = [], [], 0, set[str]()
    infos = archive.infolist()
    for number, info in enumerate(infos):
        path = _decode_name(info)
        # The rest is reported in one line; a line for each would flood the report.
        if number >= MOST_ENTRIES:
            faults.append(refuse_file(path, build_localised_text("fault.files-too-many-here")))
            break
        if "\0" not in info.orig_filename and (path.endswith("/") or is_leftover(path)):
            continue
        fault = find_location_fault(path, info.orig_filename) or _find_member_fault(info, total)
        # Programs disagree on which of two entries with one name counts.
        if not fault and path in names:
            fault = build_localised_text("fault.twice-in-archive")
        if fault:
            faults.append(refuse_file(path, fault))
            continue
        total += info.file_size
        names.add(path)
        entries.append(PackedFile(path, info.file_size, partial(archive.open, info)))
    return SourceFiles(tuple(entries), tuple(faults))


def _decode_name(info: zipfile.ZipInfo) -> str:
    """Return the intended name: some programs write UTF-8 without setting the flag for it."""
    if info.flag_bits & _UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _find_member_fault(info: zipfile.ZipInfo, total: int) -> Phrase:
    # The upper 16 bits are the Unix mode; it is 0 in archives from other systems.
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return build_localised_text("fault.link")
    if kind not in {0, stat.S_IFREG}:
        return build_localised_text("fault.no-file")
    if info.flag_bits & _ENCRYPTED:
        return build_localised_text("fault.encrypted")
    if info.file_size > RATIO_FROM and info.file_size > MOST_RATIO * max(1, info.compress_size):
        sizes = {"size": format_size(info.compress_size), "unpacked": format_size(info.file_size)}
        return build_localised_text("fault.bomb", **sizes, most=MOST_RATIO)
    return find_size_fault(info.file_size, total, MOST_SOURCE)


def find_size_fault(size: int, total: int, most: int) -> Phrase:
    """Return why a file is too large, given the total of the files before it; empty if it is not."""
    if size > MOST_FILE:
        return build_localised_text("fault.size", size=format_size(size), most=format_size(MOST_FILE))
    return build_localised_text("fault.total", most=format_size(most)) if total + size > most else ""


def _list_folder(root: Path) -> SourceFiles:
    """List the files of a folder; no link is followed."""
    entries: list[PackedFile] = []
    faults: list[RefusedFile] = []
    total = 0
    for path, entry in _walk_folder(root, "", faults):
        if len(entries) + len(faults) >= MOST_ENTRIES:
            faults.append(refuse_file(path, build_localised_text("fault.files-too-many-here")))
            break
        status = entry.stat(follow_symlinks=False)
        fault = (
            find_location_fault(path)
            or _find_entry_fault(status)
            or find_size_fault(status.st_size, total, MOST_SOURCE)
        )
        if fault:
            faults.append(refuse_file(path, fault))
            continue
        total += status.st_size
        entries.append(PackedFile(path, status.st_size, partial(_open_unchanged, entry.path), status.st_uid))
    return SourceFiles(tuple(entries), tuple(faults))


def _walk_folder(
    folder: Path, above: str, faults: list[RefusedFile]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as scanned:
            inside = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        faults.append(refuse_file(above or str(folder), f"the folder cannot be read: {error.strerror}"))
        return
    for entry in inside:
        path = f"{above}{entry.name}"
        if is_leftover(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            if len(path) > MOST_PATH:  # each level is a generator; bounds the recursion
                faults.append(refuse_file(path, find_location_fault(path)))
                continue
            yield from _walk_folder(Path(entry.path), f"{path}/", faults)
        else:
            yield path, entry


def _find_entry_fault(status: os.stat_result) -> Phrase:
    if stat.S_ISLNK(status.st_mode):
        return build_localised_text("fault.link")
    if not stat.S_ISREG(status.st_mode):
        return build_localised_text("fault.no-file")
    # A hard link may lead to a file that the student cannot read but the grader can.
    several = status.st_nlink > 1
    return build_localised_text("fault.several-names", number=status.st_nlink) if several else ""


def _open_unchanged(path: str) -> IO[bytes]:
    """Open a file that is still as listed: no link, and no second hard link."""
    # The student may replace the file between listing and reading (a race), so check the open file.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    # O_NONBLOCK: opening a pipe without a writer would block for ever.
    file = os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb")
    if fault := _find_entry_fault(os.fstat(file.fileno())):
        file.close()
        raise ValueError(fault)
    return file


def is_leftover(path: str) -> bool:
    """Decide whether a file was created by a system or an editor, not by a person."""
    return not _LEFTOVERS.isdisjoint(path.split("/")) or path.rpartition("/")[2].startswith("._")


def find_location_fault(path: str, as_stored: str = "") -> Phrase:
    """Return why a path in an archive is not allowed; empty if it is.

    Args:
        path: as it is read.
        as_stored: as stored in the archive, where reading cuts it at a zero byte.
    """
    if "\0" in path or "\0" in as_stored:
        return build_localised_text("fault.zero-byte")
    # Windows would treat it as a separator, so the path would mean another place there.
    if "\\" in path:
        return build_localised_text("fault.backslash")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return build_localised_text("fault.absolute")
    if {"", ".", ".."} & set(path.split("/")):
        return build_localised_text("fault.outside")
    if len(path) > MOST_PATH:
        return build_localised_text("fault.place-long", number=len(path), most=MOST_PATH)
    return ""


def find_file_name_fault(path: str) -> Phrase:
    """Return why a student's file cannot have this name; empty if it can.

    Args:
        path: of the file within the submission.
    """
    for name in path.split("/"):
        if len(name.encode("utf-8", "surrogatepass")) > MOST_NAME:
            return build_localised_text("fault.name-bytes", most=MOST_NAME)
        if fault := find_name_fault(name):
            return fault
        # Windows reserves these names, and staff may open submissions there.
        if _DEVICES.fullmatch(name):
            return build_localised_text("fault.device", name=ascii(name))
        if {":", "?", "*"} & set(name) or name.endswith("."):
            return build_localised_text("fault.no-name-everywhere", name=ascii(name))
    return ""
