"""Choice of the counting attempt by staff, overriding the times and the readability of files."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from autograder.errors import ServiceError
from autograder.rubric import Rubric
from autograder.service import attempts, audit, changes
from autograder.service.models import Account, Attempt, Offer, State
from autograder.service.telling import ChosenAttempt, StatedReason


def choose_attempt(attempt: Attempt, reason: str, rubric: Rubric, by: Account) -> None:
    """Make an attempt count for its student, and for the whole group if the student has one.

    Attempts that count only from now on are graded again, because only grading turns them into marks.

    Args:
        attempt: the attempt that shall count.
        reason: shown to students and in the log.
        rubric: of the assignment.
        by: the account that chose.

    Raises:
        ServiceError: there is no reason, or the attempt could not be graded.
    """
    text = reason.strip()[: changes.MOST_REASON]
    if not text:
        raise ServiceError("say why this attempt counts; the student reads it")
    if attempt.state == State.FAILED:
        raise ServiceError("this attempt could not be graded; try it again first")
    values = {"at": timezone.now(), "reason": text, "by": by}
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.hold()
        before = _numbers(attempt.offer, attempt.student, rubric)
        ChosenAttempt.objects.update_or_create(attempt=attempt, defaults=values)
        _apply(attempt.offer, attempt.student, rubric, before=before, reason=text, by=by)


def drop_choice(offer: Offer, student: str, rubric: Rubric, by: Account) -> None:
    """Return to the automatic choice of the counting attempt, by times and files."""
    with transaction.atomic():
        audit.hold()
        before = _numbers(offer, student, rubric)
        members = attempts.together(offer, student)
        ChosenAttempt.objects.filter(attempt__offer=offer, attempt__student__in=members).delete()
        _apply(offer, student, rubric, before=before, reason="", by=by)


def _apply(
    offer: Offer, student: str, rubric: Rubric, *, before: dict[str, list[str]], reason: str, by: Account
) -> None:
    """Write the log, record the reason for changed marks, and grade the attempts that count now."""
    subject = f"{offer.assignment}: {student}"
    told = {"counts": _numbers(offer, student, rubric), "reason": reason}
    audit.note(by.username, "choose attempt", subject, course=offer.course, before=before, after=told)
    # Unpublished marks were never shown, so their change needs no reason.
    if reason and offer.published_at:
        StatedReason.objects.create(offer=offer, text=reason, by=by)
    attempts.grade_again(_counting(offer, student, rubric))


def _counting(offer: Offer, student: str, rubric: Rubric) -> QuerySet[Attempt]:
    """Return the attempts that count for a student and the members of their group."""
    found = (attempts.counting(offer, one, rubric) for one in attempts.together(offer, student))
    numbers = {name for one in found if one for name in (one.folder.name, attempts.result_of(one))}
    return Attempt.objects.filter(pk__in=numbers)


def _numbers(offer: Offer, student: str, rubric: Rubric) -> dict[str, list[str]]:
    """Return the counting attempts of each group member, with the numbers that people see."""
    told = {}
    for one in attempts.together(offer, student):
        handin = attempts.counting(offer, one, rubric)
        # A group member may count with two attempts: the group's, and the one with individual files.
        folders = {handin.folder.name, attempts.result_of(handin)} if handin else set()
        rows = Attempt.objects.filter(pk__in=folders).order_by("student", "number")
        told[one] = [f"{row.student} {row.number}" for row in rows]
    return told
