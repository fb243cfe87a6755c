"""Keys of programs: created by their owner for some scopes, optionally for one course and a limited time."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from autograder.service import audit
from autograder.service.models import Account, CourseRecord, ProgramKey, Scope


def hash_secret(secret: str) -> str:
    """Return the digest of a secret; only the digest is stored."""
    # Secrets are random and long, so a plain hash without salt or stretching is enough.
    return hashlib.sha256(secret.encode()).hexdigest()


def create_key(
    account: Account,
    label: str,
    scopes: Collection[Scope],
    *,
    course: CourseRecord | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Create a key and return its secret, which is not stored and cannot be shown again.

    Args:
        account: its owner; the key can never do more than the owner may.
        label: what the owner uses it for.
        scopes: what it can be used for.
        course: the only course in which it works; None: all courses of the owner.
        expires_at: from when it no longer works; None: it works until it is removed.
    """
    secret = secrets.token_urlsafe(32)
    # In a fixed order, so that equal sets of scopes are equal texts.
    names = [scope for scope in Scope if scope in scopes]
    with transaction.atomic():
        ProgramKey.objects.create(
            account=account,
            digest=hash_secret(secret),
            label=label,
            scopes=" ".join(names),
            course=course,
            expires_at=expires_at,
        )
        until = expires_at and expires_at.isoformat(timespec="seconds")
        after = {"scopes": names, "course": course and course.slug, "expires": until}
        audit.record_action(account.username, "make key", label, after=after)
    return secret


def find_key(secret: str) -> ProgramKey | None:
    """Return the key with a secret, and record its use; None: it is unknown, expired or its owner is gone."""
    now = timezone.now()
    keys = ProgramKey.objects.filter(digest=hash_secret(secret)).select_related("account", "course")
    key = keys.first()
    if key is None or not key.account.is_active or (key.expires_at and key.expires_at <= now):
        return None
    ProgramKey.objects.filter(pk=key.pk).update(used_at=now)
    return key


def has_scope(key: ProgramKey, scope: Scope) -> bool:
    """Decide whether a key can be used for something."""
    return scope in key.scopes.split()
