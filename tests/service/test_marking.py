"""Manual marks in the service: saved by revision, counted and undone; concurrent saves lose nothing."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from autograder.core.errors import ServiceError
from autograder.grading.assignment import Assignment
from autograder.grading.grades import compute_standing
from autograder.service.refusals import ActionRefused
from tests.service.room import CLASS, Room, room_of
from tests.support import essays

if TYPE_CHECKING:
    from autograder.service.models import Account, CourseRecord


@pytest.fixture
def room(service_course: CourseRecord, essays_loaded: Assignment) -> Room:
    """Return the class without any marks."""
    return room_of(service_course, essays_loaded)


def test_what_waits_is_counted(room: Room) -> None:
    """Non-empty answers are counted; keywords of an item and marked equal answers give suggestions."""
    assert room.counts() == {"scale": (5, 2, 0, 0, 0, 5), "masks": (4, 0, 0, 0, 0, 4)}
    room.save("ada", "ta", items={"claim": "2", "reason": "1"}, flagged=True)
    assert room.counts()["scale"] == (4, 1, 1, 1, 0, 5)
    room.save("cem", "ta", "masks", items={"effect": "0"})
    assert room.counts()["masks"] == (3, 0, 1, 0, 0, 4)


def test_points_of_items_are_the_cells(room: Room) -> None:
    """The cell has points only once every item has points."""
    row = room.save("ada", "ta", items={"claim": "1.5"})
    assert (row.points, room.counts()["scale"][0]) == (None, 5)
    row = room.save("ada", "ta", items={"claim": "1.5", "reason": "1"}, comment="Good.")
    assert (row.points, row.comment, row.marked_by) == ("2.5", "Good.", room.account("ta"))
    from autograder.service.store import DatabaseStore

    store = DatabaseStore(room.offer.course)
    graded, marks = store.load_student_result(essays.NAME, "ada")
    assert graded is not None
    stands = compute_standing(graded.score, room.assignment.rubric, marks)
    assert [question.points for question in stands.questions] == [Decimal("2.5"), 0, 0]


@pytest.mark.parametrize(
    "items", [{"claim": "2.01"}, {"claim": "-1"}, {"other": "1"}, {"claim": "NaN"}, {"effect": "1"}]
)
def test_points_that_cannot_be_are_refused(room: Room, items: dict[str, str]) -> None:
    """Points that are invalid or out of range are rejected, and nothing changes."""
    before = room.states()
    with pytest.raises(ServiceError):
        room.save("ada", "ta", items=items)
    assert room.states() == before


def test_the_later_save_is_refused(room: Room) -> None:
    """A marker who saw an older revision gets an error with the current mark."""
    from autograder.service.marking import mark_entry

    seen = room.row("ada").revision
    room.save("ada", "first", items={"claim": "2", "reason": "0"})
    with pytest.raises(mark_entry.ChangedMeanwhileError) as caught:
        room.save("ada", "second", items={"claim": "0", "reason": "0"}, revision=seen)
    assert caught.value.row.items["claim"]["points"] == "2"
    assert room.row("ada").marked_by == room.account("first")


def test_a_group_is_saved_as_a_whole_or_not_at_all(room: Room) -> None:
    """If one answer was changed in the meantime, none of the group is saved."""
    from autograder.service.marking import mark_entry

    rows = {room.row(student).pk: room.row(student).revision for student in ("ada", "ben")}
    marks = mark_entry.GivenMarks({"claim": Decimal(1), "reason": Decimal(1)})
    room.save("ben", "other", comment="Wait.")
    before = room.states()
    with pytest.raises(mark_entry.ChangedMeanwhileError):
        mark_entry.save_marks(rows, room.cell(), marks, room.account("ta"))
    assert room.states() == before
    rows = {room.row(student).pk: room.row(student).revision for student in ("ada", "ben")}
    mark_entry.save_marks(rows, room.cell(), marks, room.account("ta"))
    assert {room.row(student).points for student in ("ada", "ben")} == {"2"}


def test_the_order_is_mixed_stable_and_the_same_for_all(room: Room) -> None:
    """The order depends on neither names nor times, and is the same for all markers."""
    from autograder.service.marking import queue

    def order(by: str) -> list[str]:
        students, row = [], None
        while (row := queue.find_next_answer(room.place(), room.account(by), "all", row)) and (
            row.student not in students
        ):
            students.append(row.student)
        return students

    assert order("a") == order("b")
    assert sorted(order("a")) == sorted(CLASS)
    backwards = queue.find_next_answer(
        room.place(), room.account("a"), "all", room.row(order("a")[0]), backwards=True
    )
    assert backwards is not None
    assert backwards.student == order("a")[-1]


def test_nobody_is_sent_to_where_somebody_looks(room: Room) -> None:
    """The queue avoids answers that are open elsewhere; a marker who opens one sees who else is there."""
    from autograder.service.marking import queue

    first = queue.find_next_answer(room.place(), room.account("a"), "waiting")
    assert first is not None
    assert queue.record_viewing(first, room.account("a")) == []
    second = queue.find_next_answer(room.place(), room.account("b"), "waiting")
    assert second is not None
    assert second.pk != first.pk
    assert queue.record_viewing(first, room.account("b")) == [room.account("a").username]


def test_who_asks_at_the_same_moment_is_sent_elsewhere(room: Room) -> None:
    """Markers who request an answer at the same moment each get a different one."""
    from django.db import connections

    from autograder.service.marking import queue

    place, people = room.place(), [room.account(name) for name in "abcde"]
    start = threading.Barrier(len(people))

    def asks(by: Account) -> int:
        try:
            start.wait()
            answer = queue.assign_next_answer(place, by, "waiting")
            assert answer is not None
            return int(answer.pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(people)) as threads:
        assert len(CLASS) == len(set(threads.map(asks, people)))


def test_equal_answers_are_known_by_a_name_that_needs_the_secret(room: Room) -> None:
    """Equality ignores insignificant differences, and empty answers have no hash."""
    assert room.row("ada").equal == room.row("ben").equal != ""
    assert room.row("ada").equal != room.row("cem").equal
    assert room.row("dia", "masks").equal == ""


def test_a_new_submission_is_looked_at_again(room: Room) -> None:
    """The mark stays until the new text was reviewed; the answer leaves a group that was merged manually."""
    from autograder.service.marking import groups

    row = room.save("ada", "ta", items={"claim": "2", "reason": "1"})
    groups.merge_answers(room.place(), [row.pk, room.row("cem").pk], room.account("ta"))
    seen = room.row("ada").revision
    essays.recorded(room.offer, room.assignment, [("ada", {"scale": "Something else."})])
    again = room.row("ada")
    assert (again.again, again.points, again.gathered, again.text) == (True, "3", "", "Something else.")
    assert again.revision > seen
    assert room.counts()["scale"][0] == 5
    room.save("ada", "ta", items={"claim": "0", "reason": "0"})
    assert (room.row("ada").again, room.row("ada").points) == (False, "0")


def test_grading_again_changes_no_persons_mark(room: Room) -> None:
    """Recording the same result does not even change the revision."""
    room.save("ada", "ta", items={"claim": "2", "reason": "1"})
    before, seen = room.states(), room.row("ada").revision
    essays.recorded(room.offer, room.assignment, CLASS.items())
    assert (room.states(), room.row("ada").revision) == (before, seen)


def test_two_people_mark_without_seeing_each_other(room: Room) -> None:
    """Equal marks count; a head TA decides if they differ, and the mark is then the head TA's."""
    from autograder.service.marking import consistency, mark_entry

    consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    for student, second in (("ada", "1"), ("cem", "0")):
        row = room.save(student, "first", items={"claim": "2", "reason": "1"})
        assert (row.stage, row.points, row.items) == ("second", None, {})
        row = room.save(student, "second", items={"claim": "2", "reason": second})
    assert (room.row("ada").stage, room.row("ada").points) == ("", "3")
    assert (row.stage, row.points) == ("conflict", None)
    assert room.counts("third")["scale"] == (3, 1, 1, 0, 1, 5)
    with pytest.raises(ServiceError, match="head TA"):
        room.save("cem", "third", items={"claim": "0", "reason": "0"})
    row = room.save("cem", "head", items={"claim": "2", "reason": "0"}, settles=True)
    assert (row.stage, row.points, row.marked_by) == ("", "2", room.account("head"))
    agreement = consistency.measure_consistency(room.place(), room.cell())
    assert [(item.pairs, item.equal) for item in agreement.items.values()] == [(2, 2), (2, 1)]
    assert {marker.name.rpartition("-")[2]: marker.answers for marker in agreement.markers} == {
        "first": 2,
        "second": 2,
    }
    assert mark_entry.load_readings(room.row("cem"))[1].items["reason"]["points"] == "0"


