"""Head TAs change the items of a written question while it is marked; the class is tried with them first."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

if TYPE_CHECKING:
    from autograder.service.models import CellMark, VersionTrial

HOSTILE = "</textarea><script>alert(1)</script>'&"


@pytest.fixture
def two(at: Small) -> Small:
    """Two students with results; the text of one of them has full marks."""
    for student in ("ada", "bob"):
        course.handed_in(at.offer, student, course.answered(at.folder, thoughts=f"{student} thinks."))
    course.graded_without_a_box(at.offer)
    return at


def page(at: Small, cell: str = "thoughts") -> str:
    """The address of the form."""
    from autograder.service.models import CellPlace

    place = CellPlace.objects.get(course=at.record, assignment=at.offer.assignment, cell=cell)
    return f"{at.base}staff/a/small/mark/{place.pk}/items/"


def fields(at: Small, **changes: str) -> dict[str, str]:
    """The form as it is shown, with changes: ``0_points`` stands for ``items-0-points``."""
    at.offer.refresh_from_db()
    sent = {
        "version": str(at.offer.version_id),
        "items-TOTAL_FORMS": "2",
        "items-INITIAL_FORMS": "1",
        "items-0-id": "any",
        "items-0-points": "1",
        "items-0-text_en": "What you think",
        "items-0-guide_en": "",
        "items-1-id": "",
        "items-1-points": "",
        "items-1-text_en": "",
        "items-1-guide_en": "",
    }
    changed = {f"items-{name[1:].replace('_', '-', 1)}": value for name, value in changes.items()}
    assert all(name in sent or name.endswith("DELETE") for name in changed)
    return sent | changed


def refused(answer: Any) -> str:
    """The text of a page that refuses what was sent."""
    assert 422 == answer.status_code
    return str(answer.content.decode())


def mark(at: Small, points: str = "1") -> CellMark:
    """Give the first student's text points."""
    from autograder.service import versions
    from autograder.service.marking import answers, mark_entry
    from autograder.service.models import CellMark

    row = CellMark.objects.get(place__course=at.record, place__cell="thoughts", student="ada")
    cell = answers.find_cell(versions.load_rubric(at.offer.version), "code", "thoughts")
    assert cell is not None
    given = mark_entry.GivenMarks({"any": Decimal(points)})
    (saved,) = mark_entry.save_marks({row.pk: row.revision}, cell, given, at.account("ta"))
    return saved


def latest(at: Small) -> VersionTrial:
    """The trial that a form began, with everybody graded by it."""
    course.graded_without_a_box(at.offer)
    trial: VersionTrial = at.offer.trials.latest("pk")
    return trial


def apply(at: Small) -> Any:
    """Let the trial count."""
    trial = latest(at)
    return at.client("instructor").post(f"{at.base}staff/trials/{trial.pk}/apply", follow=True)


def test_other_points_and_title_are_tried_and_marks_follow(two: Small) -> None:
    """From the form to marks: sums follow, the trial says who changes, and the rest of the file stays."""
    from autograder.service import versions

    row, head = mark(two), two.client("head-ta")
    _, before = versions.load_rubric_file(two.offer.version)
    assert "What you think" in text(head.get(page(two)))
    answer = head.post(page(two), fields(two, _0_points="2,5", _0_text_en=HOSTILE), follow=True)
    place = answer.redirect_chain[-1][0]
    assert "/staff/trials/" in place
    assert [("try version", 1, 2), ("change items", 1, 2)] == entries(two)
    trial = latest(two)
    told = text(head.get(place))
    assert "<script>alert" not in told
    assert ">+1.5</td>" in told
    data = b"".join(head.get(f"{place}rubric.toml"))
    added = [line for line in data.decode().splitlines() if line not in before.decode().splitlines()]
    assert ["points = 14.5", "points = 2.5", "points = 2.5"] == [line for line in added if "points" in line]
    assert len(added) == 4
    assert (Decimal("14.5"), Decimal("2.5")) == (
        versions.load_rubric(trial.version).assignment.points,
        versions.load_rubric(trial.version).get_question("thoughts").points,
    )
    assert "Version 2 is in use now" in text(apply(two))
    row.refresh_from_db()
    assert ("2.5", False) == (row.points, row.again)


def test_an_added_item_flags_marks_and_a_removed_one_takes_its_points(two: Small) -> None:
    """Added: the marks stay and are looked at again. Removed: the points of the others remain."""
    row, head = mark(two), two.client("head-ta")
    added = fields(two, _1_points="2", _1_text_en="Style")
    trial = head.post(page(two), added, follow=True).redirect_chain[-1][0]
    told = text(head.get(trial))
    assert "item-1" in told
    assert "Style" in told
    apply(two)
    row.refresh_from_db()
    assert ("1", True) == (row.points, row.again)
    both = fields(two) | {"items-TOTAL_FORMS": "3", "items-INITIAL_FORMS": "2", "items-1-id": "item-1"}
    both |= {"items-1-points": "2", "items-1-text_en": "Style", "items-0-DELETE": "on"}
    both |= {"items-2-id": "", "items-2-points": "", "items-2-text_en": "", "items-2-guide_en": ""}
    trial = head.post(page(two), both, follow=True).redirect_chain[-1][0]
    assert "What you think" in text(head.get(trial))
    apply(two)
    row.refresh_from_db()
    assert (True, {}) == (row.again, row.items)


@pytest.mark.parametrize("points", ["", "NaN", "Infinity", "1e9", "99999", "1.234", "-99999", "two"])
def test_unusable_points_are_refused_beside_their_field(two: Small, points: str) -> None:
    """What was typed stays in the form, and there is no trial."""
    answer = two.client("head-ta").post(page(two), fields(two, _0_points=points, _0_text_en=HOSTILE))
    told = refused(answer)
    assert 'class="bad" role="alert"' in told
    assert "alert(1)" in told
    assert "<script>alert" not in told
    assert not two.offer.trials.exists()


def test_a_stale_or_forged_form_and_a_second_trial_are_refused(two: Small) -> None:
    """Nothing is lost: the sentence says why, and what was typed stays."""
    head, changed = two.client("head-ta"), fields(two, _0_points="2")
    for forged in (
        {"version": "999999"},
        {"version": "x"},
        {"items-0-id": "other"},
        {"items-INITIAL_FORMS": "2"},
        {"items-INITIAL_FORMS": "0"},
    ):
        told = refused(head.post(page(two), changed | forged))
        assert "another version has come into use" in told
        assert re.search(r'name="items-0-points" value="2"', told)
    assert refused(head.post(page(two), {"version": changed["version"]}))
    assert "at least one item" in refused(head.post(page(two), changed | {"items-0-DELETE": "on"}))
    assert "nothing was changed" in refused(head.post(page(two), fields(two)))
    assert not two.offer.trials.exists()
    assert 302 == head.post(page(two), changed).status_code
    assert "version 2 is being tried" in refused(head.post(page(two), changed | {"items-0-points": "3"}))
    assert 1 == two.offer.trials.count()


def test_only_written_questions_have_the_form(two: Small) -> None:
    """Items of other questions are read by programs; TAs see neither the form nor the link."""
    head = two.client("head-ta")
    assert 404 == head.get(page(two, "mlp-why")).status_code
    assert 403 == two.client("ta").get(page(two)).status_code
    answer = f"{two.base}staff/a/small/mark/answers/{mark(two).pk}/"
    assert page(two) in text(head.get(answer))
    assert page(two) not in text(two.client("ta").get(answer))
