"""Reading of tables as students write them, and matching of their rows to those of the rubric."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.questions.base.values.quoting import describe_type, quote_text

MAX_ROWS = 200
MAX_CELLS = 20
MAX_TEXT = 40_000
MAX_NAME = 200

_BARS = re.compile(r"(?<!\\)\|")
_GAPS = re.compile(r"\s{2,}|;")
_SIGN = re.compile(r"(?<!\s)\s*+(?::|=|→|->|–|—|(?<=\s)-\s)\s*+")  # begins once in a run of space
_COMMA_OR_BRACKET = re.compile(r"[,()\[\]]")
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d+[.)])\s+")
_AROUND = " \t\r\n\"'`´“”„‘’*"
_INSIDE = re.compile(r"[\s\-_]+")
_EMPTY = frozenset(("", "-", "–", "—", "?", "...", "…", "nan", "none"))


class WrittenRow(Struct, frozen=True, eq=False):
    """One row as it was written."""

    name: str
    """The entry in the first column, as the student wrote it."""
    cells: dict[str, Any]
    """By column id; empty cells are left out."""
    entries: int = 0
    """The number of entries of the row, if they are more than the columns of the table; otherwise 0."""


class UnreadableTable(Struct, frozen=True):
    """Why a value is not a table: a code of the vocabulary and its parameters."""

    code: str
    params: dict[str, str] = {}


class Columns:
    """The names of a table's columns."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        """Index the names.

        Args:
            names: column id → all its names, in the order of the table.

        Raises:
            RubricError: a name refers to two columns.
        """
        self.ids = tuple(names)
        self._ids: dict[str, str] = {}
        for column, called in names.items():
            for name in (column, *called):
                if self._ids.setdefault(normalise_name(name), column) != column:
                    raise RubricError(f"column: {name!r} stands for two columns")

    def find_id(self, name: Any) -> str:
        """Return the id of the column with a name; empty if there is none."""
        return self._ids.get(normalise_name(name), "") if isinstance(name, str) else ""

    def read_header(self, entries: Sequence[Any]) -> tuple[str, ...] | None:
        """Return the columns that a line of names refers to, empty for unknown ones.

        None if it is no header.
        """
        ids = tuple(self.find_id(entry) for entry in entries)
        named = [column for column in ids if column]
        # One known name may be an entry of a table without a header; two with the first column are a header.
        if len(named) != len(set(named)) or self.ids[0] not in named or len(named) < 2:
            return None
        return ids


def normalise_name(name: str) -> str:
    """Return a name without differences that do not matter: case, spaces, quotes."""
    text = unicodedata.normalize("NFKC", name[:MAX_NAME]).casefold().strip(_AROUND)
    return _INSIDE.sub("_", text).strip("_")


def read_table(value: Any, columns: Columns) -> tuple[WrittenRow, ...] | UnreadableTable:
    """Return the rows of an answer, in its order."""
    if isinstance(value, str):
        return _read_lines(value, columns)
    if isinstance(value, Mapping):
        return _read_mapping(value, columns)
    if isinstance(value, list | tuple):
        return _read_rows(value, columns)
    return UnreadableTable("table.form", {"form": describe_type(value)})


def _read_mapping(value: Mapping[Any, Any], columns: Columns) -> tuple[WrittenRow, ...] | UnreadableTable:
    """Read rows by name, or whole columns by name, as in a data frame."""
    if len(value) > MAX_ROWS:
        return UnreadableTable("table.size", {"limit": str(MAX_ROWS)})
    header = columns.read_header(list(value))
    parts = [list(part.values()) if isinstance(part, Mapping) else part for part in value.values()]
    if header is not None and all(isinstance(part, list | tuple) for part in parts):
        lists = [part[: MAX_ROWS + 1] for part in parts]
        length = max((len(entries) for entries in lists), default=0)
        lines = [[part[index] if index < len(part) else None for part in lists] for index in range(length)]
        return _make_rows(lines, header, columns)
    rows = []
    for name, entry in value.items():
        if isinstance(entry, Mapping):
            rows.append(
                _keep_cells(name, {columns.find_id(key): cell for key, cell in entry.items()}, columns)
            )
        elif len(columns.ids) == 2:
            rows.append(_keep_cells(name, {columns.ids[1]: entry}, columns))
        elif isinstance(entry, list | tuple):
            rows.append(_make_row((name, *entry[: MAX_CELLS + 1]), columns.ids, columns))
        else:
            return UnreadableTable("table.entry", {"form": describe_type(entry), "row": _read_name(name)})
    return tuple(rows)


def _read_rows(value: Sequence[Any], columns: Columns) -> tuple[WrittenRow, ...] | UnreadableTable:
    if len(value) > MAX_ROWS:
        return UnreadableTable("table.size", {"limit": str(MAX_ROWS)})
    if all(isinstance(entry, Mapping) for entry in value):
        return tuple(
            _keep_cells(cells.pop(columns.ids[0], None), cells, columns)
            for cells in ({columns.find_id(key): cell for key, cell in entry.items()} for entry in value)
        )
    for entry in value:
        if not isinstance(entry, list | tuple):
            return UnreadableTable("table.entry", {"form": describe_type(entry), "row": "–"})
    header = columns.read_header(value[0])
    return _make_rows(value[1:] if header else value, header or columns.ids, columns)


def _read_lines(text: str, columns: Columns) -> tuple[WrittenRow, ...] | UnreadableTable:
    """Read Markdown with bars, or columns that are separated by tabs, semicolons or at least two spaces."""
    if len(text) > MAX_TEXT or text.count("\n") > 2 * MAX_ROWS:
        return UnreadableTable("table.size", {"limit": str(MAX_ROWS)})
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("```")
    ]
    barred = [line for line in lines if "|" in line]
    if barred:
        split = [
            [_strip_marks(cell) for cell in _BARS.split(line.removeprefix("|").removesuffix("|"))]
            for line in barred
            if not _is_rule(line)
        ]
    else:
        gaps = re.compile("\t") if "\t" in text else _GAPS
        split = [[_strip_marks(cell) for cell in gaps.split(line)] for line in lines if not _is_rule(line)]
    if not lines:
        return ()
    if not split or max(map(len, split)) < 2 or (len(lines) == 1 and not barred):
        split = _read_named_rows(text, len(columns.ids)) or [line for line in split if len(line) > 1]
    if not split:
        return UnreadableTable("table.text", {"value": quote_text(text)})
    header = columns.read_header(split[0])
    body = split[1:] if header else split
    order = header or columns.ids
    # A leading number in a line with one entry too many only numbers the row.
    body = [line[1:] if len(line) == len(order) + 1 and line[0].isdecimal() else line for line in body]
    return _make_rows(body, order, columns)


def _read_named_rows(text: str, width: int) -> list[list[str]]:
    """Read rows such as ``total: 148`` and ``wpe: (1024, 768), 786432, …``.

    None if any line is no such row.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if width == 2 and len(lines) == 1:
        lines = [part for part in re.split(r"[,;]\s*(?=[^\d\s])", text) if part.strip()]
    rows = []
    for line in lines:
        name, sign, entries = _SIGN.sub("\n", line, count=1).partition("\n")
        cells = [entries] if width == 2 else _split_at_commas(entries)
        if not sign or not name.strip() or len(cells) != width - 1:
            return []
        rows.append([_strip_marks(cell) for cell in (_BULLET.sub("", name), *cells)])
    return rows


