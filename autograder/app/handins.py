"""What a class has handed in: of each student the attempt that counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from autograder.assignment import Assignment
from autograder.course import Course, Handin, counting
from autograder.course.schedule import Schedule
from autograder.errors import CourseError
from autograder.records import StudentGroup
from autograder.tables import nearest_id
from autograder.timestamps import Timing


class Collected(Struct, frozen=True):
    """What a class handed in, before any of it is graded."""

    handins: tuple[Handin, ...]
    """The attempt that counts of every student, with how it stands to the time."""
    misnamed: Mapping[str, str]
    """Folders that are not graded for their name, and what is wrong with it."""
    times: Schedule | None
    """When the assignment is sat, where the course says so."""
    groups: tuple[StudentGroup, ...] = ()
    """Who hands in together."""

    @property
    def timings(self) -> dict[str, Timing]:
        """How each submission stands to the time, by student, where there is one."""
        return {one.student: one.timing for one in self.handins if one.timing}


def collect(course: Course, assignment: Assignment, students: Collection[str] = ()) -> Collected:
    """What lies in submitted/: of each student the attempt that counts. Nothing is read or run.

    Args:
        course: whose class.
        assignment: loaded.
        students: only these; empty: everybody.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students handed in nothing.
    """
    name, found = assignment.name, counting.everybody(course, assignment.rubric)
    handins = [one for one in found.handins if not students or one.student in students]
    missing = sorted(set(students) - {one.student for one in handins})
    if missing:
        known = [one.student for one in found.handins]
        nearest = "; ".join(dict.fromkeys(nearest_id(one, known) for one in missing))
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}; {nearest}")
    return Collected(tuple(handins), course.misnamed(name), found.times, found.groups)
