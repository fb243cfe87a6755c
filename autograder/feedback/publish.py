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
from autograder.feedback.render import render
from autograder.feedback.summary import render_summary
from autograder.grades import MarkChange, Standing
from autograder.notebook.release import Release
from autograder.records import Graded, Message
from autograder.rubric import Rubric
from autograder.timestamps import Timing


class Page(Struct, frozen=True):
    """One page, and whether it is there."""

    path: Path
    problem: str = ""
    """Why it, or a part of it, is not there, for staff; a page of an earlier run stays as it was."""
    student: str = ""
    """Whose page was written; empty: one for staff, or none was."""


class ClassShown(Struct, frozen=True):
    """What the pages of a class are made of. Mappings are by student."""

    course: Course
    rubric: Rubric
    """The common one, for pages about the class."""
    results: Mapping[str, Graded]
    rubrics: Mapping[str, Rubric]
    """The one each of them was asked by."""
    standings: Mapping[str, Standing]
    """Their marks, with what people gave."""
    language: str
    """Of students' pages, such as ``"de"``."""
    submitted: Mapping[str, datetime | None] = {}
    """When each handed in."""
    timings: Mapping[str, Timing] = {}
    """How that stands to the time allowed, where there is one."""
    reasons: Mapping[str, Sequence[Message]] = {}
    """Why the attempt counts that is graded, if it is not the one that usually does."""
    remarks: Sequence[str] = ()
    """About the class as a whole, for the summary."""
    changes: Mapping[str, Sequence[MarkChange]] = {}
    """Of marks that students were shown before."""
    left: Collection[str] = ()
    """Students whose page stays as it is."""
    names: Mapping[str, str] = {}
    """As the class list has them."""
    releases: Callable[[str], Mapping[str, Release]] = lambda _: {}
    """Gives the notebooks that a student was given, by name."""


def pages(shown: ClassShown) -> Iterator[Page]:
    """Write one page per student, and one for staff; what nobody foresaw stops one page and no other."""
    name, written = shown.rubric.assignment.name, dict[str, str]()
    for student in shown.results:
        path = shown.course.feedback(student, name) / f"{name}.html"
        seen = f"../{quote(path.relative_to(shown.course.root).as_posix())}"
        if student in shown.left:
            written[student] = seen
            continue
        try:
            _write(path, _of_student(shown, student))
            written[student] = seen
            yield Page(path, student=student)
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            yield Page(path, f"{student}: the page could not be written: {describe_error(error)}")
    yield from _for_staff(shown, written)


def _of_student(shown: ClassShown, student: str) -> str:
    return render(
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


def _for_staff(shown: ClassShown, written: Mapping[str, str]) -> Iterator[Page]:
    """Write the summary; `written` says where students' pages lie, seen from it."""
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
