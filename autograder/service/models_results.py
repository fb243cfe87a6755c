"""More tables: marks that were shown or sent, reasons, comparisons, drafts, notifications, views by staff."""

from __future__ import annotations

import enum
import uuid

from django.db import models

MOST_ADDRESS = 500
"""Maximum length of the address of a webhook or a repository, in characters."""


class ShownMarks(models.Model):
    """The marks that a student saw last, so that no change is silent."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="shown_marks")
    student = models.CharField(max_length=128)
    shown = models.JSONField()
    """An `autograder.app.published_marks.ShownMark`."""
    agreed = models.JSONField(null=True)
    """A change from before the service (`AgreedChange`) that no page has shown yet."""

    class Meta:
        """One per student."""

        constraints = (models.UniqueConstraint(fields=["offer", "student"], name="shown_marks"),)


class StatedReason(models.Model):
    """The reason for changed marks of an assignment, given by staff when they changed it for the class."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="reasons")
    at = models.DateTimeField(auto_now_add=True)
    text = models.TextField()
    by = models.ForeignKey("service.Account", models.PROTECT, null=True, related_name="+")


class ChosenAttempt(models.Model):
    """An attempt that staff chose to count, overriding the rules (`autograder.service.attempt_choice`)."""

    attempt = models.OneToOneField("service.Attempt", models.CASCADE, related_name="choice")
    at = models.DateTimeField()
    reason = models.TextField()
    by = models.ForeignKey("service.Account", models.PROTECT, null=True, related_name="+")


class BonusChange(models.Model):
    """A change of a student's bonus points, with its time."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="bonus_changes")
    student = models.CharField(max_length=128)
    at = models.DateTimeField(auto_now_add=True)


class Comparison(models.Model):
    """Similarity comparison of a class's submissions (`autograder.service.similarity`)."""

    offer = models.OneToOneField("service.Offer", models.PROTECT, related_name="comparison")
    asked_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True)
    """None: it was never completed."""
    pairs = models.JSONField(null=True)
    """A `similarity.KeptComparison`."""
    problem = models.TextField(blank=True)
    """Why it failed the last time; empty: it succeeded or is in progress."""


class SentScore(models.Model):
    """The mark of a student that a platform knows; a different one is sent again."""

    item = models.ForeignKey("lti_tool.LtiLineItem", models.CASCADE, related_name="+")
    user = models.ForeignKey("lti_tool.LtiUser", models.CASCADE, related_name="+")
    points = models.CharField(max_length=40, null=True)
    """None: the marks were withdrawn."""
    possible = models.CharField(max_length=40)
    final = models.BooleanField()
    submitted_at = models.DateTimeField(null=True)
    """The submission time that was sent to the platform."""
    sent_at = models.DateTimeField()

    class Meta:
        """One per student."""

        constraints = (models.UniqueConstraint(fields=["item", "user"], name="sent_score"),)


class OpenedAssignment(models.Model):
    """The moment at which a student opened an assignment that limits the working time (`Times.minutes`)."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="openings")
    student = models.CharField(max_length=128)
    at = models.DateTimeField()

    class Meta:
        """The first opening counts."""

        constraints = (models.UniqueConstraint(fields=["offer", "student"], name="opened_assignment"),)


class Draft(models.Model):
    """An assignment, uploaded or fetched, that a worker checks first (`autograder.service.drafts`)."""

    course = models.ForeignKey("service.CourseRecord", models.PROTECT, related_name="drafts")
    assignment = models.CharField(max_length=128)
    archive = models.ForeignKey("service.Blob", models.PROTECT, null=True, related_name="+")
    """None: it has not been fetched yet (`autograder.service.git_repositories`)."""
    archive_name = models.CharField(max_length=255, blank=True)
    """The name of the uploaded file; empty: it is not known, as for drafts of earlier versions."""
    git_address = models.CharField(max_length=MOST_ADDRESS, blank=True)
    """The repository that it is fetched from; empty: it was uploaded."""
    git_ref = models.CharField(max_length=200, blank=True)
    """A branch or tag; empty: the repository's default branch."""
    git_folder = models.CharField(max_length=200, blank=True)
    """The course folder in the repository; empty: its top."""
    git_commit = models.CharField(max_length=64, blank=True)
    base = models.ForeignKey("service.Version", models.PROTECT, null=True, related_name="+")
    """The version offered at the upload: a draft that replaces another one is not offered."""
    version = models.ForeignKey("service.Version", models.PROTECT, null=True, related_name="+")
    """The version made from it; None: the check has not passed yet."""
    by = models.ForeignKey("service.Account", models.PROTECT, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)
    full = models.BooleanField(default=False)
    """The check also grades deliberately wrong answers."""
    state = models.CharField(max_length=8, default="waiting")
    """``waiting``, ``running``, ``passed`` or ``failed``."""
    queued_at = models.DateTimeField()
    alive_at = models.DateTimeField(null=True)
    """The last sign of life of the worker that checks it."""
    tries = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    findings = models.JSONField(default=list)
    """Each an `autograder.service.drafts.DraftFinding`."""
    settled = models.CharField(max_length=9, blank=True)
    """``offered`` or ``discarded``; empty: it is open."""

    @property
    def step(self) -> str:
        """``fetching``, or the state."""
        return "fetching" if self.state == "running" and self.archive_id is None else self.state


class PlatformRegistration(models.Model):
    """A one-time address at which a learning platform registers, and the platform that did so.

    See `autograder.service.registrations`.
    """

    digest = models.CharField(max_length=64, unique=True)
    """Of the token in the address."""
    expires_at = models.DateTimeField()
    """End of the address: its first use ends it, too."""
    registration = models.OneToOneField(
        "lti_tool.LtiRegistration", models.CASCADE, null=True, related_name="+"
    )
    """None: no platform has registered here."""
    student = models.CharField(max_length=16, default="sourcedid")
    """The part of a launch with a student's id (`autograder.web.identity.StudentIs`)."""
    confirmed_at = models.DateTimeField(null=True)
    """None: an administrator has not confirmed the platform, so it cannot launch."""


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
    """Distinguishes two events of a kind: an attempt, a request, a time."""
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


class AccessEntry(models.Model):
    """A view of one student's submission or result by course staff (`autograder.service.protection`)."""

    course = models.ForeignKey("service.CourseRecord", models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    who = models.CharField(max_length=150)
    """User name of the member of staff."""
    student = models.CharField(max_length=128)
    assignment = models.CharField(max_length=128)
    action = models.CharField(max_length=16)
    """A value of `protection.accesses.Access`."""

    class Meta:
        """Queried by student."""

        indexes = (models.Index(fields=["course", "student", "-id"], name="access_entry"),)
