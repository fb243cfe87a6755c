"""The page a student gets back: one file, no script, no request to anywhere."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from autograder import messages
from autograder.feedback.answers import cells_about
from autograder.feedback.cells import CellView, notebook_view
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import POLICY, sentence
from autograder.feedback.view import SubmittedView, page_view
from autograder.grades import MarkChange, Standing, standing
from autograder.notebook.release import Release
from autograder.records import Graded, Message
from autograder.rubric import Rubric
from autograder.timestamps import Timing, by_clock, format_moment

TEMPLATES = Path(__file__).parent / "templates"


def render(
    graded: Graded,
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
) -> str:
    """The feedback page as HTML.

    It shows students' texts only: no staff text, no expected value. Whatever the submission holds, the
    page encodes to UTF-8, fetches nothing and runs nothing.

    Args:
        graded: the result.
        rubric: the rubric it was graded by.
        language: such as ``"de"``; English where the catalogue has no other.
        submitted_at: when it was handed in; a time without zone is taken as UTC.
        timing: how that stands to the time allowed, where there is one.
        reasons: why this attempt counts, if it is not the one that usually does.
        stands: the student's marks with what people gave; default: the automatic ones alone.
        changes: of marks that the student was shown before, the oldest first.
        releases: the notebooks that the student was given, by name, to show what was asked, and what in an
            answer is new.
        name: of the student, as the class list has it.
    """
    labels = Labels(language)
    handed_in = _submitted(submitted_at, timing, reasons, labels)
    stands = stands or standing(graded.score, rubric)
    page = page_view(
        graded,
        rubric,
        labels,
        handed_in,
        stands,
        changes=changes,
        releases=releases,
        name=name,
    )
    return filled("student.html", page=page, label=labels, policy=POLICY)


def render_cells(graded: Graded, rubric: Rubric, notebook: str, names: Collection[str], language: str) -> str:
    """The cells of an answer as HTML, with what they and those beside them gave, as safe as the page.

    Args:
        graded: the result.
        rubric: the rubric it was graded by.
        notebook: its name.
        names: of the answer's cells.
        language: as for `render`.
    """
    labels, limits = Labels(language), rubric.assignment.limits
    views = []
    for place, one in enumerate(graded.notebooks, 1):
        if one.name == notebook:
            parts = {position for name in names for position in one.positions(name)}
            about = cells_about(one, names)
            cells = _within(notebook_view(one, place, labels, limits).cells, about)
            views += [
                cell
                for position, cell in zip(about, cells, strict=True)
                if position in parts or cell.outputs or cell.has_problem
            ]
    return filled("outputs.html", cells=views, label=labels, policy=POLICY)


def _within(cells: Sequence[CellView], places: range) -> Sequence[CellView]:
    return cells[places.start : places.stop]


def filled(template: str, folder: Path = TEMPLATES, **values: Any) -> str:
    """A template with values; lone surrogates, which UTF-8 cannot carry, become question marks."""
    text = _environment(folder).get_template(template).render(**values)
    return text.encode("utf-8", "replace").decode()


@functools.cache
def _environment(folder: Path) -> jinja2.Environment:
    """A folder of templates, compiled once: compiling costs more than rendering."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence_start"] = capitalise_sentence
    return environment


def capitalise_sentence(text: str) -> str:
    """Return a sentence with a capital letter in front, unless it begins with a path or file name."""
    first = text.partition(" ")[0]
    return text if "/" in first or "." in first.rstrip(".") else text[:1].upper() + text[1:]


def _submitted(
    moment: datetime.datetime | None, timing: Timing | None, reasons: Sequence[Message], labels: Labels
) -> SubmittedView:
    """When it was handed in, by the clock of the place where the exam was sat, or else in UTC."""
    found = (*(timing.messages(labels.language) if timing else ()), *reasons)
    said = " ".join(sentence(message, labels.language) for message in found)
    bad = timing is not None and timing.costly
    if moment is None:
        return SubmittedView("", said, bad)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    if timing is None:
        return SubmittedView(
            messages.sentence("moment.utc", labels.language, moment=aware.astimezone(datetime.UTC)), said
        )
    return SubmittedView(
        format_moment(by_clock(aware, timing.window), timing.window.zone, labels.language), said, bad
    )
