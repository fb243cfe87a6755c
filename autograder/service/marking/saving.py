"""What people give answers: saved once each, seen by whoever saves later, undone step by step.

Whoever saves says which revision of the answer they saw. Was it changed meanwhile, nothing is saved, and
both versions are shown. Each action is kept with what stood before and after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from msgspec import Struct

from autograder.errors import ServiceError
from autograder.marking.points import bounded_by, cell_points, lies_within
from autograder.rubric import Item
from autograder.service.marking.answers import MarkableCell, verdicts
from autograder.service.models import (
    Account,
    CellMark,
    IndependentMark,
    MarkingAction,
    MarkingPlan,
)

MOST_COMMENT = 4_000
"""Characters of a comment."""
SECOND, CONFLICT = "second", "conflict"
"""Stages of an answer that two people mark: the second is awaited; they differ."""
_STATE = (
    *("points", "again", "comment", "decided", "touched", "items", "flagged", "stage", "gathered"),
    "marked_by_id",
)
"""The fields of an answer that actions change."""


class GivenMarks(Struct, frozen=True):
    """What somebody gives an answer."""

    items: Mapping[str, Decimal]
    """By item; those that are missing are still open, or stay as grading found them."""
    comment: str = ""
    flagged: bool = False


class ChangedMeanwhileError(ServiceError):
    """Somebody else saved the answer, or it was handed in anew, since it was shown."""

    def __init__(self, row: CellMark) -> None:
        super().__init__("the answer was changed since it was shown; look at both versions")
        self.row = row


def save(
    rows: Mapping[int, int], cell: MarkableCell, given: GivenMarks, by: Account, *, settles: bool = False
) -> list[CellMark]:
    """Give answers of one cell the same, all or none.

    Args:
        rows: the revision that was seen, by the number of the answer; several are a group.
        cell: theirs.
        given: what they get.
        by: who gives it.
        settles: they may decide where two people differ.

    Raises:
        ChangedMeanwhileError: of the first answer that is another by now.
        ServiceError: points that the item cannot have, or a comment that is too long.
    """
    items = noted(cell, given)
    with transaction.atomic():
        found = locked(rows)
        for row in found:
            if row.revision != rows[row.pk]:
                raise ChangedMeanwhileError(row)
            if row.stage == CONFLICT and not settles:
                raise ServiceError("two people gave this answer different marks; a head TA decides")
        plan = MarkingPlan.objects.filter(place=found[0].place_id).first()
        twice = 0 if plan is None else plan.twice_percent
        changes = [_changed(row, cell, given, items, by, twice=twice) for row in found]
        write(found)
        log(found[0], "group" if len(found) > 1 else "mark", changes, by)
    return found


def noted(cell: MarkableCell, given: GivenMarks) -> dict[str, dict[str, str]]:
    """What is given as it is kept: points by item, and of how many.

    Raises:
        ServiceError: an item that the cell does not have, points that it cannot have, a comment too long.
    """
    found, items = {}, {item.id: item for item in cell.items}
    for name, points in given.items.items():
        item = items.get(name)
        if item is None:
            raise ServiceError(f"there is no item {name!r} in the cell {cell.name!r}")
        if not lies_within(points, item):
            least, most = bounded_by(item)
            raise ServiceError(f"{name}: expected {least} to {most} points, got {points}")
        found[name] = {"points": str(points), "of": str(item.points)}
    if len(given.comment) > MOST_COMMENT:
        raise ServiceError(
            f"the comment has {len(given.comment)} characters; at most {MOST_COMMENT} are kept"
        )
    return found


def locked(numbers: Collection[int]) -> list[CellMark]:
    """The answers with these numbers, locked, in one order, so that nobody waits in a circle.

    Raises:
        ServiceError: one of them is gone.
    """
    rows = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=list(numbers))
    found = list(rows.select_related("place").order_by("pk"))
    if not found or len(found) != len(numbers):
        raise ServiceError("the answer is gone; load the page again")
    return found


def state(row: CellMark) -> dict[str, Any]:
    """What actions change of an answer."""
    return {name: getattr(row, name) for name in _STATE}


def log(row: CellMark, action: str, changes: list[dict[str, Any]], by: Account) -> MarkingAction:
    """Keep what was done, to undo it."""
    made: MarkingAction = MarkingAction.objects.create(
        course_id=row.place.course_id,
        assignment=row.place.assignment,
        account=by,
        action=action,
        changes=changes,
    )
    return made


def write(rows: Sequence[CellMark]) -> None:
    """Save locked answers whose fields were set with `changed`, all with one statement."""
    fields = [*_STATE, "revision", "marked_at"]
    CellMark.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=fields)


def changed(row: CellMark, **values: Any) -> dict[str, Any]:
    """Set fields of a locked answer, for `write`, and return what an action keeps of that."""
    before = state(row)
    for name, value in values.items():
        setattr(row, name, value)
    row.touched = bool(row.points is not None or row.comment or row.items or Decimal(row.extra))
    row.revision += 1
    row.marked_at = timezone.now()
    return {"answer": row.pk, "before": before, "after": state(row)}


def give_item(row: CellMark, cell: MarkableCell, item: Item, points: Decimal, by: Account) -> None:
    """Give one item of a locked answer other points; where all items have some, the cell has their sum.

    The comment and the flag stay.
    """
    given = {name: Decimal(one["points"]) for name, one in row.items.items()} | {item.id: points}
    items = {**row.items, item.id: {"points": str(points), "of": str(item.points)}}
    total = cell_points(cell.question, cell.name, verdicts(row), given)
    stands = row.points if total is None else str(total)
    change = changed(
        row, items=items, points=stands, again=row.again and total is None, stage="", marked_by_id=by.pk
    )
    write([row])
    log(row, "request", [change], by)


def _changed(
    row: CellMark,
    cell: MarkableCell,
    given: GivenMarks,
    items: Mapping[str, Any],
    by: Account,
    *,
    twice: int,
) -> dict[str, Any]:
    """Give one answer its marks, or note them beside those of another person.

    Args:
        row: to be saved after that.
        cell: its.
        given: what it gets.
        items: the same as it is kept.
        by: who gives it.
        twice: the share of the cell's answers that two people mark, in per cent.
    """
    fresh = row.points is None or row.again
    if not (row.stage == SECOND or (not row.stage and fresh and in_share(row.shuffled, twice))):
        return changed(row, **_settled(row, cell, items, given), marked_by_id=by.pk)
    own = {"items": items, "comment": given.comment, "submission": digest(row)}
    before = IndependentMark.objects.filter(mark=row, account=by, calibration=False).first()
    IndependentMark.objects.update_or_create(mark=row, account=by, calibration=False, defaults=own)
    other = others(row, by)
    if not other:
        values: dict[str, Any] = {"stage": SECOND, "flagged": given.flagged or row.flagged}
    elif all(same(one.items, items) for one in other):
        comment = given.comment or next((one.comment for one in other if one.comment), "")
        agreed = GivenMarks(given.items, comment, given.flagged or row.flagged)
        values = _settled(row, cell, items, agreed) | {"marked_by_id": by.pk}
    else:
        values = {"stage": CONFLICT, "flagged": given.flagged or row.flagged}
    return {**changed(row, **values), "reading": before and _kept(before)}


def _settled(
    row: CellMark, cell: MarkableCell, items: Mapping[str, Any], given: GivenMarks
) -> dict[str, Any]:
    points = cell_points(cell.question, cell.name, verdicts(row), given.items) if items else None
    return {
        "items": dict(items),
        "points": None if points is None else str(points),
        "comment": given.comment,
        "flagged": given.flagged,
        "again": False,
        "stage": "",
        "decided": None,
    }


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two people gave the same to each item."""
    return one.keys() == other.keys() and all(
        Decimal(one[name]["points"]) == Decimal(other[name]["points"]) for name in one
    )


