"""Groups and deadlines on the pages: members see what counts, and staff extend the deadline of a group."""

from __future__ import annotations

import datetime
from typing import Any

from tests.service import course
from tests.support.small_course import NAME
from tests.web.people import Small
from tests.web.test_student import text


def grouped(at: Small, **times: Any) -> None:
    """Make ada and bob a group, with a deadline an hour ago."""
    end = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)).isoformat()
    at.offer.groups = {"red": ["ada", "bob"]}
    at.offer.times = {"end": end, **times}
    at.offer.save()


def test_a_member_sees_what_the_other_handed_in(at: Small) -> None:
    """Members see the counting attempt and the marks of the group, and other students do not."""
    grouped(at, late="penalty", penalty={"per_day": "10"}, slip_days={"days": 3, "most": 1, "place": 0})
    handed = course.handed_in(at.offer, "ada", course.released(at.folder))
    course.graded_without_a_box(at.offer)
    at.offer.published_at = handed.submitted_at
    at.offer.save()
    pages = {who: at.client("student", who) for who in ("ada", "bob", "zoe")}
    seen = {who: text(client.get(f"{at.base}a/{NAME}/")) for who, client in pages.items()}
    for who, other in (("ada", "bob"), ("bob", "ada")):
        assert f"You submit as group red, together with {other}." in seen[who]
        assert "10 percent of the possible points for each day" in seen[who]
        assert "Slip days left: 2" in seen[who]
        assert 1 == seen[who].count(">counts</strong>")
    assert "Attempt 1 of ada" in seen["bob"]
    assert "group red" not in seen["zoe"]
    assert "Slip days left: 3" in seen["zoe"]
    assert 200 == pages["bob"].get(f"{at.base}a/{NAME}/feedback/").status_code
    assert 404 == pages["bob"].get(f"{at.base}a/{NAME}/1/").status_code


def test_a_group_gets_more_time_by_its_name(at: Small) -> None:
    """All members are regraded, and saving the common dates keeps extensions."""
    from autograder.service.models import Attempt, Offer

    grouped(at, late="penalty", penalty={"per_day": "10"})
    handed_in = [course.handed_in(at.offer, who, course.released(at.folder)) for who in ("ada", "zoe")]
    course.graded_without_a_box(at.offer)
    client, place = at.client("instructor"), f"{at.base}staff/a/{NAME}/"
    client.post(f"{place}extension", {"student": "red", "extra_minutes": "120"})
    assert {"red": {"extra_minutes": 120}} == Offer.objects.get(pk=at.offer.pk).times["groups"]
    assert ["waiting", "graded"] == [Attempt.objects.get(pk=attempt.pk).state for attempt in handed_in]
    course.graded_without_a_box(at.offer)
    content = text(client.get(f"{place}settings/")) + text(client.get(f"{place}submissions/"))
    assert "<strong>red</strong>: ada, bob" in content
    assert '<option value="penalty" selected>' in content
    for who in ("ada", "bob", "zoe"):
        assert f"of/{who}/" in content
    times = Offer.objects.get(pk=at.offer.pk).times
    client.post(f"{place}times", {"end": times["end"], "zone": "", "late": "refuse"})
    assert {**times, "late": "refuse"} == Offer.objects.get(pk=at.offer.pk).times
