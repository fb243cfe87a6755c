"""Regrade requests on the pages of students and staff."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.service import told
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

REASON = "The norms <b>belong</b> to it.\u202e"


@pytest.fixture
def marked(at: Small) -> Small:
    """Publish marks of ada and bob, and open regrade requests."""
    for student in ("ada", "bob"):
        lost = told.told("mlp", "formula", told.UNKNOWN, "1"), told.told("places", "scored", told.UNKNOWN)
        told.graded(at.offer, at.folder, student, *lost)
    told.published(at.offer)
    return at


def page(at: Small) -> str:
    """Return the address of the assignment for students."""
    return f"{at.base}a/{at.offer.assignment}/"


def staff(at: Small) -> str:
    """Return the address of the assignment's requests for staff."""
    return f"{at.base}staff/a/{at.offer.assignment}/requests/"


def ask(at: Small, client: Client, question: str = "mlp", number: str = "1", reason: str = REASON) -> str:
    """Make a request as a student and return the page."""
    sent = {"question": question, "number": number, "reason": reason}
    return text(client.post(f"{page(at)}requests/", sent, follow=True))


def latest(at: Small) -> Any:
    """Return the latest request."""
    return at.offer.requests.latest("pk")


def test_from_the_request_to_the_answer(marked: Small) -> None:
    """A student makes a request, a TA answers without seeing the name, and both see the result."""
    at, ada, ta = marked, marked.client(), marked.client("ta")
    before = text(ada.get(f"{page(at)}feedback/"))
    assert "Request a regrade" in before
    assert "You can request a regrade until" in before
    assert "Parameters of the MLP" in before
    assert "How you arrived at it" not in before  # the item has no mark yet
    after = ask(at, ada)
    assert "Your request was received" in after
    assert "The norms &lt;b&gt;belong&lt;/b&gt; to it.⟨U+202E⟩" in after
    assert "not answered yet" in after
    listed = text(ta.get(staff(at)))
    assert f"Request {latest(at).pk}" in listed
    assert "ada" not in listed.partition("<main")[2]
    assert "ada" in text(ta.get(f"{staff(at)}?names=yes")).partition("<main")[2]
    place = f"{at.base}staff/requests/{latest(at).pk}/"
    content = text(ta.get(place))
    for part in (
        "⟨U+202E⟩",
        "is not one of the options",
        "for &lt;b&gt;staff&lt;/b&gt;",
        "Points now: 1",
    ):
        assert part in content, part
    assert "ada" not in content.partition("<main")[2]
    done = ta.post(place, {"text": "You are <right>.", "points": "1,5"}, follow=True)
    assert [(staff(at), 302)] == done.redirect_chain
    assert at.account("ta").username in text(done)
    read = text(ada.get(f"{page(at)}feedback/"))
    for part in ("You are &lt;right&gt;.", "Answered by a TA", "Points: 1 → 1.5", "Points at that time: 1"):
        assert part in read, part
    assert at.account("ta").username not in read
    frame = read.partition('src="/frame/')[2].partition('"')[0]
    assert "1.5" in text(at.client("nobody").get(f"/frame/{frame}"))
    assert ["request made", "request answered"] == [action for action, _, _ in entries(at)]


def test_what_an_answer_in_words_is_about_is_there(marked: Small) -> None:
    """A TA sees the student's answer and the comment, escaped."""
    told.mark(marked.offer, "ada", "mlp-why", points="0", touched=True, comment="No <i>reason</i>.")
    ask(marked, marked.client(), number="2")
    content = text(marked.client("ta").get(f"{marked.base}staff/requests/{latest(marked).pk}/"))
    assert "Because &lt;b&gt;it&lt;/b&gt; is so." in content
    assert "No &lt;i&gt;reason&lt;/i&gt;." in content


def test_what_is_refused_is_told(marked: Small) -> None:
    """Duplicate, empty and too long requests, unmarked items and unknown items are rejected."""
    ada = marked.client()
    ask(marked, ada)
    assert "you already have an open request about this item" in ask(marked, ada)
    assert "write something first" in ask(marked, ada, "layers", reason=" ")
    assert "has 2001 characters" in ask(marked, ada, "layers", reason="x" * 2001)
    assert "this item has no mark" in ask(marked, ada, "mlp", "2")
    for question, number in (
        ("mlp", "3"),
        ("mlp", "0"),
        ("mlp", "-1"),
        ("mlp", "١"),
        ("x", "1"),
        ("", ""),
    ):
        sent = {"question": question, "number": number, "reason": "x"}
        assert 404 == ada.post(f"{page(marked)}requests/", sent).status_code
    assert 400 == ada.post(f"{page(marked)}requests/", {"reason": "x" * 3_000_000}).status_code
    assert 1 == marked.offer.requests.count()