def test_whoever_marked_once_waits_for_somebody_else(room: Room) -> None:
    """Answers that a marker has marked wait for another marker, and are not waiting for the first."""
    from autograder.service.marking import consistency

    consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    room.save("ada", "first", items={"claim": "2", "reason": "1"})
    assert (room.counts("first")["scale"][0], room.counts("second")["scale"][0]) == (4, 5)


def test_the_share_that_two_people_mark_follows_from_the_secret(room: Room) -> None:
    """The share has about the requested size and is spread over the whole order."""
    from autograder.core.stream import derive_key
    from autograder.service.marking import mark_entry

    places = sorted(derive_key(b"secret", str(number)).hex()[:32] for number in range(2000))
    chosen = [place for place in places if mark_entry.is_in_share(place, 20)]
    assert 340 < len(chosen) < 460
    assert 140 < sum(place in chosen for place in places[:1000]) < 260
    assert not any(mark_entry.is_in_share(place, 0) for place in places)
    assert all(mark_entry.is_in_share(place, 100) for place in places)


def test_undo_takes_back_ones_own_last_action(room: Room) -> None:
    """Undo ignores actions of other markers and fails if the answer was changed since."""
    from autograder.service.marking import mark_entry

    before = room.states()
    room.save("ada", "a", items={"claim": "2", "reason": "1"})
    room.save("cem", "b", items={"claim": "0", "reason": "0"})

    def undo(by: str) -> Any:
        return mark_entry.undo_action(room.offer.course_id, essays.NAME, room.account(by))

    assert undo("c") is None
    assert undo("a") is not None
    assert room.row("ada").points is None
    assert room.row("cem").points == "0"
    undo("b")
    assert room.states() == before
    room.save("ada", "a", items={"claim": "2", "reason": "1"})
    room.save("ada", "b", items={"claim": "1", "reason": "1"})
    with pytest.raises(ServiceError, match="since"):
        undo("a")
    assert room.row("ada").points == "2"
    assert undo("a") is None


