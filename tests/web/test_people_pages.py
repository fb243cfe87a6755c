"""Data protection pages, and the access log of pages and API."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from typing import Any

import pytest

from tests.service import course
from tests.web.people import Small
from tests.web.programs import program_of
from tests.web.test_staff import canned, entries

RESULTS, ANSWERS, ATTEMPTS = "result", "answer", "attempt"


def views(at: Small) -> list[tuple[str, str, str]]:
    """Return who viewed what of whom, oldest first."""
    from autograder.service.models_results import AccessEntry

    rows = AccessEntry.objects.filter(course=at.record).order_by("pk")
    return list(rows.values_list("who", "student", "action"))


@pytest.fixture
def attempt(at: Small) -> Any:
    """Return a graded attempt of ada with an answer to be marked and a regrade request."""
    from autograder.service.models import CellMark, RegradeRequest

    new_attempt = canned(at, course.handed_in(at.offer, "ada", course.released(at.folder)))
    CellMark.objects.filter(place__course=at.record, place__cell="mlp-why").update(answered=True)
    RegradeRequest.objects.create(offer=at.offer, student="ada", question="mlp", item="why", reason="?")
    at.offer.published_at = new_attempt.submitted_at
    at.offer.save()
    return new_attempt


def test_views_by_staff_are_recorded(at: Small, attempt: Any) -> None:
    """Views by staff are logged for pages and API; views by the student and of class tables are not."""
    from autograder.service.models import CellMark, RegradeRequest

    mark = CellMark.objects.get(place__course=at.record, place__cell="mlp-why", student="ada")
    request = RegradeRequest.objects.get(offer=at.offer)
    staff, base = at.client("ta"), f"{at.base}staff/"
    page, api = f"{base}a/small/", f"/courses/{at.record.slug}"
    viewed = {
        f"{page}attempts/of/ada/": ATTEMPTS,
        f"{base}attempts/{attempt.pk}/files/code.ipynb": "file",
        f"{page}of/ada/": RESULTS,
        f"{page}mark/answers/{mark.pk}/": ANSWERS,
        f"{base}requests/{request.pk}/": "request",
    }
    for place in (page, f"{page}mark/", *viewed):
        reply = staff.get(place)
        assert 200 == reply.status_code, place
        reply.close()
    who = at.account("ta").username
    assert [(who, "ada", action) for action in viewed.values()] == views(at)

    asking = program_of(at, "ta")
    through_api = {
        f"{api}/attempts/{attempt.pk}": ATTEMPTS,
        f"{api}/attempts/{attempt.pk}/files/code.ipynb": "file",
        f"{api}/attempts/{attempt.pk}/readings": ATTEMPTS,
        f"{api}/assignments/small/results/ada": RESULTS,
        f"{api}/assignments/small/answers": ANSWERS,
    }
    for place in (f"{api}/assignments/small/attempts", *through_api):
        assert 200 == asking.send("get", place).status
    assert [(who, "ada", action) for action in through_api.values()] == views(at)[len(viewed) :]

    number, student = len(views(at)), program_of(at)
    for place in (f"{api}/attempts/{attempt.pk}", f"{api}/assignments/small/results/ada"):
        assert 200 == student.send("get", place).status
    assert 200 == at.client().get(f"{at.base}a/small/feedback/").status_code
    assert number == len(views(at))


def test_an_administrator_exports_and_erases_a_person(at: Small, attempt: Any) -> None:
    """A person is found by a part of the name, and erased only after confirmation; both are logged."""
    from autograder.service.models import Account, Member

    account = at.account("student")
    Member.objects.filter(account=account).update(first_name="Ada", last_name="Lovelace")
    root = at.client("superuser")
    at.client("ta").get(f"{at.base}staff/a/small/of/ada/")
    place = f"/app/people/account/{account.pk}/"
    assert place in root.get("/app/people/", {"search": "ovelac"}).content.decode()
    assert place not in root.get("/app/people/", {"search": "nobody of this name"}).content.decode()
    page = root.get(place).content.decode()
    assert at.account("ta").username in page
    with contextlib.closing(root.get(f"{place}data.zip")) as reply:
        archive = zipfile.ZipFile(io.BytesIO(b"".join(reply)))
    assert "ada" == json.loads(archive.read("data.json"))["courses"][0]["student"]
    root.post(f"{place}erase", {"name": "ada"})
    assert Account.objects.filter(pk=account.pk).exists()
    content = root.post(f"{place}erase", {"name": account.username}, follow=True).content.decode()
    assert "erased-" in content
    assert not Account.objects.filter(pk=account.pk).exists()
    assert not at.offer.attempts.filter(pk=attempt.pk).exists()
    assert ["export person", "erase"] == [action for action, *_ in entries(at)]
    superuser = at.account("superuser")
    root.post(f"/app/people/account/{superuser.pk}/erase", {"name": superuser.username})
    assert Account.objects.filter(pk=superuser.pk).exists()


def test_a_member_without_an_account_can_be_erased(at: Small) -> None:
    """Members without an account are found by their student ID, others only by their account."""
    from autograder.service.models import Member

    root = at.client("superuser")
    member = Member.objects.create(course=at.record, role="student", student="zoe-9")
    place = f"/app/people/member/{member.pk}/"
    assert place in root.get("/app/people/", {"search": "zoe-9"}).content.decode()
    root.post(f"{place}erase", {"name": "zoe-9"})
    assert not Member.objects.filter(pk=member.pk).exists()
    claimed = Member.objects.get(account=at.account("student"))
    assert 404 == root.get(f"/app/people/member/{claimed.pk}/").status_code


def test_a_retention_period_is_set_and_noted(at: Small) -> None:
    """The retention period is at least 30 days, and an empty field removes it."""
    root, place = at.client("superuser"), f"/app/people/keep/{at.record.slug}"
    for typed, expected in (("365", 365), ("5", 365), ("x", 365), ("", None)):
        root.post(place, {"days": typed})
        assert expected == type(at.record).objects.get(pk=at.record.pk).keep_days
    assert [("retention period", None, 365), ("retention period", 365, None)] == entries(at)
