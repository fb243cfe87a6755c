"""Canvas's gradebook: its rows of students, and the column of an assignment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.core.errors import CourseError
from autograder.core.tables import join_names
from autograder.exchange.platforms.csv_files import CsvTable, normalize_column, parse_table, strip_guard
from autograder.exchange.platforms.worksheets import parse_number
from autograder.messages import build_localised_text

COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
"""Columns by which Canvas identifies students."""
EXCUSED = "ex"
"""Canvas's entry for an excused student, in lower case."""
_KNOWN = {"gradebook of Canvas": ("student", "id", "sisuserid", "sisloginid")}
_ASSIGNMENT_NUMBER = re.compile(r"\s*\(([0-9]+)\)$")
"""Number of the assignment in Canvas, at the end of its column's name."""


def read_gradebook(data: bytes) -> CsvTable:
    """Read a gradebook as it was downloaded.

    Raises:
        CourseError: it is not a gradebook.
    """
    return parse_table(data, _KNOWN, (("student",), ("id",)))


def find_column(columns: Sequence[str], title: str) -> str:
    """Return the assignment's column; empty: there is none.

    A column of exactly this name is preferred. Otherwise case, spaces and punctuation are ignored, and so is
    Canvas's number after the name, unless the title states another one.

    Raises:
        CourseError: several columns match; names them.
    """
    exact = [column for column in columns if column.strip() == title.strip()]
    fitting = exact or [column for column in columns if _is_title_match(column, title)]
    if len(fitting) > 1:
        raise CourseError(
            build_localised_text(
                "fault.gradebook-columns",
                number=len(fitting),
                title=repr(title),
                columns=join_names(fitting),
                first=fitting[0].strip(),
            )
        )
    return fitting[0] if fitting else ""


def _is_title_match(column: str, title: str) -> bool:
    """Decide whether a column may be that of an assignment."""
    number, title_number = _ASSIGNMENT_NUMBER.search(column), _ASSIGNMENT_NUMBER.search(title)
    # Two different numbers mean two assignments, even with the same name.
    if number and title_number and number[1] != title_number[1]:
        return False
    return normalize_column(_ASSIGNMENT_NUMBER.sub("", column)) == normalize_column(
        _ASSIGNMENT_NUMBER.sub("", title)
    )


def find_maximum(table: CsvTable, grades: int) -> str:
    """Return the points possible, stated in one of Canvas's own rows; empty: they are not stated.

    Args:
        table: the gradebook.
        grades: index of the assignment's column; -1: there is none.
    """
    if grades < 0:
        return ""
    position = _find_points_row(table)
    # In other languages the row has another name, so every row of no student is searched.
    rows = (
        [row for row in table.rows if _is_no_student(table, row)]
        if position is None
        else [table.rows[position]]
    )
    return next((said for row in rows if parse_number(said := strip_guard(row[grades])) is not None), "")


def list_student_rows(table: CsvTable) -> list[tuple[str, ...]]:
    """Return the rows of students.

    Canvas puts its own rows above that of possible points, and which ones depends on the course. A row above
    it without any id is one of them, whatever its name.
    """
    position = _find_points_row(table)
    above = -1 if position is None else position
    return [
        row
        for number, row in enumerate(table.rows)
        if not _is_no_student(table, row) and (number > above or _is_identified(table, row))
    ]


def _find_points_row(table: CsvTable) -> int | None:
    """Return the index of the row of possible points; None: it is not named in English."""
    name = table.find_index([normalize_column("Student")])
    rows = enumerate(table.rows)
    return next(
        (position for position, row in rows if normalize_column(row[name]).startswith("pointspossible")), None
    )


def _is_no_student(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row is Canvas's own: below the head, for possible points, or of the test student."""
    name = row[table.find_index([normalize_column("Student")])]
    unnamed = name[:1] in {"", " "} or name.casefold().startswith("points possible")
    is_platform_row = unnamed and not _is_identified(table, row)
    return is_platform_row or name.casefold().startswith("student, test")


def _is_identified(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row states any of the ids by which Canvas identifies a student."""
    return any(table.get_value(row, [normalize_column(column)]) for column in COLUMNS[1:4])
