"""Malformed requests over a socket get a short response that reveals nothing about the server."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.web.people import Small

if TYPE_CHECKING:
    from django.test import Client

INSIDE = re.compile(
    r"traceback|exception|\.py\b|line \d+|site-packages|django|waitress|psycopg|autograder\.|errno", re.I
)
HOST = b"Host: 127.0.0.1\r\n"
SIGN_IN = b"POST /app/accounts/login/ HTTP/1.1\r\n" + HOST
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
MULTIPART = b"Content-Type: multipart/form-data; boundary=x\r\n"
PART = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.ipynb"\r\n'
MOST_BODY = 8_000


class Answer(NamedTuple):
    """A response; status 0 if the connection was closed without one."""

    status: int
    head: str
    body: str


def send_bytes(address: str, data: bytes, *, ends: bool = True) -> Answer:
    """Send bytes and read until the server closes the connection."""
    parts = urlsplit(address)
    received = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=120) as connection:
        connection.sendall(data)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        # The server closes the connection without reading the rest of a request that is too large.
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3}) ", head)
    assert status or not received, received[:200]
    return Answer(int(status[1]) if status else 0, head.decode("latin-1"), body.decode())


def with_body(head: bytes, body: bytes) -> bytes:
    """Return a request with a body and its length."""
    return head + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def check_answer(answer: Answer, statuses: set[int]) -> None:
    """Check that a response has an expected status, is short and reveals no internals."""
    assert answer.status in statuses, answer
    assert len(answer.body) < MOST_BODY
    assert not INSIDE.search(re.sub(r"(?i)^(set-cookie|content-security-policy):.*$", "", answer.head))
    assert not INSIDE.search(answer.body), answer.body


CLOSE = b"Connection: close\r\n"
MALFORMED = {
    "length-no-number": (SIGN_IN + FORM + b"Content-Length: many\r\n\r\nx", {400}),
    "length-negative": (SIGN_IN + FORM + b"Content-Length: -5\r\n\r\nx", {400}),
    "length-plus": (SIGN_IN + FORM + b"Content-Length: +1\r\n\r\nx", {400}),
    "length-endless": (SIGN_IN + FORM + b"Content-Length: " + b"9" * 4000 + b"\r\n\r\nx", {413}),
    "length-twice": (SIGN_IN + FORM + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy", {400}),
    "length-and-chunks": (
        SIGN_IN + FORM + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        {400, 403},
    ),
    "chunks-garbage": (SIGN_IN + FORM + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n", {400}),
    "encoding-unknown": (SIGN_IN + FORM + b"Transfer-Encoding: secret\r\n\r\n", {501}),
    "body-shorter": (SIGN_IN + FORM + b"Content-Length: 1000\r\n\r\nshort", {0}),
    "body-too-large": (SIGN_IN + FORM + f"Content-Length: {81 << 20}\r\n\r\n".encode(), {413}),
    "field-too-large": (with_body(SIGN_IN + FORM, b"login=" + b"x" * (2 << 20)), {400, 413}),
    "fields-too-many": (with_body(SIGN_IN + FORM, b"&".join(b"a=1" for _ in range(2000))), {400}),
    "multipart-no-boundary": (with_body(SIGN_IN + b"Content-Type: multipart/form-data\r\n", b"--x--"), {400}),
    "multipart-bad-boundary": (
        with_body(SIGN_IN + b"Content-Type: multipart/form-data; boundary=\xff\xfe\r\n", b"--x--"),
        {400},
    ),
    "multipart-garbage": (with_body(SIGN_IN + MULTIPART, b"\x00\xff" * 500), {400, 403}),
    "multipart-cut": (with_body(SIGN_IN + MULTIPART, PART), {400, 403}),
    "multipart-base64": (
        with_body(SIGN_IN + MULTIPART, PART + b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n"),
        {400, 403},
    ),
    "multipart-charset": (
        with_body(SIGN_IN + b"Content-Type: multipart/form-data; boundary=x; charset=none\r\n", b"--x--\r\n"),
        {400, 403},
    ),
    "files-too-many": (
        with_body(SIGN_IN + MULTIPART, b"".join(PART + b"\r\nx\r\n" for _ in range(60)) + b"--x--\r\n"),
        {400},
    ),
    "form-charset": (
        with_body(
            SIGN_IN + b"Content-Type: application/x-www-form-urlencoded; charset=utf-99\r\n", b"login=x"
        ),
        {400, 403},
    ),
    "path-no-utf8": (b"GET /app/c/%ff%fe/ HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {302, 400, 404}),
    "path-raw-bytes": (b"GET /app/c/\xff\xfe/ HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {302, 400, 404}),
    "path-nul": (b"GET /app/%00 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400}),
    "path-static-up": (b"GET /static/../../etc/passwd HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400, 404}),
    "path-static-bytes": (b"GET /static/%ff%00 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400, 404}),
    "query-no-utf8": (b"GET /app/?q=%ff&next=%ff HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {302}),
    "host-foreign": (b"GET /app/ HTTP/1.1\r\nHost: evil.example\r\n" + CLOSE + b"\r\n", {400}),
    "host-garbage": (b"GET /app/ HTTP/1.1\r\nHost: a b<script>\r\n" + CLOSE + b"\r\n", {400}),
    "host-bytes": (b"GET /app/ HTTP/1.1\r\nHost: \xff\xfe\r\n" + CLOSE + b"\r\n", {400}),
    "host-foreign-form": (with_body(b"POST /app/accounts/login/ HTTP/1.1\r\nHost: evil\r\n", b"x=1"), {400}),
    "host-foreign-api": (b"GET /api/openapi.json HTTP/1.1\r\nHost: evil\r\n" + CLOSE + b"\r\n", {400}),
    "host-foreign-nowhere": (b"GET /nowhere HTTP/1.1\r\nHost: evil\r\n" + CLOSE + b"\r\n", {400, 404}),
    "method-unknown": (b"BREW /app/ HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {403}),  # no CSRF token
    "method-unknown-open": (b"BREW /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {403, 405}),
    "method-lower": (b"get /app/ HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400}),
    "method-trace": (b"TRACE /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {405}),
    "method-connect": (b"CONNECT example.org:443 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400, 404}),
    "method-unknown-api": (b"BREW /api/me HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400, 401, 404, 405}),
    "version-unknown": (b"GET /healthz HTTP/7.3\r\n" + HOST + CLOSE + b"\r\n", {200, 400, 505}),
    "line-garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}),
    "header-no-colon": (b"GET /app/ HTTP/1.1\r\n" + HOST + b"nonsense\r\n\r\n", {400}),
    "headers-too-large": (b"GET /app/ HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 300_000 + b"\r\n\r\n", {0, 431}),
    "cookie-garbage": (
        b"GET /app/ HTTP/1.1\r\n" + HOST + CLOSE + b"Cookie: sessionid=\xff\x01; csrftoken=;;=\xfe\r\n\r\n",
        {302, 400},
    ),
    "language-garbage": (
        b"GET /nowhere HTTP/1.1\r\n" + HOST + CLOSE + b"Accept-Language: \xff;q=x,,\r\n\r\n",
        {404},
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_gets_a_short_answer(
    name: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The request is not logged as an error, and the next one works."""
    data, statuses = MALFORMED[name]
    with caplog.at_level(logging.ERROR):
        check_answer(send_bytes(address, data), statuses)
    assert not [line for line in caplog.records if not line.name.startswith("django.security.")]
    well = send_bytes(address, b"GET /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n")
    assert (200, "ok\n") == (well.status, well.body)


