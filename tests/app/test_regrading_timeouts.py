"""An endless loop is run once, when it is first graded, and does not delay other students."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from autograder.app import class_regrade, classes
from autograder.app.class_regrade import RegradeChoice
from autograder.core.records import Ending, GradingResult
from autograder.course import Course
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.timeouts import NewTimeout
from autograder.store.gradebook import Gradebook
from tests.support import small_course
from tests.support.regraded_class import NAME, accept_13, hand_in

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

APPLY = RegradeChoice(apply=True, reason="13 was right as well.")
SECONDS = 1
"""The time limit of a cell, a call and a check in this class; every endless loop takes that long."""
ENDLESS_CALL = "def softmax(x):\n    while True:\n        pass"
ENDLESS_CELL = f"{small_course.SOFTMAX}\nwhile True:\n    pass"


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> Counter[Ending]:
    """Count how boxes of the class end, omitting the self-test; each is one run of an endless loop."""
    counted: Counter[Ending] = Counter()
    fail = NamespaceBox._fail

    def count_and_fail(box: NamespaceBox, ending: Ending, detail: str = "") -> NoReturn:
        if box._limits.call_seconds == SECONDS:
            counted[ending] += box._why is None
        fail(box, ending, detail)

    monkeypatch.setattr(NamespaceBox, "_fail", count_and_fail)
    return counted


def make_course(folder: Path) -> None:
    """Write the small course with short limits, and release it."""
    course = small_course.small_course(folder)
    for limit in ("cell_seconds", "call_seconds"):
        small_course.changed(course.locate_rubric(NAME), f"{limit} = 2", f"{limit} = {SECONDS}")
    checks = course.reference / "checks" / "softmax.py"
    checks.write_text(checks.read_text("utf-8").replace("seconds=3", f"seconds={SECONDS}"), "utf-8")
    generate_release(course, NAME)


def make_class(folder: Path, softmax: str) -> Course:
    """Make a class of three, one of whom submits an endless loop."""
    make_course(folder)
    hand_in(folder, "ada", layers_answer="layers = 12", softmax_answer=small_course.SOFTMAX)
    hand_in(folder, "eve", layers_answer="layers = 13", softmax_answer=softmax)
    hand_in(folder, "zoe", layers_answer="layers = 13", softmax_answer=small_course.SOFTMAX)
    return Course.from_folder(folder)


def read_items(course: Course) -> dict[str, str]:
    """Return everyone's results."""
    with Gradebook(course.gradebook) as book:
        return {student: repr(graded.score.items) for student, graded in book.load_results(NAME).items()}


@pytest.mark.parametrize("softmax", [ENDLESS_CALL, ENDLESS_CELL], ids=["in a call", "in a cell"])
def test_regrading_runs_no_known_endless_loop(tmp_path: Path, endings: Counter[Ending], softmax: str) -> None:
    """If another question's points change, previewing and applying run no known loop; `again` does."""
    course = make_class(tmp_path, softmax)
    classes.grade_class(course, NAME, workers=1)
    first = endings.total()
    assert 1 <= first <= 3  # once for each check
    items = read_items(course)
    accept_13(course)
    trial = class_regrade.regrade_class(course, NAME, workers=1)
    done = class_regrade.regrade_class(course, NAME, choice=APPLY, workers=1)
    assert endings.total() == first
    moved = {moved_student.move.student: moved_student.move.by for moved_student in trial.moved}
    assert moved == {"eve": Decimal("0.25"), "zoe": Decimal("0.25")}
    assert len(done.moved) == 2
    after = read_items(course)
    assert {student: text.partition("item='rows'")[2] for student, text in items.items()} == {
        student: text.partition("item='rows'")[2] for student, text in after.items()
    }
    classes.grade_class(course, NAME, workers=1, again=True)
    assert endings.total() == 2 * first
    assert read_items(course) == after


LOOPS = {
    "a-call": ENDLESS_CALL,
    "b-cell": ENDLESS_CELL,
    "c-both": f"{ENDLESS_CALL}\nx = 1\nwhile x:\n    pass",
}


def make_class_of_loops(folder: Path) -> Course:
    """Make a class with endless loops and two correct submissions, which come last."""
    make_course(folder)
    for student, softmax in {**LOOPS, "y": small_course.SOFTMAX, "z": small_course.SOFTMAX}.items():
        hand_in(folder, student, layers_answer="layers = 12", softmax_answer=softmax)
    return Course.from_folder(folder)


def read_results(course: Course) -> dict[str, object]:
    """Return everyone's complete results, omitting measurements."""
    with Gradebook(course.gradebook) as book:
        return {
            student: (
                graded.score,
                graded.digest,
                graded.timeouts,
                [
                    [run and (run.error, run.ending, run.outputs) for run in notebook.runs]
                    for notebook in graded.notebooks
                ],
            )
            for student, graded in book.load_results(NAME).items()
        }


def test_interrupted_class_of_loops_gets_the_same_results_as_each_student_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is interrupted when all students are at a loop; interruption changes no result."""
    alone, together = (make_class_of_loops(tmp_path / name) for name in ("alone", "together"))
    for student in (*LOOPS, "y", "z"):
        classes.grade_class(alone, NAME, students=(student,), workers=1)
    grade, stopped = Grader.grade, list[str]()

    def grade_or_die(grader: Grader, handed: SubmittedFiles, **options: Any) -> GradingResult:
        if handed.student in stopped:
            raise KeyboardInterrupt
        try:
            return grade(grader, handed, **options)
        except NewTimeout:
            stopped.append(handed.student)
            raise

    with monkeypatch.context() as patched:
        patched.setattr(Grader, "grade", grade_or_die)
        with pytest.raises(KeyboardInterrupt):
            classes.grade_class(together, NAME, workers=1)
    assert stopped == [*LOOPS]
    assert set(read_results(together)).isdisjoint(LOOPS)
    classes.grade_class(together, NAME, workers=1)
    assert read_results(together) == read_results(alone)
