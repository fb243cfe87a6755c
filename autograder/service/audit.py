"""The audit log: who changed what, with old and new values. Entries form a hash chain and are only added.

Changing or removing an entry in the database breaks the chain from there on, and `find_broken_entry` reports
the position. The newest digest, recorded elsewhere, proves that no entry was removed at the end. If a person
is erased, entries about them are redacted, and a new entry lists the digests of the redacted contents.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from autograder.service.models import AuditEntry, CourseRecord

ERASE, REDACTED = "erase", "redacted"
"""The action of the entry about an erasure, and the key under which it lists redacted entries."""
VERIFY = "verify log"
"""The action of an entry about a verification; ``after`` is the first broken entry, 0 for none."""
_BEGIN = "0" * 64
_APPENDING = 0x6175_6469
"""A number of our own among PostgreSQL's advisory locks."""


def record_action(
    who: str,
    action: str,
    subject: str,
    *,
    course: CourseRecord | None = None,
    before: Any = None,
    after: Any = None,
) -> AuditEntry:
    """Add an entry; it is committed or rolled back with the surrounding transaction."""
    with transaction.atomic():
        lock_log()  # serialised, or two entries would have the same predecessor
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
        entry.digest = _compute_digest(entry)
        entry.save(force_insert=True)
    return entry


def lock_log() -> None:
    """Lock the log until the transaction ends.

    Code that records an action about rows it locks must call this before it locks them; otherwise two
    transactions could each hold the lock that the other waits for.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_APPENDING])


def redact_entry(entry: AuditEntry) -> str:
    """Save an entry with redacted content, and return the digest that the entry about the erasure must list.

    Its own digest stays: the next entry refers to it.
    """
    AuditEntry.objects.filter(pk=entry.pk).update(
        who=entry.who, subject=entry.subject, before=entry.before, after=entry.after
    )
    return _compute_digest(entry)


def replace_word(text: str, word: str, other: str) -> str:
    """Replace a name or address in a text where it is not part of a longer one."""
    return re.sub(rf"(?<![\w@.-]){re.escape(word)}(?![\w@-])", lambda _: other, text)


def find_broken_entry() -> int:
    """Return the number of the first entry that does not match its predecessor; 0: the chain is intact."""
    before, redacted = _BEGIN, _load_redacted()
    for entry in AuditEntry.objects.order_by("pk").iterator():
        content = _compute_digest(entry)
        if entry.previous != before or content not in {entry.digest, redacted.get(str(entry.pk))}:
            return int(entry.pk)
        before = entry.digest
    return 0


def verify_log(who: str, course: CourseRecord) -> None:
    """Verify the whole chain, which belongs to all courses, and record the result."""
    record_action(who, VERIFY, course.slug, course=course, after=find_broken_entry())


def find_verification() -> AuditEntry | None:
    """Return the entry about the last verification, in any course; None: there was none."""
    return AuditEntry.objects.filter(action=VERIFY).order_by("-pk").first()


def _load_redacted() -> Mapping[str, str]:
    """Return the digests of redacted entries by number; the last erasure that concerned an entry counts."""
    digests: dict[str, str] = {}
    for entry in AuditEntry.objects.filter(action=ERASE).order_by("pk"):
        # An entry that was changed itself vouches for nothing.
        if entry.digest == _compute_digest(entry):
            digests |= entry.after[REDACTED]
    return digests


def _compute_digest(entry: AuditEntry) -> str:
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
    # PostgreSQL does not keep the order of keys in JSON columns, so the digest must not depend on it.
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
