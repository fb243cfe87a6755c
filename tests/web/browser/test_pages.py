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
    made = course.handed_in(at.offer, "zoe", {"code.ipynb": b"not a notebook"})
    type(made).objects.filter(pk=made.pk).update(state="failed", problem="the sandbox did not start")
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


def tour(one: Reader, language: str, pages: dict[str, str], status: int = 200) -> None:
    """Open pages, and check their appearance and language."""
    for name, path in pages.items():
        one.goto(path, status)
        one.looks(name)
        assert language == one.language(), name


def test_pages_of_nobody(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages without an account: sign-in, invitation and errors."""
    from autograder.web.account import create_invitation

    one = reader()
    one.goto("/app/accounts/login/")
    one.switches(language)
    pages = {
        "sign-in": "/app/accounts/login/",
        "join": create_invitation(None)[0],
        "closed": "/app/accounts/signup/",
    }
    tour(one, language, pages)
    tour(one, language, {"not-found": "/app/nowhere", "link-gone": "/app/join/nothing/"}, 404)


def test_pages_of_a_student(full: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages of a student, from the list to the feedback in its frame."""
    one = reader()
    one.is_known(full)
    one.goto(full.base)
    one.switches(language)
    place = f"{full.base}a/small/"
    pages = {"course": full.base, "assignment": place, "attempt": f"{place}1/", "waiting": f"{place}2/"}
    tour(one, language, pages)
    one.goto(f"{place}feedback/")
    one.looks("feedback")
    frame = one.page.locator("iframe.made").get_attribute("src")
    one.page.route("**/frame/*", without_policy)
    tour(one, language, {"feedback-itself": str(frame)})
    tour(one, language, {"no-such-attempt": f"{place}9/"}, 404)
    tour(one, language, {"not-for-students": f"{full.base}staff/"}, 403)


def test_pages_before_anything_happened(at: Small, reader: Callable[..., Reader], language: str) -> None:
    """Empty pages: no course, several courses, an assignment before its start, and an empty course."""
    from autograder.service.models import CourseRecord, Member

    one = reader()
    one.is_known(at, "stranger")
    one.goto("/app/")
    one.switches(language)
    one.looks("no-course")
    account = at.account("stranger")
    empty = CourseRecord.objects.create(slug=f"{at.record.slug}-2", title="An empty course", secret=b"-" * 32)
    Member.objects.create(course=at.record, role="student", student="eve", account=account)
    Member.objects.create(course=empty, role="instructor", account=account)
    begins = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(hours=1)
    at.offer.times = {"start": begins.isoformat(), "end": (begins + datetime.timedelta(hours=1)).isoformat()}
    at.offer.save()
    base = f"/app/c/{empty.slug}/staff/"
    pages = {"courses": "/app/", "not-begun": f"{at.base}a/small/", "not-begun-course": at.base}
    tour(one, language, {**pages, "staff-empty": base, "audit-empty": f"{base}audit/"})


def test_pages_of_staff(full: Small, reader: Callable[..., Reader], language: str) -> None:
    """Pages of staff: progress, a complete assignment, members, feedback and the audit log."""
    from django.conf import settings

    settings.RUNNING.folders[full.record.slug] = full.folder
    one = reader()
    one.is_known(full, "instructor")
    base = f"{full.base}staff/"
    one.goto(base)
    one.switches(language)
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
    tour(one, language, pages)
    one.goto(f"{base}members/")
    one.click(one.page.locator("table a", has_text="bob").first)
    one.click(one.page.locator("form[action$=invitation] button").first)
    one.looks("invitation")


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
    one = reader()
    one.is_known(at)
    one.goto(at.base)
    one.switches(language)
    one.goto(f"{at.base}a/small/feedback/")
    one.page.locator("main summary").first.click()
    one.looks("feedback-requests")
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
    one = reader()
    one.signs_in(at)
    one.goto("/app/keys/")
    one.switches(language)
    one.page.locator("#label").fill("my laptop")
    one.click(one.page.locator("form", has=one.page.locator("#label")).locator("button"))
    one.looks("key-shown")
    accounts = "/app/accounts/"
    pages = {
        "keys": "/app/keys/",
        "password": f"{accounts}password/change/",
        "factor": f"{accounts}2fa/",
        "activate": f"{accounts}2fa/totp/activate/",
        "reauthenticate": f"{accounts}reauthenticate/",
        "sign-out": f"{accounts}logout/",
    }
    tour(one, language, pages)
    one.goto(pages["password"])
    for name in ("oldpassword", "password1", "password2"):
        one.page.locator(f"#id_{name}").fill("12345678")
    one.send()
    one.looks("password-refused")

    one.goto(pages["reauthenticate"])
    one.page.locator("#id_password").fill(PASSWORD)
    one.send()
    one.goto(pages["activate"])
    one.looks("activate-with-code")
    secret = one.page.locator("#authenticator_secret").input_value()
    one.page.locator("#id_code").fill(code(secret))
    one.send()
    one.looks("codes")
    pages = {
        "factor-on": f"{accounts}2fa/",
        "codes-new": f"{accounts}2fa/recovery-codes/generate/",
        "deactivate": f"{accounts}2fa/totp/deactivate/",
    }
    tour(one, language, pages)
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
