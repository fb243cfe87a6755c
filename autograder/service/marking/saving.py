"""Marks that people give answers: saved once each, protected against lost updates, and undoable step by step.

A save names the revision of the answer that the marker saw. If the answer has changed since, nothing is
saved, and both versions are shown. Each action is stored with the state before and after it.
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
"""Maximum number of characters of a comment."""
SECOND, CONFLICT = "second", "conflict"
"""Stages of an answer that two people mark: waiting for the second; their marks differ."""
_STATE = (
    *("points", "again", "comment", "remarks", "decided", "touched", "items", "flagged", "stage", "gathered"),
    "marked_by_id",
)
"""The fields of an answer that actions change."""


class GivenMarks(Struct, frozen=True):
    """The marks that one person gives an answer."""

    items: Mapping[str, Decimal]
    """By item; missing items remain open, or as graded."""
    comment: str = ""
    """About the whole answer."""
    flagged: bool = False
    adds: bool = False
    """Missing values leave the existing ones: the form of a group starts empty, whatever its answers have."""
    remarks: Mapping[str, str] = {}
    """Remarks on single items."""


class ChangedMeanwhileError(ServiceError):
    """Another marker saved the answer, or it was resubmitted, since it was shown."""

    def __init__(self, row: CellMark) -> None:
        super().__init__("the answer was changed since it was shown; look at both versions")
        self.row = row


def save(
    rows: Mapping[int, int], cell: MarkableCell, given: GivenMarks, by: Account, *, settles: bool = False
) -> list[CellMark]:
    """Give several answers of one cell the same marks, all or none.

    Args:
        rows: answer number → revision that the marker saw; several answers are a group.
        cell: the answers' cell.
        marks: the marks.
        by: the marker.
        settles: the marker may resolve conflicts between two markers.

    Raises:
        ChangedMeanwhileError: about the first answer that has changed.
        ActionRefused: points out of range, a comment that is too long, nothing at all for a group, or two
            markers differ and ``by`` may not resolve it.
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
    """Return a comment in the form that is stored: without invisible characters."""
    return kept_text(text)


def _weighs(row: CellMark, cell: MarkableCell) -> bool:
    """Decide whether the answer's items still have the worth that the marker was shown."""
    worth = {name: Decimal(points) for name, points in row.worth.items()}
    return worth in ({}, {item.id: item.points for item in cell.items})


def noted(cell: MarkableCell, given: GivenMarks) -> dict[str, dict[str, str]]:
    """Return marks in the form that is stored: points and worth by item.

    Raises:
        ActionRefused: the cell has no such item, points are out of range, or a comment is too long.
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
    """Lock the answers with these numbers, always in the same order, so that no deadlock is possible.

    Raises:
        ActionRefused: one of them is gone.
    """
    rows = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=list(numbers))
    found = list(rows.select_related("place").order_by("pk"))
    if not found or len(found) != len(numbers):
        raise NotTaken("mark-gone")
    return found


def state(row: CellMark) -> dict[str, Any]:
    """Return the fields of an answer that actions change."""
    return {name: getattr(row, name) for name in _STATE}


def log(row: CellMark, action: str, changes: list[dict[str, Any]], by: Account) -> MarkingAction:
    """Record an action so that it can be undone."""
    made: MarkingAction = MarkingAction.objects.create(
        course_id=row.place.course_id,
        assignment=row.place.assignment,
        account=by,
        action=action,
        changes=changes,
    )
    return made


def write(rows: Sequence[CellMark]) -> None:
    """Save locked answers after `change_answer`, all with one statement."""
    fields = [*_STATE, "revision", "marked_at"]
    # An upsert is one statement for any number of rows; every row exists already.
    CellMark.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=fields)


def changed(row: CellMark, **values: Any) -> dict[str, Any]:
    """Set fields of a locked answer for `write_answers`, and return the change as an action records it."""
    before = state(row)
    for name, value in values.items():
        setattr(row, name, value)
    said = row.comment or row.remarks
    row.touched = bool(row.points is not None or said or row.items or Decimal(row.extra))
    row.revision += 1
    row.marked_at = timezone.now()
    return {"answer": row.pk, "before": before, "after": state(row), "about": _about(row)}


def _about(row: CellMark) -> str:
    """Return a digest of the content of the mark: with another text or other items it needs a new look."""
    return hashlib.sha256(f"{digest(row)} {sorted(row.worth.items())}".encode()).hexdigest()


def give_item(row: CellMark, cell: MarkableCell, item: Item, points: Decimal, by: Account) -> None:
    """Give one item of a locked answer new points; once all items have points, the cell has their sum.

    Comment and flag stay. The change cannot be undone as an action, because the answer to the student that
    announces it stays too.
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
    """Give one answer its marks, or store them as one of two independent marks; the caller saves the row.

    One of two markers is finished when every item has points; unfinished marks are visible only to them.
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
    # The earlier independent mark is part of the action, so that undo can restore it.
    return {**changed(row, **values), "reading": before and _kept(before)}


def _added(given: GivenMarks, stands: CellMark | IndependentMark) -> GivenMarks:
    """Return the given marks on top of the existing ones."""
    items = {name: Decimal(one["points"]) for name, one in stands.items.items()}
    remarks = {**stands.remarks, **given.remarks}
    comment = given.comment or stands.comment
    return GivenMarks({**items, **given.items}, comment, given.flagged, remarks=remarks)


def _settled(row: CellMark, cell: MarkableCell, given: GivenMarks) -> dict[str, Any]:
    if given.adds:
        given = replace(_added(given, row), flagged=given.flagged or row.flagged)
    said = {"comment": given.comment, "remarks": dict(given.remarks)}
    values = {**said, "flagged": given.flagged, "again": False, "stage": ""}
    if not (given.items or row.items):  # a mark of the whole cell stays until its items get points
        return values
    items = noted(cell, given)
    points = cell_points(cell.question, cell.name, verdicts(row), given.items) if items else None
    stands = None if points is None else str(points)
    # A mark entered directly no longer follows decisions.
    return {**values, "items": items, "points": stands, "decided": None}


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Decide whether two people gave each item the same points."""
    return one.keys() == other.keys() and all(
        Decimal(one[name]["points"]) == Decimal(other[name]["points"]) for name in one
    )


