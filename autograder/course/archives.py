"""What lies in an archive or a folder, file by file; what could harm is refused by itself, never the whole.

Everything in it is hostile: students choose names and contents. A name is only ever looked at as text; where
a file is written to is decided by whoever lays it.
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

from autograder.course import name_fault
from autograder.errors import SourceError
from autograder.tables import printable_name

MOST_FILE = 256 << 20
"""Bytes of one file, unpacked."""
MOST_ATTEMPT = 1 << 30
"""Bytes of all files of one attempt."""
MOST_SOURCE = 32 << 30
"""Bytes of all files of one archive or folder."""
MOST_FILES = 2_000
"""Files of one attempt."""
MOST_ENTRIES = 200_000
"""Files of one archive or folder that are looked at."""
MOST_RATIO = 200
"""So many times its packed size a file may have; text is packed to a tenth, and nothing but planned emptiness
to less than a hundredth."""
RATIO_FROM = 16 << 20
"""Bytes from which the ratio counts: smaller files do no harm."""
MOST_PATH = 400
"""Characters of a file's place in an archive."""
MOST_NAME = 200
"""Bytes of one name in UTF-8; file systems take 255, and we need some for our own."""
_CHUNK = 1 << 20
_MEMBER = b"PK\x01\x02"
"""How each entry of an archive's directory begins."""
_ENCRYPTED = 0x1
_UTF8 = 0x800
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)
_LEFTOVERS = frozenset(
    ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints", "__pycache__")
)
"""What systems and editors put beside people's files; it is no part of what was handed in."""


class PackedFile(Struct, frozen=True, eq=False):
    """One file, not read yet."""

    path: str
    """Where it lies in the archive or folder, with ``/`` between names; looked at as text, never opened."""
    size: int
    """Bytes, as the archive states them; reading stops there."""
    open: Callable[[], IO[bytes]]
    owner: int = -1
    """The account of the system that it belongs to; -1: nobody's, it lies in an archive."""

    def read(self, most: int) -> bytes:
        """All of it.

        Raises:
            SourceError: it is longer than ``most`` bytes, or damaged.
        """
        if self.size > most:
            raise SourceError(f"{printable_name(self.path)}: {self.size:,} bytes; at most {most:,} are read")
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """All of it, piece by piece.

        Raises:
            SourceError: it is damaged, or cannot be unpacked; says why.
        """
        try:
            with self.open() as file:
                while part := file.read(_CHUNK):
                    yield part
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise SourceError(f"it cannot be unpacked: {error}") from error


class RefusedFile(Struct, frozen=True):
    """A file that was not taken, and why."""

    place: str
    """As it is printed."""
    reason: str


class SourceFiles(Struct, frozen=True, eq=False):
    """What lies in an archive or a folder."""

    entries: tuple[PackedFile, ...]
    refused: tuple[RefusedFile, ...]


def refused(path: str, reason: str) -> RefusedFile:
    """A file that is not taken."""
    return RefusedFile(printable_name(path), reason)


