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
from msgspec.structs import asdict, replace

from autograder.core.errors import ServiceError
from autograder.marking.points import compute_cell_points, get_bounds, is_within
from autograder.rubric import Item
from autograder.service.marking.answers import MarkableCell, load_verdicts
from autograder.service.models import (
    Account,
    CellMark,
    IndependentMark,
    MarkingAction,
    MarkingPlan,
)
from autograder.service.refusals import ActionRefused

MOST_COMMENT = 4_000
"""Maximum number of characters of a comment."""
MOST_ANNOTATIONS = 50
"""Maximum number of remarks on lines of one answer."""
SECOND, CONFLICT = "second", "conflict"
"""Stages of an answer that two people mark: waiting for the second; their marks differ."""
_STATE = (
    *("points", "again", "comment", "remarks", "annotations", "decided", "touched"),
    *("items", "flagged", "stage", "gathered", "marked_by_id"),
)
"""The fields of an answer that actions change."""
_READING = ("items", "comment", "remarks", "annotations", "submission")


class Annotation(Struct, frozen=True):
    """A remark on some lines of an answer."""

    first: int
    """Its first line, counted from 1."""
    last: int
    text: str


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
    annotations: tuple[Annotation, ...] | None = None
    """Remarks on lines; None leaves the existing ones."""


class ChangedMeanwhileError(ServiceError):
    """Another marker saved the answer, or it was resubmitted, since it was shown."""

    def __init__(self, row: CellMark) -> None:
        super().__init__("the answer was changed after it was shown; check it again")
        self.row = row


