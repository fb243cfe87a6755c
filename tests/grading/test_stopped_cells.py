"""Test that a statement which stops a cell above the answer's definition leads to manual review."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.records import Status
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.unreadable_answers import ANSWER_NOT_RUN, CELL_STOPPED
from autograder.grading.verify.papers import with_sources
from autograder.sandbox.pool import Pool
from tests.grading import test_batch as small_exam
from tests.support.calling_course import ATTEND, NAME, TWICE, WEIGHTS, calling_course, results, sat

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return a grader of three functions, each of which calls the previous ones."""
    course = calling_course(tmp_path_factory.mktemp("course"))
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


@pytest.mark.parametrize(
    "start",
    [
        "heads = int(input('heads? '))",
        "rows = numpy.load('C:/Users/jo/rows.npy')",
        "import os\nos.chdir('/content')",
        "\n\n# two empty lines first\nassert False",
        "def probe():\n    return 1 / 0\nprobe()",
        "%matplotlib inline\n!ls\n1 / 0",
        "%%time\n1 / 0",
        "rows = [\n    1,\n    1 / 0,\n]",
    ],
    ids=repr,
)
def test_grade_asks_a_person_when_a_cell_stops_above_the_answer(start: str, grader: Grader) -> None:
    """The student sees which name was undefined, and staff also where the cell stopped."""
    graded = sat(grader, weights=f"{start}\n\n{WEIGHTS}")
    result = results(graded)["weights.rows"]
    assert (Status.NEEDS_REVIEW, "review.stopped") == (result.status, result.code)
    assert result.student.params["name"] == "weights"
    (note,) = {note.text for note in graded.score.notes if note.place == "weights"}
    assert "cell 2 stopped at line" in note


def test_grade_asks_a_person_about_answers_that_call_what_was_not_defined(grader: Grader) -> None:
    """Answers that call the undefined function need manual review too."""
    item_results = results(sat(grader, weights=f"input()\n{WEIGHTS}"))
    assert {Status.NEEDS_REVIEW} == {result.status for result in item_results.values()}


@pytest.mark.parametrize(
    "source",
    [
        "1 / 0",
        "def weights(scores):\n    return scores\n\nraise ValueError\nrows = weights(1)",
        "weights = undefined_name",
        "# def weights(...): ...",
    ],
    ids=repr,
)
def test_grade_still_decides_when_the_answer_does_not_follow_the_error(source: str, grader: Grader) -> None:
    """If the code below the error would not have defined the answer, it is judged."""
    graded = sat(grader, weights=source)
    assert results(graded)["weights.rows"].status in {Status.FAILED, Status.NO_ANSWER}
    assert CELL_STOPPED not in {note.code for note in graded.score.notes if note.place == "weights"}


def test_grade_keeps_points_when_a_cell_stops_below_the_answer(grader: Grader) -> None:
    """A function that was defined before the error keeps its points."""
    graded = sat(grader, attend=f"{ATTEND}\n1 / 0\n{TWICE}")
    assert {Status.PASSED} == {result.status for result in results(graded).values()}
    assert CELL_STOPPED not in {note.code for note in graded.score.notes}


def test_grade_asks_a_person_when_an_answer_uses_what_a_stopped_cell_did_not_define(grader: Grader) -> None:
    """An answer that uses a name from a stopped cell needs manual review."""
    helper = f"{WEIGHTS}\n1 / 0\nwrap = staticmethod"
    graded = sat(grader, weights=helper, attend="attend = wrap(lambda *given: given)")
    status = {result.status for name, result in results(graded).items() if name.startswith("attend.")}
    assert status == {Status.NEEDS_REVIEW}
    graded = sat(grader, attend="attend = wrap(lambda *given: given)")
    status = {result.status for name, result in results(graded).items() if name.startswith("attend.")}
    assert Status.NEEDS_REVIEW not in status


@pytest.mark.parametrize(
    ("later", "code"),
    [
        ("for name in [*globals()]:\n    if name[0] != '_': del globals()[name]", "review.deleted"),
        ("get_ipython().run_line_magic('reset', '-f')", "review.deleted"),
        ("get_ipython().user_ns.pop('weights')", "review.deleted"),
        ("del weights", "name.missing"),
        ("%reset -f", ""),
    ],
)
def test_grade_asks_a_person_about_an_answer_that_was_deleted(later: str, code: str, grader: Grader) -> None:
    """A deleted answer needs review, except after a plain ``del`` of its name.

    Then student and staff see which cell contains the statement.
    """
    graded = sat(grader, twice=f"{TWICE}\n{later}")
    assert results(graded)["weights.rows"].code == code
    notes = {note.code for note in graded.score.notes if note.place in ("weights", "weights-answer")}
    assert notes == {"review.deleted": {CELL_STOPPED}, "name.missing": {"answer-rebound"}, "": set()}[code]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "def weights(scores)\n    return scores",
            "not valid Python, so nothing of it was run: line 1: expected ':'",
        ),
        ("weights = input()", "'weights' is not defined"),
        (WEIGHTS.replace("def weights", "def wheights"), "'weights' is not defined"),
        ("# def weights(...): ...", ""),
        (WEIGHTS, ""),
        ("def weights(scores):\n    return scores", ""),
    ],
    ids=["syntax", "input", "renamed", "blank", "right", "wrong"],
)
def test_grade_tells_staff_of_answers_that_did_not_run(source: str, message: str, grader: Grader) -> None:
    """Staff see a note about answers that were not run."""
    graded, asked = sat(grader, weights=source), (ANSWER_NOT_RUN, "weights-answer")
    notes = [note.text for note in graded.score.notes if (note.code, note.place) == asked]
    assert bool(message) == bool(notes)
    assert message in "".join(notes)


@pytest.fixture(scope="module")
def short_answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return a grader of a formula and a shape, which are assigned as texts, and a function."""
    course = small_exam.make_course(tmp_path_factory.mktemp("short"))
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, small_exam.NAME), pool)


@pytest.mark.parametrize(
    ("cell", "source", "item"),
    [
        ("formula", "projection_size = d_model * d_model", "formula.value"),
        ("formula", "# Q\nprojection_size = 2 * (\n    d_model + d_model\n)", "formula.value"),
        ("shape", "score_shape = (batch, heads, n, n)", "shape.tuple"),
    ],
    ids=repr,
)
def test_grade_reviews_a_short_answer_without_quotes(
    cell: str, source: str, item: str, short_answers: Grader
) -> None:
    """A formula without quotes needs manual review."""
    notebook = with_sources(small_exam.CONTROL, {f"{cell}-answer": source})
    graded = short_answers.grade(SubmittedFiles("ada", {small_exam.NAME: notebook}))
    assert results(graded)[item].status is Status.NEEDS_REVIEW


def test_grade_decides_code_that_uses_an_undefined_name(short_answers: Grader) -> None:
    """In a question about code, an undefined name is a mistake."""
    notebook = with_sources(small_exam.CONTROL, {"double-answer": "double = numbers * 2"})
    graded = short_answers.grade(SubmittedFiles("ada", {small_exam.NAME: notebook}))
    assert results(graded)["double.result"].status in {Status.FAILED, Status.NO_ANSWER}
