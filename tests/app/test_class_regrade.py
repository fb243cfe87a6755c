"""Regrading: changed marks are listed with reasons before they apply.

Published marks never change silently.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.app import class_regrade, classes, course_log, grading_basis
from autograder.app.class_regrade import Regrade, RegradeChoice
from autograder.app.published_marks import read_published
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import version as grading_version
from autograder.grading.grades import PersonMark
from autograder.grading.version import GRADING_VERSION
from autograder.questions.base.base import Draw
from autograder.store.gradebook import Gradebook
from tests.support import small_course
from tests.support.made_once import made_once
from tests.support.regraded_class import NAME, accept_13, hand_in, make_class

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

APPLY = RegradeChoice(apply=True)
TELL = RegradeChoice(apply=True, published=True, reason="13 was right as well.")


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the class, graded once. Do not change it in a test."""
    return made_once(tmp_path_factory, "regraded", make_class)


@pytest.fixture
def course(graded: Path, tmp_path: Path) -> Course:
    """A copy of the graded class that a test may change."""
    shutil.copytree(graded, tmp_path / "course")
    return Course.from_folder(tmp_path / "course")


def change(course: Course, old: str, new: str) -> None:
    """Change the rubric."""
    small_course.changed(course.locate_rubric(NAME), old, new)


def regrade(course: Course, choice: RegradeChoice = class_regrade.RegradeChoice()) -> Regrade:  # noqa: B008
    """Regrade with one worker."""
    return class_regrade.regrade_class(course, NAME, choice=choice, workers=1)


def by(result: Regrade) -> dict[str, Decimal]:
    """Return the change of each student's total."""
    return {moved.move.student: moved.move.by for moved in result.moved}


def totals(course: Course) -> dict[str, Decimal]:
    """Return everyone's totals."""
    return {who: row.total for who, row in classes.collect_standings(course, NAME).rows.items()}


def kept(course: Course) -> tuple[str, Mapping[str, bytes]]:
    """Return the contents of the gradebook and of the pages."""
    with sqlite3.connect(course.gradebook) as database:
        dump = "\n".join(database.iterdump())
    database.close()
    pages = {
        str(path.relative_to(course.root)): path.read_bytes()
        for folder in ("feedback", "staff", "autograded")
        for path in sorted((course.root / folder).rglob("*"))
        if path.is_file()
    }
    return dump, pages


def give(course: Course, student: str, cell: tuple[str, str], mark: PersonMark) -> None:
    """Give a manual mark."""
    with Gradebook(course.gradebook) as book:
        book.give_mark(NAME, student, cell, mark)


def page(course: Course, student: str) -> str:
    """Return a student's page."""
    return (course.locate_feedback(student, NAME) / f"{NAME}.html").read_text("utf-8")


# ---------------------------------------------------------------- preview and reasons


def test_nobody_moves_where_nothing_has_changed(course: Course) -> None:
    """Without a change nothing is graded and nothing is written."""
    before = kept(course)
    result = regrade(course)
    assert (3, 3, (), (), {}, "") == (
        result.total, result.same, result.moved, result.differences, result.failed, result.entry,
    )  # fmt: skip
    assert before == kept(course)


def test_a_change_is_told_item_by_item_with_its_reason_and_nothing_is_written(course: Course) -> None:
    """A preview lists each changed item with old and new points and messages.

    The store and pages are unchanged.
    """
    classes.write_feedback(course, NAME)
    accept_13(course)
    before = kept(course)
    result = regrade(course)
    assert before == kept(course)
    assert {"bob": Decimal("0.25")} == by(result)
    [bob] = result.moved
    [item] = bob.move.items
    assert ("layers", "number", Decimal("0.5"), Decimal("0.75")) == (
        item.question, item.item, item.before, item.after,
    )  # fmt: skip
    assert (("rubric, layers.number: mistake changed",),) == bob.why
    assert ("rubric, layers.number: mistake changed",) == result.differences
    plain = class_regrade.to_dict(result)
    [number_item] = plain["moved"][0]["items"]
    assert ("layers", "number", Decimal("0.5"), Decimal("0.75"), "The embedding is no layer.") == tuple(
        number_item[name] for name in ("question", "item", "before", "after", "told_after")
    )
    assert (3, 2, 1, 0, False) == tuple(
        plain[name] for name in ("students", "same", "gain", "lose", "applied")
    )


