"""The staff page of class statistics: one static HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote

from msgspec import Struct

from autograder.grading.grades import Standing
from autograder.marking.statistics import ClassFigures, Seconds
from autograder.pages.feedback.grade import format_grade_range
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.pages.rendering import fill_template
from autograder.rubric import Rubric

_TIMES = {
    "grading": "Grading one submission, by the clock",
    "sandbox": "Of it, opening and closing boxes and the wire",
    "processor": "The notebook's own processor time, in the sandbox",
}


class _Author(Struct, frozen=True):
    """Display name of a student on the page."""

    name: str
    link: str
    """Link to the student's page; empty if students are not named."""


class _Row(Struct, frozen=True):
    """Row of one student."""

    author: _Author
    points: Decimal
    grade: str
    provisional: bool
    questions: tuple[Decimal | None, ...]
    """Points by question; None for a question that is not fully graded."""


def render_statistics(
    rubric: Rubric,
    figures: ClassFigures,
    standings: Mapping[str, Standing],
    called: Mapping[str, str],
    *,
    named: bool,
    remarks: Sequence[str] = (),
) -> str:
    """Render the page. It runs one script, which sorts tables, and works without it.

    Args:
        rubric: the common one.
        figures: of the class.
        standings: standing of each student.
        called: display name by student.
        named: ``called`` are ids: they are linked to the students' pages.
        remarks: about the class as a whole, a sentence each.
    """
    labels, name = Labels("en"), rubric.assignment.name

    def make_author(student: str) -> _Author:
        # Links contain ids, so a page with pseudonyms has none. Ids may contain characters special in URLs.
        link = f"../feedback/{quote(student)}/{quote(name)}/{quote(name)}.html" if named else ""
        return _Author(to_printable_text(called[student], 200), link)

    rows = [_make_row(stand, make_author(student), labels) for student, stand in standings.items()]
    scale = rubric.assignment.grading
    return fill_template(
        "statistics.html",
        title=labels.pick(rubric.assignment.title, name),
        version=rubric.version,
        possible=rubric.assignment.points,
        figures=figures,
        rows=sorted(rows, key=lambda row: (-row.points, row.author.name)),
        named=named,
        scale=scale,
        times=[(title, figures.times[key]) for key, title in _TIMES.items() if key in figures.times],
        remarks=[to_printable_text(remark, 2_000) for remark in remarks],
        author=make_author,
        example=lambda example_shown: to_printable_text(example_shown.text, 2_000),
        said=lambda message: render_sentence(message, "en"),
        two=lambda value: "–" if value is None else labels.number(Decimal(f"{value:.2f}")),
        spent=_format_seconds,
        label=labels,
        sortable=True,
    )


def _make_row(stand: Standing, author: _Author, labels: Labels) -> _Row:
    grade = format_grade_range(stand.worst, stand.best, labels) if stand.worst and stand.best else ""
    questions = tuple(
        None if question_standing.pending else question_standing.points
        for question_standing in stand.questions
    )
    return _Row(author, stand.total, grade, not stand.final, questions)


def _format_seconds(seconds: Seconds | None) -> str:
    """Format a median with the maximum, in seconds."""
    return "–" if seconds is None else f"{seconds.median:.2f} ({seconds.longest:.2f})"
