"""The lines of an exam's title page that follow from the rubric, so that they cannot be wrong.

A Markdown cell of the source holds a comment on a line of its own where they are to stand, in the language
of the passage around it: ``<!-- exam times en -->`` or ``<!-- exam tasks de -->``.
"""

from __future__ import annotations

import re

from autograder.errors import NotebookError
from autograder.messages import sentence
from autograder.rubric import Rubric
from autograder.timestamps import Window
from autograder.wording import text_in, written_number

_PLACE = re.compile(r"^[ \t]*<!--[ \t]*exam\b[ \t]*(.*?)[ \t]*-->[ \t]*$", re.MULTILINE)


def fill_title_page(text: str, rubric: Rubric, window: Window | None, place: str) -> str:
    """The text of a cell with the table of tasks and the times in their places.

    The table's last column is left empty: graders fill it in on paper, and the feedback page has it filled.

    Args:
        text: the cell's source.
        rubric: what the lines follow from.
        window: when the exam is sat; None: not known yet, and only the time allowed is told.
        place: of the cell, for errors.

    Raises:
        NotebookError: ``title-page``; a comment asks for something else, or the rubric does not have it.
    """

    def lines(found: re.Match[str]) -> str:
        wanted, _, language = found[1].partition(" ")
        made = {"times": _times(rubric, window, language), "tasks": _tasks(rubric, language)}
        if wanted not in made or language not in rubric.assignment.languages:
            languages = ", ".join(rubric.assignment.languages)
            raise NotebookError(
                "title-page",
                f"{place}: {found[0].strip()}: expected times or tasks, and one of {languages}",
            )
        if not made[wanted]:
            table = "[assignment.exam]" if wanted == "times" else "[[assignment.task]]"
            raise NotebookError("title-page", f"{place}: {found[0].strip()}: the rubric has no {table}")
        return made[wanted]

    return _PLACE.sub(lines, text)


def _times(rubric: Rubric, window: Window | None, language: str) -> str:
    exam = rubric.assignment.exam
    if exam is None:
        return ""
    allowed = sentence(
        "title.allowed",
        language,
        minutes=exam.minutes,
        points=written_number(rubric.assignment.points, language),
    )
    if exam.reading_minutes:
        allowed += sentence("title.reading", language, minutes=exam.reading_minutes)
    lines = [allowed]
    if window:
        start = sentence("title.moment", language, moment=window.start) if window.start else ""
        key = ("window" if start else "deadline") + ("-own" if window.own else "")
        end = sentence("title.moment", language, moment=window.end)
        lines.append(sentence(f"title.{key}", language, start=start, end=end, zone=window.zone))
    aids = exam.aids.get(language) or exam.aids.get("en")
    if aids:
        lines.append(sentence("title.aids", language, aids=aids))
    lines.append(sentence("title.submissions", language))
    return "\n".join(f"- {line}" for line in lines)


def _tasks(rubric: Rubric, language: str) -> str:
    tasks = rubric.assignment.tasks
    if not tasks:
        return ""
    rows = [
        f"| {task.id} | {text_in(task.text, language)} | {written_number(task.points, language)} | |"
        for task in tasks
    ]
    rows.append(sentence("title.sum", language, points=written_number(rubric.assignment.points, language)))
    if rubric.assignment.grading:
        rows.append(sentence("title.grade", language))
    return "\n".join((sentence("title.head", language), "|---|---|---:|---:|", *rows))