@pytest.mark.parametrize("seed", range(3))
def test_random_actions_and_undo_of_all_leave_the_state_as_before(room: Room, seed: int) -> None:
    """One marker marks, comments, merges and takes out answers; undoing everything restores the state."""
    from autograder.service.marking import groups, mark_entry
    from autograder.service.models import IndependentMark

    drawn = random.Random(seed)
    if seed == 2:
        from autograder.service.marking import consistency

        consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    before = room.states()
    for _ in range(60):
        student, cell = drawn.choice(sorted(CLASS)), drawn.choice(["scale", "masks"])
        names = [item.id for item in room.cell(cell).items]
        items = {name: drawn.choice(["0", "0.5", "1"]) for name in names if drawn.random() < 0.8}
        action = drawn.randrange(4)
        if action < 2:
            room.save(student, "ta", cell, items=items, comment=drawn.choice(["", "So."]))
        elif action == 2:
            two = [room.row(student, cell).pk for student in drawn.sample(sorted(CLASS), 2)]
            groups.merge_answers(room.place(cell), two, room.account("ta"))
        else:
            groups.take_out_answers(room.place(cell), [room.row(student, cell).pk], room.account("ta"))
    assert room.states() != before
    undone = 0
    while mark_entry.undo_action(room.offer.course_id, essays.NAME, room.account("ta")):
        undone += 1
    assert (undone, room.states()) == (60, before)
    assert not IndependentMark.objects.filter(mark__place__course=room.offer.course).exists()


def test_groups_are_equal_near_and_by_people(room: Room) -> None:
    """Manually merged or separated answers stay so, whatever the similarity threshold."""
    from autograder.service.marking import groups

    def found(near: float = 0.0) -> list[tuple[str, list[str]]]:
        students = {room.row(student).pk: student for student in CLASS}
        several = groups.group_answers(room.offer, room.place(), room.cell(), room.assignment.rubric, near)
        return [(group.binding, sorted(students[number] for number in group.members)) for group in several]

    assert found()[0] == ("equal", ["ada", "ben"])
    assert len(found()) == 4
    groups.merge_answers(room.place(), [room.row("cem").pk, room.row("dia").pk], room.account("ta"))
    assert ("gathered", ["cem", "dia"]) in found()
    groups.take_out_answers(room.place(), [room.row("ben").pk], room.account("ta"))
    assert ("gathered", ["ben"]) in found(1.0)
    with pytest.raises(ServiceError, match="two groups"):
        groups.merge_answers(room.place(), [room.row("cem").pk], room.account("ta"))
    with pytest.raises(ServiceError, match="another question"):
        groups.take_out_answers(room.place(), [room.row("cem", "masks").pk], room.account("ta"))


