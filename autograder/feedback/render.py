"""The page a student gets back: one file, no script, no request to anywhere."""

from __future__ import annotations

import datetime
import functools
from pathlib import Path

import jinja2

from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import POLICY
from autograder.feedback.view import page_view
from autograder.grades import Standing, standing
from autograder.records import Graded
from autograder.rubric import Rubric


def render(
    graded: Graded,
    rubric: Rubric,
    *,
    language: str = "en",
    submitted_at: datetime.datetime | None = None,
    stands: Standing | None = None,
) -> str:
    """The feedback page as HTML.

    It shows students' texts only: no staff text, no expected value. Whatever the submission holds, the
    page encodes to UTF-8, fetches nothing and runs nothing.

    Args:
        graded: the result.
        rubric: the rubric it was graded by.
        language: ``"en"`` or ``"de"``; English for any other.
        submitted_at: when it was handed in; a time without zone is taken as UTC.
        stands: the student's marks with what people gave; default: the automatic ones alone.
    """
    labels = Labels(language)
    page = page_view(graded, rubric, labels, _moment(submitted_at), stands or standing(graded.score, rubric))
    text = environment().get_template("student.html").render(page=page, label=labels, policy=POLICY)
    return text.encode("utf-8", "replace").decode()


@functools.cache
def environment() -> jinja2.Environment:
    """The pages' templates, compiled once: compiling costs more than rendering."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _moment(moment: datetime.datetime | None) -> str:
    if moment is None:
        return ""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