def test_broken_text_is_taken_as_it_can_be_read(marked: Small) -> None:
    """Invalid UTF-8 is replaced, and NUL bytes are rejected."""
    place, kind = f"{page(marked)}requests/", "application/x-www-form-urlencoded"
    ada, sent = marked.client(), b"question=mlp&number=1&reason=a%ED%A0%80b"
    assert 400 == ada.generic("POST", place, sent + b"%00", kind).status_code
    assert 302 == ada.generic("POST", place, sent, kind).status_code
    assert re.fullmatch("a\ufffd+b", latest(marked).reason)


def test_a_deadline_is_set_seen_and_kept(marked: Small) -> None:
    """The deadline uses the assignment's time zone.

    After it, requests stay visible, and new ones are rejected.
    """
    at, lead, ada = marked, marked.client("instructor"), marked.client()
    type(at.offer).objects.filter(pk=at.offer.pk).update(
        times={"end": "2031-01-01T00:00:00", "zone": "Europe/Berlin"}
    )
    lead.post(f"{staff(at)}until", {"until": "2031-07-01T12:00"})
    assert 'value="2031-07-01T12:00"' in text(lead.get(staff(at)))
    assert "2031-07-01 12:00 (Europe/Berlin)" in text(ada.get(f"{page(at)}feedback/"))
    for nonsense in ("soon", "2031-03-30T02:30", "0001-01-01T00:00", "9999-12-31T23:59-23:00"):
        answer = lead.post(f"{staff(at)}until", {"until": nonsense}, follow=True)
        assert "The deadline was not saved" in text(answer), nonsense
    at.offer.refresh_from_db()
    assert "2031-07-01T10:00:00+00:00" == at.offer.requests_until.isoformat()
    assert "received" in ask(at, ada)
    lead.post(f"{staff(at)}until", {"until": "2021-07-01T12:00"})
    late = ask(at, ada, "layers")
    assert "regrade requests are closed" in late
    assert "was 2021-07-01 12:00" in late
    assert "Request a regrade</" not in late
    assert "The norms" in late
    lead.post(f"{staff(at)}until", {"until": ""})
    assert "regrade requests are closed" in ask(at, ada, "layers")
    noted = [(before, after) for action, before, after in entries(at) if action == "requests until"]
    assert 3 == len(noted)
    assert ("2021-07-01T10:00:00+00:00", None) == noted[-1]
    assert not marked.client("ta").get(staff(at)).content.count(b'name="until"')


def test_withdrawn_marks_hide_everything(marked: Small) -> None:
    """Requests are hidden while marks are withdrawn, and visible again afterwards."""
    at, ada = marked, marked.client()
    ask(at, ada)
    request = latest(at)
    at.offer.published_at = None
    at.offer.save()
    sent = {"question": "layers", "number": "1", "reason": "x"}
    assert 404 == ada.get(f"{page(at)}feedback/").status_code
    assert 404 == ada.post(f"{page(at)}requests/", sent).status_code
    assert 404 == ada.post(f"{page(at)}requests/{request.pk}/withdraw").status_code
    assert "The norms" not in text(ada.get(page(at)))
    told.published(at.offer)
    assert "The norms" in text(ada.get(f"{page(at)}feedback/"))


def test_a_request_is_its_students(marked: Small) -> None:
    """Other students cannot see or withdraw a request, and other courses cannot access it."""
    at, bob = marked, marked.client("student", "bob")
    ask(at, at.client())
    request = latest(at)
    assert "The norms" not in text(bob.get(f"{page(at)}feedback/"))
    assert 404 == bob.post(f"{page(at)}requests/{request.pk}/withdraw").status_code
    from autograder.service.models import CourseRecord, Member

    other = CourseRecord.objects.create(slug=f"{at.record.slug}-b", title="B", secret=bytes(32))
    ta = at.client("ta")
    Member.objects.create(course=other, account=at.account("ta"), role="ta")
    for method in (ta.get, ta.post):
        assert 404 == method(f"/app/c/{other.slug}/staff/requests/{request.pk}/").status_code
    request.refresh_from_db()
    assert request.withdrawn_at is None
    told_here = text(at.client().post(f"{page(at)}requests/{request.pk}/withdraw", follow=True))
    assert "Withdrawn" in told_here
    assert "Request a regrade" in told_here