def test_what_was_told_is_what_counts_afterwards(course: Course) -> None:
    """Applying gives the marks of the preview; the log records time, user, changes and reason."""
    accept_13(course)
    trial = regrade(course)
    before = totals(course)
    done = regrade(course, RegradeChoice(apply=True, reason="13 counts"))
    assert (by(trial), trial.differences) == (by(done), done.differences)
    moved = {student.move.student: student.move.after.total for student in trial.moved}
    assert {**before, **moved} == totals(course)
    [entry] = course_log.read_entries(course, NAME)
    assert ("regrade", done.entry, "13 counts") == (entry.action, entry.id, entry.facts["reason"])
    logged = entry.facts["moved"]["bob"]
    assert (Decimal("3.5"), Decimal("3.75")) == (Decimal(logged["before"]), Decimal(logged["after"]))
    assert () == regrade(course).moved
    assert not list((course.private / "regrade").iterdir())


def test_other_items_keep_their_inputs_and_results(course: Course) -> None:
    """A new version, text, maximum or question changes no hidden input or result of other questions."""

    def draws() -> dict[str, bytes]:
        rubric, secret = assignments.load_assignment(course, NAME).rubric, course.load_secret()
        return {question.id: Draw.from_secret(secret, rubric, question).seed for question in rubric.questions}

    def inputs() -> list[bytes]:
        loaded = assignments.load_assignment(course, NAME)
        draw = Draw.from_secret(course.load_secret(), loaded.rubric, loaded.rubric.get_question("softmax"))
        check = loaded.checks["softmax"]
        return [test.check.seed for test in check.make_cell_tests(draw).values() if test.check]

    seeds, numbers = draws(), inputs()
    change(course, "version = 1", "version = 7")
    checks = course.reference / "checks" / "softmax.py"
    small_course.changed(checks, "Rows add up to one", "The rows add up to one")
    change(course, "The activation", "Which activation")
    accept_13(course)
    assert (seeds, numbers) == (draws(), inputs())
    result = regrade(course)
    assert {("layers", "number")} == {
        (item.question, item.item) for entry in result.moved for item in entry.move.items
    }
    change(course, 'trials = "small:trials"', 'trials = "small:trials"\ninputs_version = 2')
    moved = {name for name, seed in draws().items() if seed != seeds[name]}
    assert ({"softmax"}, False) == (moved, numbers == inputs())


def test_a_changed_reference_is_named_where_it_is_asked(course: Course) -> None:
    """A changed reference solution is named only for questions that use it."""
    path = course.reference / "small.py"
    small_course.changed(path, "import numpy\n\ndef softmax", "import numpy\n\n\ndef softmax")
    assert () == regrade(course).moved
    text = path.read_text("utf-8")
    path.write_text(text.replace("keepdims=True)\n", "keepdims=True) / 2\n", 1), "utf-8")
    accept_13(course)
    result = regrade(course)
    why = {
        (moved.move.student, item.item): reasons
        for moved in result.moved
        for item, reasons in zip(moved.move.items, moved.why, strict=True)
    }
    assert ("reference changed: small.py",) == why["ada", "rows"]
    assert ("rubric, layers.number: mistake changed",) == why["bob", "number"]
    assert by(result)["ada"] < 0 < by(result)["bob"] + 3


