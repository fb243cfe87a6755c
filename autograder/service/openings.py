"""Openings of assignments that limit the working time: a student's time starts at the first one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from autograder.rubric.variants.draws import normalise_id
from autograder.service import audit
from autograder.service.models import Account, Offer
from autograder.service.models_results import OpenedAssignment


def open_assignment(offer: Offer, student: str, members: Collection[str], by: Account) -> bool:
    """Start the working time of a student and of their group; return False if it runs already.

    Args:
        offer: the assignment.
        student: who opens it.
        members: of the student's group, or only the student.
        by: the student's account.
    """
    with transaction.atomic():
        audit.lock_log()  # serialises openings, too: the first one counts
        opened = {normalise_id(name) for name in offer.openings.values_list("student", flat=True)}
        if not opened.isdisjoint(map(normalise_id, members)):
            return False
        now = timezone.now()
        OpenedAssignment.objects.bulk_create(
            OpenedAssignment(offer=offer, student=member, at=now) for member in members
        )
        subject = f"{offer.assignment}: {student}"
        audit.record_action(by.username, "open assignment", subject, course=offer.course)
    return True


def add_openings(offer: Offer, times: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return times with the moments at which students opened the assignment, if these matter."""
    if "minutes" not in times:
        return times
    students = dict(times.get("students", {}))
    names = {normalise_id(name): name for name in students}
    for student, moment in offer.openings.values_list("student", "at"):
        name = names.get(normalise_id(student), student)
        students[name] = {**students.get(name, {}), "opened": moment.isoformat()}
    return {**times, "students": students}
