"""Who did what, from what to what. Entries are only ever added; each holds the digest of the one before.

Whoever changes or removes one in the database breaks the chain from there on, and `broken` says where. The
newest digest, noted elsewhere, shows that none was taken away at the end.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from autograder.service.models import AuditEntry, CourseRecord

_BEGIN = "0" * 64
_APPENDING = 0x6175_6469
"""A number of our own among PostgreSQL's advisory locks."""


def note(
    who: str,
    action: str,
    subject: str,
    *,
    course: CourseRecord | None = None,
    before: Any = None,
    after: Any = None,
) -> AuditEntry:
    """Add an entry; it is kept with the transaction that it is part of, or not at all."""
    with transaction.atomic():
        hold()  # one after another, or two would follow the same one
        last = AuditEntry.objects.order_by("-pk").first()
        entry = AuditEntry(
            course=course,
            at=timezone.now(),
            who=who,
            action=action,
            subject=subject,
            before=before,
            after=after,
            previous=last.digest if last else _BEGIN,
        )
        entry.digest = _digest(entry)
        entry.save(force_insert=True)
    return entry


def hold() -> None:
    """Have the log until the transaction ends.

    Whoever notes something about rows that it locks calls this before it locks them: who has the rows and
    waits for the log would meet who has the log and waits for the rows.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_APPENDING])


def broken() -> int:
    """The number of the first entry that does not fit the one before; 0: all do."""
    before = _BEGIN
    for entry in AuditEntry.objects.order_by("pk").iterator():
        if entry.previous != before or entry.digest != _digest(entry):
            return int(entry.pk)
        before = entry.digest
    return 0


def _digest(entry: AuditEntry) -> str:
    facts = [
        entry.course_id,
        entry.at.isoformat(),
        entry.who,
        entry.action,
        entry.subject,
        entry.before,
        entry.after,
        entry.previous,
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
