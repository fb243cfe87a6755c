"""Erasure of one person's data; the audit log keeps that it happened, and stays verifiable.

A submission of a group stays while a member of the group is on the class list, because it is their work too.
`docs/data-protection.md` lists everything that stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError
from lti_tool.models import LtiUser

from autograder.service import attempts, audit, blobs
from autograder.service.models import (
    Account,
    Attempt,
    AttemptFile,
    Blob,
    CellMark,
    CourseFile,
    MarkingAction,
    Member,
    Offer,
    RegradeRequest,
    StoredResult,
    TrialResult,
    VersionFile,
)
from autograder.service.models_results import (
    AccessEntry,
    BonusChange,
    Comparison,
    Draft,
    Event,
    OpenedAssignment,
    ShownMarks,
)
from autograder.service.protection.export import find_mentions, mentions_student, select_platform_users
from autograder.service.protection.people import DataSubject

ERASED = "erased"


def erase_person(person: DataSubject, by: str) -> str:
    """Erase a person's data, and return the pseudonym that replaces their names in the log.

    Marks that a member of staff gave stay, with an account that has no name and cannot sign in.

    Args:
        person: whose data are erased.
        by: user name for the log.
    """
    pseudonym = f"{ERASED}-{secrets.token_hex(4)}"
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.lock_log()
        _redact_log(person, pseudonym, by)
        digests = set()
        for member in person.members:
            if member.student:
                digests |= _erase_student(member)
        users = LtiUser.objects.filter(select_platform_users(person))
        users.delete()
        Member.everyone.filter(pk__in=[member.pk for member in person.members]).delete()
        if person.account is not None:
            AccessEntry.objects.filter(who=person.account.username).update(who=pseudonym)
            _erase_account(person.account, pseudonym)
        _delete_blobs(digests)
    return pseudonym


def _erase_student(member: Member) -> set[str]:
    """Erase a student's data in a course, and return the digests of the files that were deleted."""
    course, student, digests = member.course, member.student, set()
    for offer in Offer.objects.select_for_update(no_key=True).filter(course=course).order_by("pk"):
        group = attempts.list_group_members(offer, student)
        others = Member.everyone.filter(course=course, student__in=group).exclude(pk=member.pk)
        if others.exists():
            # The group's work is that of the others too; only what is the student's alone is erased.
            Attempt.objects.filter(offer=offer, student=student, by=member.account).update(by=None)
        else:
            digests |= _erase_attempts(offer, group)
            offer.groups = {name: ids for name, ids in offer.groups.items() if student not in ids}
        _erase_marks(offer, student)
        _erase_results(offer, [student])
        offer.bonus = {who: points for who, points in offer.bonus.items() if who != student}
        if student in offer.times.get("students", {}):
            kept = {who: times for who, times in offer.times["students"].items() if who != student}
            offer.times = {**offer.times, "students": kept}
        offer.save(update_fields=["groups", "bonus", "times"])
    AccessEntry.objects.filter(course=course, student=student).delete()
    return digests | _erase_from_files(member)


def _erase_attempts(offer: Offer, students: Collection[str]) -> set[str]:
    """Delete the attempts of students with their results; return the digests of the files."""
    rows = Attempt.objects.filter(offer=offer, student__in=students)
    digests = set(AttemptFile.objects.filter(attempt__in=rows).values_list("blob", flat=True))
    rows.delete()
    _erase_results(offer, students)
    return digests


def _erase_results(offer: Offer, students: Collection[str]) -> None:
    """Delete results that no attempt needs any more."""
    offer.current_results.filter(student__in=students).delete()
    results = StoredResult.objects.filter(
        course=offer.course, assignment=offer.assignment, student__in=students
    )
    for model in (Attempt, TrialResult):
        results = results.exclude(Exists(model.objects.filter(result=OuterRef("pk"))))
    results.delete()


def _erase_marks(offer: Offer, student: str) -> None:
    """Delete the marks of a student and everything about them."""
    marks = offer.marks.filter(student=student)
    numbers = set(marks.values_list("pk", flat=True))
    actions = MarkingAction.objects.select_for_update().filter(
        course=offer.course, assignment=offer.assignment
    )
    for action in actions:
        kept = [change for change in action.changes if change.get("answer") not in numbers]
        if not kept:
            action.delete()
        elif len(kept) < len(action.changes):
            action.changes = kept
            action.save(update_fields=["changes"])
    marks.delete()
    for model in (RegradeRequest, ShownMarks, BonusChange, Event, OpenedAssignment):
        model.objects.filter(offer=offer, student=student).delete()
    comparison = Comparison.objects.filter(offer=offer).first()
    if comparison is not None and comparison.pairs is not None:
        pairs = [pair for pair in comparison.pairs["pairs"] if student not in pair["pair"]["students"]]
        comparison.pairs = {**comparison.pairs, "pairs": pairs}
        comparison.save(update_fields=["pairs"])


