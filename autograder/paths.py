"""Paths below a folder, as rubrics state them and students hand them in: none leads out of it.

They are written with ``/`` on every system. What is hidden, what editors and Python leave behind, and links
are never among the files of a folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

MOST_PARTS = 8
MOST_LENGTH = 200
"""Characters of a whole path."""
_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_. -]{0,98}[A-Za-z0-9_-])?")
_LEFT_BEHIND = frozenset({"__pycache__"})
_COPIED = r"^(?:copy|kopie) (?:of|von) |(?: - |[ _-])(?:copy|kopie)[0-9]*$| ?\([0-9]{1,3}\)$"
"""What people and browsers add to the name of a copy: ``warmup - Copy``, ``warmup (2)``."""
_NUMBERED = r"(?:[-_ ]|(?<![0-9]))[0-9]{1,3}$"
"""What platforms add: ``warmup-1``. Where such a name is asked for, a number tells files apart."""
_NOTEBOOK = ".ipynb"
_DISGUISED = re.compile(r"(?:\.ipynb)?\.(?:txt|json)$")
"""Notebooks are JSON, so browsers save ``hw.ipynb.json`` or ``hw.json``, and editors ``hw.ipynb.txt``."""


def path_fault(path: str) -> str:
    """Why a text cannot be the path of a file below a folder; empty when it can."""
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
    """Whether a path is that of a folder, or lies in it."""
    return path == folder or path.startswith(f"{folder}/")


def is_regular(path: Path) -> bool:
    """Whether a file lies there itself, not a link to one."""
    return path.is_file() and not path.is_symlink()


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """The regular files of a folder and those below it, by path, in order; links are not followed."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in _LEFT_BEHIND or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from ((f"{entry.name}/{inner}", path) for inner, path in files_below(entry))
        elif entry.is_file():
            yield entry.name, entry


def files_in(folder: Path, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The files of a folder at these paths, and those in folders at them, by path."""
    for path in paths:
        place = folder / path
        if place.is_dir():
            yield from ((f"{path}/{inner}", file) for inner, file in files_below(place))
        else:
            yield path, place


def meant_places(
    names: Iterable[str], expected: Sequence[str], is_notebook: Callable[[str], bool]
) -> dict[str, str]:
    """Return where each file goes: under the name that is asked for if only that file can be meant by it.

    What platforms, browsers and systems add to a name is taken off: ``hw (1).ipynb``, ``hw.ipynb.txt``,
    ``hw.json``. If the assignment asks for one notebook, the only notebook there is counts as that one.

    Args:
        names: of the files as they came.
        expected: the paths that are asked for.
        is_notebook: whether a file of this name contains a notebook; asked only about files whose ending
            does not say so.
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
        if len(meant) == 1:
            places[meant[0]] = wanted
    return places


def is_disguised(name: str) -> bool:
    """Whether a notebook may hide behind the ending that a browser or a system gave the file."""
    return bool(_DISGUISED.search(name.casefold()))


def _undisguised(name: str) -> str:
    return _DISGUISED.sub(_NOTEBOOK, name.casefold())


def _added(wanted: str, expected: Iterable[str]) -> re.Pattern[str]:
    """What may have been added to the name of a file that is asked for, beside others."""
    name, numbered = _plain(wanted), re.compile(re.escape(_plain(wanted).stem) + _NUMBERED)
    others = [one for one in map(_plain, expected) if one.suffix == name.suffix]
    by_number = any(numbered.fullmatch(one.stem) for one in others)
    return re.compile(_COPIED if by_number else f"{_COPIED}|{_NUMBERED}")


def _originals(path: str, added: re.Pattern[str]) -> Iterator[PurePosixPath]:
    """The names of files that a file may be a copy of, or a copy of a copy; folders aside."""
    name, before = _plain(path), None
    while name != before and name.stem:
        yield name
        before, stem = name, added.sub("", name.stem, count=1).strip()
        name = PurePosixPath(f"{stem or name.stem}{name.suffix}")


def _plain(path: str) -> PurePosixPath:
    """The name of a file, however it is spelt; folders aside."""
    return PurePosixPath(PurePosixPath(unicodedata.normalize("NFC", path).casefold()).name)
