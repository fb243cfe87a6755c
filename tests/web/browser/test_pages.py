"""Every page in a real browser, in two languages and widths: no errors, and accessible."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Route

from autograder.messages import list_languages
from tests.service import course, told
from tests.support.thorough import rotating
from tests.web.browser.reader import Reader
from tests.web.people import PASSWORD, Small
from tests.web.test_staff import canned

pytestmark = pytest.mark.apart


@pytest.fixture(params=rotating(sorted({"en", *list_languages()}), 2))
def language(request: pytest.FixtureRequest) -> str:
    """Return a language of the pages."""
    return str(request.param)


@pytest.fixture
def full(at: Small) -> Small:
    """Return a course with content for every page."""
    from autograder.service import audit
    from autograder.service.models import Member

    for who, name in (("ada", "Ada"), ("bob", "Bob"), ("zoe", "Zoe")):
        Member.objects.create(course=at.record, role="student", student=who, first_name=name)
    answers = {"mlp_answer": 'mlp_parameters = "8 d^2 +"', "layers_answer": "layers = 12"}
    files = course.answered(at.folder, **answers)
    for who in ("ada", "bob"):
        canned(at, course.handed_in(at.offer, who, files))
    attempt = course.handed_in(at.offer, "zoe", {"code.ipynb": b"not a notebook"})
    type(attempt).objects.filter(pk=attempt.pk).update(state="failed", problem="the sandbox did not start")
    course.handed_in(at.offer, "ada", files)
    end = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    at.offer.times = {
        "end": end.replace(microsecond=0).isoformat(),
        "late": "review",
        "students": {"bob": {"extra_minutes": 30}},
    }
    at.offer.published_at = timezone.now()
    at.offer.save()
    audit.record_action("ada", "times", "small", course=at.record, before={}, after=at.offer.times)
    return at


def tour(visitor: Reader, language: str, pages: dict[str, str], status: int = 200) -> None:
    """Open pages, and check their appearance and language."""
    for name, path in pages.items():
        visitor.goto(path, status)
        visitor.looks(name)
        assert language == visitor.language(), name


def test_pages_of_nobody(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages without an account: sign-in, invitation and errors."""
    from autograder.web.account import create_invitation

    visitor = reader()
    visitor.goto("/app/accounts/login/")
    visitor.switches(language)
    pages = {
        "sign-in": "/app/accounts/login/",
        "join": create_invitation(None)[0],
        "closed": "/app/accounts/signup/",
    }
    tour(visitor, language, pages)
    tour(visitor, language, {"not-found": "/app/nowhere", "link-gone": "/app/join/nothing/"}, 404)


