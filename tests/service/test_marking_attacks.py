"""Marking under attack: other ways to mark, changed rubrics, undo, and two markers."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from autograder.rubric import Rubric
from tests.service.room import CLASS, Room, room_of
from tests.support import essays

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

FULL = {"claim": "2", "reason": "1"}
NONE = {"claim": "0", "reason": "0"}
CELL = (essays.NAME, "scale")


@pytest.fixture
def room(service_course: CourseRecord, essays_loaded: Assignment) -> Room:
    """Return the class without any marks."""
    return room_of(service_course, essays_loaded)


@pytest.fixture
def twice(room: Room) -> Room:
    """Return the class with two markers for every answer about scaling."""
    from autograder.service.marking import consistency

    consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    return room


def undo(room: Room, by: str) -> Any:
    """Undo a marker's last action."""
    from autograder.service.marking import mark_entry

    return mark_entry.undo_action(room.offer.course_id, essays.NAME, room.account(by))


def refused(code: str, action: Callable[..., Any], *args: Any, **named: Any) -> None:
    """Assert that an action is rejected with a code."""
    from autograder.service.refusals import ActionRefused

    with pytest.raises(ActionRefused) as caught:
        action(*args, **named)
    assert code == caught.value.code


def group(room: Room, students: tuple[str, ...], by: str, **fields: Any) -> None:
    """Mark several answers at once, as the page of a group does."""
    from autograder.service.marking import mark_entry

    rows = {room.row(student).pk: room.row(student).revision for student in students}
    items = {name: Decimal(points) for name, points in fields.pop("items", {}).items()}
    mark_entry.save_marks(
        rows, room.cell(), mark_entry.GivenMarks(items, adds=True, **fields), room.account(by), settles=True
    )


def rerecorded(room: Room, rubric: Rubric) -> None:
    """Record results of the class with another rubric."""
    from autograder.grading.store import GradedEntry, ResultKey
    from autograder.service.store import DatabaseStore

    changed = replace(room.assignment, rubric=rubric)
    store = DatabaseStore(room.offer.course)
    for student, answers in CLASS.items():
        result = essays.graded(changed, student, answers)
        store.record_results(
            [GradedEntry(ResultKey.from_submission(student, result.digest, rubric, "f" * 64), result, rubric)]
        )


def changed_rubric(rubric: Rubric, claim: str = "2", *, drop: str = "", add: str = "") -> Rubric:
    """Return the rubric with changed points of the first item, without an item, or with an additional one."""
    first = rubric.questions[0]
    items = [replace(item, points=Decimal(claim)) if item.id == "claim" else item for item in first.items]
    items = [item for item in items if item.id != drop]
    items += [replace(first.items[1], id=add)] if add else []
    points = sum((item.points for item in items), Decimal(0))
    question = replace(first, items=tuple(items), points=points)
    return replace(rubric, version=2, questions=(question, *rubric.questions[1:]))


def given_whole(room: Room, student: str, points: str) -> None:
    """Give a mark for the whole cell, as formgrader does."""
    from autograder.service.store import DatabaseStore

    DatabaseStore(room.offer.course).give_mark(
        essays.NAME, student, CELL, PersonMark(points=Decimal(points), comment="By formgrader.")
    )


# ---------------------------------------------------------------- whole marks


def test_a_comment_does_not_take_a_whole_mark_away(room: Room) -> None:
    """Adding a comment or a flag keeps points that formgrader gave for the whole cell."""
    given_whole(room, "ada", "2.5")
    row = room.save("ada", "ta", comment="I agree.", flagged=True)
    assert ("2.5", "I agree.", True) == (row.points, row.comment, row.flagged)


def test_items_replace_a_whole_mark(room: Room) -> None:
    """Marks of all items replace the whole mark, and undo restores it."""
    given_whole(room, "ada", "2.5")
    assert "3" == room.save("ada", "ta", items=FULL).points
    undo(room, "ta")
    assert ("2.5", {}) == (room.row("ada").points, room.row("ada").items)


