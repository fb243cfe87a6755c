"""Tables of data protection."""

from __future__ import annotations

from django.db import models


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