def _split_at_commas(text: str) -> list[str]:
    """Split at commas, except for those inside brackets."""
    parts, end, inside = [], len(text), False
    for sign in reversed(list(_COMMA_OR_BRACKET.finditer(text))):
        if sign[0] == ",":
            if not inside:
                parts.append(text[sign.end() : end].lstrip())
                end = sign.start()
        else:
            inside = sign[0] in ")]"
    return [text[:end], *reversed(parts)]


def _make_rows(
    lines: Sequence[Sequence[Any]], order: Sequence[str], columns: Columns
) -> tuple[WrittenRow, ...] | UnreadableTable:
    if len(lines) > MAX_ROWS:
        return UnreadableTable("table.size", {"limit": str(MAX_ROWS)})
    return tuple(_make_row(line, order, columns) for line in lines)


def _make_row(line: Sequence[Any], order: Sequence[str], columns: Columns) -> WrittenRow:
    cells = dict(zip(order, line, strict=False))
    row = _keep_cells(cells.pop(columns.ids[0], None), cells, columns)
    return row if len(line) <= len(order) else WrittenRow(row.name, {}, len(line))


def _keep_cells(name: Any, cells: Mapping[str, Any], columns: Columns) -> WrittenRow:
    kept = {column: cells[column] for column in columns.ids[1:] if not _is_empty(cells.get(column))}
    return WrittenRow(_read_name(name), kept)


