"""Export of one person's data: a zip archive with ``data.json`` and the submitted files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet
from lti_tool.models import LtiUser

from autograder.grading.store import decode_result
from autograder.messages import render_message
from autograder.service import blobs
from autograder.service.models import (
    Account,
    Attempt,
    AttemptFile,
    AuditEntry,
    CellMark,
    CourseRecord,
    MarkingAction,
    Member,
    Offer,
    ProgramKey,
    RegradeRequest,
    StoredResult,
)
from autograder.service.models_results import AccessEntry, BonusChange, Event, OpenedAssignment, ShownMarks
from autograder.service.protection.people import DataSubject

_LANGUAGE = "en"


def export_person(person: DataSubject) -> IO[bytes]:
    """Return an archive with everything that the service has about a person, positioned at its start.

    It contains marks that are not published yet, so staff decide when to hand it over.
    """
    files = {
        path: digest for course, student in person.students for path, digest in _list_files(course, student)
    }
    data = json.dumps(collect_data(person), cls=DjangoJSONEncoder, indent=1, ensure_ascii=False)
    return blobs.pack_files(files, {"data.json": data})


def collect_data(person: DataSubject) -> dict[str, Any]:
    """Return the contents of ``data.json``."""
    data: dict[str, Any] = {"courses": [_collect_member(member) for member in person.members]}
    if person.account is not None:
        data |= _collect_account(person.account)
    users = LtiUser.objects.filter(select_platform_users(person))
    data["learning_platforms"] = list_rows(users, "registration__name", "sub", "name", "email")
    own_names = {student for _, student in person.students}
    own_names |= {person.account.username} if person.account is not None else set()
    data["log"] = [
        _describe_entry(entry, person)
        for entry in find_mentions(person)
        if entry.who in own_names or mentions_student(entry, person)
    ]
    return data


def _describe_entry(entry: AuditEntry, person: DataSubject) -> Mapping[str, Any]:
    described = {"at": entry.at, "who": entry.who, "action": entry.action}
    if not mentions_student(entry, person):
        return described  # subject and values may be about others
    return {**described, "subject": entry.subject, "before": entry.before, "after": entry.after}


def select_platform_users(person: DataSubject) -> Q:
    """Return the condition for the person's rows of learning platforms."""
    wanted = Q(pk__in=[row.user_id for member in person.members for row in member.platforms.all()])
    return wanted | Q(auth_user=person.account) if person.account is not None else wanted


def find_mentions(person: DataSubject) -> list[AuditEntry]:
    """Return the entries of the log that the account made, or that belong to the person's courses."""
    wanted = Q(course__in=[member.course_id for member in person.members])
    # The id of a student may be another person's in another course, a user name is unique.
    wanted |= Q(who=person.account.username) if person.account is not None else Q()
    return list(AuditEntry.objects.filter(wanted).order_by("pk"))


def mentions_student(entry: AuditEntry, person: DataSubject) -> bool:
    """Decide whether an entry is about the person by its subject, such as ``exam: ada 2`` or ``ada``."""
    students = {student for course, student in person.students if course.pk == entry.course_id}
    _, _, subject = str(entry.subject).rpartition(": ")
    return subject in students or subject.rpartition(" ")[0] in students


def list_rows(rows: QuerySet[Any], *fields: str) -> list[dict[str, Any]]:
    """Return some fields of rows, always in the same order."""
    return list(rows.order_by("pk").values(*fields))


def _collect_account(account: Account) -> dict[str, Any]:
    fields = ("username", "first_name", "last_name", "email", "language", "mail", "date_joined", "last_login")
    own = {"user": account}
    return {
        "account": {name: getattr(account, name) for name in fields},
        "keys": list_rows(
            ProgramKey.objects.filter(account=account),
            *("label", "scopes", "course__slug", "created_at", "used_at", "expires_at"),
        ),
        "addresses": list_rows(EmailAddress.objects.filter(**own), "email", "verified"),
        "sign_ins_elsewhere": list_rows(
            SocialAccount.objects.filter(**own), "provider", "uid", "date_joined"
        ),
        "second_factors": list_rows(
            Authenticator.objects.filter(**own), "type", "created_at", "last_used_at"
        ),
        "marking": list_rows(MarkingAction.objects.filter(account=account), "at", "assignment", "action"),
        "assigned_answers": list_rows(
            CellMark.objects.filter(assignee=account),
            *("place__course__slug", "place__assignment", "place__cell"),
        ),
        "views": list_rows(
            AccessEntry.objects.filter(who=account.username),
            *("at", "course__slug", "assignment", "action"),
        ),
    }


