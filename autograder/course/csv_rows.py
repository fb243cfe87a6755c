"""Rows of lists that staff maintain as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from pathlib import Path

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.tables import suggest_name

_BEYOND = "\0"
"""Key for surplus values of a row; no column can have this name."""
_MOST_BYTES = 16 * 2**20


def get_assignment(row: Mapping[str, str], place: str, assignments: Collection[str]) -> str:
    """Return the assignment that a row names.

    Raises:
        CourseError: the course has none of this name; names the nearest.
    """
    name = row["assignment"]
    if name not in assignments:
        raise CourseError(
            f"{place}: assignment: {name!a} is not in the course; {suggest_name(name, assignments)}"
        )
    return name


def read_rows(
    path: Path, list_name: str, columns: Collection[str], *, needed: Collection[str]
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file with their line numbers, all values stripped.

    Raises:
        CourseError: it cannot be read, is not UTF-8 or no CSV, or lacks one of the needed columns.
    """
    try:
        data = atomic.read_bytes(path)
    except OSError as error:
        raise CourseError(f"{path}: {list_name} cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise CourseError(f"{path}: {len(data)} bytes are too many for {list_name}")
    try:
        # Excel writes a byte order mark at the beginning.
        lines = data.decode("utf-8-sig").splitlines()
        reader = csv.DictReader(lines, restkey=_BEYOND, strict=True, skipinitialspace=True)
        names = tuple(reader.fieldnames or ())
        rows = list(reader)
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: not UTF-8 (byte {error.start}); save the list as UTF-8") from error
    except csv.Error as error:
        raise CourseError(f"{path}: line {reader.line_num}: not a CSV line: {error}") from error
    if not set(needed) <= set(names):
        semicolons = (
            "; separate values with commas, not semicolons" if any(";" in column for column in names) else ""
        )
        raise CourseError(
            f"{path}: expected the columns {', '.join(columns)}, got {', '.join(names) or 'none'}{semicolons}"
        )
    # Line 1 is the header.
    for line, row in enumerate(rows, start=2):
        if any(row.get(_BEYOND) or ()):
            raise CourseError(
                f"{path}: line {line}: expected {len(names)} values, got more; "
                "quote a value that holds a comma"
            )
    return [
        (line, {name: (row.get(name) or "").strip() for name in columns})
        for line, row in enumerate(rows, start=2)
    ]