def describe_session(client: Client) -> bytes:
    """Return the headers of a signed-in browser, with a CSRF token."""
    token = "a" * 32
    session = client.cookies["sessionid"].value
    return f"Cookie: sessionid={session}; csrftoken={token}\r\nX-CSRFToken: {token}\r\n".encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\xff" * 500,
        PART,
        PART + b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n",
        PART.replace(b"a.ipynb", b"../../\xff\x00") + b"\r\nx\r\n--x--\r\n",
        PART.replace(b"a.ipynb", b"a.zip") + b"\r\nPK\x03\x04garbage\r\n--x--\r\n",
        PART.replace(b"a.ipynb", b"formulas.ipynb") + b"\r\n" + b"[" * 100_000 + b"\r\n--x--\r\n",
    ],
    ids=["empty", "garbage", "cut", "base64", "name", "zip", "nested"],
)
def test_a_malformed_upload_is_refused_without_an_attempt(at: Small, address: str, body: bytes) -> None:
    """The upload uses the form of the page in a signed-in browser."""
    path = f"{at.base}a/{at.offer.assignment}/".encode()
    session = describe_session(at.client())
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + session
    check_answer(send_bytes(address, with_body(head + MULTIPART, body)), {302, 400})
    assert not at.offer.attempts.exists()
    page = b"GET " + path + b" HTTP/1.1\r\n" + HOST + session + CLOSE + b"\r\n"
    after = send_bytes(address, page)  # with the reason of the rejection
    assert 200 == after.status
    assert not re.search(r"Traceback|site-packages|File '", after.body)


def test_an_upload_that_stops_halfway_leaves_nothing(at: Small, address: str) -> None:
    """If the browser is closed during an upload, there is no response and no attempt."""
    path = f"{at.base}a/{at.offer.assignment}/".encode()
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + describe_session(at.client()) + MULTIPART
    assert 0 == send_bytes(address, head + b"Content-Length: 100000\r\n\r\n" + PART + b"\r\nx").status
    assert not at.offer.attempts.exists()


def test_a_number_that_no_parser_takes_ends_the_connection(address: str) -> None:
    """The HTTP parser fails for this request, and other requests still work."""
    assert 0 == send_bytes(address, SIGN_IN + FORM + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n").status
    assert 200 == send_bytes(address, b"GET /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n").status


@pytest.mark.parametrize("path", ["app/", "api/me", "metrics", "healthz"])
def test_without_a_database_the_answer_is_short(
    path: str, at: Small, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a database the response is short, and only the log has the reason."""
    session = describe_session(at.client())

    def refuse(_: BaseDatabaseWrapper) -> None:
        raise OperationalError("connection to server at 10.0.0.7 failed for user exams")

    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", refuse)
    head = f"GET /{path} HTTP/1.1\r\n".encode()
    answer = send_bytes(address, head + HOST + session + CLOSE + b"\r\n")
    check_answer(answer, {401, 500, 503})
    assert "10.0.0.7" not in answer.body
