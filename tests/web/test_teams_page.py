"""Groups, penalties and slip days on the pages of instructors."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.app import open_course
from tests.service import course
from tests.support.small_course import NAME
from tests.web.people import Small
from tests.web.test_staff import entries, page
from tests.web.test_student import text


@pytest.fixture
def client(at: Small) -> Any:
    """Return an instructor's browser in a course with three students."""
    from autograder.service.models import Member

    for who in ("ada", "bob", "zoe"):
        Member.objects.get_or_create(course=at.record, role="student", student=who)
    return at.client("instructor")


def form(at: Small, client: Any, **fields: Any) -> tuple[str, dict[str, list[str]]]:
    """Submit the form for groups, and return the page and the groups."""
    content = text(client.post(f"{page(at)}groups/", fields, follow=True))
    at.offer.refresh_from_db()
    return content, at.offer.groups


def states(at: Small) -> list[str]:
    """Return the states of all attempts."""
    return list(at.offer.attempts.order_by("student").values_list("state", flat=True))


def test_groups_are_formed_changed_and_dissolved(at: Small, client: Any) -> None:
    """The students concerned are regraded, and those without an attempt have no result."""
    from autograder.service.store import DatabaseStore

    for who in ("ada", "zoe"):
        course.handed_in(at.offer, who, course.released(at.folder))
    course.graded_without_a_box(at.offer)
    content, groups = form(at, client, new="yes", group="red", members="ada, bob")
    assert {"red": ["ada", "bob"]} == groups
    assert "This affects 2 students" in content
    assert ["waiting", "graded"] == states(at)
    course.graded_without_a_box(at.offer)
    assert {"ada", "bob", "zoe"} == set(DatabaseStore(at.record).load_results(NAME))
    content, groups = form(at, client, group="red", members="ada")
    assert {"red": ["ada"]} == groups, content
    assert {"ada", "zoe"} == set(DatabaseStore(at.record).load_results(NAME))
    content, groups = form(at, client, group="red", members="")
    assert {} == groups, content
    assert "There are no groups" in content
    assert 3 == len([action for action, _, _ in entries(at) if action == "groups"])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"new": "yes", "group": "blue", "members": "ada"}, "ada is already in group red"),
        ({"new": "yes", "group": "blue", "members": "eve"}, "eve is not on the class list"),
        ({"new": "yes", "group": "red", "members": "zoe"}, "cannot be the name of a new group"),
        ({"new": "yes", "group": "zoe", "members": "zoe"}, "cannot be the name of a new group"),
        ({"new": "yes", "group": "=x", "members": "zoe"}, "cannot be the name of a new group"),
        ({"group": "", "members": "zoe"}, "cannot be the name of a new group"),
    ],
)
def test_what_cannot_be_a_group_is_refused(at: Small, client: Any, fields: dict[str, str], why: str) -> None:
    """The message states the reason; groups and log do not change."""
    form(at, client, new="yes", group="red", members="ada bob")
    content, groups = form(at, client, **fields)
    assert why in content
    assert {"red": ["ada", "bob"]} == groups
    assert 1 == len([action for action, _, _ in entries(at) if action == "groups"])


def test_marks_of_people_are_not_lost(at: Small, client: Any) -> None:
    """A student with manual marks cannot leave the group if no attempt would be left."""
    from decimal import Decimal

    from autograder.grading.grades import PersonMark
    from autograder.service.store import DatabaseStore

    form(at, client, new="yes", group="red", members="ada bob")
    course.handed_in(at.offer, "ada", course.released(at.folder))
    course.graded_without_a_box(at.offer)
    DatabaseStore(at.record).give_mark(NAME, "bob", ("formulas", "mlp-why"), PersonMark(points=Decimal(1)))
    content, groups = form(at, client, group="red", members="ada")
    assert "bob would have no attempt left" in content
    assert {"red": ["ada", "bob"]} == groups
    assert ["graded"] == states(at)


