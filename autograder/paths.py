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


def path_fault(path: str) -> str:
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


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """List the regular files in a folder and its subfolders by path, in order; links are not followed."""
    for entry in sorted(folder.iterdir()):
        # A link could lead out of the folder, to files that students must not get.
        if entry.name.startswith(".") or entry.name in _LEFT_BEHIND or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from ((f"{entry.name}/{inner}", path) for inner, path in files_below(entry))
        elif entry.is_file():
            yield entry.name, entry


def files_in(folder: Path, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """List the files of a folder at these paths, by path; a path of a folder gives the files below it."""
    for path in paths:
        place = folder / path
        if place.is_dir():
            yield from ((f"{path}/{inner}", file) for inner, file in files_below(place))
        else:
            yield path, place


def meant_places(
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
    notebooks = [one for one in expected if one.endswith(_NOTEBOOK)]
    places = {name: name for name in names}
    for wanted in expected:
        if wanted in places.values():
            continue
        loose = [name for name, place in places.items() if place not in expected]
        added = _added(wanted, expected)
        meant = [name for name in loose if _plain(wanted) in _originals(name, added)]
        if not meant and wanted in notebooks:
            disguised = [name for name in loose if is_disguised(name) and is_notebook(name)]
            meant = [one for one in disguised if _plain(wanted) in _originals(_undisguised(one), added)]
            if not meant and len(notebooks) == 1:
                meant = [*(one for one in loose if one.casefold().endswith(_NOTEBOOK)), *disguised]
        # Ambiguous names are left as they are; guessing could grade the wrong file.
        if len(meant) == 1:
            places[meant[0]] = wanted
    return places


def is_disguised(name: str) -> bool:
    """Decide whether the file may be a notebook with an ending that a browser or a system added."""
    return bool(_DISGUISED.search(name.casefold()))


def _undisguised(name: str) -> str:
    return _DISGUISED.sub(_NOTEBOOK, name.casefold())


def _added(wanted: str, expected: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for additions to an expected file name, given the other expected names."""
    name, numbered = _plain(wanted), re.compile(re.escape(_plain(wanted).stem) + _NUMBERED)
    others = [one for one in map(_plain, expected) if one.suffix == name.suffix]
    # With hw-1 and hw-2 expected, "-2" is part of the name, not an addition.
    by_number = any(numbered.fullmatch(one.stem) for one in others)
    return re.compile(_COPIED if by_number else f"{_COPIED}|{_NUMBERED}")


def _originals(path: str, added: re.Pattern[str]) -> Iterator[PurePosixPath]:
    """Return the names that a file may be a copy of, or a copy of a copy; folders are ignored."""
    name, before = _plain(path), None
    while name != before and name.stem:
        yield name
        before, stem = name, added.sub("", name.stem, count=1).strip()
        name = PurePosixPath(f"{stem or name.stem}{name.suffix}")


def _plain(path: str) -> PurePosixPath:
    """Return the normalised name of a file, without its folders."""
    # NFC: macOS submits decomposed umlauts, which compare unequal to composed ones.
    return PurePosixPath(PurePosixPath(unicodedata.normalize("NFC", path).casefold()).name)
