"""Marking pages under attack: names, other courses, hostile fields, stale forms, and both languages."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from tests.service.room import CLASS, room_of
from tests.support import essays
from tests.web.people import Small
from tests.web.test_marking_pages import Marking

if TYPE_CHECKING:
    from django.test import Client

    from autograder.service.models import CourseRecord

WHO = "zz-marie-curie"
CELL = (essays.NAME, "scale")
HOSTILE = "</textarea><script>alert(1)</script>\"'&{{7*7}}\u202eevil\u200b"
HUGE = "9" * 40


@pytest.fixture
def marking(service_course: CourseRecord, essays_loaded: Assignment) -> Marking:
    """Return the class of essays, with users of every role."""
    room = room_of(service_course, essays_loaded)
    return Marking(room, Small(service_course, room.offer, essays_loaded.course.root))


def text(answer: Any) -> str:
    """Return the text of a page, whether it accepted the form or rejected it."""
    assert answer.status_code in {200, 409}, answer
    return str(answer.content.decode())


def post(marking: Marking, client: Client, student: str, **sent: str) -> Any:
    """Submit the form of an answer."""
    address = marking.answer(student)
    fields = {name.replace("_", "-", 1): value for name, value in sent.items()}
    return client.post(address, {**marking.form(client, address), "then": "stay", **fields})


def german(client: Client) -> Client:
    """Set the language of a browser to German."""
    client.cookies["django_language"] = "de"
    return client


# ---------------------------------------------------------------- names


def test_no_page_of_marking_names_a_student(marking: Marking) -> None:
    """Names appear neither in text, links, fields and headers nor in errors, unless a marker reveals them."""
    room, ta = marking.room, marking.people.client("ta")
    essays.recorded(room.offer, room.assignment, [(WHO, {"scale": "A text.", "masks": "Another."})])
    room.save(WHO, "x", items={"claim": "2", "reason": "1"}, comment="Good.")
    row, place = room.row(WHO), room.place()
    addresses = [
        marking.url("marking"),
        marking.url("mark-consistency"),
        marking.url("statistics"),
        marking.answer(WHO),
        marking.url("mark-group", answer=row.pk),
        marking.url("mark-here", answer=row.pk),
        marking.url("mark-first", place=place.pk) + "?which=all",
        marking.url("mark-groups", place=place.pk),
    ]
    seen = [ta.get(address) for address in addresses]
    seen.append(post(marking, ta, WHO, points_claim="77"))
    seen.append(post(marking, ta, WHO, points_claim="1"))
    seen.append(ta.post(marking.url("mark-undo"), follow=True))
    seen.append(ta.get(marking.url("mark-sheet")))
    for answer in seen:
        assert answer.status_code in {200, 302, 409}
        assert WHO not in f"{answer.content.decode()} {answer.headers}".lower(), answer.request["PATH_INFO"]
    ta.post(marking.url("mark-names"), {"answer": row.pk})
    assert WHO in text(ta.get(marking.answer(WHO)))


def test_the_frame_of_outputs_names_nobody(marking: Marking) -> None:
    """The frame contains only the output of the cell."""
    from django.core import signing

    essays.recorded(marking.room.offer, marking.room.assignment, [(WHO, {"scale": "A text."})])
    token = signing.dumps([marking.room.row(WHO).pk, "de"], salt="autograder.answer-frame")
    assert WHO not in text(marking.people.client("nobody").get(f"/frame/answer/{token}"))


# ---------------------------------------------------------------- permissions and invalid requests


def test_whoever_was_taken_out_marks_no_more(marking: Marking) -> None:
    """A removed marker gets 404 even on an open page, and their marks stay."""
    from autograder.service.models import Member

    ta = marking.people.client("ta")
    post(marking, ta, "ada", choice_claim="2", choice_reason="1")
    address, fields = marking.answer("cem"), marking.form(ta, marking.answer("cem"))
    Member.objects.filter(course=marking.people.record, account=marking.people.account("ta")).delete()
    assert 404 == ta.post(address, {**fields, "choice-claim": "2"}).status_code
    assert 404 == ta.post(marking.url("mark-undo")).status_code
    assert ("3", None) == (marking.room.row("ada").points, marking.room.row("cem").points)
    assert 200 == marking.people.client("head-ta").get(marking.answer("ada")).status_code


def test_forms_without_a_token_are_refused(marking: Marking) -> None:
    """Every form that changes something needs a CSRF token."""
    head = marking.people.client("head-ta", enforce_csrf_checks=True)
    row, place, before = marking.room.row("ada"), marking.room.place().pk, marking.room.states()
    for address, sent in (
        (marking.answer("ada"), {"revision": str(row.revision), "choice-claim": "2"}),
        (marking.url("mark-group", answer=row.pk), {"rows": f"{row.pk}:{row.revision}", "choice-claim": "2"}),
        (marking.url("mark-undo"), {}),
        (marking.url("mark-names"), {}),
        (marking.url("mark-plan", place=place), {"twice": "100"}),
        (marking.url("mark-gather", place=place), {"group": [row.pk, marking.room.row("ben").pk]}),
        (marking.url("mark-take-out", place=place), {"answers": row.pk}),
        (marking.url("mark-sheet"), {}),
    ):
        assert 403 == head.post(address, sent).status_code, address
    assert before == marking.room.states()


@pytest.mark.parametrize("number", ["0", HUGE, "2147483648", "9223372036854775808"])
def test_numbers_that_no_row_has_lead_nowhere(marking: Marking, number: str) -> None:
    """IDs that are unknown or exceed the range of the database are not found."""
    ta, queue_page = marking.people.client("ta"), marking.url("marking")
    for path in (
        "answers/{}/",
        "answers/{}/group",
        "answers/{}/here",
        "{}/",
        "{}/groups/",
    ):
        assert 404 == ta.get(queue_page + path.format(number)).status_code, path
    base = f"{marking.people.base}staff/"
    assert 404 == marking.people.client("head-ta").get(f"{base}trials/{number}/").status_code
    assert 404 == ta.get(f"{base}requests/{number}/").status_code


@pytest.mark.parametrize(
    "rows", ["", ":", "x", f"{HUGE}:1", "1:2:3", f"{{own}}:{HUGE}", "{own}:٣", "{own}", "{own}:-1", "-1:-1"]
)
def test_hostile_rows_of_a_group_mark_nothing(marking: Marking, rows: str) -> None:
    """Invalid rows are rejected without an internal error."""
    ta, row = marking.people.client("ta"), marking.room.row("ada")
    sent = {"rows": rows.replace("{own}", str(row.pk)), "choice-claim": "2"}
    answer = ta.post(marking.url("mark-group", answer=row.pk), sent)
    assert answer.status_code in {302, 404}
    assert {} == marking.room.row("ada").items


@pytest.mark.parametrize("sent", ["x", HUGE, "-1", "1.5", "", "١", "\u202e1"])
def test_hostile_numbers_of_other_forms_change_nothing(marking: Marking, sent: str) -> None:
    """Invalid numbers in plans, groups and names are reported and change nothing."""
    head, place, before = marking.people.client("head-ta"), marking.room.place().pk, marking.room.states()
    response = german(head).post(marking.url("mark-plan", place=place), {"twice": sent}, follow=True)
    assert "Erwartet wird eine Zahl von 0 bis 100" in text(response)
    for name, field in (("mark-gather", "group"), ("mark-take-out", "answers")):
        assert 302 == head.post(marking.url(name, place=place), {field: sent}).status_code
    assert 302 == head.post(marking.url("mark-names"), {"answer": sent}).status_code
    assert 200 == head.get(marking.url("mark-groups", place=place), {"near": sent, "page": sent}).status_code
    assert before == marking.room.states()


# ---------------------------------------------------------------- input


def test_hostile_comments_can_be_seen_by_everybody(marking: Marking) -> None:
    """Comments are escaped and invisible characters spelled out, on all pages and when offered again."""
    from autograder.web import assignment_details

    ta = marking.people.client("ta")
    post(marking, ta, "ada", choice_claim="2", comment=HOSTILE, keep="yes")
    assert "⟨U+202E⟩" in marking.room.row("ada").comment
    page = assignment_details.render_feedback(marking.room.offer, "ada", "en")
    assert page is not None
    for content in (text(ta.get(marking.answer("ada"))), text(ta.get(marking.answer("cem"))), page):
        assert "<script>alert(1)" not in content
        assert "\u202e" not in content
        assert "\u200b" not in content
        assert "⟨U+202E⟩" in content


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("points-claim", "2,5", "Erwartet werden 0 bis 2 Punkte, nicht 2.5"),
        ("points-claim", "viel", "Erwartet wird eine Zahl wie 1,5, nicht „viel“"),
        ("points-claim", HOSTILE, "Erwartet wird eine Zahl"),
        ("comment", "ä" * 4_001, "4001"),
        ("revision", "x", "inzwischen geändert"),
        ("revision", HUGE, "inzwischen geändert"),
    ],
)
def test_what_is_refused_is_told_in_german(marking: Marking, field: str, value: str, message: str) -> None:
    """The message is in German, and the input is kept."""
    ta, address = german(marking.people.client("ta")), marking.answer("ada")
    sent = {**marking.form(ta, address), "comment": "Bleibt.", "choice-reason": "1", field: value}
    answer = ta.post(address, sent)
    page = text(answer)
    assert 409 == answer.status_code
    assert message in page
    assert "expected" not in page
    assert "<script>alert" not in page
    assert ("Gespeicherte Bewertung" in page) is (field == "revision")
    assert marking.room.row("ada").marked_by is None


def test_groups_tell_in_german(marking: Marking) -> None:
    """Messages about too few groups and empty forms are in German."""
    ta, row = german(marking.people.client("ta")), marking.room.row("ada")
    gather = marking.url("mark-gather", place=marking.room.place().pk)
    assert "mindestens zwei Gruppen" in text(ta.post(gather, {"group": row.pk}, follow=True))
    address = marking.url("mark-group", answer=row.pk)
    response = ta.post(address, marking.form(ta, address), follow=True)
    assert "zuerst Punkte oder einen Kommentar" in text(response)


def test_a_zero_has_no_sign(marking: Marking) -> None:
    """Negative zero is stored as zero."""
    post(marking, marking.people.client("ta"), "ada", points_claim="-0", points_reason="-0.0")
    assert {"0", "0.0"} == {item["points"] for item in marking.room.row("ada").items.values()}


def test_a_choice_goes_before_points_that_stood_in_the_field(marking: Marking) -> None:
    """Without JavaScript, a choice replaces the old points in the field. New points replace the choice."""
    ta = marking.people.client("ta")
    post(marking, ta, "ada", points_claim="1.5", choice_reason="1")
    page = text(ta.get(marking.answer("ada")))
    was = re.search(r'name="was-claim" value="([^"]*)"', page)
    assert was is not None
    assert "1.5" == was[1]
    sent = {"was_claim": "1.5", "points_claim": "1.5", "was_reason": "", "points_reason": ""}
    post(marking, ta, "ada", **sent, choice_claim="2", choice_reason="1")
    assert "3" == marking.room.row("ada").points
    post(marking, ta, "ada", was_claim="", points_claim="0.5", choice_claim="2", choice_reason="1")
    assert "1.5" == marking.room.row("ada").points


# ---------------------------------------------------------------- stale pages, two markers


def test_what_stands_is_read_when_a_save_is_refused(marking: Marking) -> None:
    """The page has the current revision, so saving again replaces exactly the mark that was shown."""
    first, second = marking.people.client("ta"), marking.people.client("head-ta")
    old = marking.form(second, marking.answer("cem"))
    post(marking, first, "cem", choice_claim="2", choice_reason="1", comment="By the first.")
    refused = second.post(marking.answer("cem"), {**old, "choice-claim": "0", "choice-reason": "0"})
    assert "By the first." in text(refused)
    assert f'name="revision" value="{marking.room.row("cem").revision}"' in text(refused)


def test_the_second_of_two_who_opened_it_early_learns_nothing(marking: Marking) -> None:
    """A marker with a stale form sees that another mark was saved, but neither its points nor its comment."""
    head, ta = marking.people.client("head-ta"), marking.people.client("ta")
    head.post(marking.url("mark-plan", place=marking.room.place().pk), {"twice": "100"})
    old = marking.form(head, marking.answer("cem"))
    post(marking, ta, "cem", points_claim="1.75", choice_reason="1", comment="By the first.")
    refused = head.post(marking.answer("cem"), {**old, "choice-claim": "0", "choice-reason": "0"})
    assert 409 == refused.status_code
    for secret in ("1.75", "By the first.", "Saved marks"):
        assert secret not in text(refused)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text(refused)))
    head.post(marking.answer("cem"), {**fields, "choice-claim": "0", "choice-reason": "0"})
    assert "conflict" == marking.room.row("cem").stage


def test_a_sheet_does_not_decide_for_two(marking: Marking) -> None:
    """Answers with two markers are rejected with the reason; the others are saved."""
    import csv
    import io

    from django.core.files.uploadedfile import SimpleUploadedFile

    head, ta = marking.people.client("head-ta"), marking.people.client("ta")
    sheet = marking.url("mark-sheet")
    rows = list(csv.DictReader(io.StringIO(ta.get(sheet).content.decode("utf-8-sig"))))
    head.post(marking.url("mark-plan", place=marking.room.place().pk), {"twice": "100"})
    post(marking, ta, "cem", choice_claim="2", choice_reason="1")
    for row in rows:
        row["points"] = "1"
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    sent = SimpleUploadedFile("marks.csv", out.getvalue().encode())
    page = text(german(head).post(sheet, {"sheet": sent}))
    assert "zwei Personen bewerten diese Antwort" in page
    assert {None} == {marking.room.row(student).points for student in CLASS}
    assert "second" == marking.room.row("cem").stage
    assert "1" == marking.room.row("ada", "masks").points


# ---------------------------------------------------------------- other ways to mark


def test_a_whole_mark_is_shown_and_stays(marking: Marking) -> None:
    """The page shows points that formgrader gave for the whole cell, and a comment keeps them."""
    from autograder.service.store import DatabaseStore

    store = DatabaseStore(marking.room.offer.course)
    store.give_mark(essays.NAME, "ada", CELL, PersonMark(points=Decimal("2.5")))
    ta = marking.people.client("ta")
    assert "The cell was marked as a whole: 2.5 of 3 points." in text(ta.get(marking.answer("ada")))
    assert "2,5 von 3" in text(german(ta).get(marking.answer("ada")))
    post(marking, ta, "ada", comment="So.")
    assert ("2.5", "So.") == (marking.room.row("ada").points, marking.room.row("ada").comment)


def test_every_view_has_the_same_points(marking: Marking) -> None:
    """Standings, feedback, sheet and statistics show the same points."""
    from autograder.service.standings import load_standings
    from autograder.web import assignment_details

    ta = marking.people.client("ta")
    post(marking, ta, "ada", points_claim="1.25", choice_reason="1")
    stands = load_standings(marking.room.offer, marking.room.assignment)["ada"]
    assert Decimal("2.25") == stands.questions[0].points
    page = assignment_details.render_feedback(marking.room.offer, "ada", "de")
    assert page is not None
    assert "2,25 von 3" in page
    sheet = ta.get(marking.url("mark-sheet"), {"names": "on"}).content.decode()
    assert any("ada" in line and "1.25" in line for line in sheet.splitlines())
    assert "1,25 von 2" in text(german(ta).get(marking.url("statistics")))


def test_statistics_name_mistakes_only(marking: Marking) -> None:
    """Items that need manual review or have no answer are not listed as mistakes."""
    page = text(marking.people.client("ta").get(marking.url("statistics")))
    assert "review.person" not in page
    assert "no-answer" not in page


def test_cells_stand_in_the_order_of_the_rubric(marking: Marking) -> None:
    """The page about consistency uses the order of the rubric, too."""
    page = text(marking.people.client("ta").get(marking.url("mark-consistency")))
    assert page.index("Why scores are scaled") < page.index("What a mask does")


@pytest.mark.parametrize("role", ["student", "stranger", "nobody"])
def test_others_see_and_change_nothing(marking: Marking, role: str) -> None:
    """Students and other users cannot change marks."""
    client, before, row = marking.people.client(role), marking.room.states(), marking.room.row("ada")
    for name, parts in (
        ("mark-answer", {"answer": row.pk}),
        ("mark-group", {"answer": row.pk}),
        ("mark-undo", {}),
        ("mark-plan", {"place": row.place_id}),
        ("mark-sheet", {}),
    ):
        sent = {"revision": str(row.revision), "rows": f"{row.pk}:{row.revision}", "choice-claim": "2"}
        answer = client.post(marking.url(name, **parts), sent)
        assert answer.status_code in ({302} if role == "nobody" else {403, 404})
        assert role != "nobody" or "login" in answer.headers["Location"]
    assert before == marking.room.states()
