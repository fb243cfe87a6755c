"""Marking pages: what they show, what they save, and whom they reject."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from autograder.grading.assignment import Assignment
from tests.pages.examples import png
from tests.service.room import CLASS, Room, room_of
from tests.support import essays
from tests.web.people import Small, statuses_near_expiry

if TYPE_CHECKING:
    from django.test import Client

    from autograder.service.models import CourseRecord

BAD = "<script>alert(1)</script><img src=x onerror=alert(2)> $\\frac{</math><script>x$ \u202eevil"


class Marking(Struct, frozen=True, eq=False):
    """The class of essays with its users and the addresses of the marking pages."""

    room: Room
    people: Small

    def url(self, name: str, **parts: Any) -> str:
        """Return the address of a named page of the assignment."""
        from django.urls import reverse

        return reverse(name, kwargs={"slug": self.people.record.slug, "assignment": essays.NAME, **parts})

    def answer(self, student: str, cell: str = "scale") -> str:
        """Return the address of the page of an answer."""
        return self.url("mark-answer", answer=self.room.row(student, cell).pk)

    def form(self, client: Client, address: str) -> dict[str, str]:
        """Return the hidden fields of the marking form of a page."""
        page = client.get(address).content.decode()
        form = page[page.index('class="mark"') :]
        return dict(
            re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[: form.index("</form>")])
        )


@pytest.fixture
def marking(service_course: CourseRecord, essays_loaded: Assignment) -> Marking:
    """Return the class of essays, with users of every role."""
    room = room_of(service_course, essays_loaded)
    return Marking(room, Small(service_course, room.offer, essays_loaded.course.root))


def test_from_the_queue_to_a_mark(marking: Marking) -> None:
    """Without JavaScript, a marker gets from the list to each waiting answer in turn and back to the list."""
    client = marking.people.client("ta")
    page = client.get(marking.url("marking")).content.decode()
    assert "Why scores are scaled" in page
    place = marking.room.place().pk
    seen = []
    address = client.get(marking.url("mark-first", place=place)).headers["Location"]
    for _ in CLASS:
        fields = marking.form(client, address)
        seen.append(address)
        answer = client.post(address, {**fields, "choice-claim": "1", "points-reason": "0,5", "then": "next"})
        assert answer.status_code == 302
        address = answer.headers["Location"]
    assert len(set(seen)) == len(CLASS)
    assert address == marking.url("marking")
    assert "No more answers are waiting here." in client.get(address).content.decode()
    assert {marking.room.row(student).points for student in CLASS} == {"1.5"}


def test_what_the_page_shows(marking: Marking) -> None:
    """The page shows question, answer, guide and examples, also in German, and hides the student's name."""
    client = marking.people.client("ta")
    page = client.get(marking.answer("ada")).content.decode()
    for text in (
        "Why are the scores divided by",
        "<math",
        "Large scores saturate",
        "The variance is d_k.",
    ):
        assert text in page
    assert "<mark>saturates</mark>" in page
    assert ">ada<" not in page
    assert "Answer ada" not in page
    client.cookies["django_language"] = "de"
    assert "Große Werte sättigen" in client.get(marking.answer("ada")).content.decode()
    client.post(marking.url("mark-names"), {"answer": marking.room.row("ada").pk})
    assert "ada" in client.get(marking.answer("ada")).content.decode()


def test_question_and_guides_are_open_only_once(marking: Marking) -> None:
    """Both are expanded once per cell and marker. Points precede the guide so that it cannot hide them."""
    client = marking.people.client("ta")

    def count_open(address: str) -> tuple[int, int]:
        page = client.get(address).content.decode()
        return page.count('<details class="card asked" open>'), page.count('<details class="guide" open>')

    first = client.get(marking.answer("ada")).content.decode()
    assert '<details class="card asked" open>' in first
    assert '<details class="guide" open>' in first
    assert first.index('name="choice-claim"') < first.index("The variance is d_k.")
    assert (1, 0) == count_open(marking.answer("ada", "masks"))
    for address in (marking.answer("ada"), marking.answer("ben"), marking.answer("cem", "masks")):
        assert (0, 0) == count_open(address), "going to and fro between two questions opens neither again"
    closed = client.get(marking.answer("ben")).content.decode()
    assert "Why are the scores divided by" in closed
    assert "The variance is d_k." in closed
    other = marking.people.client("head-ta").get(marking.answer("ada")).content.decode()
    assert '<details class="card asked" open>' in other


def test_the_later_of_two_sees_both_versions(marking: Marking) -> None:
    """After a conflict the form keeps the input and shows the other version; saving again replaces it."""
    first, second = marking.people.client("ta"), marking.people.client("head-ta")
    address = marking.answer("cem")
    mine, theirs = marking.form(second, address), marking.form(first, address)
    first.post(address, {**theirs, "choice-claim": "2", "choice-reason": "1", "comment": "By the first."})
    refused = second.post(address, {**mine, "choice-claim": "0", "points-reason": "0.25", "comment": "Mine."})
    page = refused.content.decode()
    assert refused.status_code == 409
    assert "By the first." in page
    assert "Mine." in page
    assert 'value="0.25"' in page
    assert marking.room.row("cem").points == "3"
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    second.post(address, {**fields, "choice-claim": "0", "points-reason": "0.25"})
    assert marking.room.row("cem").points == "0.25"


def test_a_long_comment_is_refused_and_kept(marking: Marking) -> None:
    """The browser does not truncate the text; the server rejects it and keeps it in the form."""
    client, address = marking.people.client("ta"), marking.answer("ada")
    assert "maxlength" not in client.get(address).content.decode()
    answer = client.post(address, {**marking.form(client, address), "comment": "x" * 4001})
    assert answer.status_code == 409
    assert "x" * 4001 in answer.content.decode()
    assert marking.room.row("ada").comment == ""


@pytest.mark.parametrize("sent", ["9", "-1", "1e3", "NaN", "1.5.2", "٣", "½", "1" * 5000, "x"])
def test_points_that_are_none_are_told(marking: Marking, sent: str) -> None:
    """Invalid points are rejected, nothing is saved, and the comment stays in the form."""
    client, address = marking.people.client("ta"), marking.answer("ada")
    answer = client.post(address, {**marking.form(client, address), "points-claim": sent, "comment": "Kept."})
    assert answer.status_code == 409
    assert "Kept." in answer.content.decode()
    assert marking.room.row("ada").items == {}


def test_hostile_answers_stay_text(marking: Marking) -> None:
    """HTML in answers, groups and comments is escaped."""
    essays.recorded(marking.room.offer, marking.room.assignment, [("eva", {"scale": BAD, "masks": BAD})])
    client, address = marking.people.client("ta"), marking.answer("eva")
    fields = marking.form(client, address)
    client.post(address, {**fields, "choice-claim": "1", "comment": BAD[:-6], "keep": "yes", "then": "stay"})
    place = marking.room.place().pk
    row = marking.room.row("eva").pk
    for where in (address, marking.url("mark-groups", place=place), marking.url("mark-group", answer=row)):
        page = client.get(where).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
    frame = re.search(r'src="(/frame/answer/[^"]+)"', client.get(address).content.decode())
    assert frame is None  # nothing was printed


@pytest.mark.parametrize("written", ["![]({})", "<img src='{}' onerror='alert(1)'>"])
def test_pictures_in_an_answer_are_shown(marking: Marking, written: str) -> None:
    """An answer that consists of a picture is shown; a broken picture is replaced by a message."""
    drawing = f"data:image/png;base64,{png()}"
    broken = "data:image/png;base64," + "A" * 40
    for student, uri in (("eva", drawing), ("ada", broken)):
        answers = {"scale": written.format(uri)}
        essays.recorded(marking.room.offer, marking.room.assignment, [(student, answers)])
    client = marking.people.client("ta")
    page = client.get(marking.answer("eva")).content.decode()
    assert f'<img src="{drawing}"' in page
    assert "A picture of this cell is not shown" not in page
    page = client.get(marking.answer("ada")).content.decode()
    assert "data:image" not in page
    assert "A picture of this cell is not shown" in page


