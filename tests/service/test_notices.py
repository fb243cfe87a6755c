"""Notifications: one per event and recipient, sent as the recipient chose, and without marks by default."""

from __future__ import annotations

import contextlib
import datetime
import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from django.core import mail
from django.core.mail.backends import locmem

from autograder.core.errors import ServiceError
from autograder.service.assignment_cache import AssignmentCache
from tests.service import course
from tests.web.people import Small, small

if TYPE_CHECKING:
    from autograder.service.models_results import Delivery


@pytest.fixture
def at(service_course: Any, tmp_path: Path) -> Small:
    """Return the small course in which ada and bob have accounts with addresses and one result each."""
    course_at = small(service_course, course.small(tmp_path))
    for student in ("ada", "bob"):
        account = course_at.account("student", student)
        account.email = f"{student}@example.org"
        account.save()
        course.handed_in(course_at.offer, student, course.released(course_at.folder))
    course.graded_without_a_box(course_at.offer)
    return course_at


@pytest.fixture
def outbox(at: Small) -> Iterator[list[mail.EmailMessage]]:
    """Collect the e-mails that are sent."""
    from django.test import override_settings

    from autograder.service.models_results import Delivery

    Delivery.objects.exclude(event__offer=at.offer).delete()  # deliveries of other tests
    mail.outbox = []
    with override_settings(EMAIL_BACKEND=f"{locmem.__name__}.EmailBackend"):
        yield mail.outbox


@pytest.fixture
def loaded() -> Iterator[AssignmentCache]:
    """Provide the cache of assignments of a worker."""
    cache = AssignmentCache()
    yield cache
    cache.close()


def publish(at: Small, *, wanted: bool = True) -> None:
    """Publish or withdraw the marks."""
    from autograder.service import offers
    from autograder.web import assignment_details

    at.offer.refresh_from_db()
    rubric = assignment_details.get_assignment(at.offer).rubric
    offers.set_published(at.offer, rubric, at.account("instructor"), wanted=wanted)


def deliver(loaded: AssignmentCache) -> int:
    """Run the job that sends due deliveries."""
    from autograder.service.notices import sending

    return sending.deliver_due(loaded)


def rows(at: Small) -> list[Delivery]:
    """Return the deliveries of the assignment."""
    from autograder.service.models_results import Delivery

    return list(Delivery.objects.filter(event__offer=at.offer).order_by("pk"))


def test_an_event_is_sent_once_however_often_the_job_runs(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache
) -> None:
    """All students with a result get one e-mail without marks. Publishing published marks is no event."""
    publish(at)
    assert [2, 0, 0] == [deliver(loaded) for _ in range(3)]
    publish(at)
    assert 0 == deliver(loaded)
    assert [["ada@example.org"], ["bob@example.org"]] == sorted(message.to for message in outbox)
    assert "is available" in outbox[0].body
    assert "points" not in outbox[0].body
    assert 2 == len({message.message().get("Message-ID") for message in outbox})
    publish(at, wanted=False)
    publish(at)
    assert 2 == deliver(loaded)


