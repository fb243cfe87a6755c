"""Sentences of e-mails to students. None of them says anything about marks, unless the course wants that."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str | tuple[str, str]] = {
    "mail.subject": "{course}: {assignment}",
    "mail.subject-several": ("{number} notification", "{number} notifications"),
    "mail.result-published": "The result for “{assignment}” is available.",
    "mail.result-points": "You have {points} of {possible} points.",
    "mail.request-answered": "Your regrade request for “{assignment}” was answered.",
    "mail.attempt-unreadable": (
        "Your attempt {number} for “{assignment}” cannot be read. Open the notebook, save it, and submit it "
        "again."
    ),
    "mail.deadline-changed": "Your deadline for “{assignment}” has changed.",
    "mail.end": "You can choose which e-mails you get on your account page.",
}
