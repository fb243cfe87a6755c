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
from msgspec.structs import replace

from autograder.errors import ServiceError
from autograder.feedback.sanitise import kept_text
from autograder.marking.points import bounded_by, cell_points, lies_within
from autograder.rubric import Item
from autograder.service.marking.answers import MarkableCell, verdicts
from autograder.service.marking.refusals import NotTaken
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
    *("points", "again", "comment", "remarks", "decided", "touched", "items", "flagged", "stage", "gathered"),
    "marked_by_id",
)
"""The fields of an answer that actions change."""


class GivenMarks(Struct, frozen=True):
    """What somebody gives an answer."""

    items: Mapping[str, Decimal]
    """By item; those that are missing are still open, or stay as grading found them."""
    comment: str = ""
    """About all of it."""
    flagged: bool = False
    adds: bool = False
    """What is missing stays as it stands: the form of a group begins empty, whatever its answers have."""
    remarks: Mapping[str, str] = {}
    """By item, what is written about it alone."""


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
        NotTaken: points that the item cannot have, a comment that is too long, nothing at all for a group,
            or two people differ, and ``by`` may not decide.
        ServiceError: an answer is gone.
    """
    noted(cell, given)
    if given.adds and not (given.items or given.comment or given.remarks):
        raise NotTaken("mark-nothing-given")
    with transaction.atomic():
        found = locked(rows)
        for row in found:
            if row.revision != rows[row.pk] or not _weighs(row, cell):
                raise ChangedMeanwhileError(row)
            if row.stage == CONFLICT and not settles:
                raise NotTaken("mark-differ")
        percent = _percent(found[0])
        changes = [_changed(row, cell, given, by, percent) for row in found]
        write(found)
        log(found[0], "group" if len(found) > 1 else "mark", changes, by)
    return found


def written_comment(text: str) -> str:
    """A comment as it is kept: without signs that nobody sees."""
    return kept_text(text)


def _weighs(row: CellMark, cell: MarkableCell) -> bool:
    """Whether the items of an answer have the points that whoever marks it was shown."""
    worth = {name: Decimal(points) for name, points in row.worth.items()}
    return worth in ({}, {item.id: item.points for item in cell.items})


def noted(cell: MarkableCell, given: GivenMarks) -> dict[str, dict[str, str]]:
    """What is given as it is kept: points by item, and of how many.

    Raises:
        NotTaken: an item that the cell does not have, points that it cannot have, a comment too long.
    """
    found, items = {}, {item.id: item for item in cell.items}
    for name, points in given.items.items():
        item = items.get(name)
        if item is None:
            raise NotTaken("mark-no-item", item=name)
        if not lies_within(points, item):
            least, most = bounded_by(item)
            raise NotTaken("mark-points-out", item=name, least=least, most=most, given=str(points)[:20])
        found[name] = {"points": str(points), "of": str(item.points)}
    for name in given.remarks:
        if name not in items:
            raise NotTaken("mark-no-item", item=name)
    longest = max(map(len, (given.comment, *given.remarks.values())))
    if longest > MOST_COMMENT:
        raise NotTaken("text-long", number=longest, most=MOST_COMMENT)
    return found


def locked(numbers: Collection[int]) -> list[CellMark]:
    """The answers with these numbers, locked, in one order, so that nobody waits in a circle.

    Raises:
        NotTaken: one of them is gone.
    """
    rows = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=list(numbers))
    found = list(rows.select_related("place").order_by("pk"))
    if not found or len(found) != len(numbers):
        raise NotTaken("mark-gone")
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
    said = row.comment or row.remarks
    row.touched = bool(row.points is not None or said or row.items or Decimal(row.extra))
    row.revision += 1
    row.marked_at = timezone.now()
    return {"answer": row.pk, "before": before, "after": state(row), "about": _about(row)}


def _about(row: CellMark) -> str:
    """Digest of what a mark is about: who reads another text, or other items, has to look again."""
    return hashlib.sha256(f"{digest(row)} {sorted(row.worth.items())}".encode()).hexdigest()


def give_item(row: CellMark, cell: MarkableCell, item: Item, points: Decimal, by: Account) -> None:
    """Give one item of a locked answer other points; where all items have some, the cell has their sum.

    The comment and the flag stay. It is no action that can be undone: the answer that says so stays as well.
    """
    given = {name: Decimal(one["points"]) for name, one in row.items.items()} | {item.id: points}
    items = {**row.items, item.id: {"points": str(points), "of": str(item.points)}}
    total = cell_points(cell.question, cell.name, verdicts(row), given)
    stands = row.points if total is None else str(total)
    again = row.again and total is None
    changed(row, items=items, points=stands, again=again, stage="", marked_by_id=by.pk)
    write([row])


def _changed(
    row: CellMark, cell: MarkableCell, given: GivenMarks, by: Account, percent: int
) -> dict[str, Any]:
    """Give one answer its marks, or note them beside those of another person; the row is saved after that.

    Who marks as one of two has marked when every item has points; what is unfinished is kept for them alone.
    """
    if not of_two(row, percent):
        return changed(row, **_settled(row, cell, given), marked_by_id=by.pk)
    before = IndependentMark.objects.filter(mark=row, account=by).first()
    if given.adds and before and own_reading(row, by):
        given = _added(given, before)
    items = noted(cell, given)
    finished = bool(items) and cell_points(cell.question, cell.name, verdicts(row), given.items) is not None
    read = digest(row) if finished else _unfinished(row)
    said = {"comment": given.comment, "remarks": dict(given.remarks)}
    own = {"items": items, **said, "submission": read}
    IndependentMark.objects.update_or_create(mark=row, account=by, defaults=own)
    other, flagged = others(row, by), given.flagged or row.flagged
    if not (finished and other):
        values: dict[str, Any] = {"stage": SECOND if finished or other else "", "flagged": flagged}
    elif all(same(one.items, items) for one in other):
        comment = given.comment or next((one.comment for one in other if one.comment), "")
        remarks = {**{name: text for one in other for name, text in one.remarks.items()}, **given.remarks}
        agreed = GivenMarks(given.items, comment, flagged, remarks=remarks)
        values = _settled(row, cell, agreed) | {"marked_by_id": by.pk}
    else:
        values = {"stage": CONFLICT, "flagged": flagged}
    return {**changed(row, **values), "reading": before and _kept(before)}


def _added(given: GivenMarks, stands: CellMark | IndependentMark) -> GivenMarks:
    """What is given on top of what stands."""
    items = {name: Decimal(one["points"]) for name, one in stands.items.items()}
    remarks = {**stands.remarks, **given.remarks}
    comment = given.comment or stands.comment
    return GivenMarks({**items, **given.items}, comment, given.flagged, remarks=remarks)


def _settled(row: CellMark, cell: MarkableCell, given: GivenMarks) -> dict[str, Any]:
    if given.adds:
        given = replace(_added(given, row), flagged=given.flagged or row.flagged)
    said = {"comment": given.comment, "remarks": dict(given.remarks)}
    values = {**said, "flagged": given.flagged, "again": False, "stage": ""}
    if not (given.items or row.items):  # a mark of the whole cell stands until its items get points
        return values
    items = noted(cell, given)
    points = cell_points(cell.question, cell.name, verdicts(row), given.items) if items else None
    stands = None if points is None else str(points)
    return {**values, "items": items, "points": stands, "decided": None}


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two people gave the same to each item."""
    return one.keys() == other.keys() and all(
        Decimal(one[name]["points"]) == Decimal(other[name]["points"]) for name in one
    )


