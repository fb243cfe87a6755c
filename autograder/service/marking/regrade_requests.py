"""Regrade requests: a student asks for another look at an item, and a different marker answers.

A request is open until it is answered or withdrawn. Both sides can see the request and its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.core.records import Score
from autograder.grading.grades import NOTHING
from autograder.marking.points import collect_verdicts, list_items
from autograder.pages.feedback.sanitise import clean_input
from autograder.rubric import Item, Question, Rubric
from autograder.service import audit, tasks
from autograder.service.marking import mark_entry
from autograder.service.marking.answers import MarkableCell
from autograder.service.models import (
    Account,
    CellMark,
    CourseRecord,
    Member,
    Offer,
    RegradeRequest,
    Role,
)
from autograder.service.notices import events
from autograder.service.refusals import ActionRefused
from autograder.service.store import DatabaseStore

MOST_REASON = 2_000
MOST_ANSWER = 4_000
"""Maximum number of characters."""
MOST_OPEN = 20
"""Maximum number of open requests of one student in a course."""


class AskableItem(Struct, frozen=True):
    """An item with a mark, for which a student may request another look."""

    question: Question
    item: Item
    points: Decimal | None
    """None: a person marked its whole cell, which has several items."""


def list_askable_items(rubric: Rubric, score: Score, student: str, course: CourseRecord) -> list[AskableItem]:
    """Return the items of a student that have marks, in the rubric's order.

    Args:
        rubric: the student's rubric.
        score: the result that counts.
        student: the student's id.
        course: the course's row.
    """
    name = rubric.assignment.name
    rows = CellMark.objects.filter(place__course=course, place__assignment=name, student=student)
    marks = {(row.place.notebook, row.place.cell): row for row in rows.select_related("place")}
    askable_items = []
    for question in rubric.questions:
        for item in question.items:
            row = marks.get((question.notebook, item.cell or question.id))
            has = row and compute_item_points(row, question, item, score)
            if has and not has.waits:
                askable_items.append(AskableItem(question, item, has.now))
    return askable_items


class ItemPoints(Struct, frozen=True):
    """The points of one item."""

    now: Decimal | None
    """None: the item waits, or its cell was marked as a whole."""
    waits: bool = False
    """It waits for manual review."""
    whole: bool = False
    """A person marked its whole cell, which has several items."""


def compute_item_points(row: CellMark, question: Question, item: Item, score: Score) -> ItemPoints:
    """Return the points of an item: from a person, or otherwise from grading."""
    verdicts = collect_verdicts(question, item.cell or question.id, score)
    given_points = {name: Decimal(stored["points"]) for name, stored in row.items.items() if name in verdicts}
    if row.points is not None and len(verdicts) > 1:
        total = _sum_points(question, {**verdicts, **given_points})
        # The cell's mark is not the sum of its items, so it was given for the whole cell.
        if not given_points or total != Decimal(row.points):
            return ItemPoints(None, waits=row.again, whole=True)
    points = given_points.get(item.id, verdicts[item.id])
    if row.points is not None and len(verdicts) == 1:
        points = Decimal(row.points)
    return ItemPoints(None, waits=True) if row.again or points is None else ItemPoints(points)


def _sum_points(question: Question, points: Mapping[str, Decimal | None]) -> Decimal | None:
    """Return the points of a cell from those of all its items; None: some are unknown."""
    known_points = [value for value in points.values() if value is not None]
    if len(known_points) < len(points):
        return None
    # Items with negative points are deductions: they lower the sum, but not the possible points.
    possible = sum((max(question.get_item(name).points, NOTHING) for name in points), NOTHING)
    return min(max(sum(known_points, NOTHING), NOTHING), possible)


def is_accepting(offer: Offer) -> bool:
    """Decide whether students may send requests: marks are published, and the deadline has not passed."""
    until = offer.requests_until
    return offer.published_at is not None and until is not None and timezone.now() < until


def make_request(offer: Offer, student: str, question: Question, item: Item, reason: str) -> RegradeRequest:
    """Create a request for another look at an item.

    Raises:
        ActionRefused: it is too late or too early, there is no mark, a request is open already, there are too
            many, or the reason is empty or too long.
    """
    with transaction.atomic():
        # Serialise one student's requests, so that two cannot both be the last permitted one.
        if not Member.objects.select_for_update().filter(course=offer.course, student=student).exists():
            raise ActionRefused("request-no-mark")
        # Read again, because the deadline may have changed since the page was loaded.
        if not is_accepting(Offer.objects.get(pk=offer.pk)):
            raise ActionRefused("request-closed")
        text = _check_text(reason, MOST_REASON)
        graded, _ = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
        row = _select_marks(offer, student, question, item).first()
        if row is None or graded is None:
            raise ActionRefused("request-no-mark")
        points = compute_item_points(row, question, item, graded.score)
        if points.waits:
            raise ActionRefused("request-no-mark")
        still = RegradeRequest.objects.filter(
            offer__course=offer.course, student=student, answered_at=None, withdrawn_at=None
        )
        if still.filter(offer=offer, question=question.id, item=item.id).exists():
            raise ActionRefused("request-twice")
        if still.count() >= MOST_OPEN:
            raise ActionRefused("request-too-many", number=MOST_OPEN)
        request = RegradeRequest.objects.create(
            offer=offer,
            student=student,
            question=question.id,
            item=item.id,
            reason=text,
            points=_format_points(points.now),
        )
        _record_action(request, student, "request made", after={"reason": text, "points": request.points})
    return request


def cancel_request(request: RegradeRequest) -> None:
    """Withdraw a request for its student.

    Raises:
        ActionRefused: it is already answered or withdrawn.
    """
    with transaction.atomic():
        row = _lock_open_request(request)
        row.withdrawn_at = timezone.now()
        row.save()
        _record_action(row, row.student, "request withdrawn")


def may_answer(mark: CellMark | None, by: Account, course: CourseRecord) -> bool:
    """Decide whether a staff member may answer: the marker may not, unless there is no other staff.

    If two people agreed on the mark, both are its markers.

    Args:
        mark: the mark that the request is about; None: it no longer exists.
        by: the account that wants to answer.
        course: the course's row.
    """
    if mark is None:
        return True
    agreed = (
        reading for reading in mark_entry.load_readings(mark) if mark_entry.is_same(reading.items, mark.items)
    )
    if by.pk not in {mark.marked_by_id, *(reading.account_id for reading in agreed)}:
        return True
    staff = Member.objects.filter(course=course, account__is_active=True).exclude(role=Role.STUDENT)
    return not staff.exclude(account=by).exists()


def find_mark(request: RegradeRequest, question: Question | None) -> CellMark | None:
    """Return the mark that a request is about; None: the rubric no longer has the item."""
    if question is None:
        return None
    item = question.get_item(request.item)
    return _select_marks(request.offer, request.student, question, item).first()


def answer_request(
    request: RegradeRequest,
    by: Account,
    text: str,
    question: Question | None,
    points: Decimal | None = None,
) -> None:
    """Answer a request.

    Args:
        request: an open request.
        by: the staff member who answers.
        text: for the student.
        question: the item's question in this student's rubric; None: the rubric no longer has the item.
        points: new points of the item; None: the mark stays.

    Raises:
        ActionRefused: it is already answered or withdrawn, ``by`` gave the mark, the answer is empty or too
            long, the points are out of the item's range, or the cell was marked as a whole.
    """
    with transaction.atomic():
        row = _lock_open_request(request)
        offer = row.offer
        mark = item = None
        if question is not None:
            item = question.get_item(row.item)
            mark = _select_marks(offer, row.student, question, item).select_for_update(of=("self",)).first()
        if not may_answer(mark, by, offer.course):
            raise ActionRefused("request-own-mark")
        row.answer = _check_text(text, MOST_ANSWER)
        row.points_after = row.points
        graded, _ = DatabaseStore(offer.course).load_student_result(offer.assignment, row.student)
        if mark is not None and question is not None and item is not None and graded is not None:
            row.points_after = _format_points(
                _enter_points(mark, question, item, graded.score, points=points, by=by, reply=row.answer)
            )
        elif points is not None:
            raise ActionRefused("request-whole")
        row.answered_by, row.answered_at = by, timezone.now()
        row.save()
        after = {"answer": row.answer, "points": row.points_after}
        _record_action(row, by.username, "request answered", before={"points": row.points}, after=after)
        events.record_answered(row)
        # In the same transaction: no scores are sent for an answer that was rolled back.
        if offer.published_at:
            tasks.enqueue_scores(offer)


def _enter_points(
    mark: CellMark,
    question: Question,
    item: Item,
    score: Score,
    *,
    points: Decimal | None,
    by: Account,
    reply: str,
) -> Decimal | None:
    """Enter the points of an answer, and return the item's points afterwards; None: keep the mark."""
    has = compute_item_points(mark, question, item, score)
    if points is None:
        return has.now
    # An item with negative points is a deduction.
    least, most = min(item.points, NOTHING), max(item.points, NOTHING)
    if not (points.is_finite() and least <= points <= most):
        raise ActionRefused("request-points-out", least=least, most=most)
    if has.whole:
        raise ActionRefused("request-whole")
    if points != has.now:
        verdicts = collect_verdicts(question, item.cell or question.id, score)
        mark.verdicts = {name: _format_points(verdict) for name, verdict in verdicts.items()}
        cell = MarkableCell(question, mark.place.cell, list_items(question, mark.place.cell))
        mark_entry.give_item(mark, cell, item, points, by, reply=reply)
    return points


