"""The submissions of a class: the attempt that counts for each student."""

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
    """The submissions of a class, before grading."""

    handins: tuple[Handin, ...]
    """The attempt that counts for every student, with its timing."""
    misnamed: Mapping[str, str]
    """Folders that are not graded because of their name, with the reason."""
    times: Schedule | None
    """The schedule of the assignment, if the course has one."""
    groups: tuple[StudentGroup, ...] = ()
    """Groups that submit together."""

    @property
    def timings(self) -> dict[str, Timing]:
        """Timing of each submission by student, if there is a schedule."""
        return {one.student: one.timing for one in self.handins if one.timing}


def collect(course: Course, assignment: Assignment, students: Collection[str] = ()) -> Collected:
    """Return the attempt that counts for each student in submitted/. Nothing is read or run.

    Args:
        course: the course.
        assignment: loaded.
        students: only these; empty: all.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students has no submission.
    """
    name, found = assignment.name, counting.everybody(course, assignment.rubric)
    handins = [one for one in found.handins if not students or one.student in students]
    missing = sorted(set(students) - {one.student for one in handins})
    if missing:
        known = [one.student for one in found.handins]
        # An id that is missing may be misspelt.
        nearest = "; ".join(dict.fromkeys(nearest_id(one, known) for one in missing))
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}; {nearest}")
    return Collected(tuple(handins), course.misnamed(name), found.times, found.groups)
