"""From any bytes to plain notebook cells: encoding, JSON, format version and caps.

Outputs are dropped here, before anything else looks at the notebook: a student's outputs are never used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from autograder.errors import NotebookError
from autograder.notebook.nesting import pruned
from autograder.notebook.pictures import attached_pictures, take_out_pictures
from autograder.records import Note, PastedPicture

UNREADABLE_SOURCE = "source-unreadable"
"""Code of the note about a cell whose text is missing from the file."""
MAX_BYTES = 64 * 1024 * 1024
"""Largest notebook file that is read."""
MAX_READ = 16 * 1024 * 1024
"""Bytes of it besides outputs, which are passed over without being built."""
MAX_CELL_ID = 64
"""Characters; the format allows no more."""
MAX_CELLS = 2000
"""An exam has some hundred cells; more is an accident or an attack."""
MAX_SOURCE = 1_000_000
"""Characters in one cell's source."""
MAX_VALUES = 1_000_000
"""Separators outside strings: bounds the memory of the parsed JSON to some hundred megabytes."""
MAX_CONTAINERS = 300_000
"""Objects and lists outside strings; an empty one costs 24 times its text."""

# The closing quote is optional so that an open string cannot make the search start over again and again.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_NOTEBOOK_KEYS = ("cells", "worksheets", "nbformat")
_LFS_POINTER = "version https://git-lfs.github.com/spec/"
_CONFLICT = (re.compile("^<<<<<<< ", re.M), re.compile("^=======\\r?$", re.M), re.compile("^>>>>>>> ", re.M))
"""The markers of a merge conflict, in their order; one pattern for all of them would take quadratic time."""
_MOST_NUMBERS = 10
"""Cells that a note names."""
_MOST_HEAD = 4_000
"""Characters in which a page of HTML shows itself."""


class _Metadata(Struct, omit_defaults=True):
    """What is read of metadata, of a cell's and of a notebook's; all of it is left as it stands."""

    nbgrader: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    kernelspec: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    language_info: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Cell(Struct, omit_defaults=True):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    cell_type: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    source: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    attachments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    metadata: _Metadata | msgspec.UnsetType | None = msgspec.UNSET


class _Notebook(Struct, omit_defaults=True):
    """A notebook of the present format without what is never looked at: outputs, and tools' notes."""

    cells: list[_Cell]
    worksheets: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    nbformat: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    metadata: _Metadata | msgspec.UnsetType | None = msgspec.UNSET


class RawCell(Struct, frozen=True):
    """One cell as handed in, with a readable source and whatever the metadata held."""

    number: int
    """Counted from 1, as a person counts the cells in Jupyter."""
    cell_type: str
    """``"code"``, ``"markdown"`` or ``"raw"``."""
    source: str
    """Line ends are ``\\n``; control characters and lone surrogates are replaced by U+FFFD."""
    nbgrader: Mapping[str, Any] | None = None
    """The cell's nbgrader metadata when it is an object, unchecked inside."""
    id: str = ""
    """What Jupyter calls the cell, where it says so."""
    pictures: tuple[PastedPicture, ...] = ()
    """What is attached to a text, and of a very long one what was pasted into it."""


class Document(Struct, frozen=True):
    """A notebook's cells and language, and what was odd about the file."""

    cells: tuple[RawCell, ...]
    language: str
    """In lower case; empty when the metadata names none."""
    notes: tuple[Note, ...] = ()
    made_ids: bool = False
    """nbgrader's ids were put in for grading (`autograder.adopting.otter`). Believed of releases alone."""


def parse(data: bytes) -> Document:
    """Read the cells of a notebook of any format version, well formed or not.

    Raises:
        NotebookError: ``empty``, ``too-large``, ``not-text``, ``git-lfs-pointer``, ``merge-conflict``,
            ``html-page``, ``truncated-json``, ``not-json``, ``too-deep``, ``too-complex``,
            ``not-a-notebook``, ``no-cells``, ``too-many-cells``, ``not-upgradable`` or ``cell-too-large``.
    """
    notes: list[Note] = []
    data = _lean(data) if len(data) <= MAX_BYTES else data
    if MAX_READ < len(data) <= MAX_BYTES:
        raise NotebookError(
            "too-large",
            f"The file has {len(data):,} bytes besides the outputs of a regular notebook; at most "
            f"{MAX_READ:,} are read. Clear all outputs, save and hand it in again.",
        )
    tree = load_tree(data, notes)
    cells = tuple(
        cell
        for number, entry in enumerate(_entries(tree, notes), start=1)
        if (cell := _cell(number, entry, notes)) is not None
    )
    if not cells:
        raise NotebookError(
            "no-cells", "The notebook has no cells. Open it in Jupyter, save it and hand it in again."
        )
    own = tree["metadata"].get("autograder") if isinstance(tree.get("metadata"), dict) else None
    return Document(cells, _language(tree), tuple(notes), own == {"ids": "made"})


