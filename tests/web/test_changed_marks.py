"""Changed marks after publication: the student's page shows the change and its reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from autograder.grading.grades import PersonMark
from tests.service import course
from tests.support.small_course import NAME
from tests.web.people import Small
from tests.web.test_student import text
from tests.web.test_trial_pages import address, tried

WHY = ("formulas", "mlp-why")


def published(at: Small) -> Any:
    """Publish a mark of ada and return her browser."""
    attempt = course.handed_in(at.offer, "ada", course.released(at.folder))
    course.graded_without_a_box(at.offer)
    give(at, "1", "First look.")
    at.offer.published_at = attempt.submitted_at
    at.offer.save()
    return at.client()


def give(at: Small, points: str, comment: str) -> None:
    """Give a mark now."""
    from django.utils import timezone

    from autograder.service.models import CellMark
    from autograder.service.store import DatabaseStore

    mark = PersonMark(points=Decimal(points), comment=comment)
    DatabaseStore(at.record).give_mark(NAME, "ada", WHY, mark)
    rows = CellMark.objects.filter(place__course=at.record, place__cell=WHY[1], student="ada")
    rows.update(marked_at=timezone.now())


def feedback(client: Any, at: Small) -> str:
    """Return the page in the feedback frame."""
    page = text(client.get(f"{at.base}a/{NAME}/feedback/"))
    frame = page.split('class="made" sandbox src="')[1].split('"')[0]
    return text(client.get(frame))


def test_a_later_mark_is_told_once_it_was_seen(at: Small) -> None:
    """A change is shown only if the student saw the old mark, with points, comment and reason."""
    client = published(at)
    give(at, "2", "Before anybody looked.")
    assert "was changed" not in text(client.get(f"{at.base}a/{NAME}/"))
    assert "was changed" not in feedback(client, at)
    give(at, "1.5", "The norms belong to it.")
    message = "(points before: 3; now: 2.5)"
    news = text(client.get(f"{at.base}a/{NAME}/"))
    assert message in news
    assert "Reason: The norms belong to it." in news
    assert message in feedback(client, at)
    assert message not in text(client.get(f"{at.base}a/{NAME}/"))
    assert message in feedback(client, at)
    give(at, "0", "")
    page = feedback(client, at)
    assert "(points before: 2.5; now: 1)" in page
    assert message in page
    client.cookies["django_language"] = "de"
    assert "(Punkte vorher: 3; jetzt: 2,5)" in feedback(client, at)


def test_other_bonus_points_are_told_with_the_moment_they_came(at: Small) -> None:
    """The change has the time at which the bonus was given; equal values are no change."""
    from django.utils import timezone

    from autograder.service import mark_changes
    from autograder.service.models import Offer
    from autograder.service.models_results import BonusChange, ShownMarks

    client = published(at)
    feedback(client, at)
    offer = Offer.objects.get(pk=at.offer.pk)
    mark_changes.give_bonus(offer, {"ada": "1.5"})
    came = timezone.now().replace(microsecond=0) + timedelta(hours=1)
    BonusChange.objects.filter(offer=offer).update(at=came)
    mark_changes.give_bonus(offer, {"ada": "1.5", "bob": "1"})
    mark_changes.give_bonus(offer, {"ada": "1.5", "bob": "1"})
    assert ["ada", "bob"] == list(offer.bonus_changes.order_by("pk").values_list("student", flat=True))
    feedback(client, at)
    (change,) = ShownMarks.objects.get(offer=offer, student="ada").shown["changes"]
    assert came == datetime.fromisoformat(change["at"])


def test_what_staff_say_when_they_grade_again_is_told(at: Small) -> None:
    """The reason is shown to students whose marks change, and to no others."""
    from autograder.service.models import Attempt

    client = published(at)
    feedback(client, at)
    staff = at.client("head-ta")
    page = text(staff.get(f"{at.base}staff/a/{NAME}/submissions/"))
    assert 'name="reason"' in page
    staff.post(f"{at.base}staff/a/{NAME}/again", {"reason": "13 is right as well."})
    for attempt in Attempt.objects.filter(offer=at.offer, state="waiting"):
        other(at, attempt)
    assert "Reason: 13 is right as well." in feedback(client, at)


def test_what_staff_say_when_they_apply_a_version_is_told(at: Small) -> None:
    """The trial's page asks for a reason, which students see once the trial is applied."""
    client = published(at)
    feedback(client, at)
    place, leader = address(at, tried(at)), at.client("instructor")
    assert 'name="reason"' in text(leader.get(place))
    assert "Layers are worth" not in feedback(client, at)
    leader.post(f"{place}apply", {"reason": "Layers are worth more."})
    page = feedback(client, at)
    assert "This mark was changed" in page
    assert "Reason: Layers are worth more." in page


def other(at: Small, attempt: Any) -> None:
    """Keep a result in which another question is right."""
    from autograder.service import attempts, versions

    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    rubric = versions.load_rubric(attempt.version)
    assert attempts.keep_result(claimed, course.canned(rubric, attempt, "mlp"), rubric, "e" * 64)


def test_what_a_folder_has_shown_comes_and_goes_with_the_course(at: Small) -> None:
    """Agreed changes are imported from a folder with their reasons, and exported again."""
    from datetime import UTC, datetime

    from msgspec.structs import replace

    from autograder.app.published_marks import AgreedChange, PublishedMarks
    from autograder.service import mark_changes
    from autograder.service.models_results import ShownMarks
    from autograder.web import assignment_details

    client = published(at)
    loaded = assignment_details.get_assignment(at.offer)
    mark_changes.record_shown_marks(at.offer, loaded, "ada")
    before = mark_changes.export_shown_marks(at.offer).shown["ada"]
    ShownMarks.objects.all().delete()
    agreed = AgreedChange("1", datetime(2026, 5, 4, tzinfo=UTC), "A slip of ours.")
    parts = {**before.parts, "taken": "7"}
    earlier = replace(before, at=datetime(2026, 5, 3, tzinfo=UTC), total=Decimal(9), parts=parts)
    mark_changes.import_shown_marks(at.offer, PublishedMarks(earlier.at, {"ada": earlier}, {"ada": agreed}))
    assert agreed == mark_changes.export_shown_marks(at.offer).agreed["ada"]
    page = feedback(client, at)
    assert "(points before: 9; now: 2)" in page
    assert "A slip of ours." in page
    left = mark_changes.export_shown_marks(at.offer)
    assert {} == left.agreed
    assert [Decimal(9)] == [change.before for change in left.shown["ada"].changes]