def test_an_upgrade_is_the_reason_where_it_is_one(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of the grading version and libraries are reported; equal marks change nothing."""
    monkeypatch.setattr(grading_version, "_name_version", lambda name: f"{name} 99.1")
    for module in (assignments, grading_basis):
        monkeypatch.setattr(module, "GRADING_VERSION", GRADING_VERSION + 1)
    result = regrade(course)
    assert () == result.moved
    versions, libraries = sorted(result.differences)
    assert f"grading version: {GRADING_VERSION} → {GRADING_VERSION + 1}" == versions
    assert "numpy 99.1" in libraries.partition("→")[2]
    assert "numpy " in libraries.partition("→")[0]


def test_marks_of_people_follow_what_their_items_are_worth(course: Course) -> None:
    """Full and half marks keep their proportion of the new maximum; regrading again changes nothing."""
    half = PersonMark(Decimal("0.5"), comment="Why?", items={"why": Decimal("0.5")}, flagged=True)
    give(course, "ada", ("formulas", "mlp-why"), half)
    change(course, 'id = "why"\npoints = 1', 'id = "why"\npoints = 3')
    change(course, 'points = 3\nanswer = "mlp_parameters"', 'points = 5\nanswer = "mlp_parameters"')
    change(course, "points = 13", "points = 15")
    result = regrade(course)
    assert {"ada": Decimal(1)} == {who: gain for who, gain in by(result).items() if gain}
    [ada] = [moved for moved in result.moved if moved.move.by]
    assert [("why", Decimal("0.5"), Decimal("1.5"), True)] == [
        (item.item, item.before, item.after, item.by_person) for item in ada.move.items
    ]
    assert ("a person's mark, which follows what its item is worth",) == ada.why[0][:1]
    for _ in range(2):
        regrade(course, APPLY)
        with Gradebook(course.gradebook) as book:
            mark = book.load_marks(NAME)["ada"]["formulas", "mlp-why"]
        assert (Decimal("1.5"), Decimal(3), "Why?", True, False) == (
            mark.points, mark.worth["why"], mark.comment, mark.flagged, mark.again,
        )  # fmt: skip


def test_a_fault_of_ours_moves_nobody(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student whose grading fails keeps the old marks and is reported; the others are regraded."""
    read = assignments.read_notebook

    def broken(*args: Any, **options: Any) -> Any:
        if options["student"] == "ada":
            raise RuntimeError("broken")
        return read(*args, **options)

    accept_13(course)
    monkeypatch.setattr(assignments, "read_notebook", broken)
    before = totals(course)
    done = regrade(course, APPLY)
    assert ["ada"] == list(done.failed)
    assert "broken" in done.failed["ada"]
    assert {"bob": Decimal("0.25")} == by(done)
    assert before["ada"] == totals(course)["ada"]


def test_results_of_an_earlier_version_are_compared_all_the_same(course: Course) -> None:
    """If the old rubric and libraries were not kept, old marks are taken from the results, with a remark."""
    shutil.rmtree(course.private / "graded-by")
    accept_13(course)
    result = regrade(course)
    assert {"bob": Decimal("0.25")} == by(result)
    assert ("another rubric: version 1 → 1",) == result.moved[0].why[0]
    assert any("was not kept" in remark for remark in result.remarks)


# ---------------------------------------------------------------- marks that students have seen


def test_a_mark_that_was_shown_moves_only_with_a_reason_which_its_page_tells(course: Course) -> None:
    """A change of published marks is refused until both options are given.

    The new page states date, change and reason.
    """
    classes.write_feedback(course, NAME, publish_marks=True)
    old = page(course, "bob")
    accept_13(course)
    assert "3.5 of 13" in regrade(course).moved[0].shown
    for choice in (APPLY, RegradeChoice(apply=True, published=True), RegradeChoice(apply=True, reason="x")):
        with pytest.raises(CourseError, match=r"bob was shown 3.5 of 13 since .*, and would have 3.75"):
            regrade(course, choice)
    assert Decimal("3.5") == totals(course)["bob"]
    regrade(course, TELL)
    assert old == page(course, "bob")
    page_of_ada = page(course, "ada")
    written = classes.write_feedback(course, NAME)
    assert not written.attention
    new = page(course, "bob")
    assert "(points before: 3.5; now: 3.75)" in new
    assert "Reason: 13 was right as well." in new
    assert page_of_ada == page(course, "ada")
    shown = read_published(course, NAME)
    assert ({}, 1, Decimal("3.75")) == (
        shown.agreed, len(shown.shown["bob"].changes), shown.shown["bob"].total,
    )  # fmt: skip
    classes.write_feedback(course, NAME)
    assert new == page(course, "bob")
    german = classes.write_feedback(course, NAME, reason="unused")
    assert not german.attention
    actions = [entry.action for entry in course_log.read_entries(course)]
    assert ["publish", "regrade", "change published marks"] == actions


def test_a_mark_that_moves_otherwise_leaves_its_page_until_somebody_says_why(course: Course) -> None:
    """Open items are completed without a reason; changing a published mark requires one."""
    classes.write_feedback(course, NAME, publish_marks=True)
    give(course, "ada", ("formulas", "mlp-why"), PersonMark(Decimal(1)))
    assert not classes.write_feedback(course, NAME).attention
    completed = page(course, "ada")
    assert "This mark was changed" not in completed
    give(course, "ada", ("formulas", "mlp-why"), PersonMark(Decimal("0.5")))
    left = classes.write_feedback(course, NAME)
    assert left.attention
    assert any("ada was shown 7 of 13" in remark and "has 6.5 now" in remark for remark in left.remarks)
    assert completed == page(course, "ada")
    assert not classes.write_feedback(course, NAME, reason="Read <b>again</b>.").attention
    assert "(points before: 7; now: 6.5)" in page(course, "ada")
    assert "Read &lt;b&gt;again&lt;/b&gt;." in page(course, "ada")


def test_a_rule_of_lateness_moves_what_was_shown_where_something_is_open_as_well(course: Course) -> None:
    """A new late penalty changes a published mark even if items were still open, so it needs a reason."""
    (course.root / "submitted" / "ada" / NAME / "timestamp.txt").write_text("2026-05-04 12:00:00 UTC")
    classes.write_feedback(course, NAME, publish_marks=True)
    before = page(course, "ada")
    course.exams.write_text(
        f'[{NAME}]\nend = 2026-05-04T11:00:00Z\nlate = "penalty"\npenalty = {{ per_day = 10 }}\n'
    )
    with pytest.raises(CourseError, match=r"ada was shown 6 of 13 since .*, and would have 4\.7"):
        regrade(course, APPLY)
    assert any("ada was shown 6 of 13" in remark for remark in classes.write_feedback(course, NAME).remarks)
    assert before == page(course, "ada")


def test_grading_does_not_move_published_marks(course: Course) -> None:
    """After a change of the rubric, new submissions use the new one.

    Published marks stay and are reported.
    """
    classes.write_feedback(course, NAME, publish_marks=True)
    before, pages = totals(course), page(course, "bob")
    accept_13(course)
    hand_in(course.root, "zoe", layers_answer="layers = 13")

    said: list[str] = []

    class Hears(classes.Listener):
        def notify_staff(self, sentence: str) -> None:
            said.append(sentence)

    done = classes.grade_class(course, NAME, workers=1, watch=Hears())
    assert ["zoe"] == [outcome.student for outcome in done.outcomes]
    assert ("ada", "bob", "nil") == done.held
    assert any("3 students keep" in message and "autograder regrade small" in message for message in said)
    assert {**before, "zoe": Decimal("0.75")} == {**totals(course), "bob": before["bob"]}
    assert classes.write_feedback(course, NAME).attention
    assert pages == page(course, "bob")
    assert "zoe" in read_published(course, NAME).shown
