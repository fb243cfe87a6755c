"""Headers of every answer, a number for every request, and one line about it in the log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

LOG = logging.getLogger("autograder.web.requests")
_NUMBER = re.compile(r"[A-Za-z0-9-]{8,64}")
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


class Headers:
    """Middleware. A view that shows what students made sets a policy of its own, which stays."""

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and say how it may be used."""
        request.nonce = secrets.token_urlsafe(16)
        response = self._further(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(nonce=request.nonce))
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        if getattr(request, "user", None) is not None and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class Plain:
    """Middleware: a request with NUL in its path or its fields; no database keeps one."""

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, or say that it cannot be read."""
        if "\0" in request.path_info:
            return HttpResponseBadRequest("not to be read: a NUL in the address\n", content_type="text/plain")
        return self._further(request)

    def process_view(self, request: HttpRequest, view: Any, *_: object) -> None:
        """Refuse a form with it, once it is known to be no forgery.

        Raises:
            BadRequest: there is one.
        """
        if getattr(view, "csrf_exempt", False):
            return  # of a program; it has no fields, and who sends it is not known yet
        for _, values in (*request.GET.lists(), *request.POST.lists()):
            if any("\0" in value for value in values):
                raise BadRequest


class Log:
    """Middleware: a line of JSON for each request. No address, no query, no name: those are personal."""

    def __init__(self, further: Callable[[HttpRequest], HttpResponse]) -> None:
        self._further = further

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and say how long it took."""
        given = request.headers.get("X-Request-Id", "")
        number = given if _NUMBER.fullmatch(given) else secrets.token_hex(8)
        request.number = number
        started = time.monotonic()
        response = self._further(request)
        response.headers["X-Request-Id"] = number
        match = request.resolver_match
        line = {
            "request": number,
            "method": request.method,
            "route": match.view_name if match else "",
            "status": response.status_code,
            "ms": round(1000 * (time.monotonic() - started), 1),
        }
        LOG.info("request", extra={"facts": line})
        return response
