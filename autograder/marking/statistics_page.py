"""The staff page of class statistics: one static HTML file with plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from urllib.parse import quote

from markupsafe import Markup
from msgspec import Struct

from autograder.grading.grades import Standing
from autograder.marking.plots import Axes, Dot, draw_curve, draw_histogram, draw_scatter
from autograder.marking.statistics import ClassFigures, ItemFigures, Seconds
from autograder.pages.feedback.grade import format_grade_range
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.render import fill_template
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.pages.feedback.sorting import POLICY_WITH_SORTING, SCRIPT
from autograder.rubric import Rubric

_TIMES = {
    "grading": "Grading one submission (wall-clock time)",
    "sandbox": "Of which opening and closing sandboxes",
    "processor": "Processor time of the notebook",
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
        plots=draw_plots(rubric, figures, labels),
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
        signed=lambda points: f"{'+' if points > 0 else ''}{labels.number(points)}",
        label=labels,
        policy=POLICY_WITH_SORTING,
        script=SCRIPT,
    )


def draw_plots(
    rubric: Rubric, figures: ClassFigures, labels: Labels, words: PlotWords | None = None
) -> Plots:
    """Draw the plots of a class.

    Args:
        rubric: the common one.
        figures: of the class.
        labels: of the page's language.
        words: titles and axis labels; default: English.
    """
    plot_words, scale = words or PlotWords(), rubric.assignment.grading
    boundaries = [(labels.grade(step.grade), step.least) for step in scale.steps[:-1]] if scale else []
    if scale and not scale.steps:
        boundaries = [(plot_words.passing, scale.passing)]
    return Plots(
        draw_histogram(figures.bars, Axes(plot_words.spread, plot_words.percent, plot_words.students)),
        draw_curve(
            figures.totals,
            rubric.assignment.points,
            boundaries,
            Axes(plot_words.curve, plot_words.points, plot_words.students),
        ),
        draw_scatter(
            _make_dots(figures.items, labels),
            Axes(plot_words.items, plot_words.difficulty, plot_words.discrimination),
        ),
    )


class PlotWords(Struct, frozen=True):
    """Titles and axis labels of the plots."""

    spread: str = "Distribution of points"
    curve: str = "Students with at least this many points, and the grade boundaries"
    items: str = "Items by difficulty and discrimination"
    percent: str = "percent of the points"
    points: str = "points"
    students: str = "students"
    difficulty: str = "difficulty (1 is easy)"
    discrimination: str = "discrimination"
    passing: str = "pass"


class Plots(Struct, frozen=True):
    """The plots as SVG."""

    spread: Markup
    curve: Markup
    items: Markup


def _make_dots(items: Iterable[ItemFigures], labels: Labels) -> list[Dot]:
    return [
        Dot(item_figures.difficulty, item_figures.discrimination, f"{_format_title(item_figures, labels)}")
        for item_figures in items
        if item_figures.difficulty is not None and item_figures.discrimination is not None
    ]


def _format_title(item_figures: ItemFigures, labels: Labels) -> str:
    return (
        f"{labels.pick(item_figures.question.title, item_figures.question.id)}: "
        f"{labels.pick(item_figures.item.text, item_figures.item.id)}"
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
