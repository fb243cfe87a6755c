"""Feedback page of a student: one file, no script, no network requests."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence

from autograder import messages
from autograder.core.records import GradingResult, Message
from autograder.grading.grades import MarkChange, Standing, compute_standing
from autograder.notebook.release import Release
from autograder.pages.feedback.answers import find_cells_about
from autograder.pages.feedback.cells import build_notebook_view
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.questions import LineComment
from autograder.pages.feedback.sanitise import render_sentence
from autograder.pages.feedback.template_rendering import fill_template
from autograder.pages.feedback.view import SubmittedView, build_page_view
from autograder.rubric import Rubric
from autograder.rubric.timestamps import Timing, format_moment, to_window_zone


def render_student_page(
    graded: GradingResult,
    rubric: Rubric,
    *,
    language: str = "en",
    submitted_at: datetime.datetime | None = None,
    stands: Standing | None = None,
    timing: Timing | None = None,
    reasons: Sequence[Message] = (),
    changes: Sequence[MarkChange] = (),
    releases: Mapping[str, Release] | None = None,
    name: str = "",
    line_comments: Sequence[LineComment] = (),
) -> str:
    """Render the feedback page as HTML.

    It contains students' texts only: no staff text, no expected value. Whatever the submission contains, the
    page encodes to UTF-8, fetches nothing and runs nothing.

    Args:
        graded: result of grading.
        rubric: rubric of the grading.
        language: such as ``"de"``; English if the catalogue lacks it.
        submitted_at: submission time; a time without zone is read as UTC.
        stands: the student's marks including manual ones; default: automatic ones only.
        timing: relation of the submission time to the deadline, if there is one.
        reasons: why this attempt counts, if it is not the usual one.
        changes: changes of marks that the student has seen, the oldest first.
        releases: released notebooks of the student, by name, to show prompts and new lines in an answer.
        name: name of the student in the class list.
        line_comments: comments of markers on lines of answers.
    """
    labels = Labels(language)
    handed_in = _describe_submission(submitted_at, timing, reasons, labels)
    stands = stands or compute_standing(graded.score, rubric)
    page = build_page_view(
        graded,
        rubric,
        labels,
        handed_in,
        stands,
        changes=changes,
        releases=releases,
        name=name,
        line_comments=line_comments,
    )
    return fill_template("student.html", language=labels.language, page=page, label=labels)


def render_cells(
    graded: GradingResult, rubric: Rubric, notebook: str, names: Collection[str], language: str
) -> str:
    """Render the cells of an answer as HTML, with their output and that of neighbours, as safe as the page.

    Args:
        graded: result of grading.
        rubric: rubric of the grading.
        notebook: name of the notebook.
        names: names of the answer's cells.
        language: as for `render_student_page`.
    """
    labels, limits = Labels(language), rubric.assignment.limits
    views = []
    for number, executed in enumerate(graded.notebooks, 1):
        if executed.name == notebook:
            parts = {position for name in names for position in executed.find_positions(name)}
            about = find_cells_about(executed, names)
            cells = build_notebook_view(executed, number, labels, limits).cells[about.start : about.stop]
            views += [
                cell
                for position, cell in zip(about, cells, strict=True)
                # Neighbouring cells are only shown if they have something to show.
                if position in parts or cell.outputs or cell.has_problem
            ]
    return fill_template("outputs.html", language=labels.language, cells=views, label=labels)


def _describe_submission(
    moment: datetime.datetime | None, timing: Timing | None, reasons: Sequence[Message], labels: Labels
) -> SubmittedView:
    """Return the submission time, by the clock at the place of the exam, or else in UTC."""
    statements = (*(timing.list_messages(labels.language) if timing else ()), *reasons)
    said = " ".join(render_sentence(message, labels.language) for message in statements)
    bad = timing is not None and timing.costly
    if moment is None:
        return SubmittedView("", said, bad)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    if timing is None:
        return SubmittedView(
            messages.format_sentence("moment.utc", labels.language, moment=aware.astimezone(datetime.UTC)),
            said,
        )
    return SubmittedView(
        format_moment(to_window_zone(aware, timing.window), timing.window.zone, labels.language), said, bad
    )
