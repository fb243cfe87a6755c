"""Rows of lists that staff maintain as CSV files."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Mapping
from pathlib import Path

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.tables import join_names
from autograder.core.wording import format_size
from autograder.messages import build_localised_text

_BEYOND = "\0"
"""Key for surplus values of a row; no column can have this name."""
_MOST_BYTES = 16 * 2**20
_MOST = format_size(_MOST_BYTES)


def get_assignment(row: Mapping[str, str], place: str, assignments: Collection[str]) -> str:
    """Return the assignment that a row names.

    Raises:
        CourseError: the course has none of this name; names the nearest.
    """
    name = row["assignment"]
    if name not in assignments:
        values = {"place": place, "name": ascii(name)}
        if close := difflib.get_close_matches(name, assignments, n=1):
            raise CourseError(build_localised_text("fault.rows-assignment", **values, other=repr(close[0])))
        listed = join_names(sorted(assignments)) or "-"
        raise CourseError(build_localised_text("fault.rows-no-assignment", **values, others=listed))
    return name


def read_rows(
    path: Path,
    list_name: str,
    columns: Collection[str],
    *,
    needed: Collection[str],
    data: bytes | None = None,
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file with their line numbers, all values stripped.

    Args:
        path: the file.
        list_name: what it is, for errors.
        columns: the columns to return.
        needed: those that it must have.
        data: its contents, if it was uploaded; None: they are read.

    Raises:
        CourseError: it cannot be read, is not UTF-8 or no CSV, or lacks one of the needed columns.
    """
    try:
        data = atomic.read_bytes(path) if data is None else data
    except OSError as error:
        raise CourseError(f"{path}: {list_name} cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise CourseError(
            build_localised_text("fault.file-larger", file=path, size=format_size(len(data)), most=_MOST)
        )
    try:
        # Excel writes a byte order mark at the beginning.
        lines = data.decode("utf-8-sig").splitlines()
        reader = csv.DictReader(lines, restkey=_BEYOND, strict=True, skipinitialspace=True)
        names = tuple(reader.fieldnames or ())
        rows = list(reader)
    except UnicodeDecodeError as error:
        raise CourseError(build_localised_text("fault.rows-utf8", file=path, byte=error.start)) from error
    except csv.Error as error:
        fault = build_localised_text("fault.rows-line", place=f"{path}", line=reader.line_num)
        raise CourseError(fault) from error
    if not set(needed) <= set(names):
        code = "fault.rows-semicolons" if any(";" in column for column in names) else "fault.rows-columns"
        listed = {"columns": ", ".join(columns), "given": ", ".join(names) or "-"}
        raise CourseError(build_localised_text(code, file=path, **listed))
    # Line 1 is the header.
    for line, row in enumerate(rows, start=2):
        if any(row.get(_BEYOND) or ()):
            raise CourseError(
                build_localised_text("fault.rows-values", file=path, line=line, number=len(names))
            )
    return [
        (line, {name: (row.get(name) or "").strip() for name in columns})
        for line, row in enumerate(rows, start=2)
    ]
