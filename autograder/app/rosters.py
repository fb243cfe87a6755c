"""Import class lists of platforms into the course's roster."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from autograder.app.lists import escape_name
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.exchange.platforms.classlists import ListChange, merge_lists, read_class_list
from autograder.grading.store import Student


class RosterImport(Struct, frozen=True):
    """Result of importing a class list."""

    change: ListChange
    id_column: str
    """The column with the ids."""
    left_out: tuple[str, ...]
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
            entry.id, escape_name(entry.first_name), escape_name(entry.last_name), escape_name(entry.email)
        )
        for entry in listed.students
    )