def _erase_from_files(member: Member) -> set[str]:
    """Remove a student's lines from the service's copy of bonus.csv; return its previous digest."""
    row = CourseFile.objects.filter(course=member.course, path="bonus.csv").first()
    if row is None:
        return set()
    before = row.blob_id
    text = blobs.load_blobs([before])[before].decode("utf-8", "surrogateescape")
    lines = text.splitlines(keepends=True)
    kept = [
        line for line in lines if member.student not in {cell.strip(' "\r\n') for cell in line.split(",")}
    ]
    if len(kept) == len(lines):
        return set()
    [row.blob_id] = blobs.store_blobs(["".join(kept).encode("utf-8", "surrogateescape")])
    row.save(update_fields=["blob"])
    return {before}


def _erase_account(account: Account, pseudonym: str) -> None:
    """Delete an account with its keys, sessions and ways to sign in, or make it nameless if it gave marks."""
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(account.pk):
            session.delete()
    try:
        with transaction.atomic():
            account.delete()
    except ProtectedError:
        for rows in (
            account.keys,
            account.emailaddress_set,
            account.socialaccount_set,
            account.authenticator_set,
        ):
            rows.all().delete()
        CellMark.objects.filter(assignee=account).update(assignee=None)
        account.username = pseudonym
        account.first_name = account.last_name = account.email = account.language = ""
        account.is_active = account.is_superuser = account.is_staff = False
        account.last_login = None
        account.set_unusable_password()
        account.save()


def _delete_blobs(digests: Iterable[str]) -> None:
    """Delete contents that nothing refers to any more, also from the object store after the commit."""
    rows = Blob.objects.filter(digest__in=list(digests))
    for model in (AttemptFile, VersionFile, CourseFile):
        rows = rows.exclude(Exists(model.objects.filter(blob=OuterRef("pk"))))
    rows = rows.exclude(Exists(Draft.objects.filter(archive=OuterRef("pk"))))
    # An upload of the same content at this moment fails at its commit, because its row refers to nothing.
    outside = list(rows.filter(data=None).values_list("digest", flat=True))
    rows.only("digest").delete()  # the bytes need not be loaded
    transaction.on_commit(lambda: blobs.delete_objects(outside))


def _redact_log(person: DataSubject, pseudonym: str, by: str) -> None:
    """Remove a person from the log, and record for each course that this was done."""
    words = person.collect_words()
    own = {person.account.username} if person.account is not None else set()
    staff = not person.students
    redacted: dict[int | None, dict[str, str]] = {member.course_id: {} for member in person.members}
    redacted.setdefault(None, {})
    for entry in find_mentions(person):
        about = mentions_student(entry, person) or (entry.who in own and entry.course_id is None)
        before = (entry.who, entry.subject, entry.before, entry.after)
        # A member of staff remains responsible for what they did, under the pseudonym.
        entry.who = pseudonym if entry.who in words else entry.who
        entry.subject = _replace_words(entry.subject, words, pseudonym)
        if about and not staff:
            entry.before = entry.after = None
        else:
            entry.before = _replace_in_values(entry.before, words, pseudonym)
            entry.after = _replace_in_values(entry.after, words, pseudonym)
        if before != (entry.who, entry.subject, entry.before, entry.after):
            digest = audit.redact_entry(entry)
            redacted.setdefault(entry.course_id, {})[str(entry.pk)] = digest
    courses = {member.course_id: member.course for member in person.members}
    for number, digests in redacted.items():
        if digests or number is not None or not courses:
            after = {audit.REDACTED: digests}
            audit.record_action(by, audit.ERASE, pseudonym, course=courses.get(number), after=after)


def _replace_in_values(value: Any, words: frozenset[str], pseudonym: str) -> Any:
    """Replace mentions of a person in a JSON value; what stands under their name is removed."""
    if isinstance(value, dict):
        return {
            _replace_words(name, words, pseudonym): None
            if name in words
            else _replace_in_values(inner, words, pseudonym)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_replace_in_values(inner, words, pseudonym) for inner in value]
    return _replace_words(value, words, pseudonym) if isinstance(value, str) else value


def _replace_words(text: str, words: frozenset[str], pseudonym: str) -> str:
    """Replace whole words; longest first, so that a full name is replaced before its parts."""
    for word in sorted(words, key=len, reverse=True):
        text = audit.replace_word(text, word, pseudonym)
    return text
