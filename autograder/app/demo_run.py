"""Grade the demo class, write its pages, and compare its marks with the expected ones."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from autograder.app import SILENT, Isolation, Listener
from autograder.app.classes import GradedClass, PublishedPages, grade_class, write_feedback
from autograder.authoring.demo.course import (
    MarkComparison,
    compare_marks,
    list_first_files,
    make_course,
    remove_on_failure,
)
from autograder.authoring.demo.students import DemoStudent
from autograder.course import Course

__all__ = ["DemoRun", "list_first_files", "make_course", "remove_on_failure", "run_demo"]


class DemoRun(Struct, frozen=True):
    """Result of a demo run."""

    graded: GradedClass
    published: PublishedPages
    comparison: MarkComparison
    seconds: float
    """Duration of grading."""
    seconds_for_pages: float


def run_demo(
    course: Course,
    name: str,
    people: Sequence[DemoStudent],
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    language: str = "",
    watches: tuple[Listener, Listener] = (SILENT, SILENT),
) -> DemoRun:
    """Grade a class that `make_course` made, write its pages, and compare its marks.

    Args:
        course: made by `make_course`.
        name: of the assignment.
        people: its class.
        workers: number of parallel workers; 0: by the number of cores.
        isolation: how student code is confined.
        language: of the pages; empty: the release's.
        watches: notified after each submission, and after each page.

    Raises:
        As `autograder.app.classes.grade_class` and `write_feedback`.
    """
    started = time.monotonic()
    graded = grade_class(course, name, workers=workers, isolation=isolation, watch=watches[0])
    done = time.monotonic()
    published = write_feedback(course, name, language, watch=watches[1])
    comparison = compare_marks(people, graded.outcomes)
    return DemoRun(graded, published, comparison, done - started, time.monotonic() - done)
