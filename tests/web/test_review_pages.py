"""The pages on which staff read what a class is told, and state the course's own words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from autograder.records import Message
from tests.feedback.test_wordings import TRICKS
from tests.service import told
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

WORDS = "It is <gelu>, not {name}."


@pytest.fixture
def graded(at: Small) -> Small:
    """Three students who chose wrongly, one of them something hostile."""
    for student, name in (
        ("ada", "softplus"),
        ("bob", "<script>alert(1)</script>\u202e"),
        ("eve", "softplus"),
    ):
        message = Message("choice.unknown", {"name": name})
        told.graded(at.offer, at.folder, student, told.told("activation", "name", message))
    return at


def page(at: Small) -> str:
    """The address of the page."""
    return f"{at.base}staff/a/{at.offer.assignment}/review/"


def state(at: Small, client: Client, words: str = WORDS, **fields: str) -> Any:
    """State words."""
    key = {"question": "activation", "item": "name", "code": "choice.unknown", "text-en": words}
    return client.post(f"{page(at)}wording", {**key, **fields}, follow=True)


def frame(at: Small, student: str) -> str:
    """The feedback page that a TA sees of a student."""
    answer = text(at.client("ta").get(f"{at.base}staff/a/{at.offer.assignment}/of/{student}/"))
    address = answer.partition('src="/frame/')[2].partition('"')[0]
    return text(at.client("nobody").get(f"/frame/{address}"))


def test_everything_that_a_class_is_told_stands_on_a_page(graded: Small) -> None:
    """Each sentence once, with how many were told it and what it cost; nothing of it acts."""
    told_there = text(graded.client("ta").get(page(graded)))
    assert "The activation" in told_there
    assert "choice.unknown" in told_there
    assert "told to 3 students" in told_there
    assert "Points lost: 3" in told_there
    assert 1 == told_there.count("“softplus” is not one of the options.")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩" in told_there
    assert "<script>alert" not in told_there


def test_long_lists_come_in_pages(graded: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message on one of them; who saves, or is refused, stays on theirs."""
    from autograder.web import review

    head = graded.client("head-ta")
    whole = re.findall(r'<section class="card" id="(m\d+)"', text(head.get(page(graded))))
    assert "Page 1 of" not in text(head.get(page(graded)))
    monkeypatch.setattr(review, "_MOST_ON_A_PAGE", 1)
    found = []
    for number in range(1, len(whole) + 1):
        one = text(head.get(f"{page(graded)}?page={number}"))
        assert f"Page {number} of {len(whole)}" in one
        found += re.findall(r'<section class="card" id="(m\d+)"', one)
    assert whole == found
    assert len(whole) > 1
    at = next(n for n in whole if "choice.unknown" in text(head.get(f"{page(graded)}?page={n[1:]}")))[1:]
    assert f"Page {at} of" in text(state(graded, head, page=at))
    assert f"Page {at} of" in text(state(graded, head, "{value}"))
    assert 200 == head.get(f"{page(graded)}?page=9²x").status_code


def test_words_are_stated_previewed_published_and_withdrawn(graded: Small) -> None:
    """In bulk by a head TA; students see them with their marks; taken away, the generated one is back."""
    at, head, lead = graded, graded.client("head-ta"), graded.client("instructor")
    assert "The words were saved." in text(state(at, head))
    assert "It is &lt;gelu&gt;, not softplus." in frame(at, "ada")
    assert "not &lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩." in frame(at, "bob")
    feedback = f"{at.base}a/{at.offer.assignment}/feedback/"
    ada = at.client()
    assert 404 == ada.get(feedback).status_code
    assert "Publish marks" in text(lead.get(page(at)))
    assert "Publish marks" not in text(head.get(page(at)))
    lead.post(f"{at.base}staff/a/{at.offer.assignment}/published", {"wanted": "yes"})
    assert 200 == ada.get(feedback).status_code
    assert "Withdraw marks" in text(lead.get(page(at)))
    lead.post(f"{at.base}staff/a/{at.offer.assignment}/published", {"wanted": "no"})
    assert 404 == ada.get(feedback).status_code
    state(at, head, "")
    assert "is not one of the options" in frame(at, "ada")
    assert ["wording", "published", "published", "wording"] == [action for action, _, _ in entries(at)]


def test_words_for_one_student_go_first(graded: Small) -> None:
    """They have a page of their own, which lists what this student is told."""
    at, head = graded, graded.client("head-ta")
    state(at, head)
    answer = state(at, head, "For you alone.", student="ada")
    assert [(f"{page(at)}of/ada/", 302)] == answer.redirect_chain
    assert "For you alone." in text(answer)
    assert "It is &lt;gelu&gt;, not softplus." not in text(answer)
    assert "For you alone." in frame(at, "ada")
    assert "For you alone." not in frame(at, "eve")
    assert "own words for this student alone" in text(head.get(page(at)))
    assert [] == re.findall("<textarea", text(head.get(f"{page(at)}of/nobody/")))
    assert 404 == state(at, head, "For you.", student="nobody").status_code


def test_a_ta_looks_and_changes_nothing(graded: Small) -> None:
    """They read the words that stand; there is no field, and what is sent is refused."""
    ta = graded.client("ta")
    state(graded, graded.client("head-ta"))
    looked = text(ta.get(page(graded)))
    assert "It is &lt;gelu&gt;, not {name}." in looked
    assert "<textarea" not in looked
    assert 403 == state(graded, ta, "Mine.").status_code
    assert "Mine." not in frame(graded, "ada")


def test_refused_words_can_be_corrected(graded: Small) -> None:
    """The reason is told, what was typed stands in its field, and nothing is saved."""
    head = graded.client("head-ta")
    for trick in (*TRICKS, "{value}", "{__class__}", "x" * 2001):
        told_back = text(state(graded, head, f"It is gelu. {trick}"))
        assert "This was not taken" in told_back, trick
        assert "It is gelu. " in told_back.partition("<textarea")[2]
    assert "is not one of the options" in frame(graded, "ada")


def test_hostile_fields_are_refused(graded: Small) -> None:
    """Unknown messages, broken ids, a language of no course, and a megabyte."""
    head = graded.client("head-ta")
    assert 400 == state(graded, head, code="\x00").status_code
    assert "nobody is told this" in text(state(graded, head, question="'; DROP TABLE"))
    assert 404 == state(graded, head, student="../ada").status_code
    assert 400 == head.get(f"{page(graded)}of/a%00b/").status_code
    assert 400 == state(graded, head, "x" * 2_000_000).status_code
    assert "not saved" not in text(state(graded, head, "", **{"text-xx": "x"}))
    raw = b"question=activation&item=name&code=choice.unknown&text-en=a%ED%A0%80%E2%80%AE"
    kind = "application/x-www-form-urlencoded"
    assert 302 == head.generic("POST", f"{page(graded)}wording", raw, kind).status_code
    assert "\ufffd⟨U+202E⟩" in frame(graded, "ada")
    assert ["wording"] == [action for action, _, _ in entries(graded)]


def test_the_log_says_what_stood_before_and_after(graded: Small) -> None:
    """In the reader's words."""
    state(graded, graded.client("head-ta"))
    log = text(graded.client("instructor").get(f"{graded.base}staff/audit/"))
    assert "words of feedback" in log
    assert "It is &lt;gelu&gt;" in log
