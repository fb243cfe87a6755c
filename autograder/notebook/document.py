"""Convert any bytes to plain notebook cells: encoding, JSON, format version and limits.

Outputs are dropped here, before any other code sees the notebook: a student's outputs are never used.
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

from autograder.core.errors import NotebookError
from autograder.core.records import Note, PastedPicture
from autograder.core.wording import format_size
from autograder.messages import build_localised_text
from autograder.notebook.pictures import extract_pictures, list_attached_pictures

UNREADABLE_SOURCE = "source-unreadable"
"""Code of the note about a cell without text in the file."""
MAX_BYTES = 64 * 1024 * 1024
"""Largest notebook file that is read."""
MAX_READ = 16 * 1024 * 1024
"""Largest notebook without its outputs, which are skipped without being built, in bytes."""
MAX_CELL_ID = 64
"""Longest cell id; the format allows no more."""
MAX_CELLS = 2000
"""Most cells; an exam has some hundred, and more is an accident or an attack."""
MAX_SOURCE = 1_000_000
"""Longest source of one cell, in characters."""
MAX_VALUES = 1_000_000
"""Most separators outside strings; bounds the memory of the parsed JSON to some hundred megabytes."""
MAX_CONTAINERS = 300_000
"""Most objects and lists outside strings; an empty one needs 24 times as much memory as its text."""
MAX_LEVELS = 20
"""Most nested objects and lists that are kept of a cell; no tool writes half as many, and third-party code
recurses into them."""

# The closing quote is optional so that an open string cannot make the search start over again and again.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_NOTEBOOK_KEYS = ("cells", "worksheets", "nbformat")
_LFS_POINTER = "version https://git-lfs.github.com/spec/"
_CONFLICT = (re.compile("^<<<<<<< ", re.M), re.compile("^=======\\r?$", re.M), re.compile("^>>>>>>> ", re.M))
"""The markers of a merge conflict, in their order; one pattern for all of them would take quadratic time."""
_MOST_NUMBERS = 10
"""Most cells that a note names."""
_MOST_HEAD = 4_000
"""Characters in which an HTML page identifies itself."""


class _Metadata(Struct, omit_defaults=True):
    """The metadata that is read, of a cell or of a notebook; all of it is kept as it is."""

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
    """Notebook of the current format without the parts that are never read: outputs and notes of tools."""

    cells: list[_Cell]
    worksheets: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    nbformat: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    metadata: _Metadata | msgspec.UnsetType | None = msgspec.UNSET


class RawCell(Struct, frozen=True):
    """One cell as submitted, with a readable source and its nbgrader metadata, if any."""

    number: int
    """Counted from 1, as people count the cells in Jupyter."""
    cell_type: str
    """``"code"``, ``"markdown"`` or ``"raw"``."""
    source: str
    """Line ends are ``\\n``; control characters and lone surrogates are replaced by U+FFFD."""
    nbgrader: Mapping[str, Any] | None = None
    """The cell's nbgrader metadata if it is an object; its content is not checked."""
    id: str = ""
    """Jupyter's id of the cell, if it states one."""
    pictures: tuple[PastedPicture, ...] = ()
    """Attachments of a text cell, and of a very long one also the pictures pasted into it."""

    @property
    def grade_id(self) -> str:
        """The grade_id that the cell claims; empty if it claims none."""
        claimed = (self.nbgrader or {}).get("grade_id")
        return claimed if isinstance(claimed, str) else ""


class Document(Struct, frozen=True):
    """A notebook's cells and language, and the oddities of the file."""

    cells: tuple[RawCell, ...]
    language: str
    """In lower case; empty if the metadata names none."""
    notes: tuple[Note, ...] = ()
    made_ids: bool = False
    """nbgrader's ids were added for grading (`exchange.adoption.otter`). Trusted in releases only."""


