"""The changes of a regrade for people and programs: rows, plain data, and a page for staff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.app.regrading import Regrade, RegradeMove
from autograder.app.sheet_rows import format_number
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.records import Message
from autograder.grading.grades import Standing
from autograder.marking.moves import ItemMove
from autograder.pages.feedback.rendering import fill_template
from autograder.pages.feedback.sanitise import render_sentence

OPEN = "open"


class RegradeRow(Struct, frozen=True):
    """One item of one student who moves; a student without changed items has one row without an item."""

    student: str
    question: str
    item: str
    before: str
    """Points; ``open`` if it needs manual review; empty if there is none."""
    after: str
    possible_before: str
    possible_after: str
    told_before: str
    told_after: str
    why: str
    total_before: str
    total_after: str
    grade_before: str
    grade_after: str
    shown: str
    """The published mark, if it would change."""


def list_rows(comparison: Regrade, language: str = "en") -> Iterator[RegradeRow]:
    """Yield every student who moves, item by item.

    Args:
        comparison: the comparison.
        language: of messages to students.
    """
    for student_move in comparison.moved:
        for item, why in zip(student_move.move.items, student_move.why, strict=True):
            yield _make_row(student_move, item, "; ".join((*why, *student_move.also)), language)
        # Every student who moves has at least one row.
        if not student_move.move.items:
            yield _make_row(
                student_move,
                None,
                "; ".join(student_move.also) or _explain_without_items(student_move),
                language,
            )


def to_dict(comparison: Regrade, language: str = "en") -> dict[str, Any]:
    """Return the comparison as plain data, for programs."""
    return {
        "assignment": comparison.assignment,
        "students": comparison.total,
        "same": comparison.same,
        "gain": comparison.gain,
        "lose": comparison.lose,
        "moved": [
            {
                "student": student_move.move.student,
                "before": student_move.move.before.total if student_move.move.before else None,
                "after": student_move.move.after.total,
                "by": student_move.move.by,
                "grade_before": _format_grade(student_move.move.before),
                "grade_after": _format_grade(student_move.move.after),
                "shown": student_move.shown,
                "moves_shown": student_move.moves_shown,
                "also": student_move.also,
                "items": [
                    _make_item(item, why, language)
                    for item, why in zip(student_move.move.items, student_move.why, strict=True)
                ],
            }
            for student_move in comparison.moved
        ],
        "failed": comparison.failed,
        "differences": comparison.differences,
        "remarks": comparison.remarks,
        "applied": bool(comparison.entry),
        "entry": comparison.entry,
    }


def render_page(comparison: Regrade, language: str = "en") -> str:
    """Return a page for staff, in one file."""
    grouped: dict[str, list[RegradeRow]] = {}
    for row in list_rows(comparison, language):
        grouped.setdefault(row.student, []).append(row)
    return fill_template("regrade.html", regrade=comparison, rows_by_student=grouped, signed=_format_signed)


def write_page(comparison: Regrade, path: Path, language: str = "en") -> None:
    """Write the page, readable only by its owner: it names students and their losses.

    Raises:
        CourseError: it cannot be written.
    """
    try:
        atomic.write_bytes(path, render_page(comparison, language).encode(), mode=0o600)
    except OSError as error:
        raise CourseError(f"{path}: cannot be written: {error.strerror}") from error


def _make_row(student_move: RegradeMove, item: ItemMove | None, why: str, language: str) -> RegradeRow:
    move = student_move.move
    return RegradeRow(
        move.student,
        item.question if item else "",
        item.item if item else "",
        _format_points(item.before) if item else "",
        _format_points(item.after) if item else "",
        format_number(item.possible_before) if item else "",
        format_number(item.possible_after) if item else "",
        _format_message(item.told_before, language) if item else "",
        _format_message(item.told_after, language) if item else "",
        why,
        _format_total(move.before),
        _format_total(move.after),
        _format_grade(move.before),
        _format_grade(move.after),
        student_move.shown if student_move.moves_shown else "",
    )


def _make_item(item: ItemMove, why: tuple[str, ...], language: str) -> Mapping[str, Any]:
    return {
        "question": item.question,
        "item": item.item,
        "before": item.before,
        "after": item.after,
        "possible_before": item.possible_before,
        "possible_after": item.possible_after,
        "told_before": _format_message(item.told_before, language),
        "told_after": _format_message(item.told_after, language),
        "by_person": item.by_person,
        "why": why,
    }


def _explain_without_items(student_move: RegradeMove) -> str:
    before, after = student_move.move.before, student_move.move.after
    if before is not None and before.final and not after.final:
        return "a person's mark is to be looked at again: the automatic one under it is another"
    if before is not None and before.outdated != after.outdated:
        return "graded by the rubric as it is now"
    return "bonus points, the scale of grades or the time of handing in"


def _format_message(message: Message | None, language: str) -> str:
    return "" if message is None else render_sentence(message, language)


def _format_points(points: Decimal | None) -> str:
    return OPEN if points is None else format_number(points)


def _format_total(stands: Standing | None) -> str:
    return "" if stands is None else format_number(stands.total)


def _format_grade(stands: Standing | None) -> str:
    grades = (
        []
        if stands is None
        else [grade_step.name for grade_step in (stands.worst, stands.best) if grade_step is not None]
    )
    return " to ".join(dict.fromkeys(grades))


def _format_signed(points: Decimal) -> str:
    return f"+{format_number(points)}" if points > 0 else format_number(points)
