"""One attempt written into a folder of its own, with all that is wrong with its files.

Archives of students are unpacked here, so this is where hostile names and contents meet the disk: each name
was looked at as text, folders are made by us, and every file is new.
"""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from autograder.course.archives import (
    MOST_ATTEMPT,
    MOST_FILE,
    MOST_FILES,
    PackedFile,
    RefusedFile,
    file_fault,
    refused,
    size_fault,
)
from autograder.course.submission_folder import expand_archives, place_files
from autograder.errors import SourceError
from autograder.timestamps import FILE_NAME as STAMP


class Staged(Struct, frozen=True):
    """An attempt on disk, not in its place yet."""

    folder: Path
    digest: str
    """Over names and bytes of all files; two attempts with the same are the same."""
    files: int
    moment: datetime | None
    refused: tuple[RefusedFile, ...]
    renamed: tuple[tuple[str, str], ...]
    """Files that were given the name that is graded: as they were called, and as they are."""


def stage(
    folder: Path,
    label: str,
    files: Mapping[str, PackedFile],
    moment: datetime | None,
    expected: Sequence[str],
) -> Staged:
    """Write an attempt. Nothing is raised for what is wrong with a file: it is left out, and told.

    Args:
        folder: to be made.
        label: whose it is, for what is told.
        files: by their places.
        moment: when it was handed in.
        expected: the names of files that are graded, notebooks first.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True)
    faults: list[RefusedFile] = []
    with contextlib.ExitStack() as opened:
        found: dict[str, PackedFile] = {}
        for name, entry in expand_archives(files, expected, label, faults, opened):
            if name in found:
                faults.append(refused(f"{label}: {name}", "there is another file of this name"))
            found.setdefault(name, entry)
        names = place_files(found, expected)
        kept = _written(folder, {new: found[old] for old, new in names.items()}, expected, label, faults)
    if moment is not None:
        stamp = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        (folder / STAMP).write_text(f"{stamp}\n", encoding="utf-8")
    renamed = tuple((old, new) for old, new in names.items() if new in kept and _base(old) != _base(new))
    return Staged(folder, digest_of(kept), len(kept), moment, tuple(faults), renamed)


def digest_of(files: Mapping[str, str]) -> str:
    """What names an attempt by its content.

    Args:
        files: place → SHA-256 of the bytes, of all but timestamp.txt.
    """
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{unicodedata.normalize('NFC', name)}\0{content}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _written(
    folder: Path,
    files: Mapping[str, PackedFile],
    expected: Collection[str],
    label: str,
    faults: list[RefusedFile],
) -> dict[str, str]:
    """Write what may be written; place → SHA-256."""
    kept: dict[str, str] = {}
    spelled: dict[str, str] = {}
    total = 0
    for place in sorted(files, key=lambda one: one not in expected):
        entry = files[place]
        fault = file_fault(place) or _stamp_fault(place) or _collision(place, kept, spelled)
        fault = fault or size_fault(entry.size, total, MOST_ATTEMPT)
        if not fault and len(kept) >= MOST_FILES:
            fault = f"there are more than {MOST_FILES:,} files"
        if not fault:
            try:
                kept[place] = _copy(entry, folder / place)
                total += entry.size
            except SourceError as error:
                fault = str(error)
                (folder / place).unlink(missing_ok=True)
        if fault:
            faults.append(refused(f"{label}: {place}", fault))
    return kept


def _stamp_fault(place: str) -> str:
    return "when something was handed in is not the student's to say" if place.casefold() == STAMP else ""


def _collision(place: str, kept: Mapping[str, str], spelled: dict[str, str]) -> str:
    """Why a file cannot lie beside the others where large and small letters are the same."""
    parts = place.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        there = spelled.setdefault(unicodedata.normalize("NFC", part).casefold(), part)
        if there != part:
            return f"it cannot be told from {there!a} where large and small letters are the same"
        if (count < len(parts) and part in kept) or (count == len(parts) and _is_folder(part, kept)):
            return f"{part!a} is a file and a folder"
    return "it is there twice" if place in kept else ""


def _is_folder(place: str, kept: Mapping[str, str]) -> bool:
    return any(one.startswith(f"{place}/") for one in kept)


def _copy(entry: PackedFile, target: Path) -> str:
    """Write a file that is not there yet; SHA-256 of its bytes.

    Raises:
        SourceError: it cannot be unpacked, or is longer than it says.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as file:
        for part in entry.chunks():
            size += len(part)
            if size > min(entry.size, MOST_FILE):
                raise SourceError("it is longer than it says")
            digest.update(part)
            file.write(part)
    return digest.hexdigest()