def load_tree(data: bytes, notes: list[Note]) -> dict[str, Any]:
    """The notebook's JSON object; oddities of the encoding are added to ``notes``.

    Raises:
        NotebookError: see `parse`.
    """
    if len(data) > MAX_BYTES:
        raise NotebookError(
            "too-large",
            f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are read. "
            "Clear all outputs, save and hand it in again.",
        )
    text = _decode(data, notes)
    if not text.strip():
        raise NotebookError("empty", "The file is empty. Save the notebook in Jupyter and hand it in again.")
    _check_other_format(text)
    _bound(text)
    tree = _json(text)
    if not isinstance(tree, dict) or not any(key in tree for key in _NOTEBOOK_KEYS):
        found = "an object without cells" if isinstance(tree, dict) else f"a {type(tree).__name__}"
        raise NotebookError(
            "not-a-notebook",
            f"The file is JSON but not a notebook: expected an object with 'cells', got {found}. "
            "Hand in the .ipynb file itself.",
        )
    return tree


def joined(source: Any) -> str | None:
    """The text of a source, which the format allows as a string or a list of strings; None if neither."""
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def shows_attachment(source: str, name: str) -> bool:
    """Whether a text shows a picture that is attached to its cell, in Markdown or HTML.

    A comment shows nothing.
    """
    wanted = f"attachment:{name}"
    source = _COMMENT.sub("", source)
    return any(wanted in text for text in (source, unquote(source), unescape(source)))


def canonical(source: str) -> str:
    """Return a source without trailing white space, for comparing."""
    return "\n".join(line.rstrip() for line in source.rstrip().split("\n"))


def name_cells(cells: Sequence[RawCell], indices: Sequence[int]) -> str:
    """Return "cell 4" or "cells 4, 7" for a note, with at most ten numbers."""
    more = "…" if len(indices) > _MOST_NUMBERS else ""
    numbers = ", ".join(str(cells[index].number) for index in indices[:_MOST_NUMBERS]) + more
    return f"{'cell' if len(indices) == 1 else 'cells'} {numbers}"


def shown(value: object, limit: int = 60) -> str:
    """A student's value for a note: ASCII only, quoted and short."""
    small = isinstance(value, int) and abs(value) < 10**9
    if not small and not isinstance(value, (str, float, type(None))):
        return f"a {type(value).__name__}"
    text = ascii(value[:limit] if isinstance(value, str) else value)
    return text + "…" if isinstance(value, str) and len(value) > limit else text


