"""Further tables: what was told of marks, why marks change, chosen attempts, compared works."""

from __future__ import annotations

from django.db import models


class ShownMarks(models.Model):
    """What a student saw of their marks the last time, so that no change of it is silent."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="shown_marks")
    student = models.CharField(max_length=128)
    shown = models.JSONField()
    """An `autograder.app.published.ShownMark`."""
    agreed = models.JSONField(null=True)
    """A change of before the service (`AgreedChange`) of which no page has told yet."""

    class Meta:
        """One for each student."""

        constraints = (models.UniqueConstraint(fields=["offer", "student"], name="shown_marks"),)


class StatedReason(models.Model):
    """Why marks of an assignment become others, as staff said when they changed something for the class."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="reasons")
    at = models.DateTimeField(auto_now_add=True)
    text = models.TextField()
    by = models.ForeignKey("service.Account", models.PROTECT, null=True, related_name="+")


class ChosenAttempt(models.Model):
    """Staff chose an attempt to count, whatever the rules say (`autograder.service.choosing`)."""

    attempt = models.OneToOneField("service.Attempt", models.CASCADE, related_name="choice")
    at = models.DateTimeField()
    reason = models.TextField()
    by = models.ForeignKey("service.Account", models.PROTECT, null=True, related_name="+")


class BonusChange(models.Model):
    """When a student's bonus points became others."""

    offer = models.ForeignKey("service.Offer", models.PROTECT, related_name="bonus_changes")
    student = models.CharField(max_length=128)
    at = models.DateTimeField(auto_now_add=True)


class Comparison(models.Model):
    """Works of a class that were compared with each other (`autograder.service.comparing`)."""

    offer = models.OneToOneField("service.Offer", models.PROTECT, related_name="comparison")
    asked_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True)
    """None: it was never done."""
    pairs = models.JSONField(null=True)
    """A `comparing.KeptComparison`."""
    problem = models.TextField(blank=True)
    """Why it could not be done the last time; empty: it could, or is under way."""


class SentScore(models.Model):
    """What a platform knows of a student's marks in an assignment: what differs is sent again."""

    item = models.ForeignKey("lti_tool.LtiLineItem", models.CASCADE, related_name="+")
    user = models.ForeignKey("lti_tool.LtiUser", models.CASCADE, related_name="+")
    points = models.CharField(max_length=40, null=True)
    """None: the marks were withdrawn."""
    possible = models.CharField(max_length=40)
    final = models.BooleanField()
    submitted_at = models.DateTimeField(null=True)
    """When the student handed in, as the platform was told."""
    sent_at = models.DateTimeField()

    class Meta:
        """One for each student."""

        constraints = (models.UniqueConstraint(fields=["item", "user"], name="sent_score"),)
