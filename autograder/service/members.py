"""Members of a course: added, changed, removed and restored by staff; each change is in the audit log.

The class list adds, updates or restores students, and never removes any.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from autograder.grading.store import Student
from autograder.service import audit
from autograder.service.marking import assignees
from autograder.service.models import Account, CourseRecord, Invitation, Member, ProgramKey, Role
from autograder.service.store import DatabaseStore

FIELDS = ("role", "student", "first_name", "last_name", "email")
"""The fields that staff enter."""


def get_name(member: Member) -> str:
    """Return the name of a member for the log: the student id, or the name of staff."""
    return member.student or f"{member.first_name} {member.last_name}".strip() or "-"


def describe_member(member: Member) -> dict[str, str]:
    """Return the fields of a member for the log, without empty ones."""
    facts = {name: str(getattr(member, name)) for name in FIELDS if getattr(member, name)}
    return {**facts, "account": member.account.username} if member.account else facts


def record_change(by: Account, action: str, member: Member, *, before: Any = None, after: Any = None) -> None:
    """Record a change of a member in the audit log."""
    audit.record_action(
        by.username, action, get_name(member), course=member.course, before=before, after=after
    )


def remove_member(member: Member, by: Account) -> None:
    """Remove a locked member from the course; their access ends at once, their work stays.

    A submission that is being received is finished first (`web.student.create_attempt`).
    """
    record_change(by, "remove member", member, before=describe_member(member))
    account = member.account
    member.account, member.removed_at = None, timezone.now()
    member.save(update_fields=["account", "removed_at"])
    if account is not None:
        assignees.release_answers(account, member.course)
        end_sessions(account)
        ProgramKey.objects.filter(account=account, course=member.course).delete()
        # Other keys belong to the account: its other courses still need them.
        if not (account.is_superuser or Member.objects.filter(account=account).exists()):
            ProgramKey.objects.filter(account=account).delete()


def restore_member(member: Member, by: Account) -> None:
    """Add a removed, locked member again, without an account: earlier links stay invalid."""
    Invitation.objects.filter(member=member).delete()
    member.removed_at = None
    member.save(update_fields=["removed_at"])
    record_change(by, "restore member", member, after=describe_member(member))


def end_sessions(account: Account) -> None:
    """End all sessions of an account."""
    Account.objects.filter(pk=account.pk).update(access_number=F("access_number") + 1)


def reset_second_factor(account: Account) -> None:
    """Remove the second factor and its recovery codes, and end all sessions: the password is enough again."""
    from allauth.mfa.models import Authenticator  # available only in processes that serve pages

    Authenticator.objects.filter(user=account).delete()
    end_sessions(account)


def import_students(course: CourseRecord, students: Collection[Student], by: Account) -> int:
    """Add students to a course, or update their names and addresses; existing members keep their accounts.

    Removed students are restored: an imported list is a decision of staff.

    Returns:
        The number of students who were added, restored or changed.

    Raises:
        GradebookError: the database refused.
    """
    with transaction.atomic():
        # The log is locked before any row: see `audit.lock_log`.
        audit.lock_log()
        before = _map_students(course)
        DatabaseStore(course).enroll_students(students)
        listed = Member.everyone.filter(course=course, student__in=[entry.id for entry in students])
        for member in listed.exclude(removed_at=None).select_related("course", "account"):
            restore_member(member, by)
        after = _map_students(course)
        changed = sorted(who for who in after if before.get(who) != after[who])
        audit.record_action(
            by.username,
            "class list",
            course.slug,
            course=course,
            before={who: before[who] for who in changed if who in before},
            after={who: after[who] for who in changed},
        )
    return len(changed)


def _map_students(course: CourseRecord) -> dict[str, str]:
    """Return the name and address of each student, by id."""
    students = Member.objects.filter(course=course, role=Role.STUDENT)
    return {
        student.student: f"{student.first_name} {student.last_name} {student.email}".strip()
        for student in students
    }
