"""Write the feedback pages of a class into the course's folders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import describe_error
from autograder.core.records import GradingResult, Message
from autograder.course import Course
from autograder.grading.grades import MarkChange, Standing
from autograder.notebook.release import Release
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.summary import render_summary
from autograder.rubric import Rubric
from autograder.rubric.timestamps import Timing


class Page(Struct, frozen=True):
    """One page, and whether it was written."""

    path: Path
    problem: str = ""
    """Why it, or a part of it, is missing, for staff; an earlier page is kept."""
    student: str = ""
    """Student of the page; empty: it is a page for staff, or was not written."""


class ClassPages(Struct, frozen=True):
    """Data for the pages of a class. Mappings are by student."""

    course: Course
    rubric: Rubric
    """The common rubric, for pages about the class."""
    results: Mapping[str, GradingResult]
    rubrics: Mapping[str, Rubric]
    """The rubric of each student's variant."""
    standings: Mapping[str, Standing]
    """Marks, including manual ones."""
    language: str
    """Language of students' pages, such as ``"de"``."""
    submitted: Mapping[str, datetime | None] = {}
    """Submission times."""
    timings: Mapping[str, Timing] = {}
    """Their relation to the deadline, if there is one."""
    reasons: Mapping[str, Sequence[Message]] = {}
    """Why the graded attempt counts, if it is not the usual one."""
    remarks: Sequence[str] = ()
    """Remarks on the class as a whole, for the summary."""
    changes: Mapping[str, Sequence[MarkChange]] = {}
    """Changes of marks that students have seen."""
    left: Collection[str] = ()
    """Students with a page that is kept as it is."""
    names: Mapping[str, str] = {}
    """Names in the class list."""
    releases: Callable[[str], Mapping[str, Release]] = lambda _: {}
    """Returns the released notebooks of a student, by name."""


def write_pages(shown: ClassPages) -> Iterator[Page]:
    """Write one page per student, and one for staff; an unexpected error only affects its own page."""
    name, written = shown.rubric.assignment.name, dict[str, str]()
    for student in shown.results:
        # Relative to the folder of the summary, which links to it.
        path = shown.course.locate_feedback(student, name) / f"{name}.html"
        seen = f"../{quote(path.relative_to(shown.course.root).as_posix())}"
        # The existing page is still linked in the summary.
        if student in shown.left:
            written[student] = seen
            continue
        try:
            _write_page(path, _render_student(shown, student))
            written[student] = seen
            yield Page(path, student=student)
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            yield Page(path, f"{student}: the page could not be written: {describe_error(error)}")
    yield from _write_staff_page(shown, written)


def _render_student(shown: ClassPages, student: str) -> str:
    """Return the page of one student."""
    return render_student_page(
        shown.results[student],
        shown.rubrics[student],
        language=shown.language,
        submitted_at=shown.submitted.get(student),
        stands=shown.standings[student],
        timing=shown.timings.get(student),
        reasons=shown.reasons.get(student, ()),
        changes=shown.changes.get(student, ()),
        releases=shown.releases(student),
        name=shown.names.get(student, ""),
    )


def _write_staff_page(shown: ClassPages, written: Mapping[str, str]) -> Iterator[Page]:
    """Write the summary; `written` maps students to their pages, relative to it."""
    name, folder = shown.rubric.assignment.name, shown.course.root / "staff"
    summary = partial(
        render_summary,
        rubric=shown.rubric,
        standings=shown.standings,
        remarks=shown.remarks,
        names=shown.names,
        pages=written,
    )
    everybody = list(shown.results.values())
    yield _write_class_page(folder / f"{name}.html", summary, everybody)


def _write_class_page(
    path: Path, render_class: Callable[[Sequence[GradingResult]], str], everybody: Sequence[GradingResult]
) -> Page:
    """Write a page about a class, without students that cannot be rendered."""
    problem = ""
    try:
        try:
            page = render_class(everybody)
        except Exception as error:  # noqa: BLE001 - reported below, with the students
            # Render each student alone to find the faulty ones; only done after a failure, because it is
            # slow.
            fitting = [graded for graded in everybody if _can_render(render_class, graded)]
            without = ", ".join(
                sorted({result.score.student for result in everybody if result not in fitting})
            )
            problem = f"{path.name}: without {without}: {describe_error(error)}"
            page = render_class(fitting)
        _write_page(path, page)
    except Exception as error:  # noqa: BLE001 - the other pages are there
        problem = f"{path.name}: the page could not be written: {describe_error(error)}"
    return Page(path, problem)


def _can_render(render_class: Callable[[Sequence[GradingResult]], str], graded: GradingResult) -> bool:
    """Decide whether a page about one student can be rendered."""
    try:
        render_class([graded])
    except Exception:  # noqa: BLE001 - reported by the caller
        return False
    return True


def _write_page(path: Path, page: str) -> None:
    """Write a page to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, page.encode())
