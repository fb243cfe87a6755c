"""The changes of a regrade for people and programs: rows, plain data, and a page for staff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder import atomic
from autograder.app.regrading import Regrade, RegradeMove
from autograder.app.sheet_rows import number
from autograder.errors import CourseError
from autograder.feedback.regrade import RegradeItemView, RegradeStudentView, RegradeView, render_regrade
from autograder.feedback.sanitise import sentence
from autograder.grades import Standing
from autograder.marking.moves import ItemMove
from autograder.records import Message

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


def rows(found: Regrade, language: str = "en") -> Iterator[RegradeRow]:
    """Yield every student who moves, item by item.

    Args:
        found: the comparison.
        language: of messages to students.
    """
    for one in found.moved:
        for item, why in zip(one.move.items, one.why, strict=True):
            yield _row(one, item, "; ".join((*why, *one.also)), language)
        # Every student who moves has at least one row.
        if not one.move.items:
            yield _row(one, None, "; ".join(one.also) or _without_items(one), language)


def plain(found: Regrade, language: str = "en") -> dict[str, Any]:
    """Return the comparison as plain data, for programs."""
    return {
        "assignment": found.assignment,
        "students": found.total,
        "same": found.same,
        "gain": found.gain,
        "lose": found.lose,
        "moved": [
            {
                "student": one.move.student,
                "before": one.move.before.total if one.move.before else None,
                "after": one.move.after.total,
                "by": one.move.by,
                "grade_before": _grade(one.move.before),
                "grade_after": _grade(one.move.after),
                "shown": one.shown,
                "moves_shown": one.moves_shown,
                "also": one.also,
                "items": [
                    _item(item, why, language) for item, why in zip(one.move.items, one.why, strict=True)
                ],
            }
            for one in found.moved
        ],
        "failed": found.failed,
        "differences": found.differences,
        "remarks": found.remarks,
        "applied": bool(found.entry),
        "entry": found.entry,
    }


def page(found: Regrade, language: str = "en") -> str:
    """Return a page for staff, in one file."""
    grouped: dict[str, list[RegradeRow]] = {}
    for row in rows(found, language):
        grouped.setdefault(row.student, []).append(row)
    students = tuple(
        RegradeStudentView(
            one.move.student,
            _signed(one.move.by),
            _total(one.move.before),
            _total(one.move.after),
            _grade(one.move.before),
            _grade(one.move.after),
            one.shown if one.moves_shown else "",
            tuple(_item_view(row) for row in grouped[one.move.student]),
        )
        for one in found.moved
    )
    return render_regrade(
        RegradeView(
            found.assignment,
            found.total,
            found.same,
            found.gain,
            found.lose,
            students,
            found.failed,
            found.differences,
            found.remarks,
            bool(found.entry),
        )
    )


def write_page(found: Regrade, path: Path, language: str = "en") -> None:
    """Write the page, readable only by its owner: it names students and their losses.

    Raises:
        CourseError: it cannot be written.
    """
    try:
        atomic.write(path, page(found, language).encode(), mode=0o600)
    except OSError as error:
        raise CourseError(f"{path}: cannot be written: {error.strerror}") from error


def _item_view(row: RegradeRow) -> RegradeItemView:
    name = f"{row.question}.{row.item}" if row.item else ""
    before, after = (
        f"{points} of {possible}" if points else ""
        for points, possible in ((row.before, row.possible_before), (row.after, row.possible_after))
    )
    return RegradeItemView(name, before, after, row.told_before, row.told_after, row.why)


def _row(one: RegradeMove, item: ItemMove | None, why: str, language: str) -> RegradeRow:
    move = one.move
    return RegradeRow(
        move.student,
        item.question if item else "",
        item.item if item else "",
        _points(item.before) if item else "",
        _points(item.after) if item else "",
        number(item.possible_before) if item else "",
        number(item.possible_after) if item else "",
        _told(item.told_before, language) if item else "",
        _told(item.told_after, language) if item else "",
        why,
        _total(move.before),
        _total(move.after),
        _grade(move.before),
        _grade(move.after),
        one.shown if one.moves_shown else "",
    )


def _item(item: ItemMove, why: tuple[str, ...], language: str) -> Mapping[str, Any]:
    return {
        "question": item.question,
        "item": item.item,
        "before": item.before,
        "after": item.after,
        "possible_before": item.possible_before,
        "possible_after": item.possible_after,
        "told_before": _told(item.told_before, language),
        "told_after": _told(item.told_after, language),
        "by_person": item.by_person,
        "why": why,
    }


def _without_items(one: RegradeMove) -> str:
    before, after = one.move.before, one.move.after
    if before is not None and before.final and not after.final:
        return "a person's mark is to be looked at again: the automatic one under it is another"
    if before is not None and before.outdated != after.outdated:
        return "graded by the rubric as it is now"
    return "bonus points, the scale of grades or the time of handing in"


def _told(message: Message | None, language: str) -> str:
    return "" if message is None else sentence(message, language)


def _points(points: Decimal | None) -> str:
    return OPEN if points is None else number(points)


def _total(stands: Standing | None) -> str:
    return "" if stands is None else number(stands.total)


def _grade(stands: Standing | None) -> str:
    grades = [] if stands is None else [one.name for one in (stands.worst, stands.best) if one is not None]
    return " to ".join(dict.fromkeys(grades))


def _signed(points: Decimal) -> str:
    return f"+{number(points)}" if points > 0 else number(points)
