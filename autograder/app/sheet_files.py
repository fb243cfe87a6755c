"""Marking sheets as files: CSV for spreadsheet programs, JSON Lines for other programs.

Changes that spreadsheets make to a table are handled: semicolons, byte order marks, decimal commas, trailing
blank lines, values that would be taken for formulas, truncated cells. Input is never evaluated.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.pages.feedback.sanitise import to_printable_text

COLUMNS = (
    "assignment",
    "row",
    "who",
    "count",
    "question",
    "cell",
    "item",
    "title",
    "possible",
    "answer",
    "suggestion",
    "reason",
    "guide",
    "cell_points",
    "points",
    "comment",
    "remark",
    "flag",
    "state",
)
NEEDED = ("assignment", "row", "points", "comment", "state")
"""Columns that are read; the others inform graders, and may be changed or left out."""
ENDINGS = (".csv", ".jsonl")
MOST_BYTES = 64 << 20
FLAGGED = "yes"
"""Value in the column of flags; any other text that a grader writes there means the same."""
MOST_COMMENT = 20_000
"""Maximum length in characters."""
_MOST_CELL = 32_000
"""Maximum length of a cell in UTF-16 units; spreadsheet programs truncate cells longer than 32,767."""
_MOST_TEXT = 2_000_000
"""Maximum length of a text in JSON Lines, in characters."""
_FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\r\n]")
"""Start of a cell that a spreadsheet may take for a formula, with the apostrophes that guard it."""
_NUMBER = re.compile(r"([+-]?)([0-9]{1,6})(?:[.,]([0-9]{1,6}))?")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*')
_UNKEEPABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class SheetLine(Struct, frozen=True):
    """The values read from one row."""

    place: str
    """``row 7``, as a spreadsheet counts, or ``line 7``."""
    assignment: str
    row: str
    who: str
    """As in the row; used only in messages."""
    points: str
    comment: str
    remark: str | None
    """On the item; None: the sheet has no such column."""
    flag: str | None
    """`FLAGGED`, or empty; None: the sheet has no such column."""
    state: str


def write_sheet(rows: Sequence[Mapping[str, str]], ending: str) -> bytes:
    """Serialise rows as a file.

    Args:
        rows: values of `COLUMNS`, as returned by `to_plain_text`.
        ending: one of `ENDINGS`.
    """
    if ending == ".jsonl":
        kept = [{name: _truncate_text(row[name], _MOST_TEXT) for name in COLUMNS} for row in rows]
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in kept).encode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([guard_value(_truncate_text(row[name], _MOST_CELL)) for name in COLUMNS] for row in rows)
    # The byte order mark makes spreadsheet programs read the file as UTF-8.
    return text.getvalue().encode("utf-8-sig")


def to_plain_text(text: str) -> str:
    """Make text safe to round-trip: characters that hide, reorder or break are spelled out or removed."""
    return to_printable_text(text, _MOST_TEXT)


def normalise_comment(text: str) -> str:
    """Normalise a comment: line ends and surrounding space, which files and programs change."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _truncate_text(text: str, most: int) -> str:
    # Spreadsheet programs count UTF-16 units; characters outside the BMP count twice.
    units = text.encode("utf-16-le")
    if len(units) <= 2 * most:
        return text
    # The cut may split a surrogate pair; its first half is dropped.
    shown = units[: 2 * most].decode("utf-16-le", "ignore")
    return f"{shown}\n[… cut here: the whole text has {len(text)} characters]"


