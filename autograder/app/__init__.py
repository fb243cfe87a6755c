"""Use cases: what a course is done with, as functions that any front end calls.

They take a `Course`, names and options, give frozen records, and raise our own errors. Nothing here prints,
and nothing knows of a command line: how far the work has come, and what staff should know at once, is told
to a `Listener`. Which gradebook a course has is said in `autograder.app.stores` alone.

==================  =====================================================================================
module              use cases
==================  =====================================================================================
`preparing`         an assignment before it is sat: release, hand out, verify, print
`handins`           what a class handed in
`classes`           a class: grade it, where everybody stands, pages
`collecting`        submissions from what learning platforms hand out, folders and exchanges
`rosters`           class lists of learning platforms
`exporting`         grades as learning platforms take them
`totals`            the total of a course over several assignments
`regrading`         who would move after a change, and the move itself
`sheets`            marking elsewhere: a sheet of what people decide on, and what they gave entered
`run_statistics`    statistics of a run
`class_statistics`  how a class did, item by item, with a page for staff
`similar`           works of a class that are alike, with a page for staff
`formulas`          how a formula is read and judged
`inspection`        what can be said of a notebook before it is handed in, and of this machine's sandbox
==================  =====================================================================================

Heavy libraries are imported by these modules: a front end that must start at once imports them when needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from autograder.sandbox.levels import Isolation, warning
from autograder.stopwatch import Stopwatch
from autograder.tables import name_list, printable_name

if TYPE_CHECKING:
    from autograder.course import Course

__all__ = [
    "SILENT",
    "Isolation",
    "Listener",
    "Stopwatch",
    "counted",
    "name_list",
    "open_course",
    "printable_name",
    "warning",
]

T = TypeVar("T")


class Listener:
    """Hears of a use case while it works. This one does nothing; a front end overrides what it shows."""

    stopwatch: Stopwatch | None = None
    """Is told where the time goes, if anybody wants to know."""

    def progress(self, done: int, total: int) -> None:
        """So many steps of so many are done. Called from one thread, with 0 first."""

    def tell(self, sentence: str) -> None:
        """Something that staff should know now, whatever becomes of the rest."""


SILENT = Listener()


def counted(steps: Iterable[T], total: int, watch: Listener) -> Iterator[T]:
    """The steps, and after each how many there were."""
    watch.progress(0, total)
    for done, step in enumerate(steps, start=1):
        yield step
        watch.progress(done, total)


def open_course(folder: Path) -> Course:
    """The course in a folder.

    Raises:
        CourseError: there is none.
    """
    from autograder.course import Course

    return Course.at(folder)