def test_a_file_states_all_groups_and_stands_before_the_folders(at: Small, client: Any) -> None:
    """The file replaces all groups and their dates. Importing the assignment again keeps the groups."""
    from autograder.service import versions

    at.offer.groups = {"old": ["zoe"]}
    at.offer.times = {"end": "2031-02-03T10:00:00Z", "groups": {"old": {"extra_minutes": 5}}}
    at.offer.save()
    sent = SimpleUploadedFile("g.csv", b"group,student,assignment\nred,ada,\nred,bob,small\n")
    content, groups = form(at, client, list=sent)
    assert {"red": ["ada", "bob"]} == groups, content
    assert {} == at.offer.times["groups"]
    assert {"red": ["ada", "bob"]} == versions.create_or_update_offer(
        at.record, open_course(at.folder), NAME
    ).groups
    sent = SimpleUploadedFile("g.csv", b"group,student\nred,ada\nblue,ada\n")
    content, groups = form(at, client, list=sent)
    assert "stands twice" in content
    assert {"red": ["ada", "bob"]} == groups
    client.cookies["django_language"] = "de"
    assert "Neue Gruppe" in text(client.get(f"{page(at)}groups/"))


TERMS = {
    "end": "2031-02-03T10:00:00",
    "zone": "Europe/Berlin",
    "late": "penalty",
    "grace": "10",
    "way": "per_day",
    "amount": "2,5",
    "unit": "percent",
    "cap": "50",
    "floor": "",
    "closed": "72",
    "late_days": "24-hours",
    "slip_days": "5",
    "slip_most": "2",
}


def test_penalties_and_slip_days_are_stated_where_dates_are(at: Small, client: Any) -> None:
    """Students see the rules, the form keeps them, and invalid ones change nothing."""
    client.post(f"{page(at)}times", TERMS)
    at.offer.refresh_from_db()
    assert {"per_day": "2.5", "unit": "percent", "cap": "50", "closed_after_hours": 72} == at.offer.times[
        "penalty"
    ]
    assert {"days": 5, "most": 2, "place": 0} == at.offer.times["slip_days"]
    assert (10, "24-hours") == (at.offer.times["grace_minutes"], at.offer.times["late_days"])
    read = text(at.client().get(f"{at.base}a/{NAME}/"))
    assert "Late penalty: 2.5 percent of the possible points for each day" in read
    assert "A day has 24 hours" in read
    assert "Slip days left: 5" in read
    again = text(client.get(f"{page(at)}settings/"))
    for value in (
        'value="2.5"',
        'value="72"',
        'value="5"',
        '<option value="per_day" selected>',
        '"24-hours" selected',
    ):
        assert value in again
    client.post(f"{page(at)}times", {**TERMS, "way": "steps", "amount": "0: 5, 24: 20", "slip_days": ""})
    at.offer.refresh_from_db()
    steps = [{"after_hours": 0, "take": "5"}, {"after_hours": 24, "take": "20"}]
    assert steps == at.offer.times["penalty"]["steps"]
    assert "slip_days" not in at.offer.times
    client.post(f"{page(at)}times", {**TERMS, "late_days": "calendar"})
    at.offer.refresh_from_db()
    assert "late_days" not in at.offer.times
    client.post(f"{page(at)}times", {**TERMS, "way": "steps", "amount": "0: 5, 24: 20", "slip_days": ""})
    at.offer.refresh_from_db()
    assert 'value="0: 5, 24: 20"' in text(client.get(f"{page(at)}settings/"))
    before = at.offer.times
    for bad in (
        {"amount": "much"},
        {"grace": "soon"},
        {"amount": "-3"},
        {"unit": "miles"},
        {"late_days": "odd"},
        {"way": "odd"},
    ):
        content = text(client.post(f"{page(at)}times", {**TERMS, **bad}, follow=True))
        assert "The dates were not saved" in content, bad
    at.offer.refresh_from_db()
    assert before == at.offer.times


def test_slip_days_are_one_bank(at: Small, client: Any) -> None:
    """Changing the number of slip days changes it for all assignments that have any."""
    from autograder.service.models import Offer

    slip = {"days": 3, "most": 3, "place": 0}
    other = Offer.objects.create(
        course=at.record,
        assignment="other",
        version=at.offer.version,
        title="Other",
        times={"end": "2031-01-03T10:00:00Z", "slip_days": slip},
    )
    client.post(f"{page(at)}times", {**TERMS, "slip_days": "2"})
    other.refresh_from_db()
    at.offer.refresh_from_db()
    assert {"days": 2, "most": 2, "place": 0} == other.times["slip_days"]
    assert {"days": 2, "most": 2, "place": 1} == at.offer.times["slip_days"]
