"""The class commands, called as a front end does: they return records and print nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from autograder.app import Listener
from autograder.app.class_roll import collect_handins
from autograder.app.classes import (
    GradedClass,
    PointsChange,
    collect_standings,
    compute_run_statistics,
    grade_class,
    write_feedback,
)
from autograder.app.stores import OpenStore
from autograder.core.errors import CourseError
from autograder.core.records import Score
from autograder.course import Course
from autograder.grading.assignment import Assignment, load_assignment
from autograder.grading.grades import PersonMark
from autograder.grading.store import Store
from autograder.sandbox import pool
from autograder.store.memory import MemoryStore
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course

pytestmark = pytest.mark.sandbox


class Heard(Listener):
    """Record progress and messages."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.told: list[str] = []

    def report_progress(self, done: int, total: int) -> None:
        """Record one step."""
        self.steps.append((done, total))

    def notify_staff(self, sentence: str) -> None:
        """Record one message."""
        self.told.append(sentence)


class InMemory(msgspec.Struct, frozen=True):
    """A course with its class in memory."""

    course: Course
    store: MemoryStore
    graded: GradedClass
    watch: Heard

    @property
    def opening(self) -> OpenStore:
        """Return a function that opens the store."""
        return opening(self.store)


def opening(store: Store) -> OpenStore:
    """Return a function that returns the open store."""

    def opened(assignment: Assignment, *, new: bool) -> Store:
        del assignment, new
        return store

    return opened


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory) -> InMemory:
    """Return a class with a right and a wrong notebook, graded in memory."""
    course = make_course(tmp_path_factory.mktemp("class") / "course")
    hand_in(course, "ada", CONTROL)
    hand_in(course, "bob", CONTROL.replace(b"return 2 * x", b"return 3 * x"))
    store, watch = MemoryStore(), Heard()
    return InMemory(course, store, grade_class(course, NAME, watch=watch, store=opening(store)), watch)


def test_a_class_is_graded_into_any_store(class_: InMemory) -> None:
    """Any store works: outcomes, progress and results are returned, and no gradebook is written."""
    assert {"ada", "bob"} == {outcome.student for outcome in class_.graded.outcomes}
    assert ((), {}, False) == (class_.graded.remarks, class_.graded.misnamed, class_.graded.attention)
    assert ([(0, 2), (1, 2), (2, 2)], []) == (class_.watch.steps, class_.watch.told)
    assert ["ada", "bob"] == list(class_.store.load_results(NAME))
    assert [True] == class_.store.runs
    assert not class_.course.gradebook.exists()
    assert not (class_.course.root / "autograded").exists()


def test_standings_are_those_of_nbgraders_gradebook(class_: InMemory) -> None:
    """Both stores give the same standings for the same class."""
    again = grade_class(class_.course, NAME)
    assert [True, True] == [outcome.fresh for outcome in again.outcomes]
    kept = collect_standings(class_.course, NAME)
    assert kept.rows == collect_standings(class_.course, NAME, store=class_.opening).rows
    class_.course.gradebook.unlink()


def test_grading_again_finds_what_is_known(class_: InMemory) -> None:
    """Known results are not computed again, and the statistics count them."""
    again = grade_class(class_.course, NAME, store=class_.opening)
    figures = compute_run_statistics(again.outcomes, 1.0)
    assert (2, 0, 2) == (figures["submissions"], figures["graded now"], figures["known before"])


@pytest.mark.slow
def test_regrading_tells_whose_points_are_others(tmp_path: Path) -> None:
    """Without a change no points change when everyone is graded again.

    After one, only the students concerned are listed.
    """
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    hand_in(course, "bob", CONTROL.replace(b"return 2 * x", b"return 3 * x"))
    opened = opening(MemoryStore())
    first = grade_class(course, NAME, store=opened)
    same = grade_class(course, NAME, store=opened, again=True)
    assert [True, True] == [outcome.fresh for outcome in same.outcomes]
    assert ((), ()) == (first.changes, same.changes)
    hand_in(course, "bob", CONTROL)
    regraded = grade_class(course, NAME, store=opened)
    before, now = (
        {outcome.student: outcome.graded.score.points for outcome in graded.outcomes}["bob"]
        for graded in (first, regraded)
    )
    assert before < now
    items = tuple(
        f"{item.question}/{item.item}" for item in _of(regraded, "bob").items if item.question == "double"
    )
    assert (PointsChange("bob", before, now, items),) == regraded.changes
    only = grade_class(course, NAME, ["ada"], store=opened, again=True)
    assert (["ada"], ()) == ([outcome.student for outcome in only.outcomes], only.changes)


def _of(graded: GradedClass, student: str) -> Score:
    return next(outcome.graded.score for outcome in graded.outcomes if outcome.student == student)


def test_what_is_collected_is_told_without_grading(tmp_path: Path) -> None:
    """The report lists everyone's attempt, folders with invalid names, and students without a submission."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", b"no notebook at all")
    hand_in(course, "=bob", CONTROL)
    assignment = load_assignment(course, NAME)
    collected = collect_handins(course, assignment)
    assert (["ada"], 1, None) == (
        [handin.student for handin in collected.handins],
        len(collected.misnamed),
        collected.times,
    )
    with pytest.raises(CourseError, match="nothing was handed in by eve for"):
        collect_handins(course, assignment, ["eve"])
    assert not course.gradebook.exists()


def test_pages_show_what_people_gave(class_: InMemory) -> None:
    """A manual mark in the store appears on the student's page; progress is reported for every page."""
    mark = PersonMark(
        points=class_.store.load_results(NAME)["ada"].score.items[1].possible, comment="Well said."
    )
    class_.store.give_mark(NAME, "ada", ("small-exam", "formula-why"), mark)
    watch = Heard()
    published = write_feedback(class_.course, NAME, watch=watch, store=class_.opening)
    assert [] == [page.problem for page in published.pages if page.problem]
    assert [(done, 3) for done in range(4)] == watch.steps
    page = class_.course.locate_feedback("ada", NAME) / f"{NAME}.html"
    assert "Well said." in page.read_text("utf-8")


def test_nothing_is_printed(class_: InMemory, capfd: pytest.CaptureFixture[str]) -> None:
    """Grading and writing pages print nothing; the front end decides what to show."""
    (class_.course.root / "Bonus.csv").touch()
    heard = grade_class(class_.course, NAME, store=class_.opening)
    write_feedback(class_.course, NAME, store=class_.opening)
    assert ("", "") == capfd.readouterr()
    assert any("Bonus.csv is not read" in remark for remark in heard.remarks)
    assert heard.attention
    (class_.course.root / "Bonus.csv").unlink()


def test_without_a_gradebook_nobody_stands_anywhere(tmp_path: Path) -> None:
    """Before the first grading, the error says which command to run, and no gradebook is created."""
    course = make_course(tmp_path / "course")
    for ask in (collect_standings, write_feedback):
        with pytest.raises(CourseError, match=f"there is no gradebook yet; run: autograder grade {NAME}"):
            ask(course, NAME)
    assert not course.gradebook.exists()


@pytest.mark.slow
def test_grading_a_known_class_again_starts_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known results need no sandbox, and starting one would take most of the time."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    grade_class(course, NAME)
    monkeypatch.setattr(pool, "start_sandbox", lambda *_, **__: pytest.fail("a sandbox was started"))
    assert 1 == len(grade_class(course, NAME).outcomes)
