"""Newer pages in both widths, light, dark and on paper: similarity, statistics, groups and others."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.thorough import rotating
from tests.web.browser.reader import SHOTS, Reader
from tests.web.people import Small
from tests.web.test_changed_marks import feedback, give, published
from tests.web.test_matrix import drafted
from tests.web.test_similar_page import class_of, compared, place

pytestmark = pytest.mark.apart

MOST_SHEETS = 6
"""Limit of sheets for a page of a small class."""


@pytest.fixture
def full(at: Small) -> Small:
    """Return a class with content for each page: a copy, groups, penalties and a changed mark."""
    from autograder.service.models import Member

    for who in ("bob", "cem", "dia", "eva", "fay", "gus"):
        Member.objects.create(course=at.record, role="student", student=who, first_name=who.title())
    client = published(at)
    feedback(client, at)
    give(at, "2", "The norms belong to it, as the lecture of the second week has it.")
    class_of(at)
    at.offer.groups = {"red": ["cem", "dia"], "averyverylongnameofagroupthatsomebodychose": ["eva"]}
    at.offer.times = {
        "end": "2031-02-03T10:00:00Z",
        "late": "penalty",
        "penalty": {"steps": [{"after_hours": 0, "take": "5"}, {"after_hours": 24, "take": "20"}]},
        "slip_days": {"days": 5, "most": 2, "place": 0},
    }
    at.offer.save()
    at.client("ta").post(place(at))
    compared(at)
    return at


@pytest.mark.parametrize(("language", "scheme"), rotating([("en", "light"), ("de", "dark")], 2))
def test_the_newer_pages(full: Small, reader: Callable[..., Reader], language: str, scheme: str) -> None:
    """The pages are accessible and fit on a few sheets of paper."""
    visitor = reader(locale=language, color_scheme=scheme)
    visitor.is_known(full, "instructor")
    staff = f"{full.base}staff/a/small/"
    pages = {
        "similar": f"{staff}similar/?names=yes",
        "statistics": f"{staff}statistics/",
        "groups-formed": f"{staff}groups/",
        "platform-files": f"{staff}platforms/",
        "staff-overview": staff,
        "staff-settings": f"{staff}settings/",
        "members": f"{full.base}staff/members/",
        "member": f"{full.base}staff/members/{first_member(full).pk}/",
        "audit-log": f"{full.base}staff/audit/",
        "attempts": f"{staff}attempts/of/ada/",
        "draft": f"{full.base}staff/drafts/{drafted(full).pk}/",
        "notifications": f"{full.base}staff/notifications/",
        "account": "/app/keys/",
    }
    sheets = {}
    for name, path in pages.items():
        visitor.goto(path)
        visitor.looks(f"{name}-{scheme}")
        sheets[name] = printed(visitor, name)
    owner = reader(locale=language, color_scheme=scheme)
    owner.is_known(full, "superuser")
    person = full.account("student").pk
    for name, path in {
        "people": "/app/people/?search=ada",
        "person": f"/app/people/account/{person}/",
    }.items():
        owner.goto(path)
        owner.looks(f"{name}-{scheme}")
        sheets[name] = printed(owner, name)
    student = reader(locale=language, color_scheme=scheme)
    student.is_known(full)
    student.goto(f"{full.base}a/small/")
    student.looks(f"changed-{scheme}")
    sheets["changed"] = printed(student, "changed")
    assert {} == {name: number for name, number in sheets.items() if not 0 < number <= MOST_SHEETS}


def first_member(at: Small) -> Any:
    """Return a student."""
    from autograder.service.models import Member

    return Member.objects.filter(course=at.record, role="student").earliest("pk")


def printed(visitor: Reader, name: str) -> int:
    """Return the number of sheets of a printed page."""
    pdf = visitor.page.pdf(format="A4")
    if SHOTS:
        Path(SHOTS, f"{re.sub('[^a-z]', '-', name)}-{visitor.language()}.pdf").write_bytes(pdf)
    return pdf.count(b"/Type /Page\n")


def test_groups_and_a_comparison_without_a_script(full: Small, reader: Callable[..., Reader]) -> None:
    """Forming a group and requesting a comparison work without JavaScript."""
    visitor = reader(java_script_enabled=False)
    visitor.is_known(full, "instructor")
    visitor.goto(f"{full.base}staff/a/small/groups/")
    visitor.page.locator("#group").fill("green")
    visitor.page.locator("#members").fill("fay, gus")
    visitor.press("Create group")
    assert "green" in visitor.text()
    visitor.goto(place(full))
    visitor.press("Compare submissions")
    assert "are being compared" in visitor.text()
