"""Headers, cookies, cross-site forms, guessed passwords, and scripts in submissions."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.service import course
from tests.web.people import PASSWORD, Small
from tests.web.test_student import page, sent, text

if TYPE_CHECKING:
    from autograder.service.postgres import EmbeddedPostgres

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_every_answer_has_its_headers(at: Small) -> None:
    """All responses, also errors, have a strict policy with a new nonce; pages are not cached."""
    client = at.client()
    seen = set()
    for place in ("/app/", page(at), "/app/c/none/", "/healthz", "/app/accounts/login/", "/nowhere"):
        answer = client.get(place)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        seen.add(re.findall(r"'nonce-([^']+)'", policy)[0])
        assert "nosniff" == answer.headers["X-Content-Type-Options"]
        assert "same-origin" == answer.headers["Referrer-Policy"]
        assert "same-origin" == answer.headers["Cross-Origin-Opener-Policy"]
        assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["X-Request-Id"])
    assert 6 == len(seen)
    assert "no-store" == client.get(page(at)).headers["Cache-Control"]


def test_pages_hold_no_script_and_style_of_their_own(at: Small) -> None:
    """Scripts have the nonce, and no element has an inline style or event handler, as the policy requires."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    for client, place in (
        (at.client(), page(at)),
        (at.client(), f"{page(at)}1/"),
        (at.client("instructor"), f"{at.base}staff/a/small/"),
        (at.client("instructor"), f"{at.base}staff/a/small/submissions/"),
        (at.client("instructor"), f"{at.base}staff/a/small/settings/"),
        (at.client("instructor"), f"{at.base}staff/members/"),
    ):
        content = text(client.get(place))
        assert not re.findall(r"<[^>]+\s(?:style|on\w+)=", content)
        assert not re.findall(r"<script(?![^>]*nonce=)", content)
        assert "<style" not in content


def test_cookies_are_for_the_pages_alone(at: Small) -> None:
    """Cookies are HttpOnly, SameSite and limited to the pages; signing in changes the session key."""
    client, account = at.client("nobody"), at.account("ta")
    client.get("/app/accounts/login/")
    before = client.session.session_key
    answer = client.post("/app/accounts/login/", {"login": account.username, "password": PASSWORD})
    assert 302 == answer.status_code
    for name, cookie in client.cookies.items():
        assert (True, "Lax", "/app/") == (cookie["httponly"], cookie["samesite"], cookie["path"]), name
    assert client.session.session_key != before


def test_behind_https_cookies_are_secure_and_plain_requests_are_sent_on() -> None:
    """If the address begins with https, cookies are secure and HTTP is redirected."""
    from autograder.service.receipts import Signer
    from autograder.web import site

    running = site.ServiceContext(Signer(bytes(32)), site.AssignmentCache())
    options = site.build_settings(
        "postgresql://", secret_key="x", addresses=("https://exams.example.org",), running=running, https=True
    ).further
    assert options["SESSION_COOKIE_SECURE"]
    assert options["CSRF_COOKIE_SECURE"]
    assert options["SECURE_SSL_REDIRECT"]
    assert options["SECURE_HSTS_SECONDS"] >= 31_536_000
    assert ["exams.example.org"] == options["ALLOWED_HOSTS"]


def test_forms_from_elsewhere_change_nothing(at: Small) -> None:
    """Forms without a CSRF token or from another origin are rejected with a helpful message."""
    client = at.client("instructor", enforce_csrf_checks=True)
    for headers in ({}, {"origin": "https://evil.example"}):
        answer = client.post(f"{at.base}staff/a/small/visible", {"wanted": "no"}, headers=headers)
        assert 403 == answer.status_code
        assert "reload the page" in answer.content.decode()
    at.offer.refresh_from_db()
    assert at.offer.visible


SIGN_IN = "/app/accounts/login/"


def guess_passwords(at: Small, name: str, address: str, times: int = 8) -> int:
    """Try wrong passwords, and return how many tries were checked before the limit."""
    client = at.client("nobody")
    form = {"login": name, "password": "wrong"}
    answers = [client.post(SIGN_IN, form, REMOTE_ADDR=address) for _ in range(times)]
    return sum("Too many wrong passwords" not in answer.content.decode() for answer in answers)