def test_looking_again_at_a_whole_mark_confirms_it(room: Room) -> None:
    """After a new submission, saving without points confirms the whole mark."""
    given_whole(room, "ada", "2.5")
    essays.recorded(room.offer, room.assignment, [("ada", {"scale": "Another."})])
    assert room.row("ada").again
    room.save("ada", "ta", comment="Still.")
    assert (False, "2.5") == (room.row("ada").again, room.row("ada").points)


def test_items_that_are_taken_back_leave_nothing(room: Room) -> None:
    """Emptying all items on the page removes the points of the cell."""
    room.save("ada", "ta", items=FULL)
    assert (None, {}) == (room.save("ada", "ta").points, room.row("ada").items)


# ---------------------------------------------------------------- groups


def test_a_group_takes_no_flag_comment_or_item_away(room: Room) -> None:
    """Fields that the group's form leaves empty keep the value of each answer."""
    room.save("ada", "x", items={"reason": "1"}, comment="Mine.", flagged=True)
    group(room, ("ada", "ben"), "ta", items={"claim": "2"})
    ada, ben = room.row("ada"), room.row("ben")
    assert ("3", "Mine.", True) == (ada.points, ada.comment, ada.flagged)
    assert (None, "", False) == (ben.points, ben.comment, ben.flagged)


def test_an_empty_group_form_is_refused(room: Room) -> None:
    """An empty form is rejected, and nothing changes."""
    room.save("ada", "x", items=FULL)
    before = room.states()
    refused("mark-nothing-given", group, room, ("ada", "ben"), "ta")
    assert before == room.states()


def test_a_comment_for_a_group_keeps_points(room: Room) -> None:
    """A comment keeps points of items and of whole marks."""
    room.save("ada", "x", items=FULL)
    given_whole(room, "ben", "0.5")
    group(room, ("ada", "ben"), "ta", comment="For all.")
    assert [("3", "For all."), ("0.5", "For all.")] == [
        (room.row(student).points, room.row(student).comment) for student in ("ada", "ben")
    ]


def test_a_group_of_two_markers_adds_to_ones_own(twice: Room) -> None:
    """Items that a marker gives in two steps complete their mark."""
    group(twice, ("ada", "ben"), "first", items={"claim": "2"})
    assert "" == twice.row("ada").stage
    group(twice, ("ada", "ben"), "first", items={"reason": "1"})
    assert "second" == twice.row("ada").stage
    group(twice, ("ada", "ben"), "second", items=FULL)
    assert ["3", "3"] == [twice.row(student).points for student in ("ada", "ben")]


# ---------------------------------------------------------------- two markers


@pytest.mark.parametrize("unfinished", [{}, {"claim": "2"}])
def test_whoever_has_not_finished_has_not_marked(twice: Room, unfinished: dict[str, str]) -> None:
    """A flag or a part of the items is not a second mark, causes no conflict, and stays in the queue."""
    twice.save("cem", "first", items=FULL)
    row = twice.save("cem", "second", items=unfinished, flagged=True)
    assert ("second", None) == (row.stage, row.points)
    assert 5 == twice.counts("second")["scale"][0]
    assert "3" == twice.save("cem", "second", items=FULL).points


def test_an_unfinished_first_mark_is_nobodys_second(twice: Room) -> None:
    """The next marker becomes the first, and the unfinished mark is kept."""
    from autograder.service.marking import mark_entry

    twice.save("cem", "first", items={"claim": "2"}, comment="Begun.")
    reading = mark_entry.find_own_reading(twice.row("cem"), twice.account("first"))
    assert reading is not None
    assert ("Begun.", {}) == (reading.comment, twice.row("cem").items)
    assert mark_entry.find_own_reading(twice.row("cem"), twice.account("second")) is None
    assert "second" == twice.save("cem", "second", items=FULL).stage
    assert "3" == twice.save("cem", "first", items=FULL).points


def test_taking_ones_own_back_by_emptying_it(twice: Room) -> None:
    """A marker who removes points of an item from a complete mark has not marked."""
    twice.save("cem", "first", items=FULL)
    assert "" == twice.save("cem", "first", items={"claim": "1"}).stage
    assert 5 == twice.counts("first")["scale"][0]


