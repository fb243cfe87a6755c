"""Webhooks: signed messages to addresses that instructors choose."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from autograder.service import audit, outgoing
from autograder.service.models import Account, CourseRecord
from autograder.service.models_results import MOST_ADDRESS, Event, Webhook
from autograder.service.refusals import RequestRefused

MOST_WEBHOOKS = 10
_PREFIX = "X-Nbexam"


def add_webhook(course: CourseRecord, address: str, by: Account) -> Webhook:
    """Add a webhook to a course, with a new secret.

    Raises:
        RequestRefused: the address is not allowed, or there are too many.
    """
    if len(address) > MOST_ADDRESS:
        raise RequestRefused("webhook-long", number=len(address), most=MOST_ADDRESS)
    outgoing.resolve_address(address)
    if course.webhooks.count() >= MOST_WEBHOOKS:
        raise RequestRefused("webhook-too-many", most=MOST_WEBHOOKS)
    hook, new = Webhook.objects.get_or_create(
        course=course, address=address, defaults={"secret": secrets.token_hex(32)}
    )
    if not new:
        raise RequestRefused("webhook-twice")
    audit.record_action(by.username, "add webhook", urlsplit(address).hostname or "", course=course)
    return hook


def remove_webhook(hook: Webhook, by: Account) -> None:
    """Remove a webhook; events that were not delivered to it are dropped."""
    host = urlsplit(hook.address).hostname or ""
    audit.record_action(by.username, "remove webhook", host, course=hook.course)
    hook.delete()


def send_event(hook: Webhook, event: Event) -> None:
    """Send an event to a webhook; redirects are not followed.

    Raises:
        RequestRefused: the address is not allowed any more, or the other side did not accept the event.
        OSError, HTTPException: it cannot be reached.
    """
    body = json.dumps(describe_event(event), sort_keys=True).encode()
    moment = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        f"{_PREFIX}-Timestamp": moment,
        f"{_PREFIX}-Signature": f"sha256={sign_body(hook.secret, moment, body)}",
    }
    status, _ = outgoing.send_request("POST", hook.address, body, headers)
    if not 200 <= status < 300:
        raise RequestRefused("webhook-status", status=status)


def sign_body(secret: str, moment: str, body: bytes) -> str:
    """Return the HMAC-SHA256 over the time, a dot, and the body, in hexadecimal digits."""
    return hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()


def describe_event(event: Event) -> dict[str, Any]:
    """Return the message about an event: nothing about marks, and a student's id alone."""
    facts = {"student": event.student or None, "attempt": event.attempt}
    return {
        "id": str(event.pk),
        "event": event.kind,
        "course": event.offer.course.slug,
        "assignment": event.offer.assignment,
        "at": event.at.isoformat(timespec="seconds"),
        **{name: value for name, value in facts.items() if value is not None},
    }
