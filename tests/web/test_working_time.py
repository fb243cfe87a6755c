"""Assignments with a working time: opening one starts the time, once, for the whole group."""

from __future__ import annotations

import datetime

import pytest

from tests.service import course
from tests.web.people import Small
from tests.web.programs import program_of
from tests.web.test_staff import entries
from tests.web.test_staff import page as staff_page
from tests.web.test_student import in_hours, page, sent, text


@pytest.fixture
def limited(at: Small) -> Small:
    """Return a course with an assignment that is open for five hours and has 90 minutes of working time."""
    at.offer.times = {"start": in_hours(-1), "end": in_hours(4), "minutes": 90, "late": "refuse"}
    at.offer.save()
    return at


def test_files_appear_when_the_student_opens_the_assignment(limited: Small) -> None:
    """Files and submissions are not available before; opening again does not restart the time."""
    from autograder.service.models_results import OpenedAssignment

    client, files = limited.client(), course.released(limited.folder)
    content = text(client.get(page(limited)))
    assert "1 h 30 min" in content or "90 min" in content
    assert "code.ipynb" not in content
    assert 404 == client.get(f"{page(limited)}files.zip").status_code
    assert 404 == client.get(f"{page(limited)}files/code.ipynb").status_code
    assert "open the assignment on its page first" in text(
        client.post(page(limited), sent(files), follow=True)
    )
    assert "code.ipynb" in text(client.post(f"{page(limited)}open", follow=True))
    first = OpenedAssignment.objects.get(offer=limited.offer)
    client.post(f"{page(limited)}open")
    assert first.at == OpenedAssignment.objects.get(offer=limited.offer).at
    assert ["open assignment"] == [action for action, _, _ in entries(limited)]
    client.post(page(limited), sent(files))
    assert 1 == limited.offer.attempts.count()


def test_programs_get_nothing_before_the_opening_either(limited: Small) -> None:
    """Programs cannot start the working time."""
    program = program_of(limited)
    place = f"/courses/{limited.record.slug}/assignments/{limited.offer.assignment}"
    response = program.send("get", place).data
    assert (False, {}) == (response["open"], response["files"])
    assert 404 == program.send("get", f"{place}/files.zip").status
    limited.client().post(f"{page(limited)}open")
    response = program.send("get", place).data
    assert response["open"]
    assert "code.ipynb" in response["files"]


def test_the_working_time_ends_for_each_student(limited: Small) -> None:
    """The time runs from each student's opening, and extra minutes extend it."""
    from autograder.service.models_results import OpenedAssignment

    client = limited.client()
    client.post(f"{page(limited)}open")
    long_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=100)
    OpenedAssignment.objects.filter(offer=limited.offer).update(at=long_ago)
    assert "too late now" in text(client.get(page(limited)))
    assert "Open assignment" in text(limited.client("student", "bob").get(page(limited)))
    staff = limited.client("instructor")
    staff.post(f"{staff_page(limited)}extension", {"student": "ada", "extra_minutes": "30"})
    assert "too late now" not in text(client.get(page(limited)))


def test_a_group_has_one_working_time(limited: Small) -> None:
    """The time starts for all members when the first one opens the assignment."""
    limited.offer.groups = {"red": ["ada", "bob"]}
    limited.offer.save()
    ada, bob = limited.client("student", "ada"), limited.client("student", "bob")
    assert "all members of your group" in text(ada.get(page(limited)))
    ada.post(f"{page(limited)}open")
    assert "code.ipynb" in text(bob.get(page(limited)))
    bob.post(f"{page(limited)}open")
    assert 2 == limited.offer.openings.count()


def test_nothing_opens_too_early_or_without_a_working_time(limited: Small) -> None:
    """Opening needs a CSRF token, a working time, and a start that has passed."""
    client = limited.client()
    guarded = limited.client("student", enforce_csrf_checks=True)
    assert 403 == guarded.post(f"{page(limited)}open").status_code
    for times in ({"start": in_hours(1), "end": in_hours(4), "minutes": 90}, {"end": in_hours(1)}, {}):
        type(limited.offer).objects.filter(pk=limited.offer.pk).update(times=times)
        client.post(f"{page(limited)}open")
    assert not limited.offer.openings.exists()


def test_staff_set_the_working_time(at: Small) -> None:
    """The working time is saved with the dates; invalid values are rejected, and an empty one removes it."""
    client = at.client("instructor")
    form = {"start": "2031-02-03T10:00:00Z", "end": "2031-02-03T20:00:00Z", "late": "review"}

    def times(**more: str) -> object:
        client.post(f"{staff_page(at)}times", {**form, **more})
        return type(at.offer).objects.get(pk=at.offer.pk).times.get("minutes")

    assert 90 == times(minutes="90")
    assert 90 == times(minutes="ninety"), "refused"
    assert times(minutes="") is None