def others(row: CellMark, by: Account) -> list[IndependentMark]:
    """Return the marks that others gave the current text, if two people mark it."""
    return [one for one in all_of(row) if one.account_id != by.pk]


def all_of(row: CellMark) -> list[IndependentMark]:
    """Return the independent marks of the current text, if two people mark it."""
    found = IndependentMark.objects.filter(mark=row, submission=digest(row))
    return list(found.select_related("account").order_by("pk"))


def own_reading(row: CellMark, by: Account) -> IndependentMark | None:
    """Return the marker's own independent mark of the current text, unless the answer is settled."""
    found = IndependentMark.objects.filter(mark=row, account=by).first()
    if found is None or found.submission not in {digest(row), _unfinished(row)}:
        return None
    settled = not row.stage and (
        found.submission == digest(row) or (row.points is not None and not row.again)
    )
    return None if settled else found


def _unfinished(row: CellMark) -> str:
    """Return the value stored instead of the digest while some items have no points."""
    return f"open{digest(row)[4:]}"


def digest(row: CellMark) -> str:
    """Return the digest of the answer's text: markers who saw another text are asked again."""
    return hashlib.sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()


def of_two(row: CellMark, percent: int) -> bool:
    """Decide whether one person's mark of the answer has to wait for a second one.

    Args:
        row: the answer.
        percent: share of the cell's answers that two people mark; the course's secret selects them.
    """
    fresh = row.points is None or row.again
    return row.stage == SECOND or (not row.stage and fresh and in_share(row.shuffled, percent))


def _percent(row: CellMark) -> int:
    found = MarkingPlan.objects.filter(place=row.place_id).values_list("twice_percent", flat=True)
    return found.first() or 0


def in_share(shuffled: str, percent: int) -> bool:
    """Decide whether a position in the marking order belongs to the share that two people mark.

    The last digits decide, so that the share is independent of the order.
    """
    return bool(shuffled) and int(shuffled[-8:], 16) % 100 < percent


def _kept(reading: IndependentMark) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in ("items", "comment", "remarks", "submission")}


def undo(course: int, assignment: str, by: Account) -> MarkingAction | None:
    """Undo a marker's last action in an assignment; return None if there is none.

    Raises:
        ActionRefused: one of its answers was changed, resubmitted or has other items by now. Then nothing is
            undone, and the next undo concerns the action before.
    """
    with transaction.atomic():
        Account.objects.select_for_update(no_key=True).get(
            pk=by.pk
        )  # serialised, or two requests undo the same action
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
        # Raised outside of the transaction, so that the action remains marked as undone.
        raise NotTaken("mark-not-undone")
    return action


def _stands(row: CellMark, change: Mapping[str, Any]) -> bool:
    """Decide whether an answer is as an action left it; old actions do not record newer fields."""
    now = state(row)
    same = all(now[name] == value for name, value in change["after"].items())
    return same and _about(row) == change["about"]


def _put_back(row: CellMark, by: Account, before: Mapping[str, Any] | None) -> None:
    mine = IndependentMark.objects.filter(mark=row, account=by)
    if before is None:
        mine.delete()
    else:
        mine.update(**before)