def test_both_mark_a_new_submission(twice: Room) -> None:
    """Both markers of the old text can mark the new one, in any order."""
    twice.save("cem", "first", items=FULL)
    essays.recorded(twice.offer, twice.assignment, [("cem", {"scale": "A new text."})])
    assert "" == twice.row("cem").stage
    assert "second" == twice.save("cem", "second", items=FULL).stage
    assert 5 == twice.counts("first")["scale"][0]
    assert 4 == twice.counts("second")["scale"][0]
    assert "3" == twice.save("cem", "first", items=FULL).points


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a"), ("a", "a", "b"), ("b", "a", "a")])
def test_every_order_of_two_ends_the_same(twice: Room, order: tuple[str, ...]) -> None:
    """Equal marks agree, however often and in whichever order they are saved."""
    for by in order:
        twice.save("cem", by, items=FULL)
    assert ("", "3") == (twice.row("cem").stage, twice.row("cem").points)


def test_undo_between_two(twice: Room) -> None:
    """Each marker can undo their own mark, and the state is restored."""
    before = twice.states()
    twice.save("cem", "a", items=FULL)
    twice.save("cem", "b", items=NONE)
    assert "conflict" == twice.row("cem").stage
    refused("mark-not-undone", undo, twice, "a")
    undo(twice, "b")
    assert "second" == twice.row("cem").stage
    twice.save("cem", "b", items=FULL)
    assert "3" == twice.row("cem").points
    undo(twice, "b")
    assert ("second", None) == (twice.row("cem").stage, twice.row("cem").points)
    twice.save("cem", "a", items={})
    assert before == twice.states()


def test_only_who_may_decide_decides(twice: Room) -> None:
    """A conflict cannot be resolved by a third TA, alone or with a group."""
    twice.save("ada", "a", items=FULL)
    twice.save("ada", "b", items=NONE)
    refused("mark-differ", twice.save, "ada", "c", items=FULL)
    rows = {twice.row(student).pk: twice.row(student).revision for student in ("ada", "ben")}
    from autograder.service.marking import mark_entry

    marks = mark_entry.GivenMarks({"claim": Decimal(1)}, adds=True)
    refused("mark-differ", mark_entry.save_marks, rows, twice.cell(), marks, twice.account("c"))
    assert "conflict" == twice.row("ada").stage


def test_a_marker_who_left_stays_one_of_two(twice: Room) -> None:
    """The mark of a deactivated account still counts, and no new first mark is needed."""
    account = twice.account("first")
    twice.save("cem", "first", items=FULL)
    account.is_active = False
    account.save()
    assert "3" == twice.save("cem", "second", items=FULL).points
    from autograder.service.marking import consistency

    names = [marker.name for marker in consistency.measure_consistency(twice.place(), twice.cell()).markers]
    assert account.username in names


def test_readings_follow_points(twice: Room) -> None:
    """Marks are scaled with the points of an item, so full marks still agree."""
    twice.save("cem", "first", items=FULL)
    rubric = changed_rubric(twice.assignment.rubric, "4")
    rerecorded(twice, rubric)
    assert "second" == twice.row("cem").stage
    from autograder.service.marking import answers, mark_entry

    cell = answers.find_cell(rubric, *CELL)
    assert cell is not None
    row = twice.row("cem")
    marks = mark_entry.GivenMarks({"claim": Decimal(4), "reason": Decimal(1)})
    (row,) = mark_entry.save_marks({row.pk: row.revision}, cell, marks, twice.account("second"))
    assert ("", "5") == (row.stage, row.points)


@pytest.mark.parametrize("change", [{"drop": "reason"}, {"add": "third"}])
def test_other_items_are_marked_by_both_again(twice: Room, change: dict[str, str]) -> None:
    """If an item was added or removed, both markers must mark again."""
    twice.save("cem", "first", items=FULL)
    twice.save("ada", "first", items=FULL)
    twice.save("ada", "second", items=NONE)
    rerecorded(twice, changed_rubric(twice.assignment.rubric, **change))
    from autograder.service.marking import mark_entry

    assert ["", ""] == [twice.row(student).stage for student in ("ada", "cem")]
    assert [] == mark_entry.load_readings(twice.row("cem"))
    assert 5 == twice.counts("first")["scale"][0]


def test_who_agreed_does_not_answer_the_request(twice: Room) -> None:
    """Markers who agreed on the mark cannot answer the request; a third one can."""
    from autograder.service.marking import regrade_requests
    from autograder.service.models import Member

    for name in ("a", "b", "c"):
        Member.objects.create(course=twice.offer.course, account=twice.account(name), role="ta")
    twice.save("cem", "a", items=FULL)
    twice.save("cem", "b", items=FULL)
    course, row = twice.offer.course, twice.row("cem")
    may = [regrade_requests.may_answer(row, twice.account(who), course) for who in ("a", "b", "c")]
    assert [False, False, True] == may


# ---------------------------------------------------------------- undo


def test_undo_does_not_bring_a_mark_to_another_text(room: Room) -> None:
    """After a resubmission, undo does not restore the mark of the old text."""
    room.save("ada", "ta", items=FULL)
    room.save("ada", "ta")
    essays.recorded(room.offer, room.assignment, [("ada", {"scale": "Another text."})])
    refused("mark-not-undone", undo, room, "ta")
    assert None is room.row("ada").points


def test_undo_does_not_bring_points_of_another_rubric(room: Room) -> None:
    """Undo does not restore points if the item is worth more now."""
    room.save("ada", "ta", items=FULL)
    room.save("ada", "ta")
    rerecorded(room, changed_rubric(room.assignment.rubric, "4"))
    refused("mark-not-undone", undo, room, "ta")
    assert {} == room.row("ada").items


def test_an_answer_that_is_gone_does_not_block_undo(room: Room) -> None:
    """If an answer no longer exists, earlier actions can still be undone."""
    from autograder.service.models import CellMark

    room.save("ada", "ta", items=FULL)
    room.save("cem", "ta", flagged=True)
    CellMark.objects.filter(pk=room.row("cem").pk).delete()
    refused("mark-not-undone", undo, room, "ta")
    undo(room, "ta")
    assert None is room.row("ada").points


def test_undo_of_marking_leaves_answered_requests(room: Room) -> None:
    """Undo does not change points after a regrade request was answered."""
    from autograder.service.marking import mark_entry

    room.save("cem", "ta", items=NONE)
    row = room.row("cem")
    mark_entry.give_item(
        row, room.cell(), room.cell().items[0], Decimal("1.5"), room.account("b"), reply="Yes."
    )
    assert None is undo(room, "b")
    refused("mark-not-undone", undo, room, "ta")
    assert "1.5" == room.row("cem").points


@pytest.mark.parametrize("percent", [0, 50])
def test_many_actions_of_three_and_undo_of_all(room: Room, percent: int) -> None:
    """Undoing every action in reverse order restores the state and leaves no mark of a single marker."""
    from autograder.core.errors import ServiceError
    from autograder.service.marking import consistency, groups
    from autograder.service.models import IndependentMark

    consistency.set_plan(room.place(), twice_percent=percent, by=room.account("head"))
    drawn, before, done = random.Random(percent), room.states(), []
    for _ in range(120):
        by, student = drawn.choice("abc"), drawn.choice(sorted(CLASS))
        items = {name: drawn.choice(["0", "1"]) for name in FULL if drawn.random() < 0.8}
        settles, action = by == "a", drawn.randrange(8)
        try:
            if action < 5:
                comment = drawn.choice(["", "So."])
                room.save(student, by, items=items, comment=comment, flagged=action == 1, settles=settles)
            elif action == 5:
                group(room, tuple(drawn.sample(sorted(CLASS), 2)), by, items=items, comment="For all.")
            else:
                rows = [room.row(chosen).pk for chosen in drawn.sample(sorted(CLASS), 2)]
                (groups.merge_answers if action == 6 else groups.take_out_answers)(
                    room.place(), rows, room.account(by)
                )
            done.append(by)
        except ServiceError:
            pass
    assert len(done) > 80
    for by in reversed(done):
        assert undo(room, by) is not None
    assert before == room.states()
    assert not IndependentMark.objects.filter(mark__place=room.place()).exists()