def test_a_second_job_leaves_out_what_the_first_one_is_sending(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an e-mail is being sent, another worker skips that recipient."""
    from django.db import connections

    from autograder.service.notices import mail as mails
    from autograder.service.notices import sending

    publish(at)
    account, counted, send_mail = at.account("student", "ada").pk, [], mails.send_mail

    def deliver_elsewhere() -> None:
        counted.append(sending._deliver_mail(account, loaded))
        connections.close_all()

    def send_slowly(*arguments: Any) -> None:
        monkeypatch.setattr(mails, "send_mail", send_mail)
        other = threading.Thread(target=deliver_elsewhere)
        other.start()
        other.join()
        send_mail(*arguments)

    monkeypatch.setattr(mails, "send_mail", send_slowly)
    assert sending._deliver_mail(account, loaded)
    assert ([False], 1) == (counted, len(outbox))


def test_points_are_stated_if_the_course_says_so(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache
) -> None:
    """The message states the points in the recipient's language."""
    from autograder.service.models import Account

    Account.objects.filter(pk=at.account("student", "bob").pk).update(language="de")
    type(at.record).objects.filter(pk=at.record.pk).update(mail_marks=True)
    publish(at)
    deliver(loaded)
    ada, bob = sorted(outbox, key=lambda message: message.to)
    assert "You have 1 of 13 points." in ada.body
    assert "Sie haben 1 von 13 Punkten." in bob.body


def test_people_choose_when_they_get_mail(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recipients can turn e-mails off, also after the event, or get one summary a day."""
    from django.utils import timezone

    from autograder.service.models import Account
    from autograder.service.notices import events, sending

    ada, bob = at.account("student", "ada"), at.account("student", "bob")
    Account.objects.filter(pk=ada.pk).update(mail="daily")
    noon = datetime.datetime(2031, 5, 6, 12, tzinfo=datetime.UTC)
    moment = SimpleNamespace(now=noon)
    ticking = SimpleNamespace(now=lambda: moment.now)
    monkeypatch.setattr(events, "timezone", ticking)
    monkeypatch.setattr(sending, "timezone", ticking)
    publish(at)
    events.record_new_deadline(at.offer, ["ada", "bob"])
    Account.objects.filter(pk=bob.pk).update(mail="never")
    assert 0 == deliver(loaded)
    moment.now = datetime.datetime(2031, 5, 7, 5, 59, tzinfo=datetime.UTC)
    assert 0 == deliver(loaded)
    moment.now += datetime.timedelta(minutes=1)
    assert 1 == deliver(loaded)
    [message] = outbox
    assert (["ada@example.org"], "2 notifications") == (message.to, message.subject)
    events.record_new_deadline(at.offer, ["bob"])
    assert 0 == len([row for row in rows(at) if row.due_at])
    assert timezone.now() < moment.now


def test_a_failed_mail_is_tried_again_and_given_up_at_last(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delay grows with each attempt."""
    from autograder.service.notices import mail as mails
    from autograder.service.notices import sending

    def refuse(*_: Any) -> None:
        raise OSError("the mail server is away")

    now = datetime.datetime.now(datetime.UTC)
    moment = SimpleNamespace(now=now + datetime.timedelta(minutes=1))
    monkeypatch.setattr(sending, "timezone", SimpleNamespace(now=lambda: moment.now))
    monkeypatch.setattr(mails, "send_mail", refuse)
    publish(at)
    waits = []
    while any(row.due_at for row in rows(at)):
        assert 0 == deliver(loaded)
        due = rows(at)[0].due_at
        if due:
            waits.append(due - moment.now)
            moment.now = due
    assert list(sending._DELAYS) == waits
    assert 0 == deliver(loaded)
    assert {len(waits) + 1} == {row.tries for row in rows(at)}
    assert {None} == {row.sent_at for row in rows(at)}


def test_other_events_reach_those_they_concern(
    at: Small, outbox: list[mail.EmailMessage], loaded: AssignmentCache
) -> None:
    """New deadlines, answered requests and unreadable attempts are announced.

    Hidden assignments stay silent.
    """
    from autograder.service import attempts, versions
    from autograder.service.models import RegradeRequest
    from autograder.service.notices import events

    client = at.client("instructor")
    page = f"{at.base}staff/a/{at.offer.assignment}/"
    client.post(f"{page}times", {"end": "2031-02-03T12:00:00", "zone": "Europe/Berlin", "late": "accept"})
    client.post(f"{page}times", {"end": "2031-02-03T12:00:00", "zone": "Europe/Berlin", "late": "refuse"})
    client.post(f"{page}extension", {"student": "bob", "extra_minutes": "10"})
    deliver(loaded)
    assert [1, 1] == [len([m for m in outbox if m.to == [f"{who}@example.org"]]) for who in ("ada", "bob")]
    assert "deadline" in outbox[0].body
    outbox.clear()

    fields = {"offer": at.offer, "student": "ada", "question": "mlp", "item": "why"}
    events.record_answered(RegradeRequest.objects.create(**fields, reason="why"))
    broken = course.handed_in(at.offer, "bob", {**course.released(at.folder), "code.ipynb": b"{"})
    rubric = versions.load_rubric(at.offer.version)
    claimed = attempts.claim_attempt(broken.pk)
    assert claimed is not None
    attempts.keep_result(claimed, course.canned(rubric, broken), rubric, "e" * 64)
    assert 2 == deliver(loaded)
    bodies = {message.to[0]: message.body for message in outbox}
    assert "was answered" in bodies["ada@example.org"]
    assert "attempt 2" in bodies["bob@example.org"]
    type(at.offer).objects.filter(pk=at.offer.pk).update(visible=False)
    client.post(f"{page}times", {"end": "2031-02-04T12:00:00", "zone": "Europe/Berlin", "late": "refuse"})
    assert 0 == deliver(loaded)


# ---------------------------------------------------------------- webhooks


PUBLIC, PRIVATE = "93.184.215.14", "10.0.0.8"


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Resolve host names to fixed addresses, which the test may change."""
    from autograder.service import outgoing

    addresses = {"hooks.example.org": [PUBLIC], "inside.example.org": [PUBLIC, PRIVATE]}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host not in addresses:
            raise OSError("unknown")
        return [(None, None, None, "", (address, port)) for address in addresses[host]]

    monkeypatch.setattr(outgoing, "socket", SimpleNamespace(getaddrinfo=look_up, SOCK_STREAM=1))
    return addresses


@pytest.mark.usefixtures("hosts")
def test_webhooks_lead_to_public_https_alone(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Private addresses are rejected unless an environment variable allows them."""
    from autograder.service import outgoing
    from autograder.service.notices import webhooks

    staff = at.account("instructor")
    for address in (
        "http://hooks.example.org/x",
        "https://user@hooks.example.org/x",
        "https://nobody.example.org/x",
        "https://inside.example.org/x",
        "https://[::1",
        "file:///etc/passwd",
        "https:///x",
        f"https://hooks.example.org/{'x' * 500}",
        "",
    ):
        with pytest.raises(ServiceError):
            webhooks.add_webhook(at.record, address, staff)
    assert webhooks.add_webhook(at.record, "https://hooks.example.org/x", staff).secret
    with pytest.raises(ServiceError, match="already"):
        webhooks.add_webhook(at.record, "https://hooks.example.org/x", staff)
    monkeypatch.setenv(outgoing.PRIVATE, "1")
    assert webhooks.add_webhook(at.record, "https://inside.example.org/x", staff)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        (PUBLIC, True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
    ],
)
def test_private_addresses_are_recognised(address: str, public: bool) -> None:
    """Private addresses embedded in IPv6 are recognised."""
    from autograder.service import outgoing

    assert public is outgoing.is_public(address)


def test_events_are_signed_and_sent_once(
    at: Small,
    hosts: dict[str, list[str]],
    outbox: list[mail.EmailMessage],
    loaded: AssignmentCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Failures are shown and retried; a host that now resolves to a private address is not contacted."""
    from autograder.service import outgoing
    from autograder.service.models_results import Delivery
    from autograder.service.notices import webhooks

    hook = webhooks.add_webhook(at.record, "https://hooks.example.org/x?y=1", at.account("instructor"))
    sent: list[Any] = []
    statuses = [500, 204]

    class Connection:
        aborted = False

        def __init__(self, host: str, port: int, address: str) -> None:
            assert ("hooks.example.org", 443, PUBLIC) == (host, port, address)

        def request(self, *arguments: Any) -> None:
            sent.append(arguments)

        def getresponse(self) -> Any:
            return SimpleNamespace(status=statuses[len(sent) - 1], read=lambda _: b"")

        def abort(self) -> None:
            """Do nothing: no connection is open."""

        def close(self) -> None:
            """Do nothing: no connection is open."""

    monkeypatch.setattr(outgoing, "_PinnedConnection", Connection)
    publish(at)
    assert [2, 0] == [deliver(loaded) for _ in range(2)]
    hook.refresh_from_db()
    assert "500" in hook.problem
    deliveries = Delivery.objects.filter(webhook=hook)
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    hosts["hooks.example.org"] = [PRIVATE]
    deliveries.update(due_at=past)
    assert 0 == deliver(loaded)
    assert 1 == len(sent)
    hosts["hooks.example.org"] = [PUBLIC]
    deliveries.update(due_at=past)
    assert [1, 0] == [deliver(loaded) for _ in range(2)]
    hook.refresh_from_db()
    assert "" == hook.problem
    method, path, body, headers = sent[-1]
    assert ("POST", "/x?y=1") == (method, path)
    signature = webhooks.sign_body(hook.secret, headers["X-Nbexam-Timestamp"], body)
    assert f"sha256={signature}" == headers["X-Nbexam-Signature"]
    event = json.loads(body)
    assert ("result-published", at.record.slug, "small") == (
        event["event"],
        event["course"],
        event["assignment"],
    )
    assert {json.loads(parts[2])["id"] for parts in sent} == {event["id"]}


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Run a local server with a trusted certificate for hooks.example.org."""
    from autograder.service import outgoing

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    built = built.not_valid_after(now + datetime.timedelta(days=1))
    built = built.add_extension(
        x509.SubjectAlternativeName([x509.DNSName("hooks.example.org")]), critical=False
    )
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate, secret = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    bodies: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(302)
            self.send_header("Location", "https://elsewhere.example.org/")
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            part = b"x" if self.path == "/slow" else bytes(1 << 16)
            with contextlib.suppress(OSError):  # until the client disconnects
                while True:
                    self.wfile.write(part)
                    time.sleep(0.01)

        def log_message(self, *_: object) -> None:
            """Suppress the log."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    trusting = SimpleNamespace(create_default_context=lambda: ssl.create_default_context(cafile=certificate))
    monkeypatch.setattr(outgoing, "ssl", trusting)
    monkeypatch.setattr(outgoing, "resolve_address", lambda _: "127.0.0.1")
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield SimpleNamespace(port=server.server_address[1], bodies=bodies)
    server.shutdown()
    server.server_close()
    serving.join()


def test_a_webhook_connects_to_the_address_that_was_checked(receiver: SimpleNamespace) -> None:
    """The certificate must match the host, and redirects are not followed."""
    from autograder.service import outgoing

    place = f"https://hooks.example.org:{receiver.port}/x"
    assert (302, b"") == outgoing.send_request("POST", place, b"{}", {"Content-Type": "application/json"})
    assert [b"{}"] == receiver.bodies
    with pytest.raises(ssl.SSLCertVerificationError):
        outgoing.send_request("POST", place.replace("hooks", "other"), b"{}", {})


@pytest.mark.parametrize(("path", "error"), [("/slow", OSError), ("/large", ServiceError)])
def test_an_endless_response_is_not_read_to_its_end(
    receiver: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, path: str, error: type[Exception]
) -> None:
    """Slow and large responses are aborted."""
    from autograder.service import outgoing

    if path == "/slow":
        monkeypatch.setattr(outgoing, "_TOTAL_SECONDS", 0.5)
    with pytest.raises(error):
        outgoing.send_request("GET", f"https://hooks.example.org:{receiver.port}{path}", None, {})


def test_the_signature_is_that_of_the_documentation() -> None:
    """The signature is the HMAC-SHA256 of timestamp, dot and body."""
    from autograder.service.notices import webhooks

    expected = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
    assert expected == webhooks.sign_body("key", "1700000000", b"{}")


def test_the_page_of_a_course_has_its_webhooks(at: Small, hosts: dict[str, list[str]]) -> None:
    """The secret is shown once, and a rejection states the reason."""
    del hosts
    client = at.client("instructor")
    place = f"{at.base}staff/notifications/"
    page = client.post(place, {"address": "https://hooks.example.org/x"}).content.decode()
    [hook] = at.record.webhooks.all()
    assert hook.secret in page
    assert hook.secret not in client.get(place).content.decode()
    assert "private network" in client.post(place, {"address": "https://inside.example.org"}).content.decode()
    client.post(f"{place}{hook.pk}/remove")
    assert not at.record.webhooks.exists()
    for wanted in (True, False):
        client.post(f"{place}points", {"wanted": "yes" if wanted else "no"})
        assert wanted is type(at.record).objects.get(pk=at.record.pk).mail_marks


@pytest.mark.parametrize(
    ("url", "port", "secure"),
    [
        ("smtps://u:p%40w@mail.example.org?from=exams@example.org", 465, "EMAIL_USE_SSL"),
        ("smtp+starttls://mail.example.org:2525?from=exams@example.org", 2525, "EMAIL_USE_TLS"),
    ],
)
def test_a_mail_server_is_configured_by_its_address(url: str, port: int, secure: str) -> None:
    """Without a mail server, e-mails are printed; errors do not repeat the password."""
    from autograder.service import setup

    built = setup.build_mail_settings(url)
    assert ("mail.example.org", port, True) == (built["EMAIL_HOST"], built["EMAIL_PORT"], built[secure])
    assert "console" in setup.build_mail_settings("")["EMAIL_BACKEND"]
    for wrong in (
        "mail.example.org",
        "smtps://u:secret@h",
        "http://h?from=a@b",
        "smtps://u:secret@h:x?from=a@b",
    ):
        with pytest.raises(ServiceError) as error:
            setup.build_mail_settings(wrong)
        assert "secret" not in str(error.value)
