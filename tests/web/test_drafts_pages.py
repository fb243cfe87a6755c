"""Head TAs change points and wording and see who would move; instructors let it count, with one key."""

from __future__ import annotations

import re
from typing import Any

import pytest

from autograder.web.site import FOLDER
from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

HOSTILE = "</textarea><script>alert(1)</script>\"'&"


def page(at: Small) -> str:
    """The address of the forms."""
    return f"{at.base}staff/a/{at.offer.assignment}/drafts/"


def form(at: Small, of: str, **changed: str) -> Any:
    """What comes of a question's form, sent as a browser has it, with some fields changed."""
    from autograder.service import versions

    stated = versions.rubric_of(type(at.offer).objects.get(pk=at.offer.pk).version).question(of)
    fields = {"question": of, "title en": stated.title.get("en", "")}
    for item in stated.items:
        fields |= {f"points {item.id}": str(item.points), f"text en {item.id}": item.text["en"]}
    changed = {name.replace("__", " "): value for name, value in changed.items()}
    return at.client("head-ta").post(page(at), {**fields, **changed}, follow=True)


def tried(at: Small, answer: Any) -> Any:
    """The draft that a form led to, with everybody graded by it."""
    from autograder.service.models import DraftVersion

    course.graded_without_a_box(at.offer)
    return DraftVersion.objects.get(pk=int(re.findall(r"drafts/(\d+)/", answer.redirect_chain[-1][0])[0]))


@pytest.fixture
def two(at: Small) -> Small:
    """Two students with results."""
    for student in ("ada", "bob"):
        course.handed_in(at.offer, student, course.released(at.folder))
    course.graded_without_a_box(at.offer)
    return at


def test_from_a_form_to_what_counts(two: Small) -> None:
    """The page says who moves; a head TA cannot apply it, an instructor can; the log has all of it."""
    answer = form(two, "layers", points__number="2,5", text__en__number="How many?")
    told = text(answer)
    assert "0 of 2 graded by the draft" in told
    assert 'hx-trigger="load delay:2s"' in told
    assert "2 students are still being graded." in told
    draft = tried(two, answer)
    place = f"{two.base}staff/drafts/{draft.pk}/"
    head, leader = two.client("head-ta"), two.client("instructor")
    assert "true" == head.get(f"{place}progress")["HX-Refresh"]
    told = text(head.get(place))
    assert "2 students move." in told
    assert ">+1.5</td>" in told
    assert "How many?" in told
    assert "hx-get" not in told
    assert ('data-key="d"' in told, 'data-key="a"' in told) == (True, False)
    assert 'accesskey="a" data-key="a"' in text(leader.get(place))
    changed = head.get(f"{place}rubric.toml")
    assert b'text = { en = "How many?" }' in changed.content
    assert 'attachment; filename="small.toml"' == changed["Content-Disposition"]
    assert 403 == head.post(f"{place}apply").status_code
    assert "Version 2 is offered now." in text(leader.post(f"{place}apply", follow=True))
    assert "already" in text(leader.post(f"{place}apply", follow=True))
    assert "2.5 of 14.5" in text(head.get(f"{two.base}staff/a/small/"))
    assert [("draft", 1, 2), ("apply draft", 1, 2)] == entries(two)
    assert "draft applied" in text(leader.get(f"{two.base}staff/audit/"))
    assert "applied" in text(head.get(page(two)))


def test_what_is_dropped_changes_nothing(two: Small) -> None:
    """A head TA may drop; the version that is offered stays."""
    draft = tried(two, form(two, "layers", points__number="2"))
    told = text(two.client("head-ta").post(f"{two.base}staff/drafts/{draft.pk}/drop", follow=True))
    assert "Nothing has changed." in told
    assert "1 of 13" in text(two.client("ta").get(f"{two.base}staff/a/small/"))
    again = two.client("instructor").post(f"{two.base}staff/drafts/{draft.pk}/apply", follow=True)
    assert "dropped already" in text(again)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "Nothing was changed."),
        ({"points__number": "many"}, "a number is expected, not “many”"),
        ({"points__number": "NaN"}, "a number with at most two decimals"),
        ({"points__number": "1e99"}, "a number with at most two decimals"),
        ({"points__number": "0.5"}, "expected from 0 to below 0.5"),
        ({"question": "nothing"}, "Nothing was changed."),
    ],
)
def test_what_cannot_be_tried_is_told(at: Small, changed: dict[str, str], told: str) -> None:
    """In the words that the rubric's reader has; there is no draft."""
    from autograder.service.models import DraftVersion

    answer = form(at, "layers", **changed)
    assert told in text(answer)
    assert page(at) == answer.redirect_chain[-1][0]
    assert not DraftVersion.objects.filter(offer=at.offer).exists()


def test_texts_are_shown_as_they_are(two: Small) -> None:
    """Markup in a rubric's text is no markup of the page, in the form and in the preview."""
    answer = form(two, "layers", text__en__number=HOSTILE)
    draft = tried(two, answer)
    leader = two.client("instructor")
    told = text(leader.get(f"{two.base}staff/drafts/{draft.pk}/"))
    leader.post(f"{two.base}staff/drafts/{draft.pk}/apply")
    for one in (told, text(leader.get(page(two)))):
        assert "alert(1)" in one
        assert "<script>alert" not in one
        assert "style=" not in one


def test_a_draft_of_another_course_is_not_there(two: Small) -> None:
    """Whatever is asked of it; and TAs and students have no drafts at all."""
    from autograder.service.models import CourseRecord

    draft = tried(two, form(two, "layers", points__number="2"))
    other = CourseRecord.objects.create(slug=f"{two.record.slug}-other", title="Other", secret=b"s" * 32)
    stranger = Small(other, two.offer, two.folder)
    client = stranger.client("instructor")
    for role, status in (("ta", 403), ("student", 403), ("stranger", 404)):
        assert status == two.client(role).get(f"{two.base}staff/drafts/{draft.pk}/").status_code
        assert status == two.client(role).post(page(two), {}).status_code
    for name in ("", "progress", "rubric.toml"):
        assert 404 == client.get(f"/app/c/{other.slug}/staff/drafts/{draft.pk}/{name}").status_code
    for name in ("apply", "drop", "again"):
        assert 404 == client.post(f"/app/c/{other.slug}/staff/drafts/{draft.pk}/{name}").status_code
    draft.refresh_from_db()
    assert "" == draft.settled


def test_a_stale_draft_can_only_be_dropped(two: Small) -> None:
    """Something else is offered since: there is no button that would be refused."""
    first, second = (tried(two, form(two, "layers", points__number=points)) for points in ("2", "3"))
    leader = two.client("instructor")
    leader.post(f"{two.base}staff/drafts/{second.pk}/apply")
    told = text(leader.get(f"{two.base}staff/drafts/{first.pk}/"))
    assert "Something else is offered" in told
    assert ('data-key="a"' in told, 'data-key="d"' in told) == (False, True)
    assert "something else is offered" in text(
        leader.post(f"{two.base}staff/drafts/{first.pk}/apply", follow=True)
    )


def test_the_script_is_a_file_with_a_nonce(two: Small) -> None:
    """Keys press buttons, and nothing is written into the page."""
    draft = tried(two, form(two, "layers", points__number="2"))
    told = text(two.client("instructor").get(f"{two.base}staff/drafts/{draft.pk}/"))
    assert re.search(r'<script nonce="[^"]+" src="/static/drafts.js" defer></script>', told)
    script = (FOLDER / "static" / "drafts.js").read_text()
    assert "data-key" in script
    assert "innerHTML" not in script