def _select_marks(offer: Offer, student: str, question: Question, item: Item) -> QuerySet[CellMark]:
    """Return the mark of an item's cell."""
    place = {"place__notebook": question.notebook, "place__cell": item.cell or question.id}
    return offer.marks.filter(**place, student=student).select_related("place")


def _lock_open_request(request: RegradeRequest) -> RegradeRequest:
    """Lock a request and return it.

    Raises:
        ActionRefused: it is already answered or withdrawn.
    """
    # The log is locked before any row: see `audit.lock_log`.
    audit.lock_log()
    rows = RegradeRequest.objects.select_for_update(of=("self",)).select_related("offer__course")
    row = rows.get(pk=request.pk)
    if row.answered_at or row.withdrawn_at:
        raise ActionRefused("request-settled")
    return row


def _check_text(written: str, most: int) -> str:
    """Return a text in the form that is stored.

    Raises:
        ActionRefused: it is empty or too long.
    """
    # Browsers send line breaks of text areas as CRLF; each counts as one character.
    length = len(written.replace("\r\n", "\n").strip())
    if length > most:
        raise ActionRefused("text-long", number=length, most=most)
    text = clean_input(written)
    if not text:
        raise ActionRefused("text-empty")
    return text


def _format_points(points: Decimal | None) -> str | None:
    return None if points is None else str(points)


def _record_action(request: RegradeRequest, who: str, action: str, **facts: dict[str, str | None]) -> None:
    about = {"question": request.question, "item": request.item}
    noted = {name: {**about, **fact} for name, fact in facts.items()} or {"after": about}
    subject = f"{request.offer.assignment}: {request.student}"
    audit.record_action(who, action, subject, course=request.offer.course, **noted)
