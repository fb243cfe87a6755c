"""Use cases: the operations on a course, as functions that any front end calls.

They take a `Course`, names and options, return frozen records, and raise errors of `core.errors`. They
print nothing and know no command line: progress and immediate warnings go to a `Listener`. Only
`autograder.app.stores` decides which gradebook a course has.

These modules import heavy libraries: a front end that must start quickly imports them when needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from autograder.core.tables import escape_name, join_names
from autograder.sandbox.levels import Isolation, get_warning

if TYPE_CHECKING:
    from autograder.course import Course

__all__ = [
    "SILENT",
    "Isolation",
    "Listener",
    "count_steps",
    "escape_name",
    "get_warning",
    "join_names",
    "open_course",
]

T = TypeVar("T")


class Listener:
    """Receives progress and warnings of a use case. This one ignores them; front ends override it."""

    def report_progress(self, done: int, total: int) -> None:
        """Report how many steps are done. Called from one thread, first with 0."""

    def notify_staff(self, sentence: str) -> None:
        """Report something that staff should know immediately, whatever the result."""


SILENT = Listener()


def count_steps(steps: Iterable[T], total: int, watch: Listener) -> Iterator[T]:
    """Yield the steps and report progress after each."""
    # Zero first, so that a front end can show its progress bar before the first step is done.
    watch.report_progress(0, total)
    for done, step in enumerate(steps, start=1):
        yield step
        watch.report_progress(done, total)


def open_course(folder: Path) -> Course:
    """Return the course in a folder.

    Raises:
        CourseError: there is none.
    """
    from autograder.course import Course

    return Course.from_folder(folder)