def test_who_marked_it_is_told_that_somebody_else_answers(marked: Small) -> None:
    """The marker of the item gets no form and is rejected; another marker can answer."""
    at = marked
    told.mark(at.offer, "ada", "mlp", points="1", touched=True, marked_by=at.account("ta"))
    at.account("head-ta")
    ask(at, at.client())
    place = f"{at.base}staff/requests/{latest(at).pk}/"
    ta, head = at.client("ta"), at.client("head-ta")
    assert "You gave these marks" in text(ta.get(place))
    assert "<textarea" not in text(ta.get(place))
    assert "You gave these marks" in text(ta.post(place, {"text": "No.", "points": "2"}))
    assert latest(at).answered_at is None
    assert "<textarea" in text(head.get(place))
    assert "answered" in text(head.post(place, {"text": "Yes.", "points": "2"}, follow=True))
    assert "Answered by a head TA" in text(at.client().get(f"{page(at)}feedback/"))
    assert "answered or withdrawn meanwhile" in text(head.post(place, {"text": "Again.", "points": "0"}))
    assert "2" == told.row(at.offer, "ada", "mlp").points


def test_another_language_leads_to_the_feedback_after_a_refused_request(marked: Small) -> None:
    """The language form returns to the feedback page, because the form's address cannot be opened."""
    refused = ask(marked, marked.client(), reason="x" * 2001)
    assert "maxlength" not in refused, "a browser would cut what is pasted"
    assert f'name="next" value="{page(marked)}feedback/"' in refused


def test_what_was_typed_is_not_lost(marked: Small) -> None:
    """A rejected answer stays in the form."""
    ask(marked, marked.client())
    place, ta = f"{marked.base}staff/requests/{latest(marked).pk}/", marked.client("ta")
    for points in ("x", "1e3", "-1", "3", "NaN", "1" * 400, "٣", "1,2,3"):
        told_back = text(ta.post(place, {"text": "A <long> answer.", "points": points}))
        assert "Not accepted" in told_back, points
        assert "maxlength" not in told_back, "a browser would cut what is pasted"
        assert re.search(r"<textarea[^>]*>A &lt;long&gt; answer\.</textarea>", told_back)
    assert latest(marked).answered_at is None


def test_a_hidden_title_stays_hidden_while_marks_are_not_final(
    marked: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows neither text nor ID of an item with a hidden title."""
    from msgspec.structs import replace

    from autograder.web import assignment_details

    loaded = assignment_details.get_assignment(marked.offer)
    questions = list(loaded.rubric.questions)
    place = [question.id for question in questions].index("places")
    items = [replace(item, shown={"en": f"Hidden {item.id[0]}"}) for item in questions[place].items]
    questions[place] = replace(questions[place], items=tuple(items))
    rubric = replace(loaded.rubric, questions=tuple(questions))

    class Hiding:
        """An assignment with hidden titles."""

        def __init__(self) -> None:
            self.rubric = rubric

        def get_rubric(self, _: str) -> Any:
            return rubric

    monkeypatch.setattr(assignment_details, "get_assignment", lambda _: Hiding())
    ada = marked.client()
    for answer in (text(ada.get(f"{page(marked)}feedback/")), ask(marked, ada, "places", "1")):
        assert "Hidden s" in answer
        assert "What is compared with the query" not in answer
        assert "scored" not in answer


def test_the_pages_speak_german(marked: Small) -> None:
    """The pages of students and staff are in German."""
    ada = marked.client(headers={"accept-language": "de"})
    ask(marked, marked.client())
    assert '<html lang="de">' in text(ada.get(f"{page(marked)}feedback/"))
    ta = marked.client("ta", headers={"accept-language": "de"})
    assert '<html lang="de">' in text(ta.get(staff(marked)))
