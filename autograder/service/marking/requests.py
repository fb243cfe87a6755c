"""Regrade requests: a student asks for another look at an item, and somebody else than who marked it answers.

A request is open until it is answered or withdrawn. What was asked, and what came of it, both sides can see.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.feedback.sanitise import kept_text
from autograder.grades import NOTHING
from autograder.marking.points import items_of, verdicts_of
from autograder.records import Score
from autograder.rubric import Item, Question, Rubric
from autograder.service import audit
from autograder.service.marking import saving
from autograder.service.marking.answers import MarkableCell
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import Account, CellMark, CourseRecord, Member, Offer, RegradeRequest, Role
from autograder.service.store import DatabaseStore

MOST_REASON = 2_000
MOST_ANSWER = 4_000
"""Characters."""
MOST_OPEN = 20
"""Of one student in a course."""


class AskableItem(Struct, frozen=True):
    """An item that has a mark, so that a student may ask for another look at it."""

    question: Question
    item: Item
    points: Decimal | None
    """None: a person marked its whole cell, which has several items."""


def askable(rubric: Rubric, score: Score, student: str, course: CourseRecord) -> list[AskableItem]:
    """The items of a student that have marks, in the rubric's order.

    Args:
        rubric: that the student was asked by.
        score: the result that counts.
        student: whose it is.
        course: of the service.
    """
    name = rubric.assignment.name
    rows = CellMark.objects.filter(place__course=course, place__assignment=name, student=student)
    marks = {(row.place.notebook, row.place.cell): row for row in rows.select_related("place")}
    found = []
    for question in rubric.questions:
        for item in question.items:
            row = marks.get((question.notebook, item.cell or question.id))
            has = row and points_of(row, question, item, score)
            if has and not has.waits:
                found.append(AskableItem(question, item, has.now))
    return found


class ItemPoints(Struct, frozen=True):
    """What an item has."""

    now: Decimal | None
    """None: it waits, or its cell was marked as a whole."""
    waits: bool = False
    """For a person."""
    whole: bool = False
    """A person marked its whole cell, which has several items."""


def points_of(row: CellMark, question: Question, item: Item, score: Score) -> ItemPoints:
    """What an item has: from a person, or else from grading."""
    verdicts = verdicts_of(question, item.cell or question.id, score)
    given = _given(row, verdicts)
    if row.points is not None and len(verdicts) > 1:
        known = _sum(question, {**verdicts, **given})
        if not given or known != Decimal(row.points):
            return ItemPoints(None, waits=row.again, whole=True)
    found = given.get(item.id, verdicts[item.id])
    if row.points is not None and len(verdicts) == 1:
        found = Decimal(row.points)
    return ItemPoints(None, waits=True) if row.again or found is None else ItemPoints(found)


def _given(row: CellMark, verdicts: Mapping[str, object]) -> dict[str, Decimal]:
    return {name: Decimal(one["points"]) for name, one in row.items.items() if name in verdicts}


def _sum(question: Question, points: Mapping[str, Decimal | None]) -> Decimal | None:
    """The points of a cell out of those of all its items; None: not all are known."""
    known = [one for one in points.values() if one is not None]
    if len(known) < len(points):
        return None
    possible = sum((max(question.item(name).points, NOTHING) for name in points), NOTHING)
    return min(max(sum(known, NOTHING), NOTHING), possible)


def accepts(offer: Offer) -> bool:
    """Whether students may ask now: marks are published, and the deadline lies ahead."""
    until = offer.requests_until
    return offer.published_at is not None and until is not None and timezone.now() < until


def make(offer: Offer, student: str, question: Question, item: Item, reason: str) -> RegradeRequest:
    """Ask for another look at an item.

    Raises:
        NotTaken: it is too late or too early, there is no mark, one is open already, there are too many, or
            the reason is empty or too long.
    """
    with transaction.atomic():
        # Of one student one at a time, or two would both be the last that may be open.
        if not Member.objects.select_for_update().filter(course=offer.course, student=student).exists():
            raise NotTaken("request-no-mark")
        if not accepts(Offer.objects.get(pk=offer.pk)):
            raise NotTaken("request-closed")
        text = _text(reason, MOST_REASON)
        graded, _ = DatabaseStore(offer.course).of_student(offer.assignment, student)
        row = _marks(offer, student, question, item).first()
        if row is None or graded is None:
            raise NotTaken("request-no-mark")
        points = points_of(row, question, item, graded.score)
        if points.waits:
            raise NotTaken("request-no-mark")
        still = RegradeRequest.objects.filter(
            offer__course=offer.course, student=student, answered_at=None, withdrawn_at=None
        )
        if still.filter(offer=offer, question=question.id, item=item.id).exists():
            raise NotTaken("request-twice")
        if still.count() >= MOST_OPEN:
            raise NotTaken("request-too-many", number=MOST_OPEN)
        made = RegradeRequest.objects.create(
            offer=offer,
            student=student,
            question=question.id,
            item=item.id,
            reason=text,
            points=_written(points.now),
        )
        _note(made, student, "request made", after={"reason": text, "points": made.points})
    return made


def withdraw(request: RegradeRequest) -> None:
    """Take a request back, as its student wants.

    Raises:
        NotTaken: it is answered or withdrawn.
    """
    with transaction.atomic():
        row = _open(request)
        row.withdrawn_at = timezone.now()
        row.save()
        _note(row, row.student, "request withdrawn")


def may_answer(mark: CellMark | None, by: Account, course: CourseRecord) -> bool:
    """Whether somebody on the staff may answer: not who gave the mark that stands, if there is anybody else.

    Where two people agreed about it both gave it.

    Args:
        mark: that a request is about; None: there is none any more.
        by: who wants to answer.
        course: of the service.
    """
    if mark is None:
        return True
    agreed = (one for one in saving.all_of(mark) if saving.same(one.items, mark.items))
    if by.pk not in {mark.marked_by_id, *(one.account_id for one in agreed)}:
        return True
    staff = Member.objects.filter(course=course, account__is_active=True).exclude(role=Role.STUDENT)
    return not staff.exclude(account=by).exists()


def mark_of(request: RegradeRequest, question: Question | None) -> CellMark | None:
    """The mark that a request is about; None: the rubric has the item no more."""
    if question is None:
        return None
    item = question.item(request.item)
    return _marks(request.offer, request.student, question, item).first()


def answer(
    request: RegradeRequest,
    by: Account,
    text: str,
    question: Question | None,
    points: Decimal | None = None,
) -> None:
    """Answer a request.

    Args:
        request: that is open.
        by: who answers; on the staff of the course.
        text: for the student.
        question: that has the item, as this student was asked; None: the rubric has the item no more.
        points: what the item has from now on; None: the mark stays.

    Raises:
        NotTaken: it is answered or withdrawn, ``by`` gave the mark, the answer is empty or too long, the
            points are not within the item's, or the cell was marked as a whole.
    """
    with transaction.atomic():
        row = _open(request)
        offer = row.offer
        mark = item = None
        if question is not None:
            item = question.item(row.item)
            mark = _marks(offer, row.student, question, item).select_for_update(of=("self",)).first()
        if not may_answer(mark, by, offer.course):
            raise NotTaken("request-own-mark")
        row.answer = _text(text, MOST_ANSWER)
        row.points_after = row.points
        graded, _ = DatabaseStore(offer.course).of_student(offer.assignment, row.student)
        if mark is not None and question is not None and item is not None and graded is not None:
            row.points_after = _written(_entered(mark, question, item, graded.score, points=points, by=by))
        elif points is not None:
            raise NotTaken("request-whole")
        row.answered_by, row.answered_at = by, timezone.now()
        row.save()
        after = {"answer": row.answer, "points": row.points_after}
        _note(row, by.username, "request answered", before={"points": row.points}, after=after)


def _entered(
    mark: CellMark, question: Question, item: Item, score: Score, *, points: Decimal | None, by: Account
) -> Decimal | None:
    """What the item has after an answer with so many points; None: the mark stays."""
    has = points_of(mark, question, item, score)
    if points is None:
        return has.now
    least, most = min(item.points, NOTHING), max(item.points, NOTHING)
    if not (points.is_finite() and least <= points <= most):
        raise NotTaken("request-points-out", least=least, most=most)
    if has.whole:
        raise NotTaken("request-whole")
    if points != has.now:
        verdicts = verdicts_of(question, item.cell or question.id, score)
        mark.verdicts = {name: _written(verdict) for name, verdict in verdicts.items()}
        cell = MarkableCell(question, mark.place.cell, items_of(question, mark.place.cell))
        saving.give_item(mark, cell, item, points, by)
    return points


def _marks(offer: Offer, student: str, question: Question, item: Item) -> QuerySet[CellMark]:
    """The mark of an item's cell."""
    place = {
        "place__course": offer.course,
        "place__assignment": offer.assignment,
        "place__notebook": question.notebook,
        "place__cell": item.cell or question.id,
    }
    return CellMark.objects.filter(**place, student=student).select_related("place")


def _open(request: RegradeRequest) -> RegradeRequest:
    """The request, locked.

    Raises:
        NotTaken: it is answered or withdrawn.
    """
    audit.hold()
    rows = RegradeRequest.objects.select_for_update(of=("self",)).select_related("offer__course")
    row = rows.get(pk=request.pk)
    if row.answered_at or row.withdrawn_at:
        raise NotTaken("request-settled")
    return row


def _text(written: str, most: int) -> str:
    """A text as it is kept.

    Raises:
        NotTaken: it is empty, or too long.
    """
    length = len(written.replace("\r\n", "\n").strip())
    if length > most:
        raise NotTaken("text-long", number=length, most=most)
    text = kept_text(written)
    if not text:
        raise NotTaken("text-empty")
    return text


def _written(points: Decimal | None) -> str | None:
    return None if points is None else str(points)


def _note(request: RegradeRequest, who: str, action: str, **facts: dict[str, str | None]) -> None:
    about = {"question": request.question, "item": request.item}
    noted = {name: {**about, **fact} for name, fact in facts.items()} or {"after": about}
    subject = f"{request.offer.assignment}: {request.student}"
    audit.note(who, action, subject, course=request.offer.course, **noted)
