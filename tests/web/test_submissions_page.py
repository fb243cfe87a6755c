"""The table of submissions lists the whole class, with search and sorting on the server."""

from __future__ import annotations

import re

import pytest

from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import graded, page
from tests.web.test_student import text


@pytest.fixture
def class_(at: Small) -> Small:
    """Return a class with a graded, a waiting and a missing submission. Names and IDs sort differently."""
    from autograder.service.models import Member

    names = {"ada": ("Ada", "Zuse"), "bob": ("Bob", "Mills"), "cem": ("<b>Cem</b>", "Adams")}
    for who, (first, last) in names.items():
        Member.objects.create(course=at.record, role="student", student=who, first_name=first, last_name=last)
    graded(at, "ada")
    course.handed_in(at.offer, "bob", course.released(at.folder))
    return at


def students(at: Small, query: str) -> list[str]:
    """Return the student IDs in the order of the table."""
    content = text(at.client("ta").get(f"{page(at)}submissions/{query}"))
    return re.findall(r'<td data-of="Student ID">(\w+)</td>', content)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["cem", "bob", "ada"]),
        ("?sort=-name", ["ada", "bob", "cem"]),
        ("?sort=student", ["ada", "bob", "cem"]),
        ("?sort=-number&q=m", ["bob", "cem"]),
        ("?sort=points", ["bob", "cem", "ada"]),
        ("?q=zuse+ADA", ["ada"]),
        ("?q=nobody", []),
        ("?sort=password&page=99&q=", ["cem", "bob", "ada"]),
    ],
)
def test_students_are_found_and_sorted(class_: Small, query: str, expected: list[str]) -> None:
    """The table is sorted by name by default, and ignores invalid parameters."""
    order = students(class_, query)
    if query.startswith("?sort=points"):  # students without points come first, in any order
        assert ({"bob", "cem"}, "ada") == (set(order[:2]), order[2])
    else:
        assert expected == order


def test_everybody_has_a_name_and_a_state(class_: Small) -> None:
    """Students without a submission are listed, too, and names are escaped."""
    content = text(class_.client("ta").get(f"{page(class_)}submissions/"))
    assert "Zuse, Ada" in content
    assert "Adams, &lt;b&gt;Cem&lt;/b&gt;" in content
    states = re.findall(r'<span class="badge \w*">([^<]+)</span></td>', content)
    assert ["Nothing submitted yet", "waiting to be graded", "provisional"] == states


def test_only_who_may_change_them_sees_the_settings(class_: Small) -> None:
    """Settings are for instructors only, and regrading asks for confirmation."""
    settings = f'href="{page(class_)}settings/"'
    assert settings not in text(class_.client("head-ta").get(page(class_)))
    assert settings in text(class_.client("instructor").get(page(class_)))
    content = text(class_.client("head-ta").get(f"{page(class_)}submissions/"))
    assert "This cannot be undone." in content
    assert "This cannot be undone." not in text(class_.client("ta").get(f"{page(class_)}submissions/"))


def test_members_are_found(class_: Small) -> None:
    """Members are found by a part of their name."""
    content = text(class_.client("instructor").get(f"{class_.base}staff/members/?q=mil"))
    assert "Mills, Bob" in content
    assert "Zuse" not in content
    assert "1 of 4 entries match" in content
