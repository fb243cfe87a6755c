"""The marks that students saw and how they have changed since: published marks never change silently.

Opening the feedback records the marks shown. If they differ later, the student's page says so from then on:
old and new points, time, and the reason that staff gave.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from msgspec.structs import replace

from autograder.app.published_marks import (
    AgreedChange,
    PublishedMarks,
    ShownMark,
    make_changed_mark,
    make_shown_mark,
)
from autograder.grading.assignment import Assignment
from autograder.grading.grades import MarkChange
from autograder.service import attempts
from autograder.service.models import Account, Attempt, Offer, RegradeRequest
from autograder.service.models_results import BonusChange, ShownMarks, StatedReason
from autograder.service.standings import compute_student_standing, load_current_result
from autograder.service.store import DatabaseStore

MOST_REASON = 1_000
"""Maximum number of characters."""


def list_changes(offer: Offer, assignment: Assignment, student: str) -> tuple[MarkChange, ...]:
    """Return the changes of marks that the student saw, oldest first; the last may still be unseen."""
    mark = _compute_shown_mark(
        offer, assignment, student, ShownMarks.objects.filter(offer=offer, student=student).first()
    )
    return mark.changes if mark else ()


def find_unshown_change(offer: Offer, assignment: Assignment, student: str) -> MarkChange | None:
    """Return the change since the student's last visit; None: no change, or the student saw no marks yet."""
    row = ShownMarks.objects.filter(offer=offer, student=student).first()
    mark = _compute_shown_mark(offer, assignment, student, row)
    # Changes are only appended, so a longer list has unseen ones.
    return mark.changes[-1] if row and mark and len(mark.changes) > len(_decode_shown(row).changes) else None


def record_shown_marks(offer: Offer, assignment: Assignment, student: str) -> None:
    """Record that the student sees the current marks and changes; does nothing if there are no marks."""
    with transaction.atomic():
        row = ShownMarks.objects.select_for_update().filter(offer=offer, student=student).first()
        mark = _compute_shown_mark(offer, assignment, student, row)
        if mark is None:
            return
        values = {"shown": msgspec.to_builtins(mark), "agreed": None}
        if row is None:
            # Two pages may show a student's marks for the first time at once.
            ShownMarks.objects.get_or_create(offer=offer, student=student, defaults=values)
        else:
            ShownMarks.objects.filter(pk=row.pk).update(**values)


def record_reason(offer: Offer, text: str, by: Account) -> None:
    """Record the reason for upcoming changes of marks; does nothing for an empty text."""
    if text.strip():
        StatedReason.objects.create(offer=offer, text=text.strip()[:MOST_REASON], by=by)


def give_bonus(offer: Offer, points: dict[str, str]) -> None:
    """Set the bonus points, and record the students with changed points.

    Args:
        offer: the offer; it is saved.
        points: as text, by student.
    """
    before = offer.bonus
    changed_students = sorted(
        student for student in {*before, *points} if before.get(student) != points.get(student)
    )
    if changed_students:
        with transaction.atomic():
            offer.bonus = points
            offer.save(update_fields=["bonus"])
            BonusChange.objects.bulk_create(
                BonusChange(offer=offer, student=student) for student in changed_students
            )


def import_shown_marks(offer: Offer, published: PublishedMarks) -> None:
    """Import the marks that a folder showed its students, except where the service has shown some already."""
    for student, mark in published.shown.items():
        # Existing rows are kept: the service has shown these students newer marks.
        agreed = published.agreed.get(student)
        values = {"shown": msgspec.to_builtins(mark), "agreed": msgspec.to_builtins(agreed)}
        ShownMarks.objects.get_or_create(offer=offer, student=student, defaults=values)


def export_shown_marks(offer: Offer) -> PublishedMarks:
    """Return the marks that students were shown, in the form that a folder stores."""
    rows = list(ShownMarks.objects.filter(offer=offer).order_by("student"))
    agreed = {
        row.student: msgspec.convert(row.agreed, AgreedChange) for row in rows if row.agreed is not None
    }
    return PublishedMarks(offer.published_at, {row.student: _decode_shown(row) for row in rows}, agreed)


def _compute_shown_mark(
    offer: Offer, assignment: Assignment, student: str, row: ShownMarks | None
) -> ShownMark | None:
    """Return the mark that a page shows, with all changes since the first one; None: nothing is graded."""
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None:
        return None
    handin = attempts.find_counting_attempt(offer, student, assignment.rubric)
    graded, now = load_current_result(graded, handin), timezone.now()
    rubric = assignment.get_rubric(graded.score.asked)
    new = make_shown_mark(
        graded.score, rubric, compute_student_standing(offer, assignment, graded, marks), now
    )
    if row is None:
        return new
    shown = _decode_shown(row)
    if not shown.is_changed_by(new):
        return replace(new, changes=shown.changes)
    number = attempts.get_graded_attempt_id(handin) if handin else ""
    changed_at, reason = _find_reason(offer, student, shown.at, row, number)
    return make_changed_mark(shown, new, (changed_at or now).replace(microsecond=0), reason)


def _find_reason(
    offer: Offer, student: str, since: datetime, row: ShownMarks, attempt: str
) -> tuple[datetime | None, str]:
    """Return when marks changed after a moment, and the reasons people gave; None: there is no evidence."""
    events: list[tuple[datetime, str]] = []
    if row.agreed is not None:
        agreed = msgspec.convert(row.agreed, AgreedChange)
        events.append((agreed.at, agreed.reason))
    marked = offer.marks.filter(student=student, marked_at__gt=since)
    answered = list(RegradeRequest.objects.filter(offer=offer, student=student, answered_at__gt=since))
    events += [(request.answered_at, request.answer) for request in answered if request.answered_at]
    for mark in marked:
        # A reply gives the reason itself; an older comment on the answer does not.
        is_reply = any(
            mark.marked_by_id == request.answered_by_id
            and mark.marked_at
            and request.answered_at
            and request.made_at < mark.marked_at <= request.answered_at
            for request in answered
        )
        events.append((mark.marked_at or since, "" if is_reply else mark.comment))
    events += StatedReason.objects.filter(offer=offer, at__gt=since).values_list("at", "text")
    bonus = BonusChange.objects.filter(offer=offer, student=student, at__gt=since)
    events += [(moment, "") for moment in bonus.values_list("at", flat=True)]
    if attempt:
        graded = Attempt.objects.filter(pk=attempt, graded_at__gt=since)
        events += [(moment, "") for moment in graded.values_list("graded_at", flat=True)]
    if not events:
        return None, ""
    events.sort()
    # Keep the order of events and show an identical reason once.
    texts = dict.fromkeys(text.strip() for _, text in events if text.strip())
    return events[-1][0], " · ".join(texts)


def _decode_shown(row: ShownMarks) -> ShownMark:
    shown: Any = row.shown
    return msgspec.convert(shown, ShownMark)
