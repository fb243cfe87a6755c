"""Which store a course has: the one place that names an implementation."""

from __future__ import annotations

from typing import Protocol

from autograder.assignment import Assignment
from autograder.errors import CourseError
from autograder.store import Store


class OpenStore(Protocol):
    """Opens the store of an assignment's course."""

    def __call__(self, assignment: Assignment, *, new: bool) -> Store:
        """The store, opened.

        Args:
            assignment: whose course.
            new: there may be none yet; then it is made.
        """


def open_store(assignment: Assignment, *, new: bool) -> Store:
    """nbgrader's gradebook in the course folder.

    Raises:
        CourseError: there is none yet, and it may not be new.
        GradebookError: it cannot be opened.
    """
    course = assignment.course
    if not new and not course.gradebook.is_file():
        raise CourseError(
            f"{course.gradebook}: there is no gradebook yet; run: autograder grade {assignment.name}"
        )
    from autograder.gradebook import Gradebook  # imports nbgrader, which takes more than a second

    return Gradebook(course.gradebook)
