"""Events and their recipients, recorded in the transaction of the change that causes them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, time, timedelta

from django.db import transaction
from django.utils import timezone

from autograder.service import tasks
from autograder.service.models import Account, Attempt, Member, Offer, RegradeRequest
from autograder.service.models_results import Delivery, Event, EventKind, Webhook

DIGEST = time(6, tzinfo=UTC)
"""When those who want one e-mail a day get it."""


def record_published(offer: Offer) -> None:
    """Record that the marks of an assignment were published, for all students who have some."""
    students = offer.current_results.values_list("student", flat=True)
    moment = offer.published_at or timezone.now()
    _record_event(offer, EventKind.RESULT_PUBLISHED, moment.isoformat(), list(students))


def record_answered(request: RegradeRequest) -> None:
    """Record that a regrade request was answered."""
    _record_event(request.offer, EventKind.REQUEST_ANSWERED, str(request.pk), [request.student], single=True)


def record_unreadable(attempt: Attempt) -> None:
    """Record that an attempt cannot be read."""
    _record_event(
        attempt.offer,
        EventKind.ATTEMPT_UNREADABLE,
        str(attempt.pk),
        [attempt.student],
        single=True,
        attempt=attempt.number,
    )


def record_new_deadline(offer: Offer, students: Collection[str]) -> None:
    """Record that some students have another deadline; nobody is notified of a hidden assignment."""
    if offer.visible and students:
        now = timezone.now()
        _record_event(offer, EventKind.DEADLINE_CHANGED, now.isoformat(), students)


def _record_event(
    offer: Offer,
    kind: EventKind,
    about: str,
    students: Collection[str],
    *,
    single: bool = False,
    attempt: int | None = None,
) -> None:
    now = timezone.now()
    with transaction.atomic():
        event, new = Event.objects.get_or_create(
            offer=offer,
            kind=kind,
            about=about,
            defaults={"student": next(iter(students)) if single else "", "attempt": attempt, "at": now},
        )
        if not new:
            return
        members = Member.objects.filter(
            course=offer.course_id, student__in=students, account__is_active=True
        ).exclude(account__mail=Account.Mail.NEVER)
        Delivery.objects.bulk_create(
            Delivery(event=event, member=member, due_at=_choose_time(member.account, now))
            for member in members.select_related("account")
        )
        Delivery.objects.bulk_create(
            Delivery(event=event, webhook=webhook, due_at=now)
            for webhook in Webhook.objects.filter(course=offer.course_id)
        )
        tasks.enqueue_job(tasks.NOTICES, "due")


def _choose_time(account: Account, now: datetime) -> datetime:
    """Return when an account wants to be notified of something that happens now."""
    if account.mail != Account.Mail.DAILY:
        return now
    today = datetime.combine(now.astimezone(UTC).date(), DIGEST)
    return today if today > now else today + timedelta(days=1)