# ---------------------------------------------------------------- input


@pytest.mark.parametrize("length", [0, 1, 3_000, 4_000])
def test_comments_of_every_length_are_offered_again(room: Room, length: int) -> None:
    """Comments too long for an index also work, and duplicates are offered once."""
    from autograder.service.marking import comments

    drawn = random.Random(length)
    text = "".join(chr(drawn.randrange(0x4E00, 0x9FFF)) for _ in range(length))
    for _ in range(2):
        comments.save_comment(room.place(), text, room.account("ta"))
    comments.count_use(room.place(), text)
    assert [text] == [comment.text for comment in comments.list_offered(room.place())]


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ({"claim": "2.0001"}, "mark-points-out"),
        ({"claim": "-0.0001"}, "mark-points-out"),
        ({"claim": "Infinity"}, "mark-points-out"),
        ({"claim": "NaN"}, "mark-points-out"),
        ({"gone": "1"}, "mark-no-item"),
    ],
)
def test_what_cannot_be_is_refused_by_name(room: Room, items: dict[str, str], code: str) -> None:
    """Invalid points and long comments are rejected with a code, alone and in a group."""
    before = room.states()
    refused(code, room.save, "ada", "ta", items=items)
    refused(code, group, room, ("ada", "ben"), "ta", items=items)
    refused("text-long", room.save, "ada", "ta", comment="x" * 4_001)
    assert before == room.states()


def test_a_form_of_the_rubric_before_is_refused(room: Room) -> None:
    """A form of the old rubric is rejected, with old items or an old revision."""
    from autograder.service.marking import answers, mark_entry

    seen = room.row("ada").revision
    rubric = changed_rubric(room.assignment.rubric, "4")
    rerecorded(room, rubric)
    with pytest.raises(mark_entry.ChangedMeanwhileError):
        room.save("ada", "ta", items=FULL)
    cell = answers.find_cell(rubric, *CELL)
    assert cell is not None
    marks = mark_entry.GivenMarks({"claim": Decimal(2), "reason": Decimal(1)})
    with pytest.raises(mark_entry.ChangedMeanwhileError):
        mark_entry.save_marks({room.row("ada").pk: seen}, cell, marks, room.account("ta"))
    assert {} == room.row("ada").items


def test_partial_marks_follow_a_rubric(room: Room) -> None:
    """Removed items lose their points, others are scaled, and a complete mark is the sum."""
    room.save("ada", "ta", items={"claim": "1"})
    room.save("cem", "ta", items=FULL)
    rerecorded(room, changed_rubric(room.assignment.rubric, "4", drop="reason"))
    claim = room.row("ada").items["claim"]
    assert ("4", Decimal(2)) == (claim["of"], Decimal(claim["points"]))
    assert ["claim"] == list(room.row("cem").items)
    assert Decimal(4) == Decimal(room.row("cem").points)


def test_every_door_gives_the_same(room: Room) -> None:
    """Page, group, sheet, whole mark, decision and request all give the same points."""
    from autograder.service.marking import mark_entry
    from autograder.service.standings import load_standings
    from autograder.service.store import DatabaseStore

    store = DatabaseStore(room.offer.course)
    part = {"claim": Decimal("1.5"), "reason": Decimal(1)}
    room.save("ada", "ta", items={"claim": "1.5", "reason": "1"})
    group(room, ("ben",), "ta", items={"claim": "1.5", "reason": "1"})
    store.give_mark(essays.NAME, "cem", CELL, PersonMark(points=Decimal("2.5"), items=part))
    store.give_mark(essays.NAME, "dia", CELL, PersonMark(Decimal("2.5")), Decimal("2.5"))
    room.save("eva", "ta", items={"claim": "0", "reason": "1"})
    mark_entry.give_item(
        room.row("eva"), room.cell(), room.cell().items[0], Decimal("1.5"), room.account("b"), reply="Yes."
    )
    standings = load_standings(room.offer, room.assignment)
    assert dict.fromkeys(CLASS, Decimal("2.5")) == {
        who: standing.questions[0].points for who, standing in standings.items()
    }
    assert {False} == {standing.questions[0].pending for standing in standings.values()}