def _lean(data: bytes) -> bytes:
    """The same notebook without its outputs; what is no regular one stays as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(data, type=_Notebook))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return data


def _decode(data: bytes, notes: list[Note]) -> str:
    encoding: str = json.detect_encoding(data[:4])
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if data.lstrip()[:1] != b"{":
            raise NotebookError(
                "not-text",
                f"The file is not a notebook but binary data (byte {error.start} is not text). "
                "Hand in the .ipynb file itself, not a PDF, archive or picture of it.",
            ) from error
        # What an editor on Windows writes when it is not told to write UTF-8.
        text, encoding = data.decode("cp1252", "replace"), "cp1252"
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes.append(Note("encoding", f"Expected UTF-8, read as {encoding}; special letters may be off."))
    return text


def _check_other_format(text: str) -> None:
    """Refuse by name what often lies under the name of a notebook and is none.

    No notebook can match: JSON has no line that begins with a conflict marker, because strings have no line
    breaks, and it begins with a brace.
    """
    if text.lstrip().startswith(_LFS_POINTER):
        raise NotebookError(
            "git-lfs-pointer",
            "The file is a Git LFS pointer: it names the notebook and does not contain it. Run 'git lfs "
            "pull' and hand in the notebook itself.",
        )
    if _has_conflict(text):
        raise NotebookError(
            "merge-conflict",
            "The file contains the markers of a Git merge conflict (<<<<<<<, =======, >>>>>>>). Choose one "
            "version of each conflict, open the notebook in Jupyter to see that it works, and hand it in.",
        )
    head = text[:_MOST_HEAD].lstrip().casefold()
    if head.startswith("<") and ("<html" in head or "<!doctype html" in head):
        raise NotebookError(
            "html-page",
            "The file is an HTML page, such as an export or a login page that was saved by mistake, not a "
            "notebook. Download the .ipynb file again and hand that in.",
        )


def _has_conflict(text: str) -> bool:
    position = 0
    for marker in _CONFLICT:
        found = marker.search(text, position)
        if found is None:
            return False
        position = found.end()
    return True


def _bound(text: str) -> None:
    """Refuse JSON whose parsed form would be very large. The cheap count, strings included, comes first."""
    if _values(text) <= MAX_VALUES and _containers(text) <= MAX_CONTAINERS:
        return
    bare = _STRING.sub('""', text)
    if _values(bare) > MAX_VALUES or _containers(bare) > MAX_CONTAINERS:
        raise NotebookError(
            "too-complex",
            "The notebook holds millions of values, probably in its outputs. "
            "Clear all outputs, save and hand it in again.",
        )


def _values(text: str) -> int:
    return text.count(",")


def _containers(text: str) -> int:
    return text.count("{") + text.count("[")


def _json(text: str) -> Any:
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # An integer of thousands of digits, which Python refuses to convert.
            return json.loads(text, parse_int=_integer)
    except RecursionError as error:
        raise NotebookError(
            "too-deep", "The file's JSON is nested too deeply to be a notebook. Save it in Jupyter again."
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if error.pos >= len(text.rstrip()) or "Unterminated string" in error.msg:
            raise NotebookError(
                "truncated-json",
                f"The file breaks off at {place}: it was not saved or uploaded completely. Hand it in again.",
            ) from error
        raise NotebookError(
            "not-json",
            f"The file is not a notebook: {error.msg} at {place}. "
            "Save it in Jupyter and hand in the .ipynb file.",
        ) from error


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else math.inf


def _entries(tree: dict[str, Any], notes: list[Note]) -> list[Any]:
    """The list of cells of a tree of any version."""
    version = tree.get("nbformat")
    if ("worksheets" in tree and "cells" not in tree) or version in (1, 2):
        # nbformat takes a second to import and only notebooks from before 2015 need it.
        from autograder.notebook import legacy

        notes.append(Note("old-format", f"Format version {shown(version)}; upgraded to 4."))
        entries: Any = legacy.upgraded_cells(tree, MAX_CELLS)
    else:
        if version != 4:
            notes.append(
                Note("format-version", f"Format version: expected 4, got {shown(version)}; read as 4.")
            )
        entries = tree.get("cells")
    if not isinstance(entries, list):
        raise NotebookError(
            "no-cells",
            f"The notebook has no list of cells: 'cells' is a {type(entries).__name__}. Save it again.",
        )
    if len(entries) > MAX_CELLS:
        raise NotebookError(
            "too-many-cells", f"The notebook has {len(entries):,} cells; at most {MAX_CELLS:,} are read."
        )
    return entries


def _cell(number: int, entry: Any, notes: list[Note]) -> RawCell | None:
    place = f"cell {number}"
    if not isinstance(entry, dict):
        notes.append(Note("not-a-cell", f"Expected an object, got {shown(entry)}; left out.", place))
        return None
    cell_type = entry.get("cell_type")
    if cell_type not in ("code", "markdown", "raw"):
        notes.append(Note("cell-type-unknown", f"Cell type {shown(cell_type)}; shown but not run.", place))
        cell_type = "raw"
    source = joined(entry.get("source"))
    if source is None:
        notes.append(Note(UNREADABLE_SOURCE, "The source is not text; read as an empty cell.", place))
        source = ""
    pictures = () if cell_type == "code" else tuple(attached_pictures(entry.get("attachments")))
    if len(source) > MAX_SOURCE and cell_type != "code":
        source, pictures = take_out_pictures(source, pictures)
    if len(source) > MAX_SOURCE:
        if cell_type == "code":
            raise NotebookError(
                "cell-too-large",
                f"Cell {number} has {len(source):,} characters of code; at most {MAX_SOURCE:,} are read. "
                "Keep data in a file or shorten the cell, then hand it in again.",
            )
        # A long text is honest, and nothing of it is run.
        notes.append(Note("cell-cut", f"{len(source):,} characters, cut to {MAX_SOURCE:,}.", place))
        source = source[:MAX_SOURCE]
    clean = _CONTROL.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))
    if "\ufffd" in clean and "\ufffd" not in source:
        notes.append(Note("control-characters", "Control characters in the source are replaced.", place))
    identifier = entry.get("id")
    named = identifier if isinstance(identifier, str) and len(identifier) <= MAX_CELL_ID else ""
    return RawCell(number, cell_type, clean, _nbgrader(entry, place, notes), named, pictures)


def _nbgrader(entry: dict[str, Any], place: str, notes: list[Note]) -> Mapping[str, Any] | None:
    metadata = entry.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if found is None or found == {}:
        return None
    if not isinstance(found, dict):
        notes.append(Note("metadata-garbage", f"nbgrader metadata is {shown(found)}; ignored.", place))
        return None
    kept: dict[str, Any] = pruned(found)
    if kept != found:  # where something was cut an empty one stands beside a full one: nothing recurses
        notes.append(Note("metadata-garbage", "nbgrader metadata is nested too deeply; cut.", place))
    return kept


def _language(tree: dict[str, Any]) -> str:
    """The language a notebook names for itself, wherever its tool wrote it."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for table, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        section = metadata.get(table)
        value = section.get(key) if isinstance(section, dict) else None
        if isinstance(value, str) and value:
            return _CONTROL.sub("\ufffd", value[:60]).lower()
    return ""
