"""Canvas's gradebook: its rows of students, and the column of an assignment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.errors import CourseError
from autograder.platforms.csvfiles import CsvTable, column_name, parsed, unguarded
from autograder.platforms.worksheets import number_said
from autograder.tables import name_list

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
    return parsed(data, _KNOWN, (("student",), ("id",)))


def find_column(columns: Sequence[str], title: str) -> str:
    """Return the assignment's column; empty: there is none.

    A column of exactly this name is preferred. Otherwise case, spaces and punctuation are ignored, and so is
    Canvas's number after the name, unless the title states another one.

    Raises:
        CourseError: several columns match; names them.
    """
    exact = [column for column in columns if column.strip() == title.strip()]
    fitting = exact or [column for column in columns if _fits_title(column, title)]
    if len(fitting) > 1:
        raise CourseError(
            f"the gradebook has {len(fitting)} columns that may be {title!r}: {name_list(fitting)}; state "
            f'the whole name of the one that is meant: --title "{fitting[0].strip()}"'
        )
    return fitting[0] if fitting else ""


def _fits_title(column: str, title: str) -> bool:
    """Decide whether a column may be that of an assignment."""
    number, stated = _ASSIGNMENT_NUMBER.search(column), _ASSIGNMENT_NUMBER.search(title)
    # Two different numbers mean two assignments, even with the same name.
    if number and stated and number[1] != stated[1]:
        return False
    return column_name(_ASSIGNMENT_NUMBER.sub("", column)) == column_name(_ASSIGNMENT_NUMBER.sub("", title))


def stated_maximum(table: CsvTable, grades: int) -> str:
    """Return the points possible, stated in one of Canvas's own rows; empty: they are not stated.

    Args:
        table: the gradebook.
        grades: index of the assignment's column; -1: there is none.
    """
    if grades < 0:
        return ""
    at = _possible_row(table)
    # In other languages the row has another name, so every row of no student is searched.
    rows = [row for row in table.rows if _is_no_student(table, row)] if at is None else [table.rows[at]]
    return next((said for row in rows if number_said(said := unguarded(row[grades])) is not None), "")


def student_rows(table: CsvTable) -> list[tuple[str, ...]]:
    """Return the rows of students.

    Canvas puts its own rows above that of possible points, and which ones depends on the course. A row above
    it without any id is one of them, whatever its name.
    """
    at = _possible_row(table)
    above = -1 if at is None else at
    return [
        row
        for number, row in enumerate(table.rows)
        if not _is_no_student(table, row) and (number > above or _is_identified(table, row))
    ]


def _possible_row(table: CsvTable) -> int | None:
    """Return the index of the row of possible points; None: it is not named in English."""
    name = table.column([column_name("Student")])
    rows = enumerate(table.rows)
    return next((at for at, row in rows if column_name(row[name]).startswith("pointspossible")), None)


def _is_no_student(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row is Canvas's own: below the head, for possible points, or of the test student."""
    name = row[table.column([column_name("Student")])]
    unnamed = name[:1] in {"", " "} or name.casefold().startswith("points possible")
    own = unnamed and not _is_identified(table, row)
    return own or name.casefold().startswith("student, test")


def _is_identified(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row states any of the ids by which Canvas identifies a student."""
    return any(value(table, row, column) for column in COLUMNS[1:4])


def value(table: CsvTable, row: Sequence[str], column: str) -> str:
    """Return the cell of a row in the column with this name; empty: there is no such column."""
    at = table.column([column_name(column)])
    return unguarded(row[at]) if at >= 0 else ""
