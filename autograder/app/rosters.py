"""Class lists of platforms brought into the course's own."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from autograder import atomic
from autograder.app.lists import harmless
from autograder.course import Course
from autograder.errors import CourseError
from autograder.platforms.classlists import ListChange, merged, read_class_list
from autograder.store import Student


class RosterImport(Struct, frozen=True):
    """What a class list brought."""

    change: ListChange
    id_column: str
    """The column that ids were taken from."""
    left_out: tuple[str, ...]
    """Rows of nobody who can be listed, a sentence each."""


def import_roster(
    course: Course, file: Path, *, id_column: str = "", replace: bool = False, dry_run: bool = False
) -> RosterImport:
    """Enter a class list as Moodle, Canvas or HISinOne exports it into roster.csv.

    What the list does not say stays: further columns, values, and whoever is not on it.

    Args:
        course: whose class list.
        file: as it was exported, CSV.
        id_column: what ids are taken from; empty: found out.
        replace: whoever is not on it is taken off.
        dry_run: nothing is written.

    Raises:
        CourseError: one of the lists is not usable; names the line.
    """
    try:
        listed = read_class_list(atomic.read(file), id_column)
    except (OSError, CourseError) as error:
        raise CourseError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    try:
        own = atomic.read(course.roster) if course.roster.is_file() else None
        change = merged(own, listed.students, replace=replace)
        if not dry_run and change.content != own:
            atomic.write(course.roster, change.content)
    except (OSError, CourseError) as error:
        raise CourseError(f"{course.roster}: {getattr(error, 'strerror', None) or error}") from error
    return RosterImport(change, listed.id_column, listed.left_out)


def listed_students(data: bytes) -> tuple[Student, ...]:
    """The students of a class list as a platform exports it, or of the course's own, to be enrolled.

    Raises:
        CourseError: it is no such list, or a row has no usable id; names the line.
    """
    listed = read_class_list(data)
    if listed.left_out:
        raise CourseError(listed.left_out[0])
    return tuple(
        Student(one.id, harmless(one.first_name), harmless(one.last_name), harmless(one.email))
        for one in listed.students
    )
