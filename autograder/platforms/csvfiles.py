"""CSV files of platforms, whatever their encoding, separators and language; formulas in cells are guarded."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.errors import CourseError

MOST_BYTES = 64 << 20
_MOST_HEAD = 20
"""Lines before the one with the names of columns."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_HARMLESS = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*|-")
_QUOTED_FORMULA = re.compile(r'="(.*)"')


class CsvTable(Struct, frozen=True):
    """A CSV file as it stands, so that it can be written again in the same way."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """As long as ``columns``; blank lines are left out."""
    lines: tuple[int, ...]
    """Where each row stands in the file, from 1."""
    separator: str = ","
    marked: bool = False
    """It begins with a byte order mark."""

    def column(self, names: Iterable[str]) -> int:
        """Where the first of these columns stands, however they are spelled; -1: there is none."""
        known = [column_name(one) for one in self.columns]
        return next((known.index(name) for name in names if name in known), -1)


def column_name(text: str) -> str:
    """A column's name as it is compared: small letters, without signs, spaces and accents."""
    bare = unicodedata.normalize("NFKD", unguarded(text).casefold())
    return "".join(char for char in bare if char.isalnum())


def parsed(data: bytes, known: Mapping[str, Sequence[str]], needed: Iterable[Iterable[str]]) -> CsvTable:
    """Read a CSV file. Lines before the one with the columns are left out, as HISinOne writes some.

    Args:
        data: UTF-8, UTF-16 or, as older programs write it, Windows-1252.
        known: what columns are called, for the message.
        needed: of each group the line must name at least one column.

    Raises:
        CourseError: it is too large or no CSV file, or no line names these columns.
    """
    if len(data) > MOST_BYTES:
        raise CourseError(f"{len(data):,} bytes are too many for a list; at most {MOST_BYTES:,} are read")
    if data.startswith(b"PK"):
        raise CourseError("this is a spreadsheet or an archive; save the list as CSV")
    text = _text(data)
    wanted = [frozenset(group) for group in needed]
    for separator in sorted(",;\t", key=text[:10_000].count, reverse=True):
        rows = _rows(text, separator)
        for at, (_, row) in enumerate(rows[:_MOST_HEAD]):
            names = {column_name(one) for one in row}
            if all(names & group for group in wanted):
                return _table(rows, at, separator, marked=data.startswith(b"\xef\xbb\xbf"))
    first = next(iter(text.splitlines()), "")[:200]
    shown = "; ".join(f"{what} ({', '.join(names[:4])})" for what, names in known.items())
    raise CourseError(
        f"no line names the columns that are needed; known are {shown}; the first line is {first!a}"
    )


def _text(data: bytes) -> str:
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if any(value.strip() for value in row)]
    except csv.Error:
        return []


def _table(rows: list[tuple[int, list[str]]], at: int, separator: str, *, marked: bool) -> CsvTable:
    columns = tuple(rows[at][1])
    body = [(line, row) for line, row in rows[at + 1 :] if not column_name(row[0]).startswith("endhissheet")]
    filled = tuple(tuple([*row, *[""] * (len(columns) - len(row))][: len(columns)]) for _, row in body)
    return CsvTable(columns, filled, tuple(line for line, _ in body), separator, marked)


def written(table: CsvTable, *, ends: str = "\r\n") -> bytes:
    """A table as a file, in which no cell acts as a formula."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.separator, lineterminator=ends)
    writer.writerows([guarded(one) for one in row] for row in (table.columns, *table.rows))
    return text.getvalue().encode("utf-8-sig" if table.marked else "utf-8")


def guarded(value: str) -> str:
    """A value that no spreadsheet takes for a formula; numbers and a lone dash stay as they are."""
    return f"'{value}" if _FORMULA.match(value) and not _HARMLESS.fullmatch(value) else value


def unguarded(value: str) -> str:
    """A value as it was meant: without the apostrophe of `guarded`, and out of ``="00123"``."""
    said = value.strip()
    if found := _QUOTED_FORMULA.fullmatch(said):
        return found[1]
    return said[1:] if said.startswith("'") and _FORMULA.match(said[1:]) else said
