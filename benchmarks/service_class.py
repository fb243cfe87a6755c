"""Simulated students and TAs of `service.py`: plain HTTP with cookies, one thread for each person."""

from __future__ import annotations

import html
import http
import http.client
import random
import re
import secrets
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

SIGN_IN = "/app/accounts/login/"
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_STATIC = re.compile(r'(?:href|src)="(/static/[^"]+)"')
_POLL = re.compile(r'id="state"[^>]*hx-get="([^"]+)" hx-trigger="load delay:(\d+)ms"')
_RECEIPT = re.compile(r'href="([^"]+/receipt)"')
_FIRST = re.compile(r'class="button first" href="([^"]+)"')
_CHOICE = re.compile(r'name="choice-([\w-]+)" value="([^"]+)"')
_TIMEOUT_SECONDS = 300.0
"""As browsers have it."""
_IDLE_SECONDS = 30.0
"""A connection that was idle for so long is opened again: the server closes it after a minute."""
_MARKING_SECONDS = 3.0
_RELOAD_SECONDS = 3.0
_GIVE_UP_SECONDS = 300.0
"""How long a patient person tries again."""
_REDIRECTS = range(300, 400)


class RequestFailed(Exception):
    """A request was not answered as expected; it is counted already."""


class Recorder:
    """Collects the seconds and the failures of requests by kind."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._failures: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()

    def add_request(self, kind: str, seconds: float, failure: str = "") -> None:
        """Add a request; an empty failure means that it was answered."""
        with self._lock:
            self._seconds.setdefault(kind, []).append(seconds)
            if failure:
                self._failures.setdefault(kind, Counter())[failure] += 1

    def summarize_kinds(self) -> dict[str, dict[str, Any]]:
        """Return count, failures and percentiles in seconds by kind, in the order of the first requests."""
        with self._lock:
            return {
                kind: {
                    "count": len(seconds),
                    "failures": sum(self._failures.get(kind, Counter()).values()),
                    **summarize_times(seconds),
                    "reasons": dict(self._failures.get(kind, Counter()).most_common(3)),
                }
                for kind, seconds in self._seconds.items()
            }


def summarize_times(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 95th and 99th percentile of times in seconds."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    percentiles = {
        "median": statistics.median(ordered),
        "p95": ordered[round(0.95 * last)],
        "p99": ordered[round(0.99 * last)],
    }
    return {name: round(value, 3) for name, value in percentiles.items()}


class Person:
    """A person with a browser: one connection, cookies, redirects.

    Args:
        port: of the service.
        name: of the account.
        recorder: of all requests, failed ones included.
        patient: try again while the service does not answer, or answers that it cannot.
    """

    def __init__(self, port: int, name: str, recorder: Recorder, *, patient: bool = False) -> None:
        self.name = name
        self._patient = patient
        self._port = port
        self._recorder = recorder
        self._cookies: dict[str, str] = {}
        self._connection: http.client.HTTPConnection | None = None
        self._used_at = 0.0

    def sign_in(self, password: str, page: str) -> str:
        """Sign in on the way to a page; return the page."""
        form = self.get("sign-in page", SIGN_IN)
        for address in dict.fromkeys(_STATIC.findall(form)):
            self.get("static file", address)
        fields = {"login": self.name, "password": password, "next": page}
        return self.post("sign-in", SIGN_IN, form, fields, check=lambda text: "accounts/logout/" in text)

    def get(self, kind: str, address: str) -> str:
        """Return a page.

        Raises:
            RequestFailed: it was not answered with a page.
        """
        return self._measure(kind, lambda: self._follow("GET", address))

    def post(
        self,
        kind: str,
        address: str,
        page: str,
        fields: Mapping[str, str],
        *,
        files: Mapping[str, bytes] | None = None,
        check: Callable[[str], object] = lambda _: True,
        statuses: Sequence[int] = (200,),
    ) -> str:
        """Send a form of a page; return the page that it leads to.

        Args:
            kind: of the request.
            address: that the form is sent to.
            page: with the form's CSRF token.
            fields: of the form.
            files: contents of the field ``files`` by name; None: the form has no such field.
            check: whether a page is the expected one.
            statuses: of an expected page.

        Raises:
            RequestFailed: it was not answered with the expected page.
        """
        token = _TOKEN.search(page)
        fields = {"csrfmiddlewaretoken": token[1] if token else "", **fields}
        kind_of_body, body = encode_form(fields, files)
        headers = {"Content-Type": kind_of_body, "Origin": f"http://127.0.0.1:{self._port}"}
        return self._measure(kind, lambda: self._follow("POST", address, body, headers), check, statuses)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _measure(
        self,
        kind: str,
        send: Callable[[], tuple[int, str]],
        check: Callable[[str], object] = lambda _: True,
        statuses: Sequence[int] = (200,),
    ) -> str:
        until = time.monotonic() + (_GIVE_UP_SECONDS if self._patient else 0)
        while True:
            started, failure, text, status = time.monotonic(), "", "", 0
            try:
                status, text = send()
                failure = "" if status in statuses and check(text) else f"status {status}"
            except (OSError, http.client.HTTPException) as error:
                self.close()
                failure = type(error).__name__
            self._recorder.add_request(kind, time.monotonic() - started, failure)
            if not failure:
                return text
            is_outage = not status or status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
            if not is_outage or time.monotonic() > until:
                raise RequestFailed(f"{self.name}: {kind}: {failure}")
            time.sleep(_RELOAD_SECONDS)

    def _follow(
        self, method: str, address: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        status, text, location = self._send(method, address, body, headers or {})
        for _ in range(5):
            if status not in _REDIRECTS:
                break
            parts = urlsplit(location)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            status, text, location = self._send("GET", target, None, {})
        return status, text

    def _send(
        self, method: str, address: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, str, str]:
        if time.monotonic() - self._used_at > _IDLE_SECONDS:
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS)
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._connection.request(method, address, body, {**headers, "Cookie": cookies})
        response = self._connection.getresponse()
        data = response.read()
        self._used_at = time.monotonic()
        for line in response.headers.get_all("Set-Cookie") or ():
            self._cookies |= {name: cookie.value for name, cookie in SimpleCookie(line).items()}
        return response.status, data.decode(errors="replace"), response.headers.get("Location", "")


def encode_form(fields: Mapping[str, str], files: Mapping[str, bytes] | None) -> tuple[str, bytes]:
    """Return the content type and the body of a form."""
    if files is None:
        return "application/x-www-form-urlencoded", urlencode(fields).encode()
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for name, data in files.items():
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"'
        parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n")
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


class Exam:
    """An exam that a class sits together: people, and the times at which they act.

    Everybody signs in within the first third and submits in the last quarter; half of the class submits once
    before. When the queue is empty and the marks are published, everybody opens the feedback.

    Args:
        port: of the service.
        page: address of the assignment.
        staff_page: address of its page for staff.
        seconds: duration.
        files: contents that a student submits, by student and name.
        password: of everybody.
        patient: people try again while the service does not answer.
    """

    def __init__(
        self,
        port: int,
        *,
        page: str,
        staff_page: str,
        seconds: float,
        files: Mapping[str, Mapping[str, bytes]],
        password: str,
        patient: bool = False,
    ) -> None:
        self.recorder = Recorder()
        self.published = threading.Event()
        self.over = threading.Event()
        """Set when TAs stop."""
        self.submissions = 0
        self.receipts: set[tuple[str, str]] = set()
        """Students, and the addresses of the receipts that they were shown."""
        self.gave_up: list[str] = []
        self._port, self._page, self._staff_page = port, page, staff_page
        self._seconds, self._files, self._password = seconds, files, password
        self._patient = patient
        self._to_submit = set(files)
        self._lock = threading.Lock()
        self._started = time.monotonic()

    @property
    def is_submitting(self) -> bool:
        """Whether the last submission of a student is still to come."""
        with self._lock:
            return bool(self._to_submit)

    def start(self, assistants: Sequence[str]) -> tuple[list[threading.Thread], list[threading.Thread]]:
        """Start the threads of all students, and of the TAs."""
        threading.stack_size(512 << 10)
        self._started = time.monotonic()
        students = [threading.Thread(target=self._run, args=(self._sit, name)) for name in self._files]
        others = [threading.Thread(target=self._run, args=(self._mark, name)) for name in assistants]
        for thread in (*students, *others):
            thread.start()
        return students, others

    def publish_marks(self, instructor: str) -> None:
        """Publish the marks as an instructor, and let students look."""
        person = Person(self._port, instructor, self.recorder, patient=self._patient)
        page = person.sign_in(self._password, self._staff_page)
        person.post("publish", f"{self._staff_page}published", page, {"wanted": "yes"})
        self.published.set()

    def _run(self, act: Callable[[Person, random.Random], None], name: str) -> None:
        person = Person(self._port, name, self.recorder, patient=self._patient)
        try:
            act(person, random.Random(name))
        except RequestFailed as error:
            with self._lock:
                self.gave_up.append(str(error))
                self._to_submit.discard(name)
        finally:
            person.close()

    def _wait_until(self, share: float) -> None:
        """Wait until a share of the exam's duration has passed."""
        time.sleep(max(0.0, self._started + share * self._seconds - time.monotonic()))

    def _sit(self, person: Person, chance: random.Random) -> None:
        self._wait_until(chance.uniform(0, 1 / 3))
        course = self._page.rpartition("a/")[0]
        person.sign_in(self._password, course)
        person.get("assignment", self._page)
        person.get("download", f"{self._page}files.zip")
        if chance.random() < 0.5:
            self._wait_until(chance.uniform(0.4, 0.7))
            self._submit(person, last=False)
        self._wait_until(chance.uniform(0.75, 1))
        self._submit(person, last=True)
        person.get("assignment", self._page)
        self.published.wait()
        time.sleep(chance.uniform(0, min(60.0, self._seconds / 4)))
        person.get("feedback", f"{self._page}feedback/")

    def _submit(self, person: Person, *, last: bool) -> None:
        """Submit, and poll for the result as the page does, at most until the marks are published."""
        page = person.get("assignment", self._page)
        files = self._files[person.name]
        seen = person.post("submit, to the receipt", self._page, page, {}, files=files, check=_RECEIPT.search)
        state, receipt = seen, _RECEIPT.search(seen)
        assert receipt
        with self._lock:
            self.submissions += 1
            self.receipts.add((person.name, receipt[1]))
            if last:
                self._to_submit.discard(person.name)
        end = float("inf") if last else self._started + 0.74 * self._seconds
        while (poll := _POLL.search(state)) and time.monotonic() < end and not self.published.is_set():
            time.sleep(int(poll[2]) / 1000)
            state = person.get("poll", html.unescape(poll[1]))
        person.get("attempt", receipt[1].removesuffix("receipt"))

    def _mark(self, person: Person, chance: random.Random) -> None:
        """Mark answers until the exam is over, one every few seconds."""
        queue = f"{self._staff_page}mark/"
        person.sign_in(self._password, queue)
        while not self.over.is_set():
            first = _FIRST.search(person.get("marking queue", queue))
            page = person.get("answer to mark", html.unescape(first[1])) if first else ""
            while form := page.partition('class="mark"')[2].partition("</form>")[0]:
                if self.over.is_set():
                    break
                time.sleep(chance.uniform(0.5, 1.5) * _MARKING_SECONDS)
                fields = {name: html.unescape(value) for name, value in _HIDDEN.findall(form)}
                fields |= {f"choice-{item}": points for item, points in _CHOICE.findall(form)}
                address = html.unescape(form.partition('action="')[2].partition('"')[0])
                # 409: the student submitted meanwhile, or another TA was faster; the page shows both.
                page = person.post(
                    "save points", address, page, {**fields, "then": "next"}, statuses=(200, 409)
                )
            self.over.wait(2 * _MARKING_SECONDS)
