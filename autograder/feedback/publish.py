"""Writes the feedback pages of a class into the course's folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from autograder import atomic
from autograder.course import Course
from autograder.feedback.render import render
from autograder.feedback.summary import render_summary
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.timestamps import Timing


def pages(
    course: Course,
    rubric: Rubric,
    results: Mapping[str, Graded],
    rubrics: Mapping[str, Rubric],
    *,
    submitted: Mapping[str, datetime | None],
    timings: Mapping[str, Timing] | None = None,
    language: str,
) -> Iterator[Path]:
    """Write one page per student and the summary for staff; yields each path when it is written.

    Args:
        course: whose folders.
        rubric: the common one, for the summary.
        results: by student.
        rubrics: the one each of them was asked by.
        submitted: when each handed in.
        timings: how that stands to the time allowed, where there is one.
        language: ``"en"`` or ``"de"``.
    """
    name = rubric.assignment.name
    for student, graded in results.items():
        page = render(
            graded,
            rubrics[student],
            language=language,
            submitted_at=submitted.get(student),
            timing=(timings or {}).get(student),
        )
        yield _write(course.feedback(student, name) / f"{name}.html", page)
    yield _write(course.root / "staff" / f"{name}.html", render_summary(results.values(), rubric))


def _write(path: Path, page: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, page.encode())
    return path
