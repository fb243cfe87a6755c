"""CSV files of platforms, in any encoding, separator and language; formulas in cells are neutralised."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.wording import format_size
from autograder.messages import build_localised_text

MOST_BYTES = 64 << 20
_MOST_HEAD = 20
"""Most lines before the one with the names of columns."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Spreadsheets execute cells that begin with these signs, also in their full-width forms.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_HARMLESS = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*|-")
_QUOTED_FORMULA = re.compile(r'="(.*)"')


class CsvTable(Struct, frozen=True):
    """CSV file in a form from which it can be written again unchanged."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """As long as ``columns``; blank lines are left out."""
    lines: tuple[int, ...]
    """Line of each row in the file, from 1."""
    separator: str = ","
    marked: bool = False
    """It begins with a byte order mark."""

    def find_index(self, names: Iterable[str]) -> int:
        """Return the index of the first of these columns, in any spelling; -1 if there is none."""
        known_names = [normalize_column(title) for title in self.columns]
        return next((known_names.index(name) for name in names if name in known_names), -1)

    def get_value(self, row: Sequence[str], names: Iterable[str]) -> str:
        """Return a row's value in the first of these columns; empty if there is none."""
        index = self.find_index(names)
        return strip_guard(row[index]) if index >= 0 else ""


def normalize_column(text: str) -> str:
    """Return a column's name for comparison: lower case, without punctuation, spaces and accents."""
    bare = unicodedata.normalize("NFKD", strip_guard(text).casefold())
    return "".join(char for char in bare if char.isalnum())


def parse_table(
    data: bytes, known_columns: Mapping[str, Sequence[str]], needed: Iterable[Iterable[str]]
) -> CsvTable:
    """Read a CSV file. Lines before the one with the columns are skipped, because HISinOne writes some.

    Args:
        data: UTF-8, UTF-16 or, from older programs, Windows-1252.
        known_columns: names of columns, for the message.
        needed: the line must name at least one column of each group.

    Raises:
        CourseError: it is too large or no CSV file, or no line names these columns.
    """
    if len(data) > MOST_BYTES:
        raise CourseError(
            build_localised_text(
                "fault.list-large", size=format_size(len(data)), most=format_size(MOST_BYTES)
            )
        )
    # XLSX and ODS files are ZIP archives.
    if data.startswith(b"PK"):
        raise CourseError(build_localised_text("fault.list-spreadsheet"))
    text = _decode_text(data)
    wanted = [frozenset(group) for group in needed]
    # The most frequent separator is the likeliest; the others are tried all the same.
    for separator in sorted(",;\t", key=text[:10_000].count, reverse=True):
        rows = _read_rows(text, separator)
        for position, (_, row) in enumerate(rows[:_MOST_HEAD]):
            names = {normalize_column(value) for value in row}
            if all(names & group for group in wanted):
                return _build_table(rows, position, separator, marked=data.startswith(b"\xef\xbb\xbf"))
    first = next(iter(text.splitlines()), "")[:200]
    shown = "; ".join(f"{kind} ({', '.join(names[:4])})" for kind, names in known_columns.items())
    raise CourseError(build_localised_text("fault.list-columns", columns=shown, line=ascii(first)))


def _decode_text(data: bytes) -> str:
    """Decode a file."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Never fails: every byte is a character in Windows-1252, or is replaced.
        return data.decode("cp1252", "replace")


def _read_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return line number and values of each row that is not blank; none if it cannot be read."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if any(value.strip() for value in row)]
    except csv.Error:
        return []


def _build_table(rows: list[tuple[int, list[str]]], head: int, separator: str, *, marked: bool) -> CsvTable:
    """Build the table below the line with the columns.

    Raises:
        CourseError: a row has more values than there are columns, so that values are in the wrong ones.
    """
    columns = tuple(rows[head][1])
    body = [
        (line, row)
        for line, row in rows[head + 1 :]
        if not normalize_column(row[0]).startswith("endhissheet")
    ]
    for line, row in body:
        if any(value.strip() for value in row[len(columns) :]):
            counts = {"number": len(row), "columns": len(columns)}
            raise CourseError(
                build_localised_text("fault.list-values", line=line, separator=separator, **counts)
            )
    # Rows may be shorter or longer than the head line, because some programs omit trailing empty values.
    filled = tuple(tuple([*row, *[""] * (len(columns) - len(row))][: len(columns)]) for _, row in body)
    return CsvTable(columns, filled, tuple(line for line, _ in body), separator, marked)


def write_table(table: CsvTable, *, ends: str = "\r\n") -> bytes:
    """Write a table as a file in which no cell acts as a formula."""
    # CRLF by default, as RFC 4180 and spreadsheets expect.
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.separator, lineterminator=ends)
    writer.writerows([guard_value(value) for value in row] for row in (table.columns, *table.rows))
    return text.getvalue().encode("utf-8-sig" if table.marked else "utf-8")


def guard_value(value: str) -> str:
    """Return a value that no spreadsheet reads as a formula; numbers and a single dash are unchanged."""
    return f"'{value}" if _FORMULA.match(value) and not _HARMLESS.fullmatch(value) else value


def strip_guard(value: str) -> str:
    """Return the original value: without the apostrophe of `guard_value`, and extracted from ``="00123"``."""
    said = value.strip()
    if match := _QUOTED_FORMULA.fullmatch(said):
        return match[1]
    return said[1:] if said.startswith("'") and _FORMULA.match(said[1:]) else said
