"""Writes the feedback pages of a class into the course's folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from autograder import atomic
from autograder.course import Course
from autograder.feedback.marking import render_marking
from autograder.feedback.render import render
from autograder.feedback.summary import render_summary
from autograder.grades import Standing
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.timestamps import Timing


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
) -> Iterator[Path]:
    """Write one page per student, and for staff one for marking by hand and the summary.

    Each path is yielded when its page is written.

    Args:
        course: whose folders.
        rubric: the common one, for the summary.
        results: by student.
        rubrics: the one each of them was asked by.
        standings: their marks, with what people gave.
        submitted: when each handed in.
        timings: how that stands to the time allowed, where there is one.
        language: ``"en"`` or ``"de"``; the pages for staff are in English, but for what the rubric says
            to those who mark by hand.
        remarks: about the class as a whole, for the summary.
    """
    name = rubric.assignment.name
    for student, graded in results.items():
        page = render(
            graded,
            rubrics[student],
            language=language,
            submitted_at=submitted.get(student),
            stands=standings[student],
            timing=(timings or {}).get(student),
        )
        yield _write(course.feedback(student, name) / f"{name}.html", page)
    marking = render_marking(list(results.values()), rubric, standings, language)
    yield _write(course.root / "staff" / f"{name}-marking.html", marking)
    summary = render_summary(results.values(), rubric, standings, remarks)
    yield _write(course.root / "staff" / f"{name}.html", summary)


def _write(path: Path, page: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, page.encode())
    return path
