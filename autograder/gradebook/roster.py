"""Class lists: a CSV with the columns ``id, first_name, last_name, email``, as nbgrader imports them."""

from __future__ import annotations

import csv
from pathlib import Path

from msgspec import Struct

from autograder.course import name_fault
from autograder.errors import CourseError
from autograder.gradebook.comments import harmless

COLUMNS = ("id", "first_name", "last_name", "email")
_MOST_BYTES = 16 * 2**20
_MOST_CHARACTERS = 128
_BEGINS_A_FORMULA = ("=", "+", "-", "@")


class Student(Struct, frozen=True):
    """One line of a class list; only the id is certain."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""


def read_roster(path: Path) -> tuple[Student, ...]:
    """Read a class list; further columns are ignored.

    Names are people's own choice: what hides or reorders text is spelled out, and what a spreadsheet
    would take for a formula is preceded by an apostrophe, because nbgrader exports names as they are.

    Raises:
        CourseError: not readable, not UTF-8, without an ``id`` column, or with an id that is empty, cannot
            be one, or stands twice; names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path}: the class list cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise CourseError(f"{path}: {len(data)} bytes are too many for a class list")
    try:
        lines = data.decode("utf-8-sig").splitlines()
        reader = csv.DictReader(lines, strict=True, skipinitialspace=True)
        names = tuple(reader.fieldnames or ())
        rows = list(reader)
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: not UTF-8 (byte {error.start}); save the list as UTF-8") from error
    except csv.Error as error:
        raise CourseError(f"{path}: line {reader.line_num}: not a CSV line: {error}") from error
    if "id" not in names:
        raise CourseError(
            f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(names) or 'none'}"
        )
    students: dict[str, Student] = {}
    for line, row in enumerate(rows, start=2):
        student = Student(
            (row.get("id") or "").strip(), *(_harmless((row.get(name) or "").strip()) for name in COLUMNS[1:])
        )
        if not student.id:
            raise CourseError(f"{path}: line {line}: the id is empty")
        if fault := name_fault(student.id):
            raise CourseError(f"{path}: line {line}: {student.id!a} cannot be an id: {fault}")
        if student.id in students:
            raise CourseError(f"{path}: line {line}: {student.id!r} stands twice")
        students[student.id] = student
    return tuple(students.values())


def _harmless(name: str) -> str:
    shown = harmless(name)[:_MOST_CHARACTERS]
    return f"'{shown}" if shown.startswith(_BEGINS_A_FORMULA) else shown
