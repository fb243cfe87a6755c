"""Headers of every answer, a number for every request, and one line about it in the log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

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