def others(row: CellMark, by: Account) -> list[IndependentMark]:
    """What others gave the answer as it is now, where two people mark it."""
    return [one for one in all_of(row) if one.account_id != by.pk]


def all_of(row: CellMark) -> list[IndependentMark]:
    """What people gave the answer as it is now, where two mark it."""
    found = IndependentMark.objects.filter(mark=row, submission=digest(row))
    return list(found.select_related("account").order_by("pk"))


def own_reading(row: CellMark, by: Account) -> IndependentMark | None:
    """What somebody noted of the answer as it is now, as long as it is not settled."""
    found = IndependentMark.objects.filter(mark=row, account=by).first()
    if found is None or found.submission not in {digest(row), _unfinished(row)}:
        return None
    settled = not row.stage and (
        found.submission == digest(row) or (row.points is not None and not row.again)
    )
    return None if settled else found


def _unfinished(row: CellMark) -> str:
    """In the place of the digest, where somebody has not given every item points."""
    return f"open{digest(row)[4:]}"


def digest(row: CellMark) -> str:
    """Of the text that was read: who read another one is asked again."""
    return hashlib.sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()


def of_two(row: CellMark, percent: int) -> bool:
    """Whether what one person gives the answer waits for another one.

    Args:
        row: the answer.
        percent: which share of its cell's answers two people mark; the course's secret chooses them.
    """
    fresh = row.points is None or row.again
    return row.stage == SECOND or (not row.stage and fresh and in_share(row.shuffled, percent))


def _percent(row: CellMark) -> int:
    found = MarkingPlan.objects.filter(place=row.place_id).values_list("twice_percent", flat=True)
    return found.first() or 0


def in_share(shuffled: str, percent: int) -> bool:
    """Whether a place in the order of marking belongs to the share that two people mark.

    The last digits decide: those who come first in the order are no other than the rest.
    """
    return bool(shuffled) and int(shuffled[-8:], 16) % 100 < percent


def _kept(reading: IndependentMark) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in ("items", "comment", "remarks", "submission")}


def undo(course: int, assignment: str, by: Account) -> MarkingAction | None:
    """Take back the last thing that somebody did in an assignment; None: there is nothing.

    Raises:
        NotTaken: one of its answers was changed since, handed in anew, or has other items by now. Nothing is
            taken back then, and the next one to be undone is the one before.
    """
    with transaction.atomic():
        Account.objects.select_for_update(no_key=True).get(
            pk=by.pk
        )  # one after another, or two take the same
        own = MarkingAction.objects.filter(course=course, assignment=assignment, account=by, undone_at=None)
        action: MarkingAction | None = own.order_by("-pk").first()
        if action is None:
            return None
        action.undone_at = timezone.now()
        action.save(update_fields=["undone_at"])
        changes = {one["answer"]: one for one in action.changes}
        found = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=changes).order_by("pk")
        rows = {row.pk: row for row in found}
        free = rows.keys() == changes.keys() and all(
            _stands(row, changes[number]) for number, row in rows.items()
        )
        if free:
            for number, row in rows.items():
                changed(row, **changes[number]["before"])
                if "reading" in changes[number]:
                    _put_back(row, by, changes[number]["reading"])
            write([*rows.values()])
    if not free:
        raise NotTaken("mark-not-undone")
    return action


def _stands(row: CellMark, change: Mapping[str, Any]) -> bool:
    """Whether an answer is as an action left it; an older one says nothing of newer fields."""
    now = state(row)
    same = all(now[name] == value for name, value in change["after"].items())
    return same and _about(row) == change["about"]


def _put_back(row: CellMark, by: Account, before: Mapping[str, Any] | None) -> None:
    mine = IndependentMark.objects.filter(mark=row, account=by)
    if before is None:
        mine.delete()
    else:
        mine.update(**before)
