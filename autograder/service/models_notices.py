"""Tables of notifications: events, to whom they have to be delivered, and webhooks."""

from __future__ import annotations

import enum
import uuid

from django.db import models

MOST_ADDRESS = 500
"""Maximum length of the address of a webhook, in characters."""


class EventKind(enum.StrEnum):
    """What happened."""

    RESULT_PUBLISHED = "result-published"
    REQUEST_ANSWERED = "request-answered"
    ATTEMPT_UNREADABLE = "attempt-unreadable"
    DEADLINE_CHANGED = "deadline-changed"


class Event(models.Model):
    """Something that students or other systems are notified of, once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    offer = models.ForeignKey("service.Offer", models.CASCADE, related_name="+")
    kind = models.CharField(max_length=24, choices=[(kind.value, kind.value) for kind in EventKind])
    about = models.CharField(max_length=64)
    """Tells two events of a kind apart: an attempt, a request, a time."""
    student = models.CharField(max_length=128, blank=True)
    """The only student it is about; empty: several."""
    attempt = models.PositiveIntegerField(null=True)
    """The number of the attempt that it is about."""
    at = models.DateTimeField()

    class Meta:
        """An event is recorded once."""

        constraints = (models.UniqueConstraint(fields=["offer", "kind", "about"], name="event_once"),)


class Webhook(models.Model):
    """An address that is notified of the events of a course."""

    course = models.ForeignKey("service.CourseRecord", models.CASCADE, related_name="webhooks")
    address = models.URLField(max_length=MOST_ADDRESS)
    secret = models.CharField(max_length=64)
    """Signs the messages; stored as it is, as the course's secret is, because workers need it."""
    problem = models.TextField(blank=True)
    """Why the last delivery failed; empty: it did not."""

    class Meta:
        """An address is notified once."""

        constraints = (models.UniqueConstraint(fields=["course", "address"], name="webhook_address"),)


class Delivery(models.Model):
    """An event for one recipient: a member by e-mail, or a webhook."""

    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    member = models.ForeignKey("service.Member", models.CASCADE, null=True, related_name="+")
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="+")
    due_at = models.DateTimeField(null=True)
    """When it is sent or tried again; None: it was sent, or it is not sent any more."""
    sent_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        """An event is delivered once to each recipient."""

        constraints = (
            models.UniqueConstraint(fields=["event", "member"], name="delivery_member"),
            models.UniqueConstraint(fields=["event", "webhook"], name="delivery_webhook"),
            models.CheckConstraint(
                condition=models.Q(member=None) ^ models.Q(webhook=None), name="delivery_recipient"
            ),
        )
        indexes = (models.Index(fields=["due_at"], name="delivery_due"),)