def test_older_answers_are_described(room: Room) -> None:
    """Answers that were graded before the marking tables existed are described like new ones."""
    from autograder.service.marking import answers
    from autograder.service.models import CellMark

    rows = CellMark.objects.filter(place__course=room.offer.course)
    wanted = {row.pk: (row.text, row.equal, row.shuffled, row.verdicts) for row in rows}
    rows.update(text="", equal="", shuffled="", verdicts={}, answered=False)
    answers.describe_older(room.offer, room.assignment)
    assert {row.pk: (row.text, row.equal, row.shuffled, row.verdicts) for row in rows.all()} == wanted


def test_comments_are_offered_again(room: Room) -> None:
    """Saved comments are offered in their cell, the most used first."""
    from autograder.service.marking import comments

    comments.save_comment(room.place(), "Say why.", room.account("ta"))
    comments.save_comment(room.place(), "Good.", room.account("ta"))
    comments.save_comment(room.place(), "Good.", room.account("ta"))
    comments.count_use(room.place(), "Good. But say more.")
    assert [comment.text for comment in comments.list_offered(room.place())] == ["Good.", "Say why."]
    assert comments.list_offered(room.place("masks")) == []


def test_remarks_on_items_are_saved_shared_and_taken_back(room: Room) -> None:
    """Remarks can be saved alone. A group keeps those not in its form, and undo restores them."""
    from autograder.service.marking import mark_entry

    row = room.save("ada", "ta", items={"claim": "1"}, remarks={"claim": "Which?", "reason": "Why?"})
    assert ({"claim": "Which?", "reason": "Why?"}, True) == (row.remarks, row.touched)
    marks = mark_entry.GivenMarks({}, adds=True, remarks={"reason": "Because?"})
    mark_entry.save_marks({row.pk: row.revision}, room.cell(), marks, room.account("ta"))
    assert {"claim": "Which?", "reason": "Because?"} == room.row("ada").remarks
    mark_entry.undo_action(room.offer.course_id, room.offer.assignment, room.account("ta"))
    assert {"claim": "Which?", "reason": "Why?"} == room.row("ada").remarks
    for remarks in ({"other": "x"}, {"claim": "x" * 4_001}):
        with pytest.raises(ActionRefused):
            room.save("ada", "ta", remarks=remarks)


def test_unmarked_answers_are_split_evenly(room: Room) -> None:
    """Unmarked answers of one cell or all are split evenly, marked ones stay, and the log has the counts."""
    from collections import Counter

    from autograder.service.models import AuditEntry

    assert room.assign("eins", "zwei", cell=None) == 9
    each = Counter([*room.assigned().values(), *room.assigned("masks").values()])
    assert sorted(each.values()) == [4, 5], "even in total, not only for each cell"
    assert sorted(Counter(room.assigned().values()).values()) == [2, 3]
    before = room.assigned()
    room.save("ada", before["ada"], items={"claim": "2", "reason": "1"})
    other = "zwei" if before["ada"] == "eins" else "eins"
    assert room.assign(other) == 4
    assert room.assigned() == {**dict.fromkeys(CLASS, other), "ada": before["ada"]}
    assert room.assign() == 4
    assert room.assigned() == {**dict.fromkeys(CLASS, ""), "ada": before["ada"]}
    assert set(room.assigned("masks").values()) == {"eins", "zwei"}, "of the other cell nothing moved"
    slug = room.offer.course.slug
    entries = AuditEntry.objects.filter(course=room.offer.course, action="assign answers").order_by("pk")
    assert [entry.subject for entry in entries] == [essays.NAME, *2 * (f"{essays.NAME}: scale",)]
    last = entries.last()
    assert last is not None
    assert (last.before, last.after) == ({f"{slug}-{other}": 4}, {"-": 4})


