"""Dynamic registration of platforms: the exchange, the confirmation, and what is rejected."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from autograder.web.logs import JsonFormatter
from tests.web.lms import LearningPlatform
from tests.web.people import Small
from tests.web.test_student import text

if TYPE_CHECKING:
    from autograder.service.models_results import PlatformRegistration

HOST = "moodle.example.org"
PLACE = f"https://{HOST}/mod/lti/openid-configuration.php"
SECRET = "secret-of-the-platform"
TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"
PAGE = "/app/platforms/"


class Moodle:
    """A platform with a configuration and a registration endpoint.

    Attributes:
        configuration, answer: the configuration, and the response to a registration.
        status: status of the responses.
        asked: each request: method, host, path, body, headers.
        hosts: addresses by host name.
    """

    def __init__(self) -> None:
        self.configuration: Any = {
            "issuer": f"https://{HOST}",
            "authorization_endpoint": f"https://{HOST}/login",
            "token_endpoint": f"https://{HOST}/token",
            "jwks_uri": f"https://{HOST}/keys",
            "registration_endpoint": f"https://{HOST}/register",
            PLATFORM: {
                "messages_supported": [
                    {"type": "LtiResourceLinkRequest"},
                    {"type": "LtiDeepLinkingRequest", "placements": ["editor", "assignment_selection"]},
                ]
            },
        }
        self.answer: Any = {
            "client_id": "c-1",
            "registration_access_token": "x",
            TOOL: {"deployment_id": "1"},
        }
        self.status = 200
        self.asked: list[tuple[str, str, str, Any, dict[str, str]]] = []
        self.hosts = {HOST: "93.184.215.14", "inside.example.org": "10.0.0.8", "localhost": "127.0.0.1"}

    def look_up(self, host: str, port: int, **_: Any) -> list[Any]:
        """Find the address of a host."""
        address = self.hosts.get(host, host)
        if re.search("[a-z]", address):
            raise OSError("unknown")
        return [(None, None, None, "", (address, port))]


@pytest.fixture
def moodle(monkeypatch: pytest.MonkeyPatch) -> Moodle:
    """Replace the network by the platform alone."""
    from autograder.service import outgoing

    server = Moodle()

    class Connection:
        aborted = False

        def __init__(self, host: str, port: int, address: str) -> None:
            assert (server.hosts[host], 443) == (address, port)
            self.host = host

        def request(self, method: str, path: str, body: Any, headers: dict[str, str]) -> None:
            server.asked.append((method, self.host, path, body, dict(headers)))

        def getresponse(self) -> Any:
            sent = server.answer if server.asked[-1][0] == "POST" else server.configuration
            content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
            return SimpleNamespace(status=server.status, read=lambda most: content[:most])

        def abort(self) -> None:
            """Do nothing: no connection is open."""

        def close(self) -> None:
            """Do nothing: no connection is open."""

    monkeypatch.setattr(outgoing, "socket", SimpleNamespace(getaddrinfo=server.look_up, SOCK_STREAM=1))
    monkeypatch.setattr(outgoing, "_PinnedConnection", Connection)
    return server


@pytest.fixture
def make_address(at: Small) -> Callable[[], str]:
    """Return a function that creates a registration address as an administrator of the service."""

    def make() -> str:
        page = at.client("superuser").post(PAGE).content.decode()
        return re.findall(r"<code>http://testserver(/app/lti/register/[^<]+)</code>", page)[0]

    return make


@pytest.fixture(autouse=True)
def _without_registrations(service_database: Any) -> None:
    """Remove platforms of other tests."""
    from lti_tool.models import LtiRegistration

    from autograder.service.models_results import PlatformRegistration
    from autograder.web import lti

    lti.register_platforms([])
    PlatformRegistration.objects.all().delete()
    LtiRegistration.objects.filter(issuer=f"https://{HOST}").delete()


def open_address(at: Small, address: str, place: str = PLACE, **more: str) -> Any:
    """Open a registration address in the browser of the platform's administrator."""
    sent = {"openid_configuration": place, "registration_token": SECRET, **more}
    return at.client("nobody").get(address, sent)


def find_rows() -> list[PlatformRegistration]:
    """Return the registered platforms."""
    from autograder.service.models_results import PlatformRegistration

    return list(PlatformRegistration.objects.exclude(registration=None))


