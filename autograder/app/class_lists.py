"""Class lists and bonus points: CSV files that people write, or that platforms export."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.wording import Phrase
from autograder.course import Course, find_name_fault
from autograder.course.csv_rows import get_assignment, read_rows
from autograder.exchange.platforms.class_lists import ListChange, merge_lists, read_class_list
from autograder.grading.store import Student
from autograder.pages.feedback.sanitise import escape_markup

COLUMNS = ("id", "first_name", "last_name", "email")
BONUS_COLUMNS = ("id", "assignment", "points")
# ASCII digits only, because \d also matches other scripts; the bounded length keeps Decimals small.
_POINTS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_MOST_CHARACTERS = 128
_BEGINS_A_FORMULA = ("=", "+", "-", "@")


def read_roster(path: Path) -> tuple[Student, ...]:
    """Read a class list; further columns are ignored.

    People choose their names: characters that hide or reorder text are spelled out, and a name that a
    spreadsheet would take for a formula gets an apostrophe, because nbgrader exports names as they are.

    Raises:
        CourseError: not readable, not UTF-8, without an ``id`` column, or with an id that is empty, invalid
            or duplicate; names the line.
    """
    students: dict[str, Student] = {}
    for line, row in read_rows(path, "the class list", COLUMNS, needed=("id",)):
        student = Student(_read_id(path, line, row), *(sanitise_name(row[name]) for name in COLUMNS[1:]))
        if student.id in students:
            raise CourseError(f"{path}: line {line}: {student.id!r} stands twice")
        students[student.id] = student
    return tuple(students.values())


def read_bonus(path: Path, assignment: str, assignments: Collection[str]) -> dict[str, Decimal]:
    """Read the bonus points for one assignment, as for homework, by student.

    Args:
        path: of the list.
        assignment: only its lines count.
        assignments: all assignments of the course: a line for another one is misspelt, and would count
            nowhere.

    Raises:
        CourseError: as with `read_roster`; or an assignment that the course does not have, points that are
            not a number from zero on, or a student with two lines for the assignment.
    """
    points: dict[str, Decimal] = {}
    for line, row in read_rows(path, "the list of bonus points", BONUS_COLUMNS, needed=BONUS_COLUMNS):
        # Called for every line, because it also rejects misspelt assignments.
        if get_assignment(row, f"{path}: line {line}", assignments) != assignment:
            continue
        student = _read_id(path, line, row)
        if student in points:
            raise CourseError(f"{path}: line {line}: {student!r} stands twice for {assignment}")
        points[student] = parse_list_points(row["points"], f"{path}: line {line}")
    return points


def parse_list_points(text: str, place: str) -> Decimal:
    """Parse points as they are typed into a list.

    Raises:
        CourseError: they are not a number from zero on.
    """
    if not _POINTS.fullmatch(text):
        raise CourseError(f"{place}: points: expected a number such as 2 or 1.5, not below 0, got {text!a}")
    return Decimal(text)


def _read_id(path: Path, line: int, row: Mapping[str, str]) -> str:
    if not row["id"]:
        raise CourseError(f"{path}: line {line}: the id is empty")
    if fault := find_name_fault(row["id"]):
        raise CourseError(f"{path}: line {line}: {row['id']!a} cannot be an id: {fault}")
    return row["id"]


def sanitise_name(name: str) -> str:
    """Sanitise a name or address for nbgrader's exports: it cannot act, hide or reorder text."""
    # Escape before the cut: the limit applies to the escaped text.
    escaped = escape_markup(name)[:_MOST_CHARACTERS]
    return f"'{escaped}" if escaped.startswith(_BEGINS_A_FORMULA) else escaped


class RosterImport(Struct, frozen=True):
    """Result of importing a class list."""

    change: ListChange
    id_column: str
    """The column with the ids."""
    left_out: tuple[Phrase, ...]
    """Sentences about rows without a usable student."""


def import_roster(
    course: Course, file: Path, *, id_column: str = "", replace: bool = False, dry_run: bool = False
) -> RosterImport:
    """Merge a class list exported by Moodle, Canvas or HISinOne into roster.csv.

    Columns, values and students that are not in the list stay.

    Args:
        course: the course.
        file: the exported CSV.
        id_column: the column with the ids; empty: detected.
        replace: remove students who are not in the list.
        dry_run: write nothing.

    Raises:
        CourseError: one of the lists is not usable; names the line.
    """
    try:
        listed = read_class_list(atomic.read_bytes(file), id_column)
    except (OSError, CourseError) as error:
        raise CourseError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    try:
        current_content = atomic.read_bytes(course.roster) if course.roster.is_file() else None
        change = merge_lists(current_content, listed.students, replace=replace)
        # Unchanged content is not rewritten, which keeps the time stamp of the file.
        if not dry_run and change.content != current_content:
            atomic.write_bytes(course.roster, change.content)
    except (OSError, CourseError) as error:
        raise CourseError(f"{course.roster}: {getattr(error, 'strerror', None) or error}") from error
    return RosterImport(change, listed.id_column, listed.left_out)


def read_students(data: bytes) -> tuple[Student, ...]:
    """Return the students of a platform's class list, or of the course's roster, for enrolment.

    Raises:
        CourseError: it is not such a list, or a row has no usable id; names the line.
    """
    listed = read_class_list(data)
    if listed.left_out:
        raise CourseError(listed.left_out[0])
    return tuple(
        Student(
            entry.id,
            sanitise_name(entry.first_name),
            sanitise_name(entry.last_name),
            sanitise_name(entry.email),
        )
        for entry in listed.students
    )