def test_assigned_answers_come_first_and_hinder_nobody(room: Room) -> None:
    """Own and unassigned answers come before those of others; a resubmission keeps its marker."""
    from autograder.service.marking import queue

    room.assign("eins", "zwei")
    place, eins, guest = room.place(), room.account("eins"), room.account("guest")
    assigned_students = {student for student, name in room.assigned().items() if name == "eins"}

    def go_through(by: Account, which: str) -> list[str]:
        students, row = [], queue.find_next_answer(place, by, which)
        while row is not None and row.student not in students:
            students.append(row.student)
            row = queue.find_next_answer(place, by, which, row)
        return students

    assert set(go_through(eins, "mine")) == assigned_students == set(go_through(eins, "waiting"))
    assert set(go_through(guest, "waiting")) == set(CLASS), "to whom nothing is assigned, marks for others"
    assert go_through(guest, "mine") == []
    assert (
        queue.count_waiting(place, eins, mine=True)
        == len(assigned_students)
        < queue.count_waiting(place, eins)
    )
    for student in assigned_students:
        room.save(student, "guest", items={"claim": "2", "reason": "1"})
    assert go_through(eins, "mine") == []
    assert set(go_through(eins, "waiting")) == CLASS.keys() - assigned_students, (
        "when the own ones are done, the others'"
    )
    again = sorted(assigned_students)[0]
    essays.recorded(room.offer, room.assignment, [(again, {**CLASS[again], "scale": "Something new."})])
    assert go_through(eins, "mine") == [again]


def test_progress_counts_what_the_assignee_need_not_mark_any_more(room: Room) -> None:
    """Answers marked by anyone count; with two markers, those that the assignee marked themselves."""
    from autograder.service.marking import assignees, consistency

    def count() -> dict[str, tuple[int, int]]:
        rows = assignees.count_progress(room.offer)
        return {row.name.removeprefix(f"{room.offer.course.slug}-"): (row.done, row.assigned) for row in rows}

    assert count() == {}
    room.assign("eins")
    room.save("ada", "guest", items={"claim": "2", "reason": "1"})
    assert count() == {"eins": (1, 5)}
    consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    room.save("ben", "eins", items={"claim": "2", "reason": "1"})
    room.save("cem", "guest", items={"claim": "2", "reason": "1"})
    assert count() == {"eins": (2, 5)}, "the second mark of ben is somebody else's, that of cem theirs"
    room.assign("zwei")
    assert count() == {"eins": (2, 3), "zwei": (0, 2)}
    assert room.assigned()["ben"] == room.assigned()["cem"] == "eins", "half-marked answers do not move"


def test_whoever_leaves_leaves_their_answers_to_everybody(room: Room) -> None:
    """The unmarked answers of a removed member become unassigned."""
    from django.db import transaction

    from autograder.service import audit, members
    from autograder.service.models import Member, Role

    member = Member.objects.create(course=room.offer.course, account=room.account("eins"), role=Role.TA)
    room.assign("eins")
    room.save("ada", "eins", items={"claim": "2", "reason": "1"})
    with transaction.atomic():
        audit.lock_log()
        members.remove_member(member, room.account("head"))
    assert room.assigned() == {**dict.fromkeys(CLASS, ""), "ada": "eins"}


LINES = "The variance grows.\nSoftmax saturates.\nGradients vanish."


def test_comments_on_lines_belong_to_the_marks(room: Room) -> None:
    """Line comments are sorted, kept by other ways of marking, and removed by undo."""
    from autograder.service.marking import mark_entry

    essays.recorded(room.offer, room.assignment, [("eva", {"scale": LINES})])
    before, seen = room.states(), room.row("eva").revision
    notes = (mark_entry.Annotation(2, 3, "Why?"), mark_entry.Annotation(1, 1, "Yes."))
    row = room.save("eva", "ta", annotations=notes)
    stored = [{"first": 1, "last": 1, "text": "Yes."}, {"first": 2, "last": 3, "text": "Why?"}]
    assert (row.annotations, row.touched, row.revision) == (stored, True, seen + 1)
    with pytest.raises(mark_entry.ChangedMeanwhileError):
        room.save("eva", "other", annotations=(), revision=seen)
    group = mark_entry.GivenMarks({"claim": Decimal(1)}, adds=True)
    mark_entry.save_marks({row.pk: row.revision}, room.cell(), group, room.account("ta"))
    room.save("eva", "program", items={"claim": "2", "reason": "1"})  # programs send no line comments
    assert room.row("eva").annotations == stored
    for name in ("program", "ta", "ta"):
        mark_entry.undo_action(room.offer.course_id, essays.NAME, room.account(name))
    assert room.states() == before
    room.save("eva", "ta", annotations=notes)
    assert room.save("eva", "ta", annotations=()).annotations == []


