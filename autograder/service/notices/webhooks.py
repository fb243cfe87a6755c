"""Webhooks: signed messages to addresses that instructors choose, which must not lead into this network."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import secrets
import socket
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from autograder.core.errors import ServiceError
from autograder.service import audit
from autograder.service.models import Account, CourseRecord
from autograder.service.models_notices import MOST_ADDRESS, Event, Webhook

PRIVATE = "AUTOGRADER_PRIVATE_WEBHOOKS"
"""Environment variable: with the value 1, webhooks may lead to private addresses."""
MOST_WEBHOOKS = 10
_SECONDS = 10.0
_PREFIX = "X-Nbexam"


def add_webhook(course: CourseRecord, address: str, by: Account) -> Webhook:
    """Add a webhook to a course, with a new secret.

    Raises:
        ServiceError: the address is not allowed, or there are too many.
    """
    if len(address) > MOST_ADDRESS:
        raise ServiceError(f"the address has {len(address)} characters; expected at most {MOST_ADDRESS}")
    resolve_address(address)
    if course.webhooks.count() >= MOST_WEBHOOKS:
        raise ServiceError(f"there are already {MOST_WEBHOOKS} webhooks, which is the maximum")
    hook, new = Webhook.objects.get_or_create(
        course=course, address=address, defaults={"secret": secrets.token_hex(32)}
    )
    if not new:
        raise ServiceError("this address is already a webhook of the course")
    audit.record_action(by.username, "add webhook", urlsplit(address).hostname or "", course=course)
    return hook


def remove_webhook(hook: Webhook, by: Account) -> None:
    """Remove a webhook; events that were not delivered to it are dropped."""
    host = urlsplit(hook.address).hostname or ""
    audit.record_action(by.username, "remove webhook", host, course=hook.course)
    hook.delete()


def resolve_address(address: str) -> str:
    """Return the IP address that a webhook leads to.

    Raises:
        ServiceError: it is not https, its host is unknown, or one of the host's addresses is private.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or 443
    except ValueError as error:
        raise ServiceError("expected an address such as https://example.org/events") from error
    if parts.scheme != "https" or not host or parts.username is not None:
        raise ServiceError("expected an address such as https://example.org/events")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ServiceError(f"{host}: this host is not known") from error
    addresses = [str(entry[4][0]) for entry in found]
    # All of them: the one that is used later must not depend on luck.
    if os.environ.get(PRIVATE) != "1" and not all(map(is_public, addresses)):
        raise ServiceError(f"{host}: it has an address in a private network, which is not allowed")
    return addresses[0]


def is_public(address: str) -> bool:
    """Decide whether an IP address is reachable for everybody, also if it is embedded in another one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        # NAT64 (RFC 6052) embeds any IPv4 address, too.
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        if embedded is not None and not embedded.is_global:
            return False
    return ip.is_global and not ip.is_multicast


class _PinnedConnection(http.client.HTTPSConnection):
    """Connects to an address that was checked: a second look-up of the name could return another one."""

    def __init__(self, host: str, port: int, address: str) -> None:
        self._tls = ssl.create_default_context()
        self._address = address
        super().__init__(host, port, timeout=_SECONDS, context=self._tls)

    def connect(self) -> None:
        """Open the connection; the certificate must be that of the host."""
        plain = socket.create_connection((self._address, self.port), _SECONDS)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


def send_event(hook: Webhook, event: Event) -> None:
    """Send an event to a webhook; redirects are not followed.

    Raises:
        ServiceError: the address is not allowed any more, or the other side did not accept the event.
        OSError, HTTPException: it cannot be reached.
    """
    body = json.dumps(describe_event(event), sort_keys=True).encode()
    moment = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        f"{_PREFIX}-Timestamp": moment,
        f"{_PREFIX}-Signature": f"sha256={sign_body(hook.secret, moment, body)}",
    }
    status = post_body(hook.address, body, headers)
    if not 200 <= status < 300:
        raise ServiceError(f"the other side responded with {status}")


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


def post_body(address: str, body: bytes, headers: dict[str, str]) -> int:
    """Send a request to an address that is checked again, and return the status of the response."""
    parts, ip = urlsplit(address), resolve_address(address)
    connection = _PinnedConnection(parts.hostname or "", parts.port or 443, ip)
    try:
        path = parts.path or "/"
        connection.request("POST", f"{path}?{parts.query}" if parts.query else path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()