def _collect_member(member: Member) -> dict[str, Any]:
    fields = ("role", "student", "first_name", "last_name", "email")
    data: dict[str, Any] = {"course": member.course.slug, **{name: getattr(member, name) for name in fields}}
    if member.student:
        offers = Offer.objects.filter(course=member.course).order_by("pk")
        data["assignments"] = [_collect_assignment(offer, member.student) for offer in offers]
        seen = AccessEntry.objects.filter(course=member.course, student=member.student)
        data["viewed_by_staff"] = list_rows(seen, "at", "who", "assignment", "action")
    return data


def _collect_assignment(offer: Offer, student: str) -> dict[str, Any]:
    of_student = {"offer": offer, "student": student}
    results = StoredResult.objects.filter(course=offer.course, assignment=offer.assignment, student=student)
    return {
        "assignment": offer.assignment,
        "extension": offer.times.get("students", {}).get(student),
        "groups": [name for name, members in offer.groups.items() if student in members],
        "bonus": offer.bonus.get(student),
        "attempts": [_collect_attempt(attempt) for attempt in Attempt.objects.filter(**of_student)],
        "results": [_collect_result(result) for result in results.order_by("pk")],
        "marks": list_rows(
            offer.marks.filter(student=student),
            *("place__notebook", "place__cell", "text", "automatic", "points", "items", "comment", "remarks"),
            *("annotations", "marked_by__username", "marked_at"),
        ),
        "requests": list_rows(
            RegradeRequest.objects.filter(**of_student),
            *("question", "item", "reason", "made_at", "points", "answer", "answered_at", "points_after"),
        ),
        "events": list_rows(Event.objects.filter(**of_student), "kind", "attempt", "at"),
        "opened": list_rows(OpenedAssignment.objects.filter(**of_student), "at"),
        "shown_marks": list_rows(ShownMarks.objects.filter(**of_student), "shown"),
        "bonus_changes": list_rows(BonusChange.objects.filter(**of_student), "at"),
    }


def _collect_attempt(attempt: Attempt) -> Mapping[str, Any]:
    return {
        "number": attempt.number,
        "submitted_at": attempt.submitted_at,
        "state": attempt.state,
        "receipt": attempt.receipt,
        "files": {name: path for name, path, _ in _list_attempt_files(attempt)},
    }


def _collect_result(result: StoredResult) -> Mapping[str, Any]:
    graded = decode_result(bytes(result.graded))
    items: Sequence[Any] = graded.score.items if graded else ()
    return {
        "recorded_at": result.recorded_at,
        "items": [
            {
                "question": item.question,
                "status": item.status.value,
                "points": str(item.points),
                "possible": str(item.possible),
                "text": render_message(item.student, _LANGUAGE),
            }
            for item in items
        ],
    }


def _list_files(course: CourseRecord, student: str) -> list[tuple[str, str]]:
    attempts = Attempt.objects.filter(offer__course=course, student=student).select_related("offer__course")
    return [
        (path, digest)
        for attempt in attempts.order_by("submitted_at", "pk")
        for _, path, digest in _list_attempt_files(attempt)
    ]


def _list_attempt_files(attempt: Attempt) -> list[tuple[str, str, str]]:
    """Return name, path in the archive, and digest of each file of an attempt."""
    offer = attempt.offer
    folder = f"files/{offer.course.slug}/{offer.assignment}/{attempt.number}"
    rows = AttemptFile.objects.filter(attempt=attempt).order_by("name")
    return [(name, f"{folder}/{name}", digest) for name, digest in rows.values_list("name", "blob")]
