"""Regrade requests: who can make and answer them, and how an answer changes the mark."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service import course, told

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord, Offer

HALF = told.told("mlp", "formula", told.UNKNOWN, "1")
KEY = told.told("places", "scored", told.UNKNOWN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small course with a release."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Return the offer with published marks of ada, who lost points in two questions."""
    from autograder.course import Course

    service_course.secret = Course.from_folder(folder).load_secret()
    service_course.save()
    new_offer = course.offered(service_course, folder)
    told.graded(new_offer, folder, "ada", HALF, KEY)
    told.published(new_offer)
    return new_offer


def asked(offer: Offer, question: str = "mlp", item: str = "formula", reason: str = "It is right.") -> Any:
    """Make a regrade request of ada."""
    from autograder.service.marking import regrade_requests

    question_asked = told.RUBRIC.get_question(question)
    return regrade_requests.make_request(offer, "ada", question_asked, question_asked.get_item(item), reason)


def answered(request: Any, by: Any, points: str | None = None, text: str = "We looked again.") -> Any:
    """Answer a request and return it."""
    from autograder.service.marking import regrade_requests

    new_points = None if points is None else Decimal(points)
    regrade_requests.answer_request(request, by, text, told.RUBRIC.get_question(request.question), new_points)
    request.refresh_from_db()
    return request


def refused(code: str, action: Any, *arguments: Any, **named: Any) -> None:
    """Assert that an action is rejected with a code."""
    from autograder.service.refusals import ActionRefused

    with pytest.raises(ActionRefused) as caught:
        action(*arguments, **named)
    assert code == caught.value.code


def test_a_request_keeps_what_the_item_had(offer: Offer) -> None:
    """The request stores the points of the item, automatic or manual. A whole-cell mark has none."""
    assert "1" == asked(offer).points
    told.mark(offer, "ada", "mlp-why", points="0.5", touched=True)
    assert "0.5" == asked(offer, "mlp", "why").points
    told.mark(offer, "ada", "places", points="1.5", touched=True)
    assert asked(offer, "places", "scored").points is None


def test_what_waits_for_a_person_cannot_be_asked_about(offer: Offer) -> None:
    """Items that need manual review, and students without a result, have no mark to request a regrade for."""
    from autograder.service.marking import regrade_requests
    from autograder.service.models import Member

    refused("request-no-mark", asked, offer, "mlp", "why")
    told.mark(offer, "ada", "mlp", points="1", again=True, touched=True)
    refused("request-no-mark", asked, offer)
    Member.objects.create(course=offer.course, role="student", student="bob")
    question = told.RUBRIC.get_question("mlp")
    for student in ("bob", "eve"):
        refused(
            "request-no-mark",
            regrade_requests.make_request,
            offer,
            student,
            question,
            question.items[0],
            "Why?",
        )


def test_requests_are_taken_between_publishing_and_deadline(offer: Offer) -> None:
    """Requests need published marks and a deadline that has not passed, according to the database."""
    type(offer).objects.filter(pk=offer.pk).update(requests_until=None)
    refused("request-closed", asked, offer)  # the object in memory is outdated
    told.published(offer, hours=-0.001)
    refused("request-closed", asked, offer)
    told.published(offer)
    offer.published_at = None
    offer.save()
    refused("request-closed", asked, offer)


def test_one_request_of_an_item_is_open(offer: Offer) -> None:
    """A second request for an item needs the first to be withdrawn or answered."""
    from autograder.service.marking import regrade_requests

    first = asked(offer)
    refused("request-twice", asked, offer)
    regrade_requests.cancel_request(first)
    refused("request-settled", regrade_requests.cancel_request, first)
    second = asked(offer)
    answered(second, told.account(offer, "ta"))
    assert asked(offer).pk > second.pk
    assert 3 == offer.requests.count()


