"""The submissions of a class: the attempt that counts for each student."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.records import StudentGroup
from autograder.core.tables import suggest_id
from autograder.course import Course, Handin, counting
from autograder.course.schedule import Schedule
from autograder.grading.assignment import Assignment
from autograder.rubric.timestamps import Timing


class CollectedClass(Struct, frozen=True):
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
        return {handin.student: handin.timing for handin in self.handins if handin.timing}


def collect_handins(course: Course, assignment: Assignment, students: Collection[str] = ()) -> CollectedClass:
    """Return the attempt that counts for each student in submitted/. Nothing is read or run.

    Args:
        course: the course.
        assignment: loaded.
        students: only these; empty: all.

    Raises:
        CourseError: a file or folder of the course is not usable, or one of the students has no submission.
    """
    name, counted = assignment.name, counting.find_counting_attempts(course, assignment.rubric)
    handins = [handin for handin in counted.handins if not students or handin.student in students]
    missing = sorted(set(students) - {handin.student for handin in handins})
    if missing:
        submitters = [handin.student for handin in counted.handins]
        # An id that is missing may be misspelt.
        nearest = "; ".join(dict.fromkeys(suggest_id(handin, submitters) for handin in missing))
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}; {nearest}")
    return CollectedClass(tuple(handins), course.list_misnamed(name), counted.times, counted.groups)