@contextlib.contextmanager
def listed(place: Path) -> Iterator[SourceFiles]:
    """What lies in a folder, or in a zip archive, which stays open meanwhile.

    Raises:
        SourceError: there is nothing of this name, or it is neither.
    """
    if place.is_dir():
        yield _folder(place)
        return
    try:
        with place.open("rb") as file, _archive(file, str(place)) as archive:
            yield zip_listing(archive)
    except OSError as error:
        raise SourceError(f"{place}: cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def unpacked(file: IO[bytes], name: str) -> Iterator[SourceFiles]:
    """What lies in an archive that a student handed in.

    Raises:
        SourceError: it is no archive.
    """
    if _has_too_many_members(file):
        raise SourceError(f"{printable_name(name)}: it has more than {MOST_FILES:,} files")
    with _archive(file, name) as archive:
        yield zip_listing(archive)


def _has_too_many_members(file: IO[bytes]) -> bool:
    """Whether an archive may list more files than one attempt may have, before any memory is spent on them.

    `zipfile` builds a record of some 600 bytes for each entry of the directory, however many there are, and
    each entry begins with this signature.
    """
    number, rest = 0, b""
    file.seek(0)
    while part := file.read(_CHUNK):
        part = rest + part
        number += part.count(_MEMBER)
        rest = part[1 - len(_MEMBER) :]  # a whole signature does not fit, so none is counted twice
    file.seek(0)
    return number > MOST_FILES


def _archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise SourceError(f"{printable_name(name)}: not a zip archive that can be read ({error})") from error


def zip_listing(archive: zipfile.ZipFile) -> SourceFiles:
    """The files of an archive; encrypted ones, links, bombs and impossible places are refused."""
    entries, faults, total, names = [], [], 0, set[str]()
    infos = archive.infolist()
    for number, info in enumerate(infos):
        path = _name(info)
        if number >= MOST_ENTRIES:
            faults.append(refused(path, f"{len(infos) - number:,} files from here on are too many"))
            break
        if "\0" not in info.orig_filename and (path.endswith("/") or is_leftover(path)):
            continue
        fault = place_fault(path, info.orig_filename) or _zip_fault(info, total)
        if not fault and path in names:
            fault = "its name stands twice in the archive"
        if fault:
            faults.append(refused(path, fault))
            continue
        total += info.file_size
        names.add(path)
        entries.append(PackedFile(path, info.file_size, partial(archive.open, info)))
    return SourceFiles(tuple(entries), tuple(faults))


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it was meant: some programs write UTF-8 and do not say so."""
    if info.flag_bits & _UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _zip_fault(info: zipfile.ZipInfo, total: int) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link"
    if kind not in {0, stat.S_IFREG}:
        return "it is no regular file"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted; ask for an archive without a password"
    if info.file_size > RATIO_FROM and info.file_size > MOST_RATIO * max(1, info.compress_size):
        told = f"{info.compress_size:,} bytes would become {info.file_size:,}"
        return f"{told}; at most {MOST_RATIO} times as many are unpacked"
    return size_fault(info.file_size, total, MOST_SOURCE)


def size_fault(size: int, total: int, most: int) -> str:
    """Why a file is too much, beside so many bytes before it; empty where it is not."""
    if size > MOST_FILE:
        return f"{size:,} bytes; at most {MOST_FILE:,} are taken"
    return f"with it there would be more than {most:,} bytes altogether" if total + size > most else ""


def _folder(root: Path) -> SourceFiles:
    """The files of a folder; nothing is followed."""
    entries: list[PackedFile] = []
    faults: list[RefusedFile] = []
    total = 0
    for path, entry in _walk(root, "", faults):
        if len(entries) + len(faults) >= MOST_ENTRIES:
            faults.append(refused(path, "from here on there are too many files"))
            break
        status = entry.stat(follow_symlinks=False)
        fault = place_fault(path) or _file_fault(status) or size_fault(status.st_size, total, MOST_SOURCE)
        if fault:
            faults.append(refused(path, fault))
            continue
        total += status.st_size
        entries.append(PackedFile(path, status.st_size, partial(_opened, entry.path), status.st_uid))
    return SourceFiles(tuple(entries), tuple(faults))


def _walk(folder: Path, above: str, faults: list[RefusedFile]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        faults.append(refused(above or str(folder), f"the folder cannot be read: {error.strerror}"))
        return
    for entry in inside:
        path = f"{above}{entry.name}"
        if is_leftover(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            if len(path) > MOST_PATH:  # each level is a generator, and Python has room for a thousand
                faults.append(refused(path, place_fault(path)))
                continue
            yield from _walk(Path(entry.path), f"{path}/", faults)
        else:
            yield path, entry


def _file_fault(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    return f"it has {status.st_nlink} names on this disk" if status.st_nlink > 1 else ""


def _opened(path: str) -> IO[bytes]:
    """A file that is still what it was when it was listed: no link, and no second name."""
    wanted = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(os.open(path, wanted | getattr(os, "O_BINARY", 0)), "rb")
    if fault := _file_fault(os.fstat(file.fileno())):
        file.close()
        raise ValueError(fault)
    return file


def is_leftover(path: str) -> bool:
    """Whether a system or an editor put it there, not a person."""
    return not _LEFTOVERS.isdisjoint(path.split("/")) or path.rpartition("/")[2].startswith("._")


def place_fault(path: str, as_stored: str = "") -> str:
    """Why nothing may lie at a place in an archive; empty where it may.

    Args:
        path: as it is read.
        as_stored: as it stands in the archive, where reading cuts it at a zero byte.
    """
    if "\0" in path or "\0" in as_stored:
        return "its name holds a zero byte"
    if "\\" in path:
        return "its name holds a backslash"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "it lies at an absolute place"
    if {"", ".", ".."} & set(path.split("/")):
        return "its place leads out of the archive, or to nowhere"
    return (
        f"its place has {len(path)} characters; at most {MOST_PATH} are taken"
        if len(path) > MOST_PATH
        else ""
    )


def file_fault(path: str) -> str:
    """Why a student's file cannot be called so; empty where it can.

    Args:
        path: of the file among those that the student handed in.
    """
    for name in path.split("/"):
        if len(name.encode("utf-8", "surrogatepass")) > MOST_NAME:
            return f"a name has more than {MOST_NAME} bytes"
        if fault := name_fault(name):
            return fault
        if _DEVICES.fullmatch(name):
            return f"{name!a} is the name of a device"
        if {":", "?", "*"} & set(name) or name.endswith("."):
            return f"{name!a} is no name on every system"
    return ""