def parse_notebook(data: bytes) -> Document:
    """Read the cells of a notebook of any format version, well formed or not.

    Raises:
        NotebookError: ``empty``, ``too-large``, ``not-text``, ``git-lfs-pointer``, ``merge-conflict``,
            ``html-page``, ``truncated-json``, ``not-json``, ``too-deep``, ``too-complex``,
            ``not-a-notebook``, ``no-cells``, ``too-many-cells``, ``not-upgradable`` or ``cell-too-large``.
    """
    notes: list[Note] = []
    # Strip outputs before the limit is applied: honest notebooks are large because of their outputs.
    data = _strip_outputs(data) if len(data) <= MAX_BYTES else data
    if MAX_READ < len(data) <= MAX_BYTES:
        raise NotebookError(
            "too-large",
            build_localised_text(
                "fault.too-large-inside", size=format_size(len(data)), most=format_size(MAX_READ)
            ),
        )
    tree = load_tree(data, notes)
    cells = tuple(
        cell
        for number, entry in enumerate(_list_entries(tree, notes), start=1)
        if (cell := _read_cell(number, entry, notes)) is not None
    )
    if not cells:
        raise NotebookError("no-cells", build_localised_text("fault.no-cells"))
    own_metadata = tree["metadata"].get("autograder") if isinstance(tree.get("metadata"), dict) else None
    return Document(cells, _read_language(tree), tuple(notes), own_metadata == {"ids": "made"})


def load_tree(data: bytes, notes: list[Note]) -> dict[str, Any]:
    """Return the notebook's JSON object; oddities of the encoding are appended to ``notes``.

    Raises:
        NotebookError: see `parse_notebook`.
    """
    if len(data) > MAX_BYTES:
        raise NotebookError(
            "too-large",
            build_localised_text("fault.too-large", size=format_size(len(data)), most=format_size(MAX_BYTES)),
        )
    text = _decode_text(data, notes)
    if not text.strip():
        raise NotebookError("empty", build_localised_text("fault.empty"))
    _check_other_format(text)
    # Before parsing, because the parsed objects are what exhausts memory.
    _check_complexity(text)
    tree = _parse_json(text)
    if not isinstance(tree, dict) or not any(key in tree for key in _NOTEBOOK_KEYS):
        raise NotebookError("not-a-notebook", build_localised_text("fault.not-a-notebook"))
    return tree


def join_source(source: Any) -> str | None:
    """Return the text of a source, a string or a list of strings in the format; None if it is neither."""
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def is_attachment_shown(source: str, name: str) -> bool:
    """Decide whether a text shows a picture that is attached to its cell, in Markdown or HTML.

    A comment shows nothing.
    """
    wanted = f"attachment:{name}"
    source = _COMMENT.sub("", source)
    return any(wanted in text for text in (source, unquote(source), unescape(source)))


def normalize_source(source: str) -> str:
    """Return a source without trailing white space, for comparison."""
    return "\n".join(line.rstrip() for line in source.rstrip().split("\n"))


def name_cells(cells: Sequence[RawCell], indices: Sequence[int]) -> str:
    """Return "cell 4" or "cells 4, 7" for a note, with at most ten numbers."""
    more = "…" if len(indices) > _MOST_NUMBERS else ""
    numbers = ", ".join(str(cells[index].number) for index in indices[:_MOST_NUMBERS]) + more
    return f"{'cell' if len(indices) == 1 else 'cells'} {numbers}"


def format_value(value: object, limit: int = 60) -> str:
    """Return a student's value for a note: ASCII only, quoted and short."""
    # Converting an integer of thousands of digits to text is slow, or refused by Python.
    small = isinstance(value, int) and abs(value) < 10**9
    if not small and not isinstance(value, (str, float, type(None))):
        return f"a {type(value).__name__}"
    text = ascii(value[:limit] if isinstance(value, str) else value)
    return text + "…" if isinstance(value, str) and len(value) > limit else text


def _strip_outputs(data: bytes) -> bytes:
    """Return the same notebook without outputs; data that is no regular notebook is returned unchanged."""
    try:
        return msgspec.json.encode(msgspec.json.decode(data, type=_Notebook))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # The tolerant parser handles, or refuses by name, everything that is not regular.
        return data


def _decode_text(data: bytes, notes: list[Note]) -> str:
    """Return the file's text, and note an encoding other than UTF-8."""
    # JSON begins with ASCII, so that its first bytes reveal UTF-16 and UTF-32.
    encoding: str = json.detect_encoding(data[:4])
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if data.lstrip()[:1] != b"{":
            fault = build_localised_text("fault.not-text", byte=error.start)
            raise NotebookError("not-text", fault) from error
        # Default encoding of editors on Windows.
        text, encoding = data.decode("cp1252", "replace"), "cp1252"
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes.append(Note("encoding", f"Expected UTF-8, read as {encoding}; special letters may be off."))
    return text