def guard_value(value: str) -> str:
    """Protect a value from being taken for a formula; numbers stay numbers. `strip_guard` reverts it."""
    if _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def strip_guard(value: str) -> str:
    """Revert `guard_value`."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value


def parse_points(text: str) -> Decimal | None:
    """Parse points as people type them, with a comma or a point; None for an empty cell.

    Raises:
        ValueError: it is something else.
    """
    # Spreadsheet programs may write the minus sign U+2212.
    stripped = text.strip().replace("−", "-")
    if not stripped:
        return None
    match = _NUMBER.fullmatch(stripped)
    if match is None or not stripped.isascii():
        raise ValueError(f"expected points such as 1.5 or 1,5, got {text[:40]!a}")
    sign, whole, part = match.groups()
    return Decimal(f"{sign}{whole}.{part or 0}").normalize()


def read_sheet(data: bytes, ending: str) -> list[SheetLine]:
    """Read the rows of a file; blank rows are skipped.

    Raises:
        CourseError: it is too large, not readable as text, or lacks a column; names the line.
    """
    if len(data) > MOST_BYTES:
        raise CourseError(f"a sheet of {len(data)} bytes is too large; at most {MOST_BYTES >> 20} MB")
    rows = _parse_json_rows(_decode_text(data)) if ending == ".jsonl" else _parse_csv_rows(_decode_text(data))
    return list(rows)


def _decode_text(data: bytes) -> str:
    try:
        return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise CourseError(
            f"not UTF-8 (byte {error.start}); save it as “CSV UTF-8”, or in LibreOffice with the character "
            "set Unicode (UTF-8)"
        ) from error


def _parse_csv_rows(text: str) -> Iterator[SheetLine]:
    separator_line = _SEPARATOR_LINE.match(text.partition("\n")[0])
    if separator_line:
        text = text.partition("\n")[2]
    first = text.lstrip().partition("\n")[0]
    # Column names contain no separators, so the most frequent candidate in the header is the separator.
    separator = separator_line[1] if separator_line else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] = []
    try:
        for number, values in enumerate(reader, start=1):
            if not any(value.strip() for value in values):
                continue
            label = f"row {number}"
            if not names:
                names = [strip_guard(value).strip().lower() for value in values]
                _check_columns(names)
                continue
            # Empty cells at the end are harmless: spreadsheet programs pad rows with them.
            if any(value.strip() for value in values[len(names) :]):
                raise CourseError(f"{label}: expected {len(names)} values, got {len(values)}")
            padded = [*values, *[""] * (len(names) - len(values))]
            yield _make_line(
                label,
                {name: strip_guard(value_read) for name, value_read in zip(names, padded, strict=False)},
            )
    except csv.Error as error:
        raise CourseError(f"line {reader.line_num}: not a CSV line: {error}") from error
    if not names:
        _check_columns(())


def _parse_json_rows(text: str) -> Iterator[SheetLine]:
    for number, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        label = f"line {number}"
        try:
            # Numbers stay texts: a float would lose digits of a state or of points.
            row = json.loads(written, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            raise CourseError(f"{label}: not a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise CourseError(f"{label}: expected a JSON object, got {type(row).__name__}")
        _check_columns(row, f"{label}: ")
        names = (*NEEDED, "who", *(name for name in ("remark", "flag") if name in row))
        yield _make_line(label, {name: _check_string(label, name, row.get(name)) for name in names})


def _check_string(label: str, name: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise CourseError(f"{label}: {name}: expected a text or a number, got {type(value).__name__}")


def _check_columns(names: Iterable[str], label: str = "") -> None:
    present = list(names)
    missing = [name for name in NEEDED if name not in present]
    if missing:
        raise CourseError(f"{label}columns are missing: {', '.join(missing)}; export the sheet again")
    twice = [name for name in NEEDED if present.count(name) > 1]
    if twice:
        raise CourseError(f"{label}columns stand twice: {', '.join(twice)}; each may stand once")


def _check_kept_text(label: str, name: str, written: str) -> str:
    text = normalise_comment(written)
    if fault := _UNKEEPABLE.search(text):
        raise CourseError(f"{label}: the {name} holds the character {fault[0]!a}, which cannot be kept")
    if len(text) > MOST_COMMENT:
        raise CourseError(f"{label}: a {name} of {len(text)} characters; at most {MOST_COMMENT}")
    return text


def _make_line(label: str, values: Mapping[str, str]) -> SheetLine:
    comment, remark = (
        _check_kept_text(label, name, values[name]) if name in values else None
        for name in ("comment", "remark")
    )
    return SheetLine(
        label,
        values["assignment"].strip(),
        values["row"].strip(),
        values.get("who", "").strip(),
        values["points"],
        comment or "",
        remark,
        None if (flag := values.get("flag")) is None else FLAGGED if flag.strip() else "",
        values["state"].strip(),
    )