def test_what_is_printed_stands_in_a_frame_without_cookies(
    marking: Marking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frame is sandboxed, and its address is rejected if the token is invalid or expired."""
    from django.core import signing

    row = marking.room.row("ada").pk
    token = signing.dumps([row, "en"], salt="autograder.answer-frame")
    client = marking.people.client("nobody")
    answer = client.get(f"/frame/answer/{token}")
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
    assert client.get(f"/frame/answer/{signing.dumps([row, 'en'], salt='other')}").status_code == 404
    assert [200, 404] == statuses_near_expiry(monkeypatch, f"/frame/answer/{token}", client)


def test_nobody_marks_in_another_course(marking: Marking, essays_loaded: Assignment) -> None:
    """IDs of answers, cells and groups of one course are not found in another one."""
    from django.urls import reverse

    from autograder.service.models import CourseRecord

    slug = f"other-{marking.people.record.slug}"
    record = CourseRecord.objects.create(slug=slug, title="Other", secret=b"o" * 32)
    other = Small(record, room_of(record, essays_loaded).offer, essays_loaded.course.root)
    client, row, place = other.client("ta"), marking.room.row("ada").pk, marking.room.place().pk
    arguments = {"slug": slug, "assignment": essays.NAME}
    before = marking.room.states()
    for name, parts in (
        ("mark-answer", {"answer": row}),
        ("mark-here", {"answer": row}),
        ("mark-group", {"answer": row}),
        ("mark-first", {"place": place}),
        ("mark-groups", {"place": place}),
    ):
        assert client.get(reverse(name, kwargs={**arguments, **parts})).status_code == 404, name
        assert client.get(marking.url(name, **parts)).status_code == 404, name
    for name in ("mark-gather", "mark-take-out"):
        sent = {"group": f"{row},{row + 1}", "answers": str(row)}
        assert client.post(marking.url(name, place=place), sent).status_code == 404
    assert marking.room.states() == before


def test_a_group_takes_no_answer_of_another_question(marking: Marking) -> None:
    """Marking a group is rejected if it contains IDs of answers to another question."""
    client = marking.people.client("ta")
    ada, other = marking.room.row("ada"), marking.room.row("cem", "masks")
    sent = {"rows": f"{ada.pk}:{ada.revision},{other.pk}:{other.revision}", "choice-claim": "2"}
    answer = client.post(marking.url("mark-group", answer=ada.pk), sent)
    assert answer.status_code == 404
    assert marking.room.row("cem", "masks").items == {}


def test_a_group_is_marked_at_once_and_taken_apart(marking: Marking) -> None:
    """Equal answers get one mark; an answer that was taken out of the group is not marked with it."""
    client, place = marking.people.client("ta"), marking.room.place().pk
    address = marking.url("mark-group", answer=marking.room.row("ada").pk)
    fields = marking.form(client, address)
    assert fields["rows"].count(":") == 2
    client.post(address, {**fields, "choice-claim": "2", "choice-reason": "1"})
    assert {marking.room.row(student).points for student in ("ada", "ben")} == {"3"}
    client.post(marking.url("mark-take-out", place=place), {"answers": marking.room.row("ben").pk})
    assert marking.form(client, address)["rows"].count(":") == 1
    client.post(marking.url("mark-undo"))
    assert marking.form(client, address)["rows"].count(":") == 2
    client.post(marking.url("mark-undo"))
    assert {marking.room.row(student).points for student in ("ada", "ben")} == {None}


def test_every_text_of_a_group_of_similar_wording_is_shown(
    marking: Marking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All texts of a group are shown, however many, because similar wording may mean the opposite."""
    from autograder.service.models import CellMark
    from autograder.web.marking import groups

    monkeypatch.setattr(groups, "_MOST_VARIANTS", 1)
    client, place = marking.people.client("ta"), marking.room.place().pk
    texts = {"cem": "The mask is needed in this layer.", "dia": "The mask is not needed in this layer."}
    for student, text in texts.items():
        CellMark.objects.filter(pk=marking.room.row(student).pk).update(text=text, equal="")
    address = f"{marking.url('mark-group', answer=marking.room.row('cem').pk)}?near=1.0"
    page = client.get(address).content.decode()
    assert all(f'<p class="written">{text}</p>' in page for text in texts.values())
    assert "more texts" not in page
    assert "read every text" in page
    assert (
        "read every text"
        in client.get(f"{marking.url('mark-groups', place=place)}?near=1.0").content.decode()
    )


def test_from_group_to_group(marking: Marking) -> None:
    """Saving a group leads to the next one with a waiting answer, and finally to the list of cells."""
    client, place = marking.people.client("ta"), marking.room.place().pk
    page = client.get(marking.url("mark-groups", place=place)).content.decode()
    ways = re.findall(r'class="button" href="([^"]+/group\?near=0.0)"', page)
    marking.room.save("dia", "ta", items={"claim": "1", "reason": "0"})
    dia = f"{marking.url('mark-group', answer=marking.room.row('dia').pk)}?near=0.0"
    left = [way for way in ways if way != dia]
    assert len(left) == len(ways) - 1
    address, seen = left[1], []
    for _ in left:
        seen.append(address)
        sent = {**marking.form(client, address), "choice-claim": "2", "choice-reason": "1", "then": "next"}
        address = client.post(address, sent).headers["Location"]
    assert seen == [*left[1:], left[0]]
    assert address == marking.url("marking")
    assert "No more answers are waiting here." in client.get(address).content.decode()


def test_groups_are_put_together_by_people(marking: Marking) -> None:
    """Selected groups are merged; selecting fewer than two is rejected."""
    client, place = marking.people.client("ta"), marking.room.place().pk
    numbers = [marking.room.row(student).pk for student in ("cem", "dia")]
    client.post(marking.url("mark-gather", place=place), {"group": [str(number) for number in numbers]})
    page = client.get(marking.url("mark-groups", place=place)).content.decode()
    assert "formed manually" in page
    answer = client.post(marking.url("mark-gather", place=place), {"group": [str(numbers[0])]}, follow=True)
    assert "two groups" in answer.content.decode()


def test_two_markers_and_a_head(marking: Marking) -> None:
    """The head TA sets the plan and resolves conflicts; markers do not see each other's marks."""
    ta, head = marking.people.client("ta"), marking.people.client("head-ta")
    plan = marking.url("mark-plan", place=marking.room.place().pk)
    assert ta.post(plan, {"twice": "100"}).status_code == 403
    head.post(plan, {"twice": "100"})
    address = marking.answer("cem")
    ta.post(
        address, {**marking.form(ta, address), "choice-claim": "2", "choice-reason": "1", "comment": "First."}
    )
    page = head.get(address).content.decode()
    assert "First." not in page
    assert "without seeing" in page
    head.post(address, {**marking.form(head, address), "choice-claim": "2", "choice-reason": "0"})
    assert "A head TA must decide" in ta.get(address).content.decode()
    page = head.get(address).content.decode()
    assert "First." in page
    head.post(address, {**marking.form(head, address), "choice-claim": "1", "choice-reason": "0"})
    assert marking.room.row("cem").points == "1"
    page = head.get(marking.url("mark-consistency")).content.decode()
    assert "1 of 1" in page
    assert "0 of 1" in page


def test_statistics_are_those_of_the_class(marking: Marking) -> None:
    """Statistics use the marks given by markers and show how many answers are waiting."""
    for student in ("ada", "ben", "cem"):
        marking.room.save(student, "x", items={"claim": "2", "reason": "0"})
    page = marking.people.client("ta").get(marking.url("statistics")).content.decode()
    assert "5 students" in page
    row = page[page.index("Products grow with the width</th>") :].split("</tr>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert ["2 of 2", "3", "0"] == cells[:3]
    assert ["1", "–"] == cells[5:7]  # difficulty; discrimination is not shown for five students
    assert "All answers are marked for 0 of 5 students" in page
    assert not re.search(r">[^<]*\b(ada|ben|cem)\b[^<]*<", page)


def test_inserting_a_comment_without_a_script(marking: Marking) -> None:
    """The comment is inserted into the form, and nothing is saved yet."""
    client, address = marking.people.client("ta"), marking.answer("ada")
    fields = marking.form(client, address)
    sent = {**fields, "comment": "Look:", "insert": "Say why.", "choice-claim": "1"}
    page = client.post(address, sent).content.decode()
    assert "Look:\nSay why." in page
    assert 'value="1" checked' in page
    assert marking.room.row("ada").comment == ""


def test_nobody_learns_points_from_a_save_that_says_nothing(marking: Marking) -> None:
    """Submitting an unchanged form moves on and saves nothing."""
    client, address = marking.people.client("ta"), marking.answer("ada")
    seen = marking.room.row("ada").revision
    client.post(address, {**marking.form(client, address), "changed": "no", "then": "previous"})
    assert marking.room.row("ada").revision == seen
    assert marking.room.row("ada").marked_by is None


def test_marks_reach_the_students_page(marking: Marking) -> None:
    """The feedback page shows the points of each item, the comments on items and the general comment."""
    client = marking.people.client("ta")
    fields = marking.form(client, marking.answer("ada"))
    sent = {"points-claim": "1.5", "points-reason": "0", "comment": "Nearly.", "remark-reason": "<b>Why?"}
    assert 302 == client.post(marking.answer("ada"), {**fields, **sent, "then": "stay"}).status_code
    form = client.get(marking.answer("ada")).content.decode()
    assert 'name="remark-claim"' in form
    assert "&lt;b&gt;Why?</textarea>" in form
    from autograder.web import assignment_details

    page = assignment_details.render_feedback(marking.room.offer, "ada", "en")
    assert page is not None
    assert "Nearly." in page
    assert "&lt;b&gt;Why?" in page
    assert "1.5 of 2" in page
    assert Decimal(marking.room.row("ada").points) == Decimal("1.5")


def test_points_that_are_refused_name_the_item_by_its_text(marking: Marking) -> None:
    """The message does not use the ID from the rubric."""
    client = marking.people.client("ta")
    fields = marking.form(client, marking.answer("ada"))
    answer = client.post(marking.answer("ada"), {**fields, "points-reason": "99", "then": "stay"})
    assert 409 == answer.status_code
    item = next(candidate for candidate in marking.room.cell().items if candidate.id == "reason")
    assert f"Not saved: {item.text['en']}: expected 0 to" in html.unescape(answer.content.decode())


def test_the_page_of_a_group_lists_its_keys(marking: Marking) -> None:
    """Only keys that work on this page are listed."""
    client = marking.people.client("ta")
    content = client.get(marking.url("mark-group", answer=marking.room.row("ada").pk)).content.decode()
    keys = re.findall("<kbd>(.*?)</kbd>", content)
    assert ["n", "z"] == [key for key in keys if key in {"n", "n p", "f", "z"}]
    assert "mark all, then the next group" in content


def test_answers_are_assigned_by_a_head(marking: Marking) -> None:
    """Markers get their own answers first and see to whom an answer is assigned; others can still mark it."""
    ta, head = marking.people.client("ta"), marking.people.client("head-ta")
    account, place = marking.people.account("ta"), marking.room.place().pk
    assert account is not None
    address, sent = marking.url("mark-assign"), {"place": place, "marker": account.pk}
    assert ta.post(address, sent).status_code == 403
    assert "mark-assign" not in ta.get(marking.url("marking")).content.decode()
    page = head.get(marking.url("marking")).content.decode()
    assert f'name="marker" value="{account.pk}"' in page
    none = head.post(address, {"place": place}, follow=True).content.decode()
    assert "Select at least one marker." in none
    assert "5 answers were assigned." in head.post(address, sent, follow=True).content.decode()
    page = ta.get(marking.url("marking")).content.decode()
    assert "Grade my 5" in page
    assert re.search(r"Assigned to you, done:</strong> 0 / 5<progress", page)
    first = ta.get(marking.url("mark-first", place=place) + "?which=mine").headers["Location"]
    page = ta.get(first).content.decode()
    assert "assigned to you" in page
    assert "5 of yours waiting" in page
    shown = head.get(first).content.decode()
    assert f"assigned to {account.username}" in shown
    fields = marking.form(head, first)
    head.post(first, {**fields, "choice-claim": "1", "choice-reason": "1", "then": "stay"})
    page = head.get(marking.url("marking")).content.decode()
    assert re.search(rf'{account.username}</th><td>1 / 5<progress max="5" value="1"', page)
    page = head.post(address, {"place": place, "to": "everybody"}, follow=True).content.decode()
    assert "4 answers are left to everybody." in page
    assert "Grade my" not in ta.get(marking.url("marking")).content.decode()


def test_own_answers_first_then_the_list(marking: Marking) -> None:
    """After the assigned answers the list opens with a message; a group names the assignees."""
    from autograder.service.marking import assignees

    ta, other = marking.people.account("ta"), marking.people.account("head-ta")
    assert ta is not None
    assert other is not None
    assignees.assign_answers(marking.room.offer, None, [ta, other], other)
    client, place = marking.people.client("ta"), marking.room.place().pk
    address = client.get(f"{marking.url('mark-first', place=place)}?which=mine").headers["Location"]
    number = 0
    while address != marking.url("marking"):
        sent = {**marking.form(client, address), "choice-claim": "1", "choice-reason": "1", "then": "next"}
        address, number = client.post(address, sent).headers["Location"], number + 1
    page = client.get(address).content.decode()
    assert number in {2, 3}
    assert "No more answers that are assigned to you are waiting here." in page
    ada, ben = (marking.room.row(student) for student in ("ada", "ben"))
    ada.assignee, ada.points, ben.assignee = other, None, ta
    for row in (ada, ben):
        row.save()
    group = client.get(marking.url("mark-group", answer=ada.pk)).content.decode()
    assert f"assigned to {other.username}" in group


def test_nobody_outside_the_staff_gets_answers(marking: Marking) -> None:
    """Answers cannot be assigned to students, and unknown cells are not found."""
    head, student = marking.people.client("head-ta"), marking.people.account("student")
    assert student is not None
    address = marking.url("mark-assign")
    page = head.post(address, {"marker": student.pk}, follow=True).content.decode()
    assert "Select at least one marker." in page
    assert head.post(address, {"marker": student.pk, "place": "999999"}).status_code == 404
    assert set(marking.room.assigned().values()) == {""}


def test_comments_on_lines_reach_the_students_page(marking: Marking) -> None:
    """Line comments are entered by line numbers, quoted below the answer, escaped, and removed if empty."""
    from autograder.web import assignment_details

    text = f"First.\nSecond <b>{BAD[:20]}\nThird."
    essays.recorded(marking.room.offer, marking.room.assignment, [("eva", {"scale": text})])
    client, address = marking.people.client("ta"), marking.answer("eva")
    page = client.get(address).content.decode()
    assert page.count('<textarea name="text"') == 2
    assert '<span class="line">First.</span>' in page
    notes = {"first": ["2", ""], "last": ["3", ""], "text": [f"Why? {BAD}", ""]}
    sent = {
        **marking.form(client, address),
        **notes,
        "choice-claim": "1",
        "choice-reason": "1",
        "then": "stay",
    }
    assert client.post(address, sent).status_code == 302
    page = client.get(address).content.decode()
    assert page.count('<textarea name="text"') == 3
    assert '<details class="notes" open>' in page
    feedback = assignment_details.render_feedback(marking.room.offer, "eva", "en")
    assert feedback is not None
    assert "Comment on lines 2–3" in feedback
    quote = feedback[feedback.index('<pre class="quote">') :].split("</pre>")[0]
    assert "Second &lt;b&gt;&lt;script&gt;" in quote
    assert quote.endswith("Third.</code>")
    assert "First." not in quote
    assert "<script>alert" not in feedback
    assert "<img src=x" not in feedback
    german = assignment_details.render_feedback(marking.room.offer, "eva", "de")
    assert german is not None
    assert "Kommentar zu den Zeilen 2–3" in german
    sent = {**marking.form(client, address), "first": ["2"], "last": ["3"], "text": [" "], "then": "stay"}
    client.post(address, sent)
    assert marking.room.row("eva").annotations == []


@pytest.mark.parametrize(("first", "last"), [("", ""), ("x", "1"), ("0", "1"), ("1", "2"), ("1" * 5000, "")])
def test_wrong_lines_are_told_and_the_comment_is_not_lost(marking: Marking, first: str, last: str) -> None:
    """The input stays in the form; if the last line is omitted, the comment is on the first line alone."""
    client, address = marking.people.client("ta"), marking.answer("cem")
    sent = {**marking.form(client, address), "first": first, "last": last, "text": "Kept."}
    answer = client.post(address, sent)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "from 1 to 1" in page
    assert ">Kept.</textarea>" in page
    assert f'name="first" inputmode="numeric" autocomplete="off" size="3" value="{first}"' in page
    assert marking.room.row("cem").annotations == []
    client.post(address, {**sent, "first": "1", "last": ""})
    assert marking.room.row("cem").annotations == [{"first": 1, "last": 1, "text": "Kept."}]


def test_the_later_of_two_sees_the_others_comments_on_lines(marking: Marking) -> None:
    """No comment is lost if two people mark at the same time."""
    first, second = marking.people.client("ta"), marking.people.client("head-ta")
    address = marking.answer("cem")
    mine, theirs = marking.form(second, address), marking.form(first, address)
    first.post(address, {**theirs, "first": "1", "last": "1", "text": "By the first."})
    refused = second.post(address, {**mine, "first": "1", "last": "1", "text": "Mine."})
    assert refused.status_code == 409
    page = refused.content.decode()
    assert "1–1: By the first." in page
    assert ">Mine.</textarea>" in page
    assert [note["text"] for note in marking.room.row("cem").annotations] == ["By the first."]