def save_marks(
    rows: Mapping[int, int], cell: MarkableCell, marks: GivenMarks, by: Account, *, settles: bool = False
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
    encode_given_marks(cell, marks)
    if marks.adds and not (marks.items or marks.comment or marks.remarks):
        raise ActionRefused("mark-nothing-given")
    with transaction.atomic():
        answers = lock_answers(rows)
        for row in answers:
            if row.revision != rows[row.pk] or not _has_shown_worth(row, cell):
                raise ChangedMeanwhileError(row)
            if row.stage == CONFLICT and not settles:
                raise ActionRefused("mark-differ")
        plans = MarkingPlan.objects.filter(place=answers[0].place_id)
        percent = plans.values_list("twice_percent", flat=True).first() or 0
        changes = [_give_answer(row, cell, marks, by, percent) for row in answers]
        write_answers(answers)
        log_action(answers[0], "group" if len(answers) > 1 else "mark", changes, by)
    return answers


def _has_shown_worth(row: CellMark, cell: MarkableCell) -> bool:
    """Decide whether the answer's items still have the worth that the marker was shown."""
    worth = {name: Decimal(points) for name, points in row.worth.items()}
    return worth in ({}, {item.id: item.points for item in cell.items})


def encode_given_marks(cell: MarkableCell, marks: GivenMarks) -> dict[str, dict[str, str]]:
    """Return marks in the form that is stored: points and worth by item.

    Raises:
        ActionRefused: the cell has no such item, points are out of range, or a comment is too long.
    """
    encoded, items = {}, {item.id: item for item in cell.items}
    for name, points in marks.items.items():
        item = items.get(name)
        if item is None:
            raise ActionRefused("mark-no-item", item=name)
        if not is_within(points, item):
            least, most = get_bounds(item)
            raise ActionRefused("mark-points-out", item=name, least=least, most=most, given=str(points)[:20])
        encoded[name] = {"points": str(points), "of": str(item.points)}
    for name in marks.remarks:
        if name not in items:
            raise ActionRefused("mark-no-item", item=name)
    notes = [note.text for note in marks.annotations or ()]
    longest = max(map(len, (marks.comment, *marks.remarks.values(), *notes)))
    if longest > MOST_COMMENT:
        raise ActionRefused("text-long", number=longest, most=MOST_COMMENT)
    return encoded


def encode_annotations(
    row: CellMark, annotations: Sequence[Annotation] | None, existing: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return remarks on lines of an answer in the form that is stored, in the order of the lines.

    Args:
        row: the answer.
        annotations: the remarks; None leaves the existing ones.
        existing: the ones that are stored.

    Raises:
        ActionRefused: the answer has no such lines, or there are too many remarks.
    """
    if annotations is None:
        return existing
    lines = len(row.text.splitlines())
    for note in annotations:
        if not 1 <= note.first <= note.last <= lines:
            raise ActionRefused("mark-lines-out", most=lines)
    if len(annotations) > MOST_ANNOTATIONS:
        raise ActionRefused("mark-many-notes", most=MOST_ANNOTATIONS)
    ordered = sorted(annotations, key=lambda note: (note.first, note.last))
    return [asdict(note) for note in ordered]


def lock_answers(numbers: Collection[int]) -> list[CellMark]:
    """Lock the answers with these numbers, always in the same order, so that no deadlock is possible.

    Raises:
        ActionRefused: one of them is gone.
    """
    rows = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=list(numbers))
    answers = list(rows.select_related("place").order_by("pk"))
    if not answers or len(answers) != len(numbers):
        raise ActionRefused("mark-gone")
    return answers


def get_state(row: CellMark) -> dict[str, Any]:
    """Return the fields of an answer that actions change."""
    return {name: getattr(row, name) for name in _STATE}


def log_action(row: CellMark, action: str, changes: list[dict[str, Any]], by: Account) -> MarkingAction:
    """Record an action so that it can be undone."""
    entry: MarkingAction = MarkingAction.objects.create(
        course_id=row.place.course_id,
        assignment=row.place.assignment,
        account=by,
        action=action,
        changes=changes,
    )
    return entry


def write_answers(rows: Sequence[CellMark]) -> None:
    """Save locked answers after `change_answer`, all with one statement."""
    fields = [*_STATE, "revision", "marked_at"]
    # An upsert is one statement for any number of rows; every row exists already.
    CellMark.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=fields)


def change_answer(row: CellMark, **values: Any) -> dict[str, Any]:
    """Set fields of a locked answer for `write_answers`, and return the change as an action records it."""
    before = get_state(row)
    for name, value in values.items():
        setattr(row, name, value)
    said = row.comment or row.remarks or row.annotations
    row.touched = bool(row.points is not None or said or row.items or Decimal(row.extra))
    row.revision += 1
    row.marked_at = timezone.now()
    return {"answer": row.pk, "before": before, "after": get_state(row), "about": _hash_subject(row)}


def _hash_subject(row: CellMark) -> str:
    """Return a digest of the content of the mark: with another text or other items it needs a new look."""
    return hashlib.sha256(f"{hash_text(row)} {sorted(row.worth.items())}".encode()).hexdigest()


def give_item(
    row: CellMark, cell: MarkableCell, item: Item, points: Decimal, by: Account, *, reply: str
) -> None:
    """Give one item of a locked answer new points; once all items have points, the cell has their sum.

    The flag stays, and what was said about the item is replaced by the reply. The change cannot be undone as
    an action, because the reply to the student that announces it stays too.
    """
    item_points = {name: Decimal(stored["points"]) for name, stored in row.items.items()} | {item.id: points}
    items = {**row.items, item.id: {"points": str(points), "of": str(item.points)}}
    total = compute_cell_points(cell.question, cell.name, load_verdicts(row), item_points)
    mark_points = row.points if total is None else str(total)
    again = row.again and total is None
    remarks = {**row.remarks, item.id: reply} if item.id in row.remarks else row.remarks
    # In a cell with one item, the comment on the cell is about this item.
    comment = reply if row.comment and len(cell.items) == 1 else row.comment
    said = {"remarks": remarks, "comment": comment}
    change_answer(row, items=items, points=mark_points, again=again, stage="", marked_by_id=by.pk, **said)
    write_answers([row])


def _give_answer(
    row: CellMark, cell: MarkableCell, marks: GivenMarks, by: Account, percent: int
) -> dict[str, Any]:
    """Give one answer its marks, or store them as one of two independent marks; the caller saves the row.

    One of two markers is finished when every item has points; unfinished marks are visible only to them.
    """
    if not needs_second_mark(row, percent):
        return change_answer(row, **_build_values(row, cell, marks), marked_by_id=by.pk)
    before = IndependentMark.objects.filter(mark=row, account=by).first()
    if marks.adds and before and find_own_reading(row, by):
        marks = _add_marks(marks, before)
    items = encode_given_marks(cell, marks)
    finished = (
        bool(items)
        and compute_cell_points(cell.question, cell.name, load_verdicts(row), marks.items) is not None
    )
    read = hash_text(row) if finished else _get_unfinished_digest(row)
    existing = before.annotations if before and find_own_reading(row, by) else []
    annotations = encode_annotations(row, marks.annotations, existing)
    said = {"comment": marks.comment, "remarks": dict(marks.remarks), "annotations": annotations}
    reading = {"items": items, **said, "submission": read}
    IndependentMark.objects.update_or_create(mark=row, account=by, defaults=reading)
    other = [reading for reading in load_readings(row) if reading.account_id != by.pk]
    flagged = marks.flagged or row.flagged
    if not (finished and other):
        values: dict[str, Any] = {"stage": SECOND if finished or other else "", "flagged": flagged}
    elif all(is_same(entry.items, items) for entry in other):
        comment = marks.comment or next((entry.comment for entry in other if entry.comment), "")
        remarks = {**{name: text for entry in other for name, text in entry.remarks.items()}, **marks.remarks}
        agreed = GivenMarks(marks.items, comment, flagged, remarks=remarks)
        notes = [*annotations, *(note for entry in other for note in entry.annotations)]
        values = _build_values(row, cell, agreed) | {"annotations": notes, "marked_by_id": by.pk}
    else:
        values = {"stage": CONFLICT, "flagged": flagged}
    # The earlier independent mark is part of the action, so that undo can restore it.
    earlier = before and {name: getattr(before, name) for name in _READING}
    return {**change_answer(row, **values), "reading": earlier}


def _add_marks(marks: GivenMarks, existing: CellMark | IndependentMark) -> GivenMarks:
    """Return the given marks on top of the existing ones."""
    items = {name: Decimal(stored["points"]) for name, stored in existing.items.items()}
    remarks = {**existing.remarks, **marks.remarks}
    comment = marks.comment or existing.comment
    return GivenMarks({**items, **marks.items}, comment, marks.flagged, remarks=remarks)


def _build_values(row: CellMark, cell: MarkableCell, marks: GivenMarks) -> dict[str, Any]:
    if marks.adds:
        marks = replace(_add_marks(marks, row), flagged=marks.flagged or row.flagged)
    annotations = encode_annotations(row, marks.annotations, row.annotations)
    said = {"comment": marks.comment, "remarks": dict(marks.remarks), "annotations": annotations}
    values = {**said, "flagged": marks.flagged, "again": False, "stage": ""}
    if not (marks.items or row.items):  # a mark of the whole cell stays until its items get points
        return values
    items = encode_given_marks(cell, marks)
    points = compute_cell_points(cell.question, cell.name, load_verdicts(row), marks.items) if items else None
    mark_points = None if points is None else str(points)
    # A mark entered directly no longer follows decisions.
    return {**values, "items": items, "points": mark_points, "decided": None}


def is_same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Decide whether two people gave each item the same points."""
    return first.keys() == second.keys() and all(
        Decimal(first[name]["points"]) == Decimal(second[name]["points"]) for name in first
    )


def load_readings(row: CellMark) -> list[IndependentMark]:
    """Return the independent marks of the current text, if two people mark it."""
    readings = IndependentMark.objects.filter(mark=row, submission=hash_text(row))
    return list(readings.select_related("account").order_by("pk"))


def find_own_reading(row: CellMark, by: Account) -> IndependentMark | None:
    """Return the marker's own independent mark of the current text, unless the answer is settled."""
    reading = IndependentMark.objects.filter(mark=row, account=by).first()
    if reading is None or reading.submission not in {hash_text(row), _get_unfinished_digest(row)}:
        return None
    settled = not row.stage and (
        reading.submission == hash_text(row) or (row.points is not None and not row.again)
    )
    return None if settled else reading


def _get_unfinished_digest(row: CellMark) -> str:
    """Return the value stored instead of the digest while some items have no points."""
    return f"open{hash_text(row)[4:]}"


def hash_text(row: CellMark) -> str:
    """Return the digest of the answer's text: markers who saw another text are asked again."""
    return hashlib.sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()


def needs_second_mark(row: CellMark, percent: int) -> bool:
    """Decide whether one person's mark of the answer has to wait for a second one.

    Args:
        row: the answer.
        percent: share of the cell's answers that two people mark; the course's secret selects them.
    """
    fresh = row.points is None or row.again
    return row.stage == SECOND or (not row.stage and fresh and is_in_share(row.shuffled, percent))


def is_in_share(shuffled: str, percent: int) -> bool:
    """Decide whether a position in the marking order belongs to the share that two people mark.

    The last digits decide, so that the share is independent of the order.
    """
    return bool(shuffled) and int(shuffled[-8:], 16) % 100 < percent


def undo_action(course: int, assignment: str, by: Account) -> MarkingAction | None:
    """Undo a marker's last action in an assignment; return None if there is none.

    Raises:
        ActionRefused: one of its answers was changed, resubmitted or has other items by now. Then nothing is
            undone, and the next undo concerns the action before.
    """
    with transaction.atomic():
        Account.objects.select_for_update(no_key=True).get(
            pk=by.pk
        )  # serialised, or two requests undo the same action
        own_actions = MarkingAction.objects.filter(
            course=course, assignment=assignment, account=by, undone_at=None
        )
        action: MarkingAction | None = own_actions.order_by("-pk").first()
        if action is None:
            return None
        action.undone_at = timezone.now()
        action.save(update_fields=["undone_at"])
        changes = {change["answer"]: change for change in action.changes}
        locked_rows = CellMark.objects.select_for_update(of=("self",)).filter(pk__in=changes).order_by("pk")
        rows = {row.pk: row for row in locked_rows}
        free = rows.keys() == changes.keys() and all(
            _is_unchanged(row, changes[number]) for number, row in rows.items()
        )
        if free:
            for number, row in rows.items():
                change_answer(row, **changes[number]["before"])
                if "reading" in changes[number]:
                    _put_back(row, by, changes[number]["reading"])
            write_answers([*rows.values()])
    if not free:
        # Raised outside of the transaction, so that the action remains marked as undone.
        raise ActionRefused("mark-not-undone")
    return action


def _is_unchanged(row: CellMark, change: Mapping[str, Any]) -> bool:
    """Decide whether an answer is as an action left it; old actions do not record newer fields."""
    now = get_state(row)
    same = all(now[name] == value for name, value in change["after"].items())
    return same and _hash_subject(row) == change["about"]


def _put_back(row: CellMark, by: Account, before: Mapping[str, Any] | None) -> None:
    mine = IndependentMark.objects.filter(mark=row, account=by)
    if before is None:
        mine.delete()
    else:
        mine.update(**before)