def test_a_platform_registers_and_waits(
    at: Small, moodle: Moodle, make_address: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    """The platform gets the addresses and requests that it supports, and no secret is logged."""
    caplog.set_level(logging.DEBUG)
    address = make_address()
    assert 400 == at.client("nobody").get(address).status_code  # a preview of the link does not use it up
    page = open_address(at, address)
    assert "must confirm it before it can be used" in text(page)
    assert "frame-ancestors https:" in page.headers["Content-Security-Policy"]
    (first_method, host, _, _, headers), (method, _, path, body, _) = moodle.asked
    assert ("GET", HOST, f"Bearer {SECRET}") == (first_method, host, headers["Authorization"])
    assert ("POST", "/register") == (method, path)
    request = json.loads(body)
    assert (
        ["http://testserver/app/lti/launch"],
        "http://testserver/app/lti/login",
        "http://testserver/app/lti/keys",
        "private_key_jwt",
    ) == (
        request["redirect_uris"],
        request["initiate_login_uri"],
        request["jwks_uri"],
        request["token_endpoint_auth_method"],
    )
    assert 3 == len(request["scope"].split())
    kinds = {message["type"]: message.get("placements") for message in request[TOOL]["messages"]}
    assert {"LtiResourceLinkRequest": None, "LtiDeepLinkingRequest": ["assignment_selection"]} == kinds
    assert {"email", "given_name", "sub"} <= set(request[TOOL]["claims"])
    [row] = find_rows()
    registration = row.registration
    assert (f"https://{HOST}", "c-1", False, None) == (
        registration.issuer,
        registration.client_id,
        registration.is_active,
        row.confirmed_at,
    )
    assert [("1", False)] == list(registration.deployments.values_list("deployment_id", "is_active"))
    assert 400 == open_address(at, address).status_code
    logged = "".join(JsonFormatter().format(record) for record in caplog.records)
    assert "a registration was refused" in logged
    for secret in (SECRET, address.rpartition("/")[2], "registration_access_token"):
        assert secret not in logged


def test_an_address_is_good_once(at: Small, moodle: Moodle, make_address: Callable[[], str]) -> None:
    """An address is rejected after use, expiry and failure."""
    from django.utils import timezone

    from autograder.service.models_results import PlatformRegistration

    address = make_address()
    assert 200 == open_address(at, address).status_code
    moodle.asked.clear()
    moodle.answer = {"client_id": "c-2"}
    assert 400 == open_address(at, address).status_code
    assert 400 == open_address(at, f"{address}x").status_code
    late = make_address()
    PlatformRegistration.objects.filter(registration=None).update(expires_at=timezone.now())
    assert 400 == open_address(at, late).status_code
    failed = make_address()
    assert 400 == open_address(at, failed, "https://inside.example.org/").status_code
    assert 400 == open_address(at, failed).status_code
    assert [] == moodle.asked
    assert ["c-1"] == [row.registration.client_id for row in find_rows()]


def test_addresses_inside_are_not_asked(at: Small, moodle: Moodle, make_address: Callable[[], str]) -> None:
    """Neither the configuration nor its endpoints may be at private addresses."""
    for place in (
        f"http://{HOST}/x",
        "https://inside.example.org/x",
        "https://localhost/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://2130706433.example.org/",
        f"https://user@{HOST}/x",
        f"https://{HOST}:x/",
        "https://[::1",
        "file:///etc/passwd",
        "//moodle.example.org/x",
        "x",
    ):
        assert 400 == open_address(at, make_address(), place).status_code, place
    assert [] == moodle.asked
    whole = dict(moodle.configuration)
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint"):
        for place in ("https://inside.example.org/x", f"http://{HOST}/x", "https://169.254.169.254/", ""):
            moodle.configuration = {**whole, name: place}
            assert 400 == open_address(at, make_address()).status_code, (name, place)
    assert {"GET"} == {method for method, *_ in moodle.asked}
    assert [] == find_rows()


def test_what_is_no_platform_is_refused(at: Small, moodle: Moodle, make_address: Callable[[], str]) -> None:
    """Reject wrong issuers, redirects, and invalid or too large responses."""
    whole, answer = dict(moodle.configuration), dict(moodle.answer)
    for configuration in (
        {**whole, "issuer": "https://canvas.example.org"},
        {**whole, "issuer": f"http://{HOST}"},
        {**whole, "issuer": f"https://{HOST}.evil.example.org"},
        {**whole, "issuer": "https://[::1"},
        {**whole, "issuer": 7},
        {"issuer": f"https://{HOST}"},
        {**whole, "token_endpoint": f"https://{HOST}/" + "x" * 300},
        {**whole, PLATFORM: "text"},
        [],
        b"<html>",
        b"[" * 100_000,
        b'{"x": "' + bytes(1 << 19),
    ):
        moodle.configuration = configuration
        assert 400 == open_address(at, make_address()).status_code, configuration
    moodle.configuration = whole
    for wrong in (
        {},
        {"client_id": ""},
        {"client_id": None},
        {"client_id": "x" * 300},
        {"client_id": "a\0b"},
        b"",
    ):
        moodle.answer = wrong
        assert 400 == open_address(at, make_address()).status_code, wrong
    moodle.answer = answer
    for status in (302, 401, 500):
        moodle.status = status
        assert 400 == open_address(at, make_address()).status_code, status
    moodle.status = 200
    for token in ("line\r\nX-Other: 1", "ünicode…"):
        assert open_address(at, make_address(), registration_token=token).status_code in {200, 400}
    assert all("X-Other" not in headers for *_, headers in moodle.asked)
    assert len(find_rows()) <= 1


def test_a_registration_replaces_no_platform(
    at: Small, moodle: Moodle, make_address: Callable[[], str]
) -> None:
    """A client that exists is rejected; another client of the same issuer waits for confirmation."""
    from lti_tool.models import LtiRegistration

    registration = LtiRegistration.objects.create(
        name="Moodle",
        issuer=f"https://{HOST}",
        client_id="c-1",
        auth_url="https://kept.example.org/login",
        token_url="https://kept.example.org/token",
        keyset_url="https://kept.example.org/keys",
    )
    page = open_address(at, make_address())
    assert (400, True) == (page.status_code, "already exists" in page.content.decode())
    assert [] == find_rows()
    registration.refresh_from_db()
    assert ("https://kept.example.org/keys", True) == (registration.keyset_url, registration.is_active)
    moodle.answer = {"client_id": "c-2"}
    assert 200 == open_address(at, make_address()).status_code
    assert ["c-1"] == list(
        LtiRegistration.objects.active()
        .filter(issuer=registration.issuer)
        .values_list("client_id", flat=True)
    )


def test_an_administrator_confirms_a_platform(
    at: Small, moodle: Moodle, make_address: Callable[[], str]
) -> None:
    """Launches work only from confirmed deployments and only after confirmation, also after a restart."""
    from django.conf import settings
    from django.test import override_settings
    from lti_tool.models import LtiRegistration
    from msgspec.structs import replace

    from autograder.web import lti

    open_address(at, make_address())
    [row] = find_rows()
    admin, base = at.client("superuser"), f"{PAGE}{row.pk}"
    assert "Waiting for your confirmation" in text(admin.get(PAGE))
    with (
        LearningPlatform(f"registered of {at.record.slug}") as lms,
        override_settings(RUNNING=replace(settings.RUNNING, platforms={})),
    ):
        # the same platform, now with the address of one that launches
        LtiRegistration.objects.filter(pk=row.registration_id).update(
            issuer=lms.address,
            client_id=lms.client,
            auth_url=f"{lms.address}/login",
            token_url=f"{lms.address}/token",
            keyset_url=f"{lms.address}/keys",
        )
        begin = {"iss": lms.address, "client_id": lms.client, "login_hint": "me"}
        assert 400 == at.client("nobody").post("/app/lti/login", begin).status_code
        admin.post(f"{base}/confirm", {"student": "name", "deployment": "1"})
        assert 400 == at.client("nobody").post("/app/lti/login", begin).status_code
        admin.post(f"{base}/confirm", {"student": "sub"})
        assert 403 == lms.launch(at.client("nobody"), "prof", ("Instructor",)).status_code
        admin.post(f"{base}/confirm", {"student": "sub", "deployment": "1"})
        lti.register_platforms([])
        staff = at.client("instructor")
        lms.launch(staff, "prof", ("Instructor",))
        staff.post("/app/lti/connect", {"course": at.record.slug})
        assert at.base == lms.launch(at.client("nobody"), "number-7").headers["location"]
        assert "number-7" in text(staff.get(f"{at.base}staff/members/"))
        admin.post(f"{base}/remove")
        assert 400 == at.client("nobody").post("/app/lti/login", begin).status_code
        [kept] = find_rows()
        assert kept.confirmed_at is None


def test_a_platform_that_nobody_used_is_deleted(
    at: Small, moodle: Moodle, make_address: Callable[[], str]
) -> None:
    """An unused platform is deleted and can register again."""
    open_address(at, make_address())
    [row] = find_rows()
    at.client("superuser").post(f"{PAGE}{row.pk}/remove")
    assert [] == find_rows()
    assert 200 == open_address(at, make_address()).status_code
