"""The lines of an exam's title page that follow from the rubric, so that they cannot be wrong.

A Markdown cell of the source holds a comment on a line of its own where they are to stand, in the language
of the passage around it: ``<!-- exam times en -->`` or ``<!-- exam tasks de -->``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from autograder.errors import NotebookError
from autograder.records import Text
from autograder.rubric import Rubric
from autograder.timestamps import Window

_PLACE = re.compile(r"^[ \t]*<!--[ \t]*exam\b[ \t]*(.*?)[ \t]*-->[ \t]*$", re.MULTILINE)
_WORDS: Mapping[str, Text] = {
    "allowed": {
        "en": "**Time allowed:** {minutes} minutes for {points} points",
        "de": "**Bearbeitungszeit:** {minutes} Minuten für {points} Punkte",
    },
    "reading": {"en": ", after {minutes} minutes for reading", "de": ", nach {minutes} Minuten Lesezeit"},
    "window": {
        "en": "**Start:** {start} · **End:** {end} ({zone}). Extra time that you were granted comes on top.",
        "de": "**Beginn:** {start} · **Ende:** {end} ({zone}). Eine Ihnen gewährte Verlängerung kommt hinzu.",
    },
    "window-own": {
        "en": "**Start:** {start} · **Your end:** {end} ({zone}). Granted extra time is in it.",
        "de": "**Beginn:** {start} · **Ihr Ende:** {end} ({zone}). Eine gewährte Verlängerung ist darin "
        "enthalten.",
    },
    "deadline": {
        "en": "**End:** {end} ({zone}). Extra time that you were granted comes on top.",
        "de": "**Ende:** {end} ({zone}). Eine Ihnen gewährte Verlängerung kommt hinzu.",
    },
    "deadline-own": {
        "en": "**Your end:** {end} ({zone}). Granted extra time is in it.",
        "de": "**Ihr Ende:** {end} ({zone}). Eine gewährte Verlängerung ist darin enthalten.",
    },
    "moment": {"en": "%Y-%m-%d, %H:%M", "de": "%d.%m.%Y, %H:%M Uhr"},
    "aids": {"en": "**Permitted aids:** {aids}", "de": "**Zugelassene Hilfsmittel:** {aids}"},
    "submissions": {
        "en": "**Handing in:** one submission counts, the last one within the time.",
        "de": "**Abgabe:** Eine Abgabe zählt, die letzte innerhalb der Zeit.",
    },
    "head": {
        "en": "| Task | Subject | Possible points | Achieved points |",
        "de": "| Aufgabe | Thema | Mögliche Punkte | Erreichte Punkte |",
    },
    "sum": {"en": "| | **Sum** | **{points}** | |", "de": "| | **Summe** | **{points}** | |"},
    "grade": {"en": "| | **Grade** | | |", "de": "| | **Note** | | |"},
}


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
    allowed = _word(
        "allowed", language, minutes=exam.minutes, points=_number(rubric.assignment.points, language)
    )
    if exam.reading_minutes:
        allowed += _word("reading", language, minutes=exam.reading_minutes)
    lines = [allowed]
    if window:
        start = _moment(window.start, language) if window.start else ""
        key = ("window" if start else "deadline") + ("-own" if window.own else "")
        end = _moment(window.end, language)
        lines.append(_word(key, language, start=start, end=end, zone=window.zone))
    aids = exam.aids.get(language) or exam.aids.get("en")
    if aids:
        lines.append(_word("aids", language, aids=aids))
    lines.append(_word("submissions", language))
    return "\n".join(f"- {line}" for line in lines)


def _tasks(rubric: Rubric, language: str) -> str:
    tasks = rubric.assignment.tasks
    if not tasks:
        return ""
    rows = [
        f"| {task.id} | {task.text.get(language) or task.text['en']} | {_number(task.points, language)} | |"
        for task in tasks
    ]
    rows.append(_word("sum", language, points=_number(rubric.assignment.points, language)))
    if rubric.assignment.grading:
        rows.append(_word("grade", language))
    return "\n".join((_word("head", language), "|---|---|---:|---:|", *rows))


def _word(key: str, language: str, **params: object) -> str:
    texts = _WORDS[key]
    return (texts.get(language) or texts["en"]).format_map(params)


def _moment(moment: datetime, language: str) -> str:
    return moment.strftime(_word("moment", language))


def _number(points: Decimal, language: str) -> str:
    plain = f"{points.normalize():f}"
    return plain.replace(".", ",") if language == "de" else plain
