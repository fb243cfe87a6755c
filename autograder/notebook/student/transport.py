"""Requests to the service with an API key, by Python's standard library alone.

The certificate is always verified. A redirect is never followed: it would repeat the key at another address.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from autograder.messages.catalogue import format_sentence

SECONDS = 60
PAUSE = 2.0
"""Seconds before the only repetition of a request."""
_BUSY = frozenset((429, 502, 503, 504))
_TOO_LARGE = 413
KEY_REFUSED = 401
_MOST_READ = 1 << 20
"""Of the response that states the reason of a refusal; bytes."""
ONCE = "Idempotency-Key"
"""Header of a submission: the service receives submissions with the same value only once."""


class TransportError(Exception):
    """A request failed.

    Args:
        code: the sentence's code, without ``student.``.
        params: of the sentence.
        status: HTTP status of the response, 0 without one.
    """

    def __init__(self, code: str, *, status: int = 0, **params: str) -> None:
        super().__init__(code)
        self.code, self.params, self.status = code, params, status

    def describe(self, language: str) -> str:
        """Return the sentence about the reason and the remedy."""
        return format_sentence(f"student.{self.code}", language, **self.params)


def send_request(
    address: str,
    key: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return the service's response. A request that it was too busy for, or that got lost, is repeated once.

    Args:
        address: the full address, by http or https.
        key: the API key.
        body: content of a POST; None: a GET.
        headers: further headers. Those of a POST must include `ONCE`, or it may be received twice.

    Raises:
        TransportError: the service cannot be reached, or refused.
    """
    request = urllib.request.Request(  # noqa: S310 - the callers accept http and https only
        address, data=body, headers={"Authorization": f"Bearer {key}", **(headers or {})}
    )
    # An explicit context: some notebooks switch verification off for the whole process.
    https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    opener = urllib.request.build_opener(_NoRedirects, https)
    try:
        return _send_once(opener, request)
    except TransportError as error:
        if error.code not in ("submit-busy", "submit-unreachable"):
            raise
    time.sleep(PAUSE)
    return _send_once(opener, request)


def encode_form(contents: Mapping[str, bytes]) -> tuple[bytes, str]:
    """Encode files as multipart form data (RFC 7578); return the body and its content type."""
    border = secrets.token_hex(16)
    parts = []
    for name, data in contents.items():
        # A quote or a line break in a name would end the header early.
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "")
        head = f'--{border}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n'
        parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(parts) + f"--{border}--\r\n".encode(), f"multipart/form-data; boundary={border}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects."""

    def redirect_request(self, req: urllib.request.Request, *facts: Any) -> None:
        """Refuse a redirect.

        Raises:
            TransportError: always.
        """
        # Without path and query, which may hold anything.
        parts = urlsplit(facts[-1])
        raise TransportError(
            "submit-redirect", address=_get_origin(req), found=f"{parts.scheme}://{parts.netloc}"
        )


def _send_once(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> bytes:
    address = _get_origin(request)
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            raise _explain_status(error, address) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise TransportError(
                "submit-certificate", address=address, reason=reason.verify_message
            ) from None
        raise TransportError("submit-unreachable", address=address, reason=str(reason) or "–") from None


def _explain_status(error: urllib.error.HTTPError, address: str) -> TransportError:
    """Return why the service refused: by its own words, if the response has any."""
    if error.code in _BUSY:
        return TransportError("submit-busy", status=error.code, address=address, found=str(error.code))
    if error.code == _TOO_LARGE:
        return TransportError("submit-larger-request", status=error.code)
    try:
        reason = str(json.loads(error.read(_MOST_READ))["detail"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return TransportError("submit-no-service", status=error.code, address=address, found=str(error.code))
    return TransportError("submit-refused", status=error.code, reason=reason)


def _get_origin(request: urllib.request.Request) -> str:
    return f"{request.type}://{request.host}"