def test_somebody_elsewhere_cannot_keep_an_owner_out(at: Small) -> None:
    """Wrong passwords count for the address they come from."""
    form = {"login": at.account("ta").username, "password": PASSWORD}
    assert 5 == guess_passwords(at, form["login"], "203.0.113.5")
    assert 200 == at.client("nobody").post(SIGN_IN, form, REMOTE_ADDR="203.0.113.5").status_code
    assert 302 == at.client("nobody").post(SIGN_IN, form, REMOTE_ADDR="203.0.113.6").status_code


def test_a_known_browser_gets_in_while_somebody_at_the_same_address_guesses(
    at: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known browser can still sign in to its own account, with a limit of wrong passwords."""
    from autograder.web import account

    monkeypatch.setattr(account, "MOST_FAILED", 3)
    credentials, other = (
        {"login": at.account(role).username, "password": PASSWORD} for role in ("ta", "instructor")
    )
    client = at.client("nobody")
    assert 302 == client.post(SIGN_IN, credentials).status_code
    cookie = client.cookies["known-browser"]
    assert (True, "Lax", "/app/") == (cookie["httponly"], cookie["samesite"], cookie["path"])
    client.post("/app/accounts/logout/")
    guess_passwords(at, credentials["login"], "127.0.0.1")
    assert 200 == at.client("nobody").post(SIGN_IN, credentials).status_code
    assert 200 == client.post(SIGN_IN, other).status_code
    assert 302 == client.post(SIGN_IN, credentials).status_code
    client.post("/app/accounts/logout/")
    forged = at.client("nobody")
    forged.cookies["known-browser"] = cookie.value[:-2] + "xx"
    assert 200 == forged.post(SIGN_IN, credentials).status_code
    wrong = {**credentials, "password": "wrong"}
    answers = [client.post(SIGN_IN, wrong).content.decode() for _ in range(6)]
    assert "Too many wrong passwords" in answers[-1]


def test_a_link_for_a_new_password_is_the_way_in_for_whoever_is_kept_out(at: Small) -> None:
    """A reset link works in an unknown browser, even at an address that is blocked."""
    from autograder.web.account import create_invitation

    account = at.account("ta")
    guess_passwords(at, account.username, "127.0.0.1")
    link, _ = create_invitation(None, account)
    client, new = at.client("nobody"), "another long enough passphrase"
    form = {"new_password1": new, "new_password2": new}
    assert 302 == client.post(link, form).status_code
    assert 302 == client.post(SIGN_IN, {"login": account.username, "password": new}).status_code


@pytest.mark.slow
def test_passwords_cannot_be_guessed_for_long(at: Small) -> None:
    """After five wrong passwords even the right one is rejected; messages do not reveal which names exist."""
    account = at.account("ta")
    client = at.client("nobody")
    answers = [
        client.post("/app/accounts/login/", {"login": name, "password": "wrong"}).content.decode()
        for name in (account.username, "nobody-of-this-name")
    ]
    assert 1 == len({re.findall(r'role="alert">([^<]*)', content)[0] for content in answers})
    for _ in range(10):
        client.post("/app/accounts/login/", {"login": account.username, "password": "wrong"})
    answer = client.post("/app/accounts/login/", {"login": account.username, "password": PASSWORD})
    assert 302 != answer.status_code


def test_an_address_from_which_too_many_tries_fail_has_to_wait(
    at: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit per address covers all names; other addresses and successful sign-ins do not count."""
    from autograder.web import account

    monkeypatch.setattr(account, "MOST_FAILED", 3)
    monkeypatch.setattr(account.time, "time", lambda: 1.8e9)  # all within one minute
    form, wrong = {"login": at.account("ta").username, "password": PASSWORD}, {"password": "wrong"}

    def status(form: dict[str, str], address: str) -> int:
        return int(at.client("nobody").post("/app/accounts/login/", form, REMOTE_ADDR=address).status_code)

    assert {302} == {status(form, "203.0.113.5") for _ in range(4)}
    assert {200} == {status({"login": f"name-{number}", **wrong}, "203.0.113.5") for number in range(3)}
    assert (200, 302) == (status(form, "203.0.113.5"), status(form, "203.0.113.6"))


def test_a_class_signs_in_at_once_from_one_address(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signing in with the right password does not wait for a lock per address."""
    from allauth.core.internal import ratelimit

    monkeypatch.setattr(ratelimit, "CACHE_LOCK_WAIT_TIMEOUT", 0)
    taken = ratelimit.cache.add
    monkeypatch.setattr(
        ratelimit.cache,
        "add",
        lambda key, *arguments, **more: ":ip:" not in key and taken(key, *arguments, **more),
    )
    form = {"login": at.account("ta").username, "password": PASSWORD}
    assert 302 == at.client("nobody").post("/app/accounts/login/", form).status_code


def test_nobody_makes_an_account_without_an_invitation(at: Small) -> None:
    """The sign-up page of django-allauth is disabled."""
    client = at.client("nobody")
    answer = client.post(
        "/app/accounts/signup/", {"username": "uninvited", "password1": PASSWORD, "password2": PASSWORD}
    )
    from autograder.service.models import Account

    assert not Account.objects.filter(username="uninvited").exists()
    assert "sessionid" not in client.cookies or answer.status_code != 302


def test_another_host_is_refused(at: Small, caplog: pytest.LogCaptureFixture) -> None:
    """A forged Host header could redirect invitations. The log names the rejected and the allowed hosts."""
    with caplog.at_level("WARNING", "autograder.web.operation"):
        assert 400 == at.client().get("/app/", headers={"host": "evil.example"}).status_code
    (line,) = [record.getMessage() for record in caplog.records if record.name == "autograder.web.operation"]
    assert "refused a request for the host evil.example; allowed: testserver" in line


def test_what_students_write_is_text(at: Small) -> None:
    """HTML in answers and names is escaped on pages of students and staff."""
    files = course.answered(at.folder, mlp_answer=f"mlp_parameters = {EVIL!r}", thoughts=EVIL)
    client = at.client()
    client.post(page(at), sent(files))
    content = text(client.get(f"{page(at)}1/"))
    assert "<script>alert" not in content
    assert "<img src=x" not in content
    from autograder.service.models import Member

    Member.objects.filter(course=at.record, student="ada").update(first_name=EVIL, last_name=EVIL)
    content = text(at.client("instructor").get(f"{at.base}staff/members/"))
    assert "<script>alert" not in content
    assert "&lt;script&gt;" in content


def test_files_come_back_as_files(at: Small) -> None:
    """Submitted files are downloads and never displayed as a page."""
    client = at.client()
    evil = {"page.html": EVIL.encode(), "a.svg": b"<svg onload=alert(1)>"}
    client.post(page(at), sent({"code.ipynb": course.released(at.folder)["code.ipynb"], **evil}))
    for name in ("page.html", "a.svg"):
        answer = client.get(f"{page(at)}1/files/{name}")
        assert "application/octet-stream" == answer.headers["Content-Type"]
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Security-Policy"].startswith("sandbox")
        assert evil[name] == answer.getvalue()


@pytest.mark.parametrize(
    "name", ["../code.ipynb", "..%2f..%2fsecret", "%2e%2e/secret", ".autograder/secret", "a\\b"]
)
def test_no_address_leads_out_of_the_release(at: Small, name: str) -> None:
    """File names are looked up in the release or the attempt, so other files cannot be reached."""
    client = at.client()
    course.handed_in(at.offer, "ada", course.released(at.folder))
    for place in ("files/", "1/files/"):
        assert 404 == client.get(f"{page(at)}{place}{name}").status_code


def test_figures_are_for_this_machine(at: Small) -> None:
    """Metrics are served to the local machine, but not through a proxy without the key."""
    client = at.client("nobody")
    assert "autograder_attempts" in text(client.get("/metrics"))
    assert 403 == client.get("/metrics", headers={"x-forwarded-for": "127.0.0.1"}).status_code
    assert 403 == client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code


def test_a_request_is_one_line_without_what_is_personal(at: Small, caplog: pytest.LogCaptureFixture) -> None:
    """The entry has ID, method, route, status and time, but no address, name or query."""
    with caplog.at_level("INFO", "autograder.web.requests"):
        at.client().get(f"{page(at)}?token=secret", headers={"x-request-id": "from-proxy-1"})
    line = caplog.records[-1].facts  # type: ignore[attr-defined]
    assert {"request", "method", "route", "status", "ms"} == set(line)
    assert ("from-proxy-1", "assignment", 200) == (line["request"], line["route"], line["status"])
    assert "secret" not in caplog.text
    assert "ada" not in caplog.text.replace("adam", "")


def test_what_no_database_keeps_is_refused_in_words(at: Small) -> None:
    """NUL bytes and huge numbers in addresses and fields cause no internal error."""
    client = at.client("instructor")
    for place in ("a/%00/", "staff/a/%00/", f"staff/a/{at.offer.assignment}/of/%00/"):
        assert 400 == client.get(f"{at.base}{place}").status_code, place
    staff = f"{at.base}staff/a/{at.offer.assignment}/extension"
    assert 400 == client.post(staff, {"student": "a\0da"}).status_code
    assert 400 == client.post("/app/keys/", {"label": "\0"}).status_code
    at.offer.times = {"end": "2031-01-01T00:00:00Z"}
    at.offer.save()
    at.client("student")
    answer = client.post(staff, {"student": "ada", "extra_minutes": "9" * 5000}, follow=True)
    assert "not saved" in text(answer)
    assert {"end"} == set(type(at.offer).objects.get(pk=at.offer.pk).times)


def test_two_files_of_one_name_are_refused(at: Small) -> None:
    """Two files of the same name are rejected, because it is unclear which one counts."""
    client = at.client()
    twice = [SimpleUploadedFile("code.ipynb", data) for data in (b"{}", b"[]")]
    content = text(client.post(page(at), {"files": twice}, follow=True))
    assert "Two files are called code.ipynb" in content
    assert not at.offer.attempts.exists()


def test_a_name_is_taken_however_it_is_spelt(at: Small) -> None:
    """User names are unique regardless of case, as sign-in ignores it."""
    from django.db import IntegrityError, transaction

    from autograder.service.models import Account

    Account.objects.create(username=f"Grace-{at.record.slug}")
    with pytest.raises(IntegrityError), transaction.atomic():
        Account.objects.create(username=f"grace-{at.record.slug}")


def test_what_changes_how_somebody_signs_in_stands_in_the_log(at: Small) -> None:
    """A changed password is in the log of the service."""
    from autograder.service.models import AuditEntry

    client, account = at.client(), at.account("student")
    assert account is not None
    client.post("/app/accounts/login/", {"login": account.username, "password": PASSWORD})
    fields = {"oldpassword": PASSWORD, "password1": PASSWORD + "!", "password2": PASSWORD + "!"}
    assert 302 == client.post("/app/accounts/password/change/", fields).status_code
    newest = AuditEntry.objects.order_by("-pk")[0]
    assert (account.username, "password changed") == (newest.who, newest.action)


def test_sessions_that_have_ended_are_deleted(
    service_database: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's sweep deletes expired sessions."""
    del service_database
    from django.contrib.sessions.backends.db import SessionStore

    from autograder.service import worker

    keys = {}
    for name, seconds in (("ended", -60), ("valid", 60)):
        session = SessionStore()
        session.set_expiry(seconds)
        session.save(must_create=True)
        keys[name] = session.session_key
    for module, sweep in (
        (worker.attempts, "sweep_attempts"),
        (worker.grading, "sweep_trials"),
        (worker.drafts, "sweep_drafts"),
        (worker.sending, "sweep_notices"),
        (worker.platforms, "sweep_scores"),
        (worker.retention, "sweep_courses"),
    ):
        monkeypatch.setattr(module, sweep, lambda: 0)
    monkeypatch.setattr(worker, "_SWEEPS", 1)
    monkeypatch.setattr(worker, "SWEEP_SECONDS", 0)
    stop = threading.Event()
    rounds = iter([False, True])
    monkeypatch.setattr(stop, "wait", lambda _: next(rounds))
    worker._run_sweeps(stop)
    assert [False, True] == [SessionStore().exists(keys[name]) for name in ("ended", "valid")]
