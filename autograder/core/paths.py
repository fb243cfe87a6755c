"""Paths below a folder, as rubrics state them and students submit them: none leads out of it.

They are written with ``/`` on every system. Hidden files, leftovers of editors and Python, and links are
never among the files of a folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

MOST_PARTS = 8
MOST_LENGTH = 200
"""Maximum length of a whole path in characters."""
_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_. -]{0,98}[A-Za-z0-9_-])?")
_LEFT_BEHIND = frozenset({"__pycache__"})
_COPIED = r"^(?:copy|kopie) (?:of|von) |(?: - |[ _-])(?:copy|kopie)[0-9]*$| ?\([0-9]{1,3}\)$"
"""Additions that people and browsers make to the name of a copy: ``warmup - Copy``, ``warmup (2)``."""
_NUMBERED = r"(?:[-_ ]|(?<![0-9]))[0-9]{1,3}$"
"""Additions that platforms make: ``warmup-1``. Not stripped if the expected names differ by number."""
_NOTEBOOK = ".ipynb"
_DISGUISED = re.compile(r"(?:\.ipynb)?\.(?:txt|json)$")
"""Notebooks are JSON, so browsers save ``hw.ipynb.json`` or ``hw.json``, and editors ``hw.ipynb.txt``."""


def find_path_fault(path: str) -> str:
    """Return why a text cannot be the path of a file below a folder; empty if it can."""
    parts = path.split("/")
    if path.endswith("/"):
        return "name a folder without '/' at its end"
    if len(path) > MOST_LENGTH or len(parts) > MOST_PARTS:
        return f"it is longer than {MOST_LENGTH} characters, or deeper than {MOST_PARTS} folders"
    for part in parts:
        if not _PART.fullmatch(part):
            return (
                f"{part!r}: expected letters, digits, '_', '-', '.' and spaces, beginning with a letter, a "
                "digit or '_', and folders separated by '/'"
            )
        if part in _LEFT_BEHIND:
            return f"{part!r} holds nothing but what Python leaves behind"
    return ""


def is_below(path: str, folder: str) -> bool:
    """Decide whether a path is a folder itself or is inside it."""
    return path == folder or path.startswith(f"{folder}/")


def is_regular(path: Path) -> bool:
    """Decide whether the path is a regular file, not a link to one."""
    return path.is_file() and not path.is_symlink()


def list_files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """List the regular files in a folder and its subfolders by path, in order; links are not followed."""
    for entry in sorted(folder.iterdir()):
        # A link could lead out of the folder, to files that students must not get.
        if entry.name.startswith(".") or entry.name in _LEFT_BEHIND or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from ((f"{entry.name}/{inner}", path) for inner, path in list_files_below(entry))
        elif entry.is_file():
            yield entry.name, entry


def list_files_at(folder: Path, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """List the files of a folder at these paths, by path; a path of a folder gives the files below it."""
    for path in paths:
        full_path = folder / path
        if full_path.is_dir():
            yield from ((f"{path}/{inner}", file) for inner, file in list_files_below(full_path))
        else:
            yield path, full_path


def match_expected_paths(
    names: Iterable[str], expected: Sequence[str], is_notebook: Callable[[str], bool]
) -> dict[str, str]:
    """Map each file name to the expected path it is meant for, if only that file can be meant by it.

    Additions that platforms, browsers and systems make to a name are stripped: ``hw (1).ipynb``,
    ``hw.ipynb.txt``, ``hw.json``. If the assignment expects one notebook, the only submitted notebook counts
    as that one.

    Args:
        names: file names as submitted.
        expected: the expected paths.
        is_notebook: whether a file of this name contains a notebook; called only for files with an ending
            that does not say so.
    """
    notebooks = [candidate for candidate in expected if candidate.endswith(_NOTEBOOK)]
    targets = {name: name for name in names}
    for expected_path in expected:
        if expected_path in targets.values():
            continue
        unmatched = [name for name, target in targets.items() if target not in expected]
        added = _compile_additions(expected_path, expected)
        matches = [
            name for name in unmatched if _normalise_name(expected_path) in _list_originals(name, added)
        ]
        if not matches and expected_path in notebooks:
            disguised = [name for name in unmatched if is_disguised(name) and is_notebook(name)]
            matches = [
                candidate
                for candidate in disguised
                if _normalise_name(expected_path) in _list_originals(_strip_disguise(candidate), added)
            ]
            if not matches and len(notebooks) == 1:
                matches = [
                    *(candidate for candidate in unmatched if candidate.casefold().endswith(_NOTEBOOK)),
                    *disguised,
                ]
        # Ambiguous names are left as they are; guessing could grade the wrong file.
        if len(matches) == 1:
            targets[matches[0]] = expected_path
    return targets


def is_disguised(name: str) -> bool:
    """Decide whether the file may be a notebook with an ending that a browser or a system added."""
    return bool(_DISGUISED.search(name.casefold()))


def _strip_disguise(name: str) -> str:
    return _DISGUISED.sub(_NOTEBOOK, name.casefold())


def _compile_additions(expected_path: str, expected: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for additions to an expected file name, given the other expected names."""
    name, numbered = (
        _normalise_name(expected_path),
        re.compile(re.escape(_normalise_name(expected_path).stem) + _NUMBERED),
    )
    similar = [
        expected_name
        for expected_name in map(_normalise_name, expected)
        if expected_name.suffix == name.suffix
    ]
    # With hw-1 and hw-2 expected, "-2" is part of the name, not an addition.
    by_number = any(numbered.fullmatch(expected_name.stem) for expected_name in similar)
    return re.compile(_COPIED if by_number else f"{_COPIED}|{_NUMBERED}")


def _list_originals(path: str, added: re.Pattern[str]) -> Iterator[PurePosixPath]:
    """Return the names that a file may be a copy of, or a copy of a copy; folders are ignored."""
    name, before = _normalise_name(path), None
    while name != before and name.stem:
        yield name
        before, stem = name, added.sub("", name.stem, count=1).strip()
        name = PurePosixPath(f"{stem or name.stem}{name.suffix}")


def _normalise_name(path: str) -> PurePosixPath:
    """Return the normalised name of a file, without its folders."""
    # NFC: macOS submits decomposed umlauts, which compare unequal to composed ones.
    return PurePosixPath(PurePosixPath(unicodedata.normalize("NFC", path).casefold()).name)