def test_pages_of_a_student(full: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages of a student, from the list to the feedback in its frame."""
    visitor = reader()
    visitor.is_known(full)
    visitor.goto(full.base)
    visitor.switches(language)
    place = f"{full.base}a/small/"
    pages = {"course": full.base, "assignment": place, "attempt": f"{place}1/", "waiting": f"{place}2/"}
    tour(visitor, language, pages)
    visitor.goto(f"{place}feedback/")
    visitor.looks("feedback")
    frame = visitor.page.locator("iframe.made").get_attribute("src")
    visitor.page.route("**/frame/*", without_policy)
    tour(visitor, language, {"feedback-itself": str(frame)})
    tour(visitor, language, {"no-such-attempt": f"{place}9/"}, 404)
    tour(visitor, language, {"not-for-students": f"{full.base}staff/"}, 403)


def test_pages_before_anything_happened(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Empty pages: no course, several courses, an assignment before its start, and an empty course."""
    from autograder.service.models import CourseRecord, Member

    visitor = reader()
    visitor.is_known(at, "stranger")
    visitor.goto("/app/")
    visitor.switches(language)
    visitor.looks("no-course")
    account = at.account("stranger")
    empty = CourseRecord.objects.create(slug=f"{at.record.slug}-2", title="An empty course", secret=b"-" * 32)
    Member.objects.create(course=at.record, role="student", student="eve", account=account)
    Member.objects.create(course=empty, role="instructor", account=account)
    begins = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(hours=1)
    at.offer.times = {"start": begins.isoformat(), "end": (begins + datetime.timedelta(hours=1)).isoformat()}
    at.offer.save()
    base = f"/app/c/{empty.slug}/staff/"
    pages = {"courses": "/app/", "not-begun": f"{at.base}a/small/", "not-begun-course": at.base}
    tour(visitor, language, {**pages, "staff-empty": base, "audit-empty": f"{base}audit/"})


def test_pages_of_staff(full: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages of staff: progress, a complete assignment, members, feedback and the audit log."""
    from django.conf import settings

    settings.RUNNING.folders[full.record.slug] = full.folder
    visitor = reader()
    visitor.is_known(full, "instructor")
    base = f"{full.base}staff/"
    visitor.goto(base)
    visitor.switches(language)
    pages = {
        "staff": base,
        "staff-assignment": f"{base}a/small/",
        "submissions": f"{base}a/small/submissions/",
        "submissions-found": f"{base}a/small/submissions/?q=ada&sort=-points",
        "settings": f"{base}a/small/settings/",
        "staff-feedback": f"{base}a/small/of/ada/",
        "members": f"{base}members/",
        "audit": f"{base}audit/",
    }
    tour(visitor, language, pages)
    visitor.goto(f"{base}members/")
    visitor.click(visitor.page.locator("table a", has_text="bob").first)
    visitor.click(visitor.page.locator("form[action$=invitation] button").first)
    visitor.looks("invitation")


def test_pages_of_requests(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages of regrade requests for students and staff."""
    from autograder.service.marking import regrade_requests

    question = told.RUBRIC.get_question("mlp")
    for who in ("ada", "bob"):
        told.graded(at.offer, at.folder, who, told.told("activation", "name", told.UNKNOWN))
    told.published(at.offer)
    reason = "The norms belong to it, and averyveryveryveryveryveryveryveryveryverylongword as well."
    first = regrade_requests.make_request(at.offer, "ada", question, question.items[0], reason)
    regrade_requests.answer_request(first, at.account("ta"), "No, they do not.", question)
    again = regrade_requests.make_request(at.offer, "ada", question, question.items[0], reason)
    visitor = reader()
    visitor.is_known(at)
    visitor.goto(at.base)
    visitor.switches(language)
    visitor.goto(f"{at.base}a/small/feedback/")
    visitor.page.locator("main summary").first.click()
    visitor.looks("feedback-requests")
    staff, base = reader(), f"{at.base}staff/"
    staff.is_known(at, "instructor")
    staff.goto(base)
    staff.switches(language)
    pages = {
        "requests": f"{base}a/small/requests/",
        "requests-names": f"{base}a/small/requests/?names=yes",
        "request": f"{base}requests/{again.pk}/",
        "request-answered": f"{base}requests/{first.pk}/?names=yes",
    }
    tour(staff, language, pages)


def test_pages_of_an_account(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Account pages: keys, password, and setting up, using and removing a second factor."""
    visitor = reader()
    visitor.signs_in(at)
    visitor.goto("/app/keys/")
    visitor.switches(language)
    visitor.page.locator("#label").fill("my laptop")
    visitor.click(visitor.page.locator("form", has=visitor.page.locator("#label")).locator("button"))
    visitor.looks("key-shown")
    accounts = "/app/accounts/"
    pages = {
        "keys": "/app/keys/",
        "password": f"{accounts}password/change/",
        "factor": f"{accounts}2fa/",
        "activate": f"{accounts}2fa/totp/activate/",
        "reauthenticate": f"{accounts}reauthenticate/",
        "sign-out": f"{accounts}logout/",
    }
    tour(visitor, language, pages)
    visitor.goto(pages["password"])
    for name in ("oldpassword", "password1", "password2"):
        visitor.page.locator(f"#id_{name}").fill("12345678")
    visitor.send()
    visitor.looks("password-refused")

    visitor.goto(pages["reauthenticate"])
    visitor.page.locator("#id_password").fill(PASSWORD)
    visitor.send()
    visitor.goto(pages["activate"])
    visitor.looks("activate-with-code")
    secret = visitor.page.locator("#authenticator_secret").input_value()
    visitor.page.locator("#id_code").fill(code(secret))
    visitor.send()
    visitor.looks("codes")
    pages = {
        "factor-on": f"{accounts}2fa/",
        "codes-new": f"{accounts}2fa/recovery-codes/generate/",
        "deactivate": f"{accounts}2fa/totp/deactivate/",
    }
    tour(visitor, language, pages)
    other = reader(locale=language)
    other.signs_in(at)
    other.looks("second-factor")
    forget_used_codes()
    other.page.locator("#id_code").fill(code(secret))
    other.send()
    assert at.offer.title in other.text()


def without_policy(route: Route) -> None:
    """Serve a frame without its policy, so that the accessibility checker can run in it."""
    answer = route.fetch()
    headers = {name: value for name, value in answer.headers.items() if name != "content-security-policy"}
    route.fulfill(response=answer, headers=headers)


def code(secret: str) -> str:
    """Return the current code of an authenticator app."""
    import time

    from allauth.mfa.totp.internal import auth

    return str(auth.format_hotp_value(auth.hotp_value(secret, int(time.time()) // 30)))


def forget_used_codes() -> None:
    """Forget used codes, so that the test can reuse one within 30 seconds."""
    from django.core.cache import cache

    cache.clear()
