"""All roles, routes and methods: one table determines the status of the response."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver

from tests.service import course
from tests.web.people import ROLES, Small

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STAFF = ("ta", "head-ta", "instructor", "administrator", "superuser")
LEADING = ("instructor", "administrator", "superuser")

ALLOWED = {
    "home": (ROLES[1:], "GET HEAD"),
    "keys": (ROLES[1:], "GET HEAD POST"),
    "remove-key": (ROLES[1:], "POST"),
    "set-mail": (ROLES[1:], "POST"),
    "platforms": (("superuser",), "GET HEAD POST"),
    "confirm-platform": (("superuser",), "POST"),
    "remove-platform": (("superuser",), "POST"),
    "people": (("superuser",), "GET HEAD"),
    "keep-days": (("superuser",), "POST"),
    "person": (("superuser",), "GET HEAD"),
    "person-data": (("superuser",), "GET HEAD"),
    "erase-person": (("superuser",), "POST"),
    "course": (ROLES[2:], "GET HEAD"),
    "assignment": (("student",), "GET HEAD POST"),
    "open-assignment": (("student",), "POST"),
    "archive": (("student",), "GET HEAD"),
    "released-file": (("student",), "GET HEAD"),
    "feedback": (("student",), "GET HEAD"),
    "ask": (("student",), "POST"),
    "withdraw-request": (("student",), "POST"),
    "attempt": (("student",), "GET HEAD"),
    "attempt-state": (("student",), "GET HEAD"),
    "receipt": (("student",), "GET HEAD"),
    "own-file": (("student",), "GET HEAD"),
    "staff": (STAFF, "GET HEAD"),
    "progress": (STAFF, "GET HEAD"),
    "staff-assignment": (STAFF, "GET HEAD"),
    "submissions": (STAFF, "GET HEAD"),
    "settings": (LEADING, "GET HEAD"),
    "staff-feedback": (STAFF, "GET HEAD"),
    "mark-sheet": (STAFF, "GET HEAD POST"),
    "requests": (STAFF, "GET HEAD"),
    "request": (STAFF, "GET HEAD POST"),
    "set-requests-until": (LEADING, "POST"),
    "bench": (STAFF, "GET HEAD POST"),
    "bench-tries": (STAFF, "GET HEAD"),
    "marking": (STAFF, "GET HEAD"),
    "mark-first": (STAFF, "GET HEAD"),
    "mark-undo": (STAFF, "POST"),
    "mark-names": (STAFF, "POST"),
    "mark-answer": (STAFF, "GET HEAD POST"),
    "mark-here": (STAFF, "GET HEAD"),
    "mark-consistency": (STAFF, "GET HEAD"),
    "mark-groups": (STAFF, "GET HEAD"),
    "mark-gather": (STAFF, "POST"),
    "mark-take-out": (STAFF, "POST"),
    "mark-group": (STAFF, "GET HEAD POST"),
    "mark-plan": (STAFF[1:], "POST"),
    "mark-assign": (STAFF[1:], "POST"),
    "mark-edit-items": (STAFF[1:], "GET HEAD POST"),
    "trial-rubric": (STAFF[1:], "GET HEAD"),
    "statistics": (STAFF, "GET HEAD"),
    "retry": (STAFF[1:], "POST"),
    "attempts-of": (STAFF, "GET HEAD"),
    "attempt-file": (STAFF, "GET HEAD"),
    "attempt-receipt": (STAFF, "GET HEAD"),
    "attempt-archive": (STAFF, "GET HEAD"),
    "attempts-archive": (STAFF, "GET HEAD"),
    "class-archive": (STAFF, "GET HEAD"),
    "upload-attempt": (STAFF[1:], "POST"),
    "choose-attempt": (STAFF[1:], "POST"),
    "drop-choice": (STAFF[1:], "POST"),
    "grade-again": (STAFF[1:], "POST"),
    "create-course": (("superuser",), "GET HEAD POST"),
    "upload-assignment": (LEADING, "POST"),
    "draft": (LEADING, "GET HEAD"),
    "draft-progress": (LEADING, "GET HEAD"),
    "check-draft": (LEADING, "POST"),
    "offer-draft": (LEADING, "POST"),
    "discard-draft": (LEADING, "POST"),
    "members": (LEADING, "GET HEAD"),
    "member": (LEADING, "GET HEAD POST"),
    "import-list": (LEADING, "POST"),
    "add-member": (LEADING, "POST"),
    "invite-everybody": (LEADING, "POST"),
    "remove-member": (LEADING, "POST"),
    "restore-member": (LEADING, "POST"),
    "invite": (LEADING, "POST"),
    "new-password": (("superuser",), "POST"),
    "reset-factor": (("superuser",), "POST"),
    "audit-log": (LEADING, "GET HEAD"),
    "export-audit-log": (LEADING, "GET HEAD"),
    "verify-audit-log": (LEADING, "POST"),
    "notifications": (LEADING, "GET HEAD POST"),
    "mail-marks": (LEADING, "POST"),
    "remove-webhook": (LEADING, "POST"),
    "platform-list": (LEADING, "POST"),
    "disconnect": (LEADING, "POST"),
    "send-marks": (STAFF[1:], "POST"),
    "cap-marks": (LEADING, "POST"),
    "similar": (STAFF, "GET HEAD POST"),
    "student-groups": (LEADING, "GET HEAD POST"),
    "platform-files": (LEADING, "GET HEAD POST"),
    "lti-connect": (ROLES[1:], "GET HEAD POST"),
    "set-visible": (LEADING, "POST"),
    "set-published": (LEADING, "POST"),
    "set-times": (LEADING, "POST"),
    "set-extension": (LEADING, "POST"),
    "update": (LEADING, "POST"),
    "trial": (STAFF[1:], "GET HEAD"),
    "trial-progress": (STAFF[1:], "GET HEAD"),
    "trial-apply": (LEADING, "POST"),
    "trial-drop": (LEADING, "POST"),
    "trial-again": (STAFF[1:], "POST"),
}
"""Roles and methods allowed for each route. Others are redirected to sign in or get 403 or 404."""
FOR_NOTHING = {
    "mark-first",
    "mark-answer",
    "mark-here",
    "mark-groups",
    "mark-gather",
    "mark-take-out",
    "mark-group",
    "mark-plan",
    "mark-edit-items",
    "remove-key",
    "member",
    "remove-member",
    "restore-member",
    "remove-webhook",
    "person",
    "person-data",
    "erase-person",
    "invite",
    "new-password",
    "reset-factor",
    "update",
    "confirm-platform",
    "remove-platform",
    "platform-list",
    "disconnect",
    "lti-connect",
    "ask",
    "withdraw-request",
    "request",
}
"""Routes whose object, such as a key, user or request, does not exist in the test."""
OPEN = {
    "front",
    "healthz",
    "metrics",
    "receipt-key",
    "frame",
    "answer-frame",
    "language",
    "lti-keys",
    "lti-login",
    "lti-launch",
    "lti-select",
    "lti-register",
    "join",
}
"""Public routes, each with separate tests."""


def tried(at: Small) -> Any:
    """Create a trial of a version without changes."""
    from autograder.service.models import VersionTrial

    version = at.offer.version
    return VersionTrial.objects.create(
        offer=at.offer, version=version, base=version, by=at.account("instructor")
    )


def drafted(at: Small) -> Any:
    """Create a draft whose check failed."""
    from django.utils import timezone

    from autograder.service import blobs
    from autograder.service.models_results import Draft

    return Draft.objects.create(
        course=at.record,
        assignment="small",
        archive_id=blobs.store_blobs([b"zip"])[0],
        by=at.account("instructor"),
        state="failed",
        queued_at=timezone.now(),
    )


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield the routes of the project with their names."""
    from autograder.web import urls

    def below(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield pattern
            elif str(pattern.pattern) != "api/" and "accounts/" not in str(
                pattern.pattern
            ):  # see test_rest.py
                yield from below(pattern.url_patterns)

    for pattern in below(urls.urlpatterns):
        yield str(pattern.name), pattern


def test_every_route_stands_in_the_table(at: Small) -> None:
    """Every route is in the table."""
    assert ALLOWED.keys() | OPEN == {name for name, _ in routes()}


def test_the_table_holds_for_every_role_and_method(at: Small) -> None:
    """Every role and method gets the expected status; the statuses are printed."""
    from django.db import transaction
    from django.urls import reverse

    course.handed_in(at.offer, "ada", course.released(at.folder))
    at.offer.published_at = at.offer.attempts.get().submitted_at
    at.offer.save()
    parts = {
        "slug": at.record.slug,
        "assignment": at.offer.assignment,
        "number": 1,
        "name": "code.ipynb",
        "who": "ada",
        "identifier": at.offer.attempts.get().pk,
        "member": 999_999,
        "key": 999_999,
        "webhook": 999_999,
        "kind": "account",
        "person": 999_999,
        "connection": 999_999,
        "platform": 999_999,
        "place": 999_999,
        "answer": 999_999,
        "trial": tried(at).pk,
        "draft": drafted(at).pk,
    }
    unexpected = []
    for role in ROLES:
        client = at.client(role)
        for name, _ in routes():
            if name in OPEN:
                continue
            roles, methods = ALLOWED[name]
            place = reverse(name, kwargs={key: parts[key] for key in _keys(name)})
            statuses = {}
            for method in METHODS:
                with transaction.atomic():
                    with contextlib.closing(client.generic(method, place)) as answer:
                        statuses[method] = answer.status_code
                    transaction.set_rollback(True)  # undo changes before the next request
                if method not in methods.split():
                    expected = {405}
                elif role == "nobody":
                    expected = {302}
                elif role not in roles:
                    expected = {403, 404}
                elif name in FOR_NOTHING:
                    expected = {404}
                else:
                    expected = {200, 302} if method == "POST" or name in {"home", "course"} else {200}
                if statuses[method] not in expected:
                    unexpected.append((role, method, name, statuses[method]))
            print(f"{role:14} {name:18}", *(f"{method} {status}" for method, status in statuses.items()))
    assert [] == unexpected


def _keys(name: str) -> set[str]:
    """Return the parameters in a route's address."""
    from django.urls import get_resolver

    [(_, keys)] = get_resolver().reverse_dict.getlist(name)[0][0]
    return set(keys)


@pytest.mark.parametrize("role", ["ta", "head-ta", "instructor", "administrator"])
def test_staff_of_one_course_are_nobody_in_another(at: Small, role: str) -> None:
    """Staff of another course get 404, so they do not learn that the course exists."""
    from autograder.service.models import CourseRecord

    other = CourseRecord.objects.create(slug=f"other-{uuid.uuid4().hex[:8]}", title="Other", secret=bytes(32))
    client = at.client(role)
    for place in ("staff/", "staff/members/", "staff/audit/", "", "a/small/"):
        assert 404 == client.get(f"/app/c/{other.slug}/{place}").status_code
