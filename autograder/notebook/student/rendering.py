"""Reports as plain text and as HTML. Texts are escaped; formulas come from our own trees."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from autograder.messages.catalogue import format_sentence
from autograder.notebook.student.report import MISSING, PERSON, PROBLEM, READY, Report, ReportLine

MARKS = {READY: "✓", MISSING: "○", PROBLEM: "✗", PERSON: "·"}
_COLOURS = {READY: "#2e7d32", MISSING: "#9e6a00", PROBLEM: "#c62828", PERSON: "#757575"}
_PANEL = "border-left:4px solid {};padding:.2em 0 .2em .8em;margin:.3em 0;line-height:1.6"
_SMALL = "opacity:.7;font-size:.9em;margin:.4em 0"


def as_text(reports: Sequence[Report], notes: Sequence[str] = ()) -> str:
    """Return lines for a terminal, one for each remark, with the notes below."""
    lines = [
        f"{MARKS[line.state]} {report.question}: {line.text}{line.reading}"
        for report in reports
        for line in report.lines
    ]
    return "".join(f"{_make_printable(line).rstrip()}\n" for line in (*lines, *notes))


def as_html(reports: Sequence[Report], notes: Sequence[str] = ()) -> str:
    """Return a panel for each question, with formulas in MathML."""
    panels = "".join(map(_render_panel, reports))
    below = "".join(f'<div style="{_SMALL}">{escape(note)}</div>' for note in notes)
    return f"<div>{panels}{below}</div>"


def closing(reports: Sequence[Report], language: str) -> tuple[str, ...]:
    """Return the sentences below the reports of an open notebook."""
    # A single question needs no count.
    if len(reports) == 1:
        return (format_sentence("student.not-final", language),)
    keys = ("not-final", "cells-elsewhere")
    return (
        describe_progress(reports, language),
        *(format_sentence(f"student.{key}", language) for key in keys),
    )


def describe_progress(reports: Sequence[Report], language: str) -> str:
    """Return the sentence about how many questions are answered."""
    states = [report.state for report in reports]
    person = states.count(PERSON)
    numbers = {"ready": str(states.count(READY)), "total": str(len(states) - person), "person": str(person)}
    return format_sentence("student.counted" if person else "student.counted-all", language, **numbers)


def _make_printable(line: str) -> str:
    """Return a line without control characters: errors and names are written by students."""
    # A terminal would obey escape sequences in an error message.
    return "".join(letter if letter.isprintable() else " " for letter in line)


def _render_panel(report: Report) -> str:
    """Return the panel of one question."""
    title = f" {escape(report.title)}" if report.title else ""
    head = f"<b>{escape(report.question)}</b>{title}"
    rows = "".join(map(_render_row, report.lines))
    return f'<div style="{_PANEL.format(_COLOURS[report.state])}">{head}{rows}</div>'


def _render_row(line: ReportLine) -> str:
    """Return one line of a panel."""
    mark = f'<span style="color:{_COLOURS[line.state]};font-weight:bold">{MARKS[line.state]}</span>'
    return f"<div>{mark} {escape(line.text)}{line.mathml}</div>"