def _read_name(name: Any) -> str:
    """Return a row's name; a number is accepted, anything else is empty."""
    if isinstance(name, str):
        return quote_text(name[:MAX_NAME].strip(_AROUND))
    if isinstance(name, int) and not isinstance(name, bool) and name.bit_length() < 64:
        return str(name)
    return ""


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and len(cell) < 80 and cell.strip().casefold() in _EMPTY)


def _strip_marks(cell: str) -> str:
    """Return a cell without the marks for code and bold type around it."""
    return cell.replace("\\|", "|").strip().strip("`").strip("*").strip()


def _is_rule(line: str) -> bool:
    """Return whether a line separates the header from the rows."""
    return "-" in line and not line.strip("|:+=- \t")


class MatchedRows(Struct, frozen=True, eq=False):
    """The rows of an answer by the rubric's ids."""

    rows: dict[str, tuple[WrittenRow, ...]]
    """Row id → the rows with this name; usually one."""
    extra: tuple[str, ...] = ()
    """Names of rows that the rubric does not have, as they were written."""
    moved: frozenset[str] = frozenset()
    """Rows in another order than the others."""

    def get_first(self, row: str) -> WrittenRow | None:
        """Return the first row with an id, or None."""
        rows_found = self.rows.get(row, ())
        return rows_found[0] if rows_found else None


class Names:
    """Finds rows by name."""

    def __init__(
        self, rows: Mapping[str, Sequence[str]], where: str, extra_patterns: Sequence[str] = ()
    ) -> None:
        """Index the names.

        Args:
            rows: of the rubric: id → further names.
            where: how errors name the question.
            extra_patterns: patterns of the names of rows that are allowed in addition.

        Raises:
            RubricError: a name refers to two rows.
        """
        self._order = [*rows]
        self._beside = tuple(pattern.casefold() for pattern in extra_patterns)
        self._ids: dict[str, str] = {}
        for row, aliases in rows.items():
            for name in (row, *aliases):
                if self._ids.setdefault(normalise_name(name), row) != row:
                    raise RubricError(f"{name!r} stands for two rows", where, "row")

    def find_id(self, name: str) -> str:
        """Return the row of this name; empty if there is none."""
        return self._ids.get(normalise_name(name), "")

    def _is_allowed(self, name: str) -> bool:
        """Return whether a row that the rubric does not have is allowed all the same."""
        return any(fnmatchcase(normalise_name(name), pattern) for pattern in self._beside)

    def match_rows(self, written: Iterable[WrittenRow]) -> MatchedRows:
        """Match the rows of an answer to those of the rubric."""
        rows: dict[str, tuple[WrittenRow, ...]] = {}
        extra: dict[str, None] = {}
        for row in written:
            row_id = self.find_id(row.name)
            if row_id:
                rows[row_id] = (*rows.get(row_id, ()), row)
            elif (row.name or row.cells) and not self._is_allowed(row.name):
                extra[row.name or "–"] = None
        places = [self._order.index(row) for row in rows]
        # The fewest rows that must move to restore the order are those outside a longest rising subsequence.
        kept = _find_longest_rising(places)
        moved = frozenset(self._order[position] for position in places if position not in kept)
        return MatchedRows(rows, tuple(extra), moved)


def _find_longest_rising(numbers: Sequence[int]) -> set[int]:
    """Return the numbers of a longest rising subsequence; the numbers differ.

    Patience sorting in O(n log n): ``ends`` has the smallest end of a subsequence of each length.
    """
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        length = bisect_left(ends, number)
        before[number] = ends[length - 1] if length else None
        ends[length : length + 1] = [number]
    kept: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept
