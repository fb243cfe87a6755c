"""Choice of the counting attempt by staff, overriding the times and the readability of files."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from autograder.rubric import Rubric
from autograder.service import attempts, audit, mark_changes
from autograder.service.models import Account, Attempt, Offer, State
from autograder.service.models_results import ChosenAttempt, StatedReason
from autograder.service.refusals import RequestRefused


def choose_attempt(attempt: Attempt, reason: str, rubric: Rubric, by: Account) -> None:
    """Make an attempt count for its student, and for the whole group if the student has one.

    Attempts that count only from now on are graded again, because only grading turns them into marks.

    Args:
        attempt: the attempt that shall count.
        reason: shown to students and in the log.
        rubric: of the assignment.
        by: the account that chose.

    Raises:
        RequestRefused: there is no reason, or the attempt could not be graded.
    """
    text = reason.strip()[: mark_changes.MOST_REASON]
    if not text:
        raise RequestRefused("choice-reason")
    if attempt.state == State.FAILED:
        raise RequestRefused("choice-failed")
    values = {"at": timezone.now(), "reason": text, "by": by}
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.lock_log()
        before = _list_attempt_names(attempt.offer, attempt.student, rubric)
        ChosenAttempt.objects.update_or_create(attempt=attempt, defaults=values)
        _apply_choice(attempt.offer, attempt.student, rubric, before=before, reason=text, by=by)


def drop_choice(offer: Offer, student: str, rubric: Rubric, by: Account) -> None:
    """Return to the automatic choice of the counting attempt, by times and files."""
    with transaction.atomic():
        audit.lock_log()
        before = _list_attempt_names(offer, student, rubric)
        members = attempts.list_group_members(offer, student)
        ChosenAttempt.objects.filter(attempt__offer=offer, attempt__student__in=members).delete()
        _apply_choice(offer, student, rubric, before=before, reason="", by=by)


def _apply_choice(
    offer: Offer, student: str, rubric: Rubric, *, before: dict[str, list[str]], reason: str, by: Account
) -> None:
    """Write the log, record the reason for changed marks, and grade the attempts that count now."""
    subject = f"{offer.assignment}: {student}"
    after = {"counts": _list_attempt_names(offer, student, rubric), "reason": reason}
    audit.record_action(
        by.username, "choose attempt", subject, course=offer.course, before=before, after=after
    )
    # Unpublished marks were never shown, so their change needs no reason.
    if reason and offer.published_at:
        StatedReason.objects.create(offer=offer, text=reason, by=by)
    numbers = set().union(*_find_counting(offer, student, rubric).values())
    attempts.grade_again(Attempt.objects.filter(pk__in=numbers))


def _find_counting(offer: Offer, student: str, rubric: Rubric) -> dict[str, set[str]]:
    """Return the ids of the counting attempts of a student and the members of their group."""
    members = attempts.list_group_members(offer, student)
    handins = attempts.find_counting_attempts(offer, rubric, members)
    # A group member may count with two attempts: the group's, and the one with individual files.
    return {
        member: {handins[member].folder.name, attempts.get_graded_attempt_id(handins[member])}
        if member in handins
        else set()
        for member in members
    }


def _list_attempt_names(offer: Offer, student: str, rubric: Rubric) -> dict[str, list[str]]:
    """Return the counting attempts of each group member, with the numbers that people see."""
    names = {}
    for member, numbers in _find_counting(offer, student, rubric).items():
        rows = Attempt.objects.filter(pk__in=numbers).order_by("student", "number")
        names[member] = [f"{row.student} {row.number}" for row in rows]
    return names
