"""Middleware: security headers, the refusal of NUL characters, request numbers and the access log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

LOG = logging.getLogger("autograder.web.requests")
_NUMBER = re.compile(r"[A-Za-z0-9-]{8,64}")
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'{forms}; frame-src 'self'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
_ORIGIN = re.compile(
    r"(?:https://[A-Za-z0-9.-]+|http://(?:localhost|127\.0\.0\.1))(?::[0-9]{1,5})?(?=[/?#]|\Z)"
)
# Django's own middleware adds Referrer-Policy, X-Content-Type-Options and Cross-Origin-Opener-Policy.
_HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


def find_origin(address: str) -> str:
    """Return the origin of an https address, or of one on this machine; empty: it is neither."""
    # Nothing else may get into a policy, such as a space or a semicolon.
    match = _ORIGIN.match(address)
    return match[0] if match else ""


class Headers:
    """Adds security headers.

    A view that shows students' work sets its own, stricter policy, which is kept. A page for a learning
    platform sets ``request.frame_origin``, whose pages may show it in a frame, or ``request.form_origin``,
    which its form is sent to.
    """

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, and add the headers to the response."""
        request.nonce = secrets.token_urlsafe(16)
        response = self._further(request)
        frames, forms = getattr(request, "frame_origin", ""), getattr(request, "form_origin", "")
        policy = _POLICY.format(nonce=request.nonce, frames=frames or "'none'", forms=f" {forms}".rstrip())
        response.headers.setdefault("Content-Security-Policy", policy)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        # Pages of a signed-in user must not stay in a browser's cache, where the next user could find them.
        if getattr(request, "user", None) is not None and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class Plain:
    """Refuses requests with NUL in the path or a field, because no database can store it."""

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, or refuse it if the path contains NUL."""
        if "\0" in request.path_info:
            return HttpResponseBadRequest("the address contains a NUL character\n", content_type="text/plain")
        return self._further(request)

    def process_view(self, request: HttpRequest, view: Any, *_: object) -> None:
        """Refuse a form that contains NUL, after the CSRF check.

        Raises:
            BadRequest: there is one.
        """
        if getattr(view, "csrf_exempt", False):
            return  # from a program: no form fields, and not authenticated yet
        for _, values in (*request.GET.lists(), *request.POST.lists()):
            if any("\0" in value for value in values):
                raise BadRequest


class Log:
    """Counts each request and writes a line of JSON, without personal data: no address, query or name."""

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; count and log its route, status and duration."""
        sent_number = request.headers.get("X-Request-Id", "")
        # The number goes into the log, so a foreign one may only contain harmless characters.
        number = sent_number if _NUMBER.fullmatch(sent_number) else secrets.token_hex(8)
        request.number = number
        started = time.monotonic()
        response = self._further(request)
        response.headers["X-Request-Id"] = number
        seconds = time.monotonic() - started
        match = request.resolver_match
        line = {
            "request": number,
            "method": request.method,
            "route": match.view_name if match else "",
            "status": response.status_code,
            "ms": round(1000 * seconds, 1),
        }
        settings.RUNNING.metrics.add_request(line["route"], response.status_code, seconds)
        LOG.info("request", extra={"facts": line})
        return response
