"""The access log: which member of staff viewed which student's submission or result."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from autograder.service.models import Account, Offer
from autograder.service.models_results import AccessEntry


class Access(enum.StrEnum):
    """What was viewed."""

    ATTEMPT = "attempt"
    FILE = "file"
    ANSWER = "answer"
    RESULT = "result"
    REQUEST = "request"


def record_accesses(by: Account, offer: Offer, students: Iterable[str], action: Access) -> None:
    """Record that a member of staff views something of these students."""
    AccessEntry.objects.bulk_create(
        AccessEntry(
            course_id=offer.course_id,
            who=by.username,
            student=student,
            assignment=offer.assignment,
            action=action,
        )
        for student in sorted(set(students))
    )