@pytest.mark.parametrize(
    ("first", "last", "text"), [(0, 1, "x"), (2, 1, "x"), (3, 4, "x"), (-1, -1, "x"), (1, 1, "x" * 4001)]
)
def test_comments_on_lines_that_are_none_are_refused(room: Room, first: int, last: int, text: str) -> None:
    """Invalid line numbers, long texts and too many comments are rejected, and nothing changes."""
    from autograder.service.marking import mark_entry

    essays.recorded(room.offer, room.assignment, [("eva", {"scale": LINES})])
    before, note = room.states(), mark_entry.Annotation(first, last, text)
    for notes in ((note,), (mark_entry.Annotation(1, 1, "x"),) * 51):
        with pytest.raises(ActionRefused):
            room.save("eva", "ta", items={"claim": "1"}, annotations=notes)
    assert room.states() == before


def test_comments_on_lines_stay_with_the_text(room: Room) -> None:
    """Grading the same text again keeps line comments; a new text drops them."""
    from autograder.service.marking import mark_entry

    text = {**CLASS["eva"], "scale": LINES}
    essays.recorded(room.offer, room.assignment, [("eva", text)])
    room.save(
        "eva", "ta", items={"claim": "2", "reason": "1"}, annotations=(mark_entry.Annotation(3, 3, "Why?"),)
    )
    before = room.states()
    essays.recorded(room.offer, room.assignment, [("eva", text)])
    assert room.states() == before
    essays.recorded(room.offer, room.assignment, [("eva", {**text, "scale": f"More.\n{LINES}"})])
    row = room.row("eva")
    assert (row.annotations, row.points, row.again) == ([], "3", True)


def test_two_markers_do_not_see_each_others_comments_on_lines(room: Room) -> None:
    """If the marks are equal, both markers' comments are kept; if they differ, those of the head TA."""
    from autograder.service.marking import consistency, mark_entry

    consistency.set_plan(room.place(), twice_percent=100, by=room.account("head"))
    for student, reason in (("cem", "1"), ("dia", "0")):
        mine, theirs = (mark_entry.Annotation(1, 1, text) for text in ("Mine.", "Theirs."))
        row = room.save(student, "first", items={"claim": "2", "reason": "1"}, annotations=(mine,))
        assert row.annotations == []
        room.save(student, "second", items={"claim": "2", "reason": reason}, annotations=(theirs,))
    assert [note["text"] for note in room.row("cem").annotations] == ["Theirs.", "Mine."]
    assert room.row("dia").annotations == []
    assert [reading.annotations[0]["text"] for reading in mark_entry.load_readings(room.row("dia"))] == [
        "Mine.",
        "Theirs.",
    ]
    settled = (mark_entry.Annotation(1, 1, "Settled."),)
    row = room.save("dia", "head", items={"claim": "2", "reason": "0"}, settles=True, annotations=settled)
    assert [note["text"] for note in row.annotations] == ["Settled."]


def test_comments_on_lines_are_data_of_the_student(room: Room) -> None:
    """Line comments are exported, and erased from the marks and their history."""
    from autograder.service.marking import mark_entry
    from autograder.service.models import Account, CellMark, MarkingAction, Member, Role
    from autograder.service.protection.erasure import erase_person
    from autograder.service.protection.export import collect_data
    from autograder.service.protection.people import find_person

    account = Account.objects.create(username=f"{room.offer.course.slug}-cem")
    Member.objects.create(course=room.offer.course, account=account, role=Role.STUDENT, student="cem")
    person = find_person("account", account.pk)
    assert person is not None
    room.save("cem", "ta", annotations=(mark_entry.Annotation(1, 1, "Unmistakable."),))
    marks = collect_data(person)["courses"][0]["assignments"][0]["marks"]
    assert [{"first": 1, "last": 1, "text": "Unmistakable."}] in [mark["annotations"] for mark in marks]
    erase_person(person, "root")
    assert not CellMark.objects.filter(place__course=room.offer.course, student="cem").exists()
    changes = MarkingAction.objects.filter(course=room.offer.course).values_list("changes", flat=True)
    assert "Unmistakable." not in str(list(changes))