def _check_other_format(text: str) -> None:
    """Refuse files of other formats that are often submitted under the name of a notebook.

    No notebook can match: JSON begins with a brace, and no line of it begins with a conflict marker, because
    strings contain no line breaks.
    """
    if text.lstrip().startswith(_LFS_POINTER):
        raise NotebookError("git-lfs-pointer", build_localised_text("fault.git-lfs-pointer"))
    if _has_conflict(text):
        raise NotebookError("merge-conflict", build_localised_text("fault.merge-conflict"))
    head = text[:_MOST_HEAD].lstrip().casefold()
    if head.startswith("<") and ("<html" in head or "<!doctype html" in head):
        raise NotebookError("html-page", build_localised_text("fault.html-page"))


def _has_conflict(text: str) -> bool:
    """Decide whether a text contains the markers of a merge conflict, in order."""
    position = 0
    for marker in _CONFLICT:
        match = marker.search(text, position)
        if match is None:
            return False
        position = match.end()
    return True


def _check_complexity(text: str) -> None:
    """Refuse JSON that would be very large when parsed. The cheap count, strings included, comes first."""

    def is_large(json_text: str) -> bool:
        """Decide whether a text has too many separators, or too many objects and lists."""
        containers = json_text.count("{") + json_text.count("[")
        return json_text.count(",") > MAX_VALUES or containers > MAX_CONTAINERS

    if is_large(text) and is_large(_STRING.sub('""', text)):
        raise NotebookError("too-complex", build_localised_text("fault.too-complex"))


def _parse_json(text: str) -> Any:
    """Parse the JSON of a notebook.

    Raises:
        NotebookError: ``too-deep``, ``truncated-json`` or ``not-json``.
    """
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # An integer of thousands of digits, which Python refuses to convert.
            return json.loads(text, parse_int=_parse_integer)
    except RecursionError as error:
        raise NotebookError("too-deep", build_localised_text("fault.too-deep")) from error
    except json.JSONDecodeError as error:
        # An error at the very end means that the rest of the file is missing.
        is_cut = error.pos >= len(text.rstrip()) or "Unterminated string" in error.msg
        code = "truncated-json" if is_cut else "not-json"
        fault = build_localised_text(f"fault.{code}", line=error.lineno, column=error.colno)
        raise NotebookError(code, fault) from error


def _parse_integer(digits: str) -> int | float:
    """Return an integer, or infinity for one with hundreds of digits."""
    return int(digits) if len(digits) < 400 else math.inf


def _list_entries(tree: dict[str, Any], notes: list[Note]) -> list[Any]:
    """Return the list of cells of a notebook of any version."""
    version = tree.get("nbformat")
    # Format 1 has no worksheets, so the version is checked as well.
    is_old = ("worksheets" in tree and "cells" not in tree) or version in (1, 2)
    if is_old:
        notes.append(Note("old-format", f"Format version {format_value(version)}; upgraded to 4."))
        sheets = tree.get("worksheets", [{"cells": tree.get("cells")}])
        entries: Any = [
            entry
            for sheet in (sheets if isinstance(sheets, list) else [])
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
            for entry in sheet["cells"]
        ]
    else:
        if version != 4:
            notes.append(
                Note("format-version", f"Format version: expected 4, got {format_value(version)}; read as 4.")
            )
        entries = tree.get("cells")
    if not isinstance(entries, list):
        raise NotebookError("no-cells", build_localised_text("fault.no-list-of-cells"))
    if len(entries) > MAX_CELLS:
        raise NotebookError(
            "too-many-cells",
            build_localised_text("fault.too-many-cells", number=len(entries), most=MAX_CELLS),
        )
    return _upgrade_cells(entries, 2 if version in (1, 2) else 3) if is_old else entries


def _upgrade_cells(entries: Sequence[Any], version: int) -> list[Any]:
    """Return the cells of an old notebook in the form of format 4 and without outputs.

    Raises:
        NotebookError: ``not-upgradable``: nbformat cannot convert it.
    """
    import nbformat  # takes a second to import, and only notebooks from before 2015 need it

    bare = [_strip_old_cell(entry) for entry in entries]
    # Only the cells are upgraded, because nothing else of the notebook is used.
    old = {"nbformat": version, "nbformat_minor": 0, "metadata": {}}
    try:
        node = nbformat.from_dict({**old, "worksheets": [{"cells": bare, "metadata": {}}]})
        return list(nbformat.convert(node, 4)["cells"])
    except Exception as error:  # nbformat promises nothing about what it raises
        raise NotebookError(
            "not-upgradable",
            build_localised_text("fault.not-upgradable", error=type(error).__name__),
        ) from error


