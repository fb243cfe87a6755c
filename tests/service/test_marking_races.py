"""Concurrent marking, results, groups and undo: no lost updates and no deadlocks."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from autograder.grading.assignment import Assignment
from tests.service.room import CLASS, Room, room_of
from tests.service.test_marking_attacks import CELL, FULL, NONE, undo
from tests.support import essays

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord


@pytest.fixture
def room(service_course: CourseRecord, essays_loaded: Assignment) -> Room:
    """Return the class without any marks."""
    return room_of(service_course, essays_loaded)


def together(*works: Callable[[], None]) -> None:
    """Run functions concurrently, and raise their first error."""
    from django.db import connections

    def closed(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(closed, work) for work in works]:
            future.result(60)


def until(over: threading.Event, work: Callable[[], None]) -> Callable[[], None]:
    """Return a function that runs another one and then sets an event."""

    def done() -> None:
        try:
            work()
        finally:
            over.set()

    return done


def again(over: threading.Event, work: Callable[[], None]) -> Callable[[], None]:
    """Return a function that repeats another one until an event is set."""

    def repeated() -> None:
        while not over.is_set():
            work()

    return repeated


def test_two_markers_on_two_hundred_answers(room: Room) -> None:
    """Each save either counts once or raises an error, and the last saved mark is kept."""
    from autograder.service.marking import mark_entry
    from autograder.service.models import CellMark, MarkingAction

    texts = [(f"s{number:03}", {"scale": f"Text {number}."}) for number in range(195)]
    essays.recorded(room.offer, room.assignment, texts)
    seen = dict(CellMark.objects.filter(place=room.place()).values_list("pk", "revision"))
    assert 200 == len(seen)
    saved: dict[int, list[str]] = {number: [] for number in seen}
    refused_numbers: list[int] = []
    accounts = {name: room.account(name) for name in "ab"}
    cell = room.cell()

    def mark(name: str) -> None:
        drawn = random.Random(name)
        for number in drawn.sample(sorted(seen), 120):
            points = drawn.choice(["0", "1", "2"])
            marks = mark_entry.GivenMarks({"claim": Decimal(points), "reason": Decimal(0)})
            try:
                mark_entry.save_marks({number: seen[number]}, cell, marks, accounts[name])
                saved[number].append(points)
            except mark_entry.ChangedMeanwhileError:
                refused_numbers.append(number)

    together(lambda: mark("a"), lambda: mark("b"))
    assert 240 == len(refused_numbers) + sum(map(len, saved.values()))
    assert all(len(points) <= 1 for points in saved.values())
    assert refused_numbers
    rows = {row.pk: row for row in CellMark.objects.filter(pk__in=seen)}
    assert {number: points[0] if points else None for number, points in saved.items()} == {
        number: row.points for number, row in rows.items()
    }
    actions = MarkingAction.objects.filter(course=room.offer.course)
    assert sum(map(len, saved.values())) == actions.count()


def test_marking_while_results_groups_and_undo_go_on(room: Room) -> None:
    """There is no deadlock, and the last confirmed mark is kept."""
    from autograder.core.errors import ServiceError
    from autograder.service.marking import groups
    from autograder.service.store import DatabaseStore

    over = threading.Event()
    for name in ("ta", "other", "third"):
        room.account(name)
    stands: dict[str, str | None] = {}

    def mark() -> None:
        for number in range(75):
            student = ("ada", "cem", "eva")[number % 3]
            with contextlib.suppress(ServiceError):
                row = room.save(student, "ta", items={"claim": str(number // 3 % 3), "reason": "0"})
                stands[student] = row.points

    def record() -> None:
        essays.recorded(room.offer, room.assignment, CLASS.items())

    def gather() -> None:
        rows = [room.row(student).pk for student in ("eva", "ada", "dia")]
        groups.merge_answers(room.place(), rows, room.account("other"))
        groups.take_out_answers(room.place(), rows[:1], room.account("other"))

    def take_back() -> None:
        with contextlib.suppress(ServiceError):
            room.save("dia", "third", items=FULL)
            undo(room, "third")

    together(until(over, mark), *(again(over, action) for action in (record, gather, take_back)))
    assert stands == {who: room.row(who).points for who in stands}
    marks = DatabaseStore(room.offer.course).load_marks(essays.NAME)
    assert stands == {who: str(marks[who][CELL].points) for who in stands}


def test_the_log_and_marks_are_locked_in_one_order(room: Room) -> None:
    """Actions on marks lock the log first, as applying a new version does."""
    from django.db import transaction

    from autograder.service import audit
    from autograder.service.marking import mark_entry, regrade_requests
    from autograder.service.models import Member, RegradeRequest

    for student in CLASS:
        Member.objects.get_or_create(course=room.offer.course, student=student, role="student")
    question = room.assignment.rubric.questions[0]
    by, places = room.account("other"), sorted(room.row(who).pk for who in CLASS)
    for who in CLASS:
        room.save(who, "ta", items=NONE)

    def answers() -> None:
        for _ in range(4):
            for student in CLASS:
                row = RegradeRequest.objects.create(
                    offer=room.offer, student=student, question="scale", item="claim", reason="Why?"
                )
                regrade_requests.answer_request(row, by, "So.", question, Decimal(1))

    def applies() -> None:
        for _ in range(20):
            with transaction.atomic():
                audit.record_action("x", "apply version", "essays", course=room.offer.course)
                mark_entry.lock_answers(places)

    together(answers, applies)
    assert {"1"} == {room.row(who).points for who in CLASS}


def test_undo_twice_at_once_takes_two_actions_back(room: Room) -> None:
    """Two concurrent undos revert two different actions."""
    room.save("ada", "ta", items=FULL)
    room.save("cem", "ta", items=FULL)
    room.account("ta")

    def once() -> None:
        assert undo(room, "ta") is not None

    together(once, once)
    assert [None, None] == [room.row(student).points for student in ("ada", "cem")]


def test_a_version_is_applied_while_people_mark_and_undo(room: Room) -> None:
    """Marks saved while a version is applied have the points of one rubric only."""
    from autograder.core.errors import ServiceError
    from autograder.service import trials, versions
    from autograder.service.models import CellMark, Offer
    from tests.service import course

    files = {f"{essays.NAME}.ipynb": essays.handed(room.assignment, CLASS["ada"])}
    for student in CLASS:
        course.handed_in(room.offer, student, files)
    course.graded_without_a_box(room.offer)
    CellMark.objects.filter(place=room.place()).update(answered=True)
    folder, edit = room.assignment.course.root, course.worth("scale", "claim", "4")
    trial = course.tried(room.offer, folder, room.account("lead"), edit)
    assert trial is not None
    course.graded_without_a_box(room.offer)
    over = threading.Event()
    room.account("ta")

    def mark() -> None:
        for student in CLASS:
            with contextlib.suppress(ServiceError):
                room.save(student, "ta", items=FULL)
            if student < "c":
                with contextlib.suppress(ServiceError):
                    undo(room, "ta")

    together(until(over, lambda: trials.apply_trial(trial, room.account("lead"))), again(over, mark))
    rubric = versions.load_rubric(Offer.objects.get(pk=room.offer.pk).version)
    assert Decimal(4) == rubric.get_question("scale").get_item("claim").points
    for row in CellMark.objects.filter(place=room.place()):
        assert "4" == row.worth["claim"]
        assert {row.worth[name] for name in row.items} == {item["of"] for item in row.items.values()}
        points = [Decimal(item["points"]) for item in row.items.values()]
        assert row.points is None or Decimal(row.points) == sum(points)
