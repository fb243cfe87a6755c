"""Write one attempt into a separate folder, with all faults of its files.

Students' archives are unpacked here, so this is where hostile names and contents reach the disk: each name is
checked as text, folders are created by us, and every file is new.
"""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from autograder.core.errors import SourceError
from autograder.core.wording import Phrase
from autograder.course.archives import (
    MOST_ATTEMPT,
    MOST_FILE,
    MOST_FILES,
    PackedFile,
    RefusedFile,
    find_file_name_fault,
    find_size_fault,
    refuse_file,
)
from autograder.course.submission_folder import expand_archives, place_files
from autograder.messages import build_localised_text
from autograder.rubric.timestamps import FILE_NAME as STAMP


class PreparedAttempt(Struct, frozen=True):
    """Attempt on disk, not yet at its final place."""

    folder: Path
    digest: str
    """Digest of names and bytes of all files; two attempts with the same digest are the same."""
    files: int
    moment: datetime | None
    refused: tuple[RefusedFile, ...]
    renamed: tuple[tuple[str, str], ...]
    """Files that were renamed to the graded name: old and new name."""


def prepare_attempt(
    folder: Path,
    label: str,
    files: Mapping[str, PackedFile],
    moment: datetime | None,
    expected: Sequence[str],
) -> PreparedAttempt:
    """Write an attempt. Faulty files raise nothing: they are left out and reported.

    Args:
        folder: folder to create.
        label: the student, for reports.
        files: files by path.
        moment: submission time.
        expected: names of graded files, notebooks first.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True)
    faults: list[RefusedFile] = []
    with contextlib.ExitStack() as opened:
        expanded: dict[str, PackedFile] = {}
        # Archives stay open until all of their members are copied.
        for name, entry in expand_archives(files, expected, label, faults, opened):
            if name in expanded:
                faults.append(refuse_file(f"{label}: {name}", build_localised_text("fault.twice")))
            expanded.setdefault(name, entry)
        names = place_files(expanded, expected)
        kept = _write_files(
            folder, {new: expanded[old] for old, new in names.items()}, expected, label, faults
        )
    if moment is not None:
        stamp = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        (folder / STAMP).write_text(f"{stamp}\n", encoding="utf-8")
    renamed = tuple(
        (old, new) for old, new in names.items() if new in kept and _get_base_name(old) != _get_base_name(new)
    )
    return PreparedAttempt(folder, compute_content_digest(kept), len(kept), moment, tuple(faults), renamed)


def compute_content_digest(files: Mapping[str, str]) -> str:
    """Return the digest that identifies an attempt by its content.

    Args:
        files: path → SHA-256 of the bytes, of all but timestamp.txt.
    """
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        # NUL separates the fields because it occurs in no file name; NFC, because macOS decomposes names.
        digest.update(f"{unicodedata.normalize('NFC', name)}\0{content}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _get_base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def _write_files(
    folder: Path,
    files: Mapping[str, PackedFile],
    expected: Collection[str],
    label: str,
    faults: list[RefusedFile],
) -> dict[str, str]:
    """Write the permitted files; return path → SHA-256."""
    kept: dict[str, str] = {}
    spelled: dict[str, str] = {}
    total = 0
    # Graded files first, so that the limits do not hit them because of others.
    for place in sorted(files, key=lambda path: path not in expected):
        entry = files[place]
        fault = (
            find_file_name_fault(place) or _find_stamp_fault(place) or _find_collision(place, kept, spelled)
        )
        fault = fault or find_size_fault(entry.size, total, MOST_ATTEMPT)
        if not fault and len(kept) >= MOST_FILES:
            fault = build_localised_text("fault.files-too-many", most=MOST_FILES)
        if not fault:
            try:
                kept[place] = _copy_file(entry, folder / place)
                total += entry.size
            except SourceError as error:
                fault = error.text
                # A partly written file must not be graded.
                (folder / place).unlink(missing_ok=True)
        if fault:
            faults.append(refuse_file(f"{label}: {place}", fault))
    return kept


def _find_stamp_fault(place: str) -> Phrase:
    """Return why a student's timestamp.txt is refused."""
    return build_localised_text("fault.stamp") if place.casefold() == STAMP else ""


def _find_collision(place: str, kept: Mapping[str, str], spelled: dict[str, str]) -> Phrase:
    """Return why a file conflicts with the others on a disk that ignores case; empty if it does not."""
    parts = place.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        # Every parent folder is checked as well: "A/x" and "a/y" collide.
        there = spelled.setdefault(unicodedata.normalize("NFC", part).casefold(), part)
        if there != part:
            return build_localised_text("fault.same-case", name=ascii(there))
        if (count < len(parts) and part in kept) or (count == len(parts) and _is_folder(part, kept)):
            return build_localised_text("fault.file-and-folder", name=ascii(part))
    return build_localised_text("fault.twice") if place in kept else ""


def _is_folder(place: str, kept: Mapping[str, str]) -> bool:
    """Decide whether a path is a folder of one of the files."""
    return any(path.startswith(f"{place}/") for path in kept)


def _copy_file(entry: PackedFile, target: Path) -> str:
    """Write a new file; return the SHA-256 of its bytes.

    Raises:
        SourceError: it cannot be unpacked, or is longer than it claims.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    # Mode "x" never follows an existing link.
    with target.open("xb") as file:
        for part in entry.read_chunks():
            size += len(part)
            if size > min(entry.size, MOST_FILE):
                raise SourceError(build_localised_text("fault.longer"))
            digest.update(part)
            file.write(part)
    return digest.hexdigest()