def _strip_old_cell(entry: Any) -> Any:
    """Return one old cell without outputs and with joined sources, which nbformat's upgrade requires."""
    if not isinstance(entry, dict):
        return {"cell_type": "markdown", "source": "", "metadata": {}}
    bare = {
        key: prune_json(value)
        for key, value in entry.items()
        if key not in ("outputs", "output", "prompt_number", "execution_count")
    }
    if "code" in bare and "input" not in bare:  # format 1
        bare["input"] = bare.pop("code")
    for key in ("source", "input"):
        if (joined := join_source(bare.get(key))) is not None:
            bare[key] = joined
    if bare.get("cell_type") == "code":
        bare["outputs"] = []
    return bare


def _read_cell(number: int, entry: Any, notes: list[Note]) -> RawCell | None:
    """Read one cell, or return None if the entry is not an object; oddities are noted."""
    place = f"cell {number}"
    if not isinstance(entry, dict):
        notes.append(Note("not-a-cell", f"Expected an object, got {format_value(entry)}; left out.", place))
        return None
    cell_type = entry.get("cell_type")
    if cell_type not in ("code", "markdown", "raw"):
        notes.append(
            Note("cell-type-unknown", f"Cell type {format_value(cell_type)}; shown but not run.", place)
        )
        cell_type = "raw"
    source = join_source(entry.get("source"))
    if source is None:
        notes.append(Note(UNREADABLE_SOURCE, "The source is not text; read as an empty cell.", place))
        source = ""
    pictures = () if cell_type == "code" else tuple(list_attached_pictures(entry.get("attachments")))
    # Pasted pictures alone may exceed the limit, so they are extracted before it is applied.
    if len(source) > MAX_SOURCE and cell_type != "code":
        source, pictures = extract_pictures(source, pictures)
    if len(source) > MAX_SOURCE:
        if cell_type == "code":
            raise NotebookError(
                "cell-too-large",
                build_localised_text(
                    "fault.cell-too-large", cell=number, number=len(source), most=MAX_SOURCE
                ),
            )
        # A long text is honest, and nothing of it is run.
        notes.append(Note("cell-cut", f"{len(source):,} characters, cut to {MAX_SOURCE:,}.", place))
        source = source[:MAX_SOURCE]
    # Carriage returns are line ends, not control characters, so they are converted first.
    clean = _CONTROL.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))
    if "\ufffd" in clean and "\ufffd" not in source:
        notes.append(Note("control-characters", "Control characters in the source are replaced.", place))
    identifier = entry.get("id")
    named = identifier if isinstance(identifier, str) and len(identifier) <= MAX_CELL_ID else ""
    return RawCell(number, cell_type, clean, _read_nbgrader(entry, place, notes), named, pictures)


def _read_nbgrader(entry: dict[str, Any], place: str, notes: list[Note]) -> Mapping[str, Any] | None:
    """Return the nbgrader metadata of a cell, pruned to a safe depth; None if there is none."""
    metadata = entry.get("metadata")
    stored = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if stored is None or stored == {}:
        return None
    if not isinstance(stored, dict):
        notes.append(
            Note("metadata-garbage", f"nbgrader metadata is {format_value(stored)}; ignored.", place)
        )
        return None
    kept: dict[str, Any] = prune_json(stored)
    if kept != stored:  # safe to compare: at the cut an empty container meets a full one, so nothing recurses
        notes.append(Note("metadata-garbage", "nbgrader metadata is nested too deeply; cut.", place))
    return kept


def _read_language(tree: dict[str, Any]) -> str:
    """Return the language that a notebook names, in any of the places where tools write it."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for table, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        section = metadata.get(table)
        value = section.get(key) if isinstance(section, dict) else None
        if isinstance(value, str) and value:
            return _CONTROL.sub("\ufffd", value[:60]).lower()
    return ""


def prune_json(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Return a copy of parsed JSON in which objects and lists below so many levels are empty."""
    if isinstance(value, dict):
        return {key: prune_json(entry, levels - 1) for key, entry in value.items()} if levels else {}
    if isinstance(value, list):
        return [prune_json(entry, levels - 1) for entry in value] if levels else []
    return value