def test_so_many_are_open_and_no_more(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit also applies to requests sent at the same moment."""
    from django.db import connection

    from autograder.service.marking import regrade_requests
    from autograder.service.refusals import ActionRefused

    monkeypatch.setattr(regrade_requests, "MOST_OPEN", 2)
    asked(offer)
    together = threading.Barrier(2)

    def one(question: str) -> str:
        together.wait()
        try:
            asked(offer, question, told.RUBRIC.get_question(question).items[0].id)
        except ActionRefused as error:
            return error.code
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(2) as both:
        assert ["made", "request-too-many"] == sorted(both.map(one, ("layers", "model")))


@pytest.mark.parametrize(
    ("reason", "code"),
    [("", "text-empty"), (" \r\n\t ", "text-empty"), ("\x1b[31m", "text-empty"), ("x" * 2001, "text-long")],
)
def test_a_reason_has_a_bounded_length(offer: Offer, reason: str, code: str) -> None:
    """Empty reasons and those above 2,000 characters are rejected."""
    refused(code, asked, offer, reason=reason)
    refused("text-long", asked, offer, reason="x" * 1_000_000)
    assert 2000 == len(asked(offer, reason="é" * 2000).reason)


def test_hostile_reasons_are_kept_readable(offer: Offer) -> None:
    """Surrogates, NUL bytes, invisible characters and all line ends are normalised."""
    request = asked(offer, reason="a\ud800b\x00c\u202ed\r\n<script>e\rf")
    request.refresh_from_db()
    assert "a\ufffdb␀c⟨U+202E⟩d\n<script>e\nf" == request.reason
    hidden = asked(offer, "layers", "number", reason="\u202e" * 2000)
    assert 2000 == hidden.reason.count("⟨U+202E⟩")


def test_an_answer_can_change_the_mark(offer: Offer) -> None:
    """The answer changes the item, the sum of the cell and the counting mark."""
    from autograder.service.store import DatabaseStore

    ta = told.account(offer, "ta")
    done = answered(asked(offer, "places", "scored"), ta, "0.5")
    assert ("0", "0.5", ta) == (done.points, done.points_after, done.answered_by)
    row = told.row(offer, "ada", "places")
    assert {"scored": {"points": "0.5", "of": "1"}} == row.items
    assert ("1.5", True, ta, 1) == (row.points, row.touched, row.marked_by, row.revision)
    marks = DatabaseStore(offer.course).load_marks(offer.assignment)["ada"]
    assert Decimal("1.5") == marks["formulas", "places"].points
    again = answered(asked(offer, "places", "summed"), told.account(offer, "ta", "another"), "0")
    assert ("1", "0") == (again.points, again.points_after)
    assert "0.5" == told.row(offer, "ada", "places").points


def test_an_answer_can_leave_the_mark(offer: Offer) -> None:
    """An answer without points, or with equal points, does not change the mark."""
    ta = told.account(offer, "ta")
    for points in (None, "1", "1.0"):
        done = answered(asked(offer), ta, points)
        assert Decimal(1) == Decimal(done.points_after)
        assert not told.row(offer, "ada", "mlp").touched


@pytest.mark.parametrize("points", ["-0.5", "2.5", "NaN", "sNaN", "Infinity"])
def test_points_stay_within_the_item(offer: Offer, points: str) -> None:
    """Invalid points are rejected, and the request stays open."""
    request = asked(offer)
    refused("request-points-out", answered, request, told.account(offer, "ta"), points)
    request.refresh_from_db()
    assert request.answered_at is None
    assert not told.row(offer, "ada", "mlp").touched


def test_a_deduction_is_within_itself_and_the_cell_within_its_points(offer: Offer) -> None:
    """A deduction is between zero and its full amount, and a cell has at least zero points."""
    request, ta = asked(offer, "softmax", "overflow"), told.account(offer, "ta")
    refused("request-points-out", answered, request, ta, "0.5")
    answered(request, ta, "-0.5")
    assert "2.5" == told.row(offer, "ada", "softmax").points


def test_a_cell_that_was_marked_as_a_whole_has_no_items(offer: Offer) -> None:
    """Points for an item are rejected if the cell was marked as a whole; an answer without points works."""
    told.mark(offer, "ada", "places", points="1.5", touched=True)
    request, ta = asked(offer, "places", "scored"), told.account(offer, "ta")
    refused("request-whole", answered, request, ta, "1")
    done = answered(request, ta)
    assert (None, None) == (done.points, done.points_after)
    stale = {"scored": {"points": "1", "of": "1"}}  # left over from before the cell was marked as a whole
    told.mark(offer, "ada", "places", items=stale, points="0.5")
    refused("request-whole", answered, asked(offer, "places", "scored"), ta, "1")


def test_who_gave_the_mark_does_not_answer(offer: Offer) -> None:
    """Markers cannot answer requests about their own marks unless no other marker has an active account."""
    from autograder.service.models import Member

    ta = told.account(offer, "ta")
    told.mark(offer, "ada", "mlp", points="1", touched=True, marked_by=ta)
    Member.objects.create(course=offer.course, role="ta", last_name="invited")
    answered(asked(offer), ta, "0.5")  # there is no other marker
    other = told.account(offer, "instructor")
    request = asked(offer)
    refused("request-own-mark", answered, request, ta, "2")
    other.is_active = False
    other.save()
    answered(request, ta, "2")
    other.is_active = True
    other.save()
    answered(asked(offer), other, "1")
    assert other == told.row(offer, "ada", "mlp").marked_by


def test_a_request_is_answered_once(offer: Offer) -> None:
    """Of two concurrent answers one is saved, and a withdrawn request cannot be answered."""
    from django.db import connection

    from autograder.service.marking import regrade_requests
    from autograder.service.refusals import ActionRefused

    request, tas = asked(offer), [told.account(offer, "ta", name) for name in ("x", "y")]
    together = threading.Barrier(2)

    def one(number: int) -> str:
        together.wait()
        try:
            answered(
                regrade_requests.RegradeRequest.objects.get(pk=request.pk), tas[number], ("0", "2")[number]
            )
        except ActionRefused as error:
            return error.code
        finally:
            connection.close()
        return "answered"

    with ThreadPoolExecutor(2) as both:
        assert ["answered", "request-settled"] == sorted(both.map(one, range(2)))
    request.refresh_from_db()
    assert request.points_after == told.row(offer, "ada", "mlp").points
    taken = asked(offer)
    regrade_requests.cancel_request(taken)
    refused("request-settled", answered, taken, tas[0])


def test_an_item_that_the_rubric_has_no_more_is_answered_in_words(offer: Offer) -> None:
    """Requests about a removed item can be answered only without points."""
    from autograder.service.marking import regrade_requests

    request, ta = asked(offer), told.account(offer, "ta")
    refused("request-whole", regrade_requests.answer_request, request, ta, "It is gone.", None, Decimal(1))
    regrade_requests.answer_request(request, ta, "It is gone.", None)
    request.refresh_from_db()
    assert ("It is gone.", "1") == (request.answer, request.points_after)


def test_everything_stands_in_the_log(offer: Offer) -> None:
    """The log has requests and answers with old and new points, but no rejected ones."""
    from autograder.service.marking import regrade_requests
    from autograder.service.models import AuditEntry

    ta = told.account(offer, "ta")
    refused("text-empty", asked, offer, reason="")
    regrade_requests.cancel_request(asked(offer))
    answered(asked(offer), ta, "2")
    about = {"question": "mlp", "item": "formula"}
    facts = {**about, "reason": "It is right.", "points": "1"}
    after = {**about, "answer": "We looked again.", "points": "2"}
    rows = AuditEntry.objects.filter(course=offer.course).order_by("pk")
    assert [
        ("ada", "request made", "small: ada", None, facts),
        ("ada", "request withdrawn", "small: ada", None, about),
        ("ada", "request made", "small: ada", None, facts),
        (ta.username, "request answered", "small: ada", {**about, "points": "1"}, after),
    ] == list(rows.values_list("who", "action", "subject", "before", "after"))


def test_a_reply_with_points_replaces_what_was_said_about_the_item(offer: Offer) -> None:
    """A reply with new points replaces the older comment as the reason of the change."""
    from autograder.service import mark_changes
    from autograder.service.models import CellMark, Offer
    from autograder.service.models_results import ShownMarks
    from autograder.web.assignment_details import get_assignment

    cell = {"place__course": offer.course, "place__cell": "mlp-why", "student": "ada"}
    told.mark(offer, "ada", "mlp-why", points="0.5", comment="The reason is missing.", touched=True)
    assignment = get_assignment(Offer.objects.get(pk=offer.pk))
    mark_changes.record_shown_marks(offer, assignment, "ada")
    answered(asked(offer, "mlp", "why"), told.account(offer, "ta"), "1", "You are right.")
    assert "You are right." == CellMark.objects.get(**cell).comment
    mark_changes.record_shown_marks(offer, assignment, "ada")
    (change,) = ShownMarks.objects.get(offer=offer, student="ada").shown["changes"]
    assert "You are right." == change["reason"]