def others(row: CellMark, by: Account) -> list[IndependentMark]:
    """What others gave the answer as it is now, where two people mark it."""
    return [one for one in all_of(row) if one.account_id != by.pk]


def all_of(row: CellMark) -> list[IndependentMark]:
    """What the people gave who differ about the answer as it is now."""
    found = IndependentMark.objects.filter(mark=row, calibration=False, submission=digest(row))
    return list(found.select_related("account").order_by("pk"))


def digest(row: CellMark) -> str:
    """Of the text that was read: who read another one is asked again."""
    return hashlib.sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()


def in_share(shuffled: str, percent: int) -> bool:
    """Whether a place in the order of marking belongs to the share that two people mark.

    The last digits decide: those who come first in the order are no other than the rest.
    """
    return bool(shuffled) and int(shuffled[-8:], 16) % 100 < percent


def _kept(reading: IndependentMark) -> dict[str, Any]:
    return {"items": reading.items, "comment": reading.comment, "submission": reading.submission}


def undo(course: int, assignment: str, by: Account) -> MarkingAction | None:
    """Take back the last thing that somebody did in an assignment; None: there is nothing.

    Raises:
        ServiceError: somebody changed one of its answers since. Nothing is taken back then, and the next
            one to be undone is the one before.
    """
    with transaction.atomic():
        own = MarkingAction.objects.select_for_update().filter(
            course=course, assignment=assignment, account=by, undone_at=None
        )
        action: MarkingAction | None = own.order_by("-pk").first()
        if action is None:
            return None
        action.undone_at = timezone.now()
        action.save(update_fields=["undone_at"])
        changes = {one["answer"]: one for one in action.changes}
        rows = {row.pk: row for row in locked(changes)}
        free = all(state(row) == changes[number]["after"] for number, row in rows.items())
        if free:
            for number, row in rows.items():
                changed(row, **changes[number]["before"])
                if "reading" in changes[number]:
                    _put_back(row, by, changes[number]["reading"])
            write([*rows.values()])
    if not free:
        raise ServiceError("somebody has changed one of these answers since; nothing was undone")
    return action


def _put_back(row: CellMark, by: Account, before: Mapping[str, Any] | None) -> None:
    mine = IndependentMark.objects.filter(mark=row, account=by, calibration=False)
    if before is None:
        mine.delete()
    else:
        mine.update(**before)
