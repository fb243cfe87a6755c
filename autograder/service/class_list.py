"""The class list of a course: students are added, updated or restored, never removed."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from autograder.grading.store import Student
from autograder.service import audit, members
from autograder.service.models import Account, CourseRecord, Member, Role
from autograder.service.store import DatabaseStore


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
            members.restore_member(member, by)
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
