"""Retention periods: a course's students are erased when nothing has happened in it for long enough."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import Max
from django.utils import timezone

from autograder.service import audit, tasks
from autograder.service.models import (
    Account,
    Attempt,
    CellMark,
    CourseRecord,
    Member,
    Offer,
    RegradeRequest,
    Role,
)
from autograder.service.protection.erasure import erase_person
from autograder.service.protection.people import DataSubject, find_person

LOG = logging.getLogger("autograder.service.protection")
LEAST_DAYS = 30
"""A shorter period would erase submissions before they can be graded and appealed."""
_RETENTION = "retention period"


def set_keep_days(course: CourseRecord, days: int | None, by: Account) -> None:
    """Set a course's retention period in days; None: students are never erased automatically."""
    audit.record_action(
        by.username, _RETENTION, course.slug, course=course, before=course.keep_days, after=days
    )
    course.keep_days = days
    course.save(update_fields=["keep_days"])


def find_last_activity(course: CourseRecord) -> datetime:
    """Return when something happened last: a submission, a mark, a publication, a request, or a deadline."""
    latest = [
        Attempt.objects.filter(offer__course=course).aggregate(at=Max("submitted_at"))["at"],
        CellMark.objects.filter(place__course=course).aggregate(at=Max("marked_at"))["at"],
        RegradeRequest.objects.filter(offer__course=course).aggregate(at=Max("made_at"))["at"],
    ]
    for offer in Offer.objects.filter(course=course):
        latest += [offer.published_at, offer.requests_until, _read_end(offer)]
    return max((course.created_at, *(moment for moment in latest if moment is not None)))


def _read_end(offer: Offer) -> datetime | None:
    """Return the deadline; days do not need its time zone exactly."""
    try:
        end = datetime.fromisoformat(offer.times.get("end", ""))
    except ValueError:
        return None
    return end if end.tzinfo else end.replace(tzinfo=timezone.get_current_timezone())


def is_due(course: CourseRecord) -> bool:
    """Decide whether the retention period of a course has ended while it still has students."""
    if course.keep_days is None:
        return False
    ended = find_last_activity(course) + timedelta(days=course.keep_days) <= timezone.now()
    return ended and Member.everyone.filter(course=course, role=Role.STUDENT).exists()


def sweep_courses() -> int:
    """Enqueue the erasure of courses with an ended retention period; return their number."""
    courses = CourseRecord.objects.exclude(keep_days=None)
    return sum(tasks.enqueue_job(tasks.ERASING, course.pk) for course in courses if is_due(course))


def erase_students(number: int) -> int:
    """Erase the students of a course if its retention period has ended; return their number.

    An account that has other memberships stays with these.

    Args:
        number: of the course.
    """
    course = CourseRecord.objects.get(pk=number)
    if not is_due(course):  # the job may run twice, or the period was changed since
        return 0
    members = list(
        Member.everyone.filter(course=course, role=Role.STUDENT).select_related("course", "account")
    )
    for member in members:
        erase_person(_limit_to_course(member), _RETENTION)
    LOG.info("the retention period of %s ended: %d students were erased", course.slug, len(members))
    return len(members)


def _limit_to_course(member: Member) -> DataSubject:
    """Return the person of a membership: all of them, if they have no other membership."""
    account = member.account
    if account is None or account.is_superuser or account.memberships.count() > 1:
        return DataSubject(None, (member,))
    person = find_person("account", account.pk)
    assert person is not None  # noqa: S101 - the membership refers to it
    return person
