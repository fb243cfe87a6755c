"""Writes the feedback pages of a class into the course's folders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from autograder import atomic
from autograder.course import Course
from autograder.errors import describe_error
from autograder.feedback.marking import render_marking
from autograder.feedback.render import render
from autograder.feedback.summary import render_summary
from autograder.grades import MarkChange, Standing
from autograder.notebook.release import Release
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.timestamps import Timing


class Page(Struct, frozen=True):
    """One page, and whether it is there."""

    path: Path
    problem: str = ""
    """Why it, or a part of it, is not there, for staff; a page of an earlier run stays as it was."""
    student: str = ""
    """Whose page was written; empty: one for staff, or none was."""


def pages(
    course: Course,
    rubric: Rubric,
    results: Mapping[str, Graded],
    rubrics: Mapping[str, Rubric],
    standings: Mapping[str, Standing],
    *,
    submitted: Mapping[str, datetime | None],
    timings: Mapping[str, Timing] | None = None,
    language: str,
    remarks: Sequence[str] = (),
    changes: Mapping[str, Sequence[MarkChange]] | None = None,
    left: Collection[str] = (),
    names: Mapping[str, str] | None = None,
    releases: Callable[[str], Mapping[str, Release]] = lambda _: {},
) -> Iterator[Page]:
    """Write one page per student, and two for staff; what nobody foresaw stops one page and no other.

    Args:
        course: whose folders.
        rubric: the common one, for the summary.
        results: by student.
        rubrics: the one each of them was asked by.
        standings: their marks, with what people gave.
        submitted: when each handed in.
        timings: how that stands to the time allowed, where there is one.
        language: of students' pages, such as ``"de"``, and of what a rubric says to those who mark.
        remarks: about the class as a whole, for the summary.
        changes: of marks that students were shown before, by student.
        left: students whose page stays as it is.
        names: of students, as the class list has them.
        releases: gives the notebooks that a student was given, by name.
    """
    name, named, written = rubric.assignment.name, names or {}, dict[str, str]()
    for student, graded in results.items():
        path = course.feedback(student, name) / f"{name}.html"
        seen = f"../{quote(path.relative_to(course.root).as_posix())}"
        if student in left:
            written[student] = seen
            continue
        try:
            page = render(
                graded,
                rubrics[student],
                language=language,
                submitted_at=submitted.get(student),
                stands=standings[student],
                timing=(timings or {}).get(student),
                changes=(changes or {}).get(student, ()),
                releases=releases(student),
                name=named.get(student, ""),
            )
            _write(path, page)
            written[student] = seen
            yield Page(path, student=student)
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            yield Page(path, f"{student}: the page could not be written: {describe_error(error)}")
    told = _Told(rubric, standings, language, remarks, named, written)
    yield from _for_staff(course, told, list(results.values()))


class _Told(Struct, frozen=True):
    """What the pages for staff say of a class."""

    rubric: Rubric
    standings: Mapping[str, Standing]
    language: str
    remarks: Sequence[str]
    names: Mapping[str, str]
    pages: Mapping[str, str]
    """Where students' pages lie, seen from those for staff."""


def _for_staff(course: Course, told: _Told, everybody: Sequence[Graded]) -> Iterator[Page]:
    name, folder = told.rubric.assignment.name, course.root / "staff"
    marking = partial(
        render_marking,
        rubric=told.rubric,
        standings=told.standings,
        language=told.language,
        secret=course.secret(),
    )
    summary = partial(
        render_summary,
        rubric=told.rubric,
        standings=told.standings,
        remarks=told.remarks,
        names=told.names,
        pages=told.pages,
    )
    yield _of_all(folder / f"{name}-marking.html", marking, everybody)
    yield _of_all(folder / f"{name}.html", summary, everybody)


def _of_all(path: Path, made: Callable[[Sequence[Graded]], str], everybody: Sequence[Graded]) -> Page:
    """Write a page about a class; without those of whom none can be made."""
    problem = ""
    try:
        try:
            page = made(everybody)
        except Exception as error:  # noqa: BLE001 - told below, with whose it is
            fitting = [graded for graded in everybody if _can(made, graded)]
            without = ", ".join(sorted({one.score.student for one in everybody if one not in fitting}))
            problem = f"{path.name}: without {without}: {describe_error(error)}"
            page = made(fitting)
        _write(path, page)
    except Exception as error:  # noqa: BLE001 - the other pages are there
        problem = f"{path.name}: the page could not be written: {describe_error(error)}"
    return Page(path, problem)


def _can(made: Callable[[Sequence[Graded]], str], graded: Graded) -> bool:
    try:
        made([graded])
    except Exception:  # noqa: BLE001 - the caller tells it
        return False
    return True


def _write(path: Path, page: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, page.encode())
