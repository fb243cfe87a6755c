"""An invented class that sits an assignment, graded, with pages, beside the marks it must get."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from autograder.app import SILENT, Isolation, Listener
from autograder.app.classes import GradedClass, Published, feedback, grade
from autograder.app.stores import OpenStore, open_store
from autograder.course import Course
from autograder.demo.course import MarkComparison, compare, make, removed_on_failure, where_to_look
from autograder.demo.students import DemoStudent

__all__ = ["DemoRun", "make", "removed_on_failure", "run", "where_to_look"]


class DemoRun(Struct, frozen=True):
    """What came of it."""

    graded: GradedClass
    published: Published
    comparison: MarkComparison
    seconds: float
    """For grading."""
    seconds_for_pages: float


def run(
    course: Course,
    name: str,
    people: Sequence[DemoStudent],
    *,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    language: str = "",
    watches: tuple[Listener, Listener] = (SILENT, SILENT),
    store: OpenStore = open_store,
) -> DemoRun:
    """Grade a class that `make` has made, write its pages, and compare its marks.

    Args:
        course: that was made.
        name: of the assignment.
        people: its class.
        workers: submissions at the same time; 0: by the number of cores.
        isolation: how student code is confined.
        language: of the pages; empty: the release's.
        watches: hear of each submission, and of each page.
        store: opens the course's.

    Raises:
        As `autograder.app.classes.grade` and `feedback`.
    """
    started = time.monotonic()
    graded = grade(course, name, workers=workers, isolation=isolation, watch=watches[0], store=store)
    done = time.monotonic()
    published = feedback(course, name, language, watch=watches[1], store=store)
    comparison = compare(people, graded.outcomes)
    return DemoRun(graded, published, comparison, done - started, time.monotonic() - done)
