"""Test hidden inputs per student or attempt: inputs of an earlier attempt do not help the next one."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.checking.loader import make_namespace
from autograder.checking.runner import CheckProgram
from autograder.core.records import GradingResult
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.questions.base.base import Draw, find_draw_scope
from autograder.sandbox.pool import Pool
from tests.support.small_course import NAME, SOFTMAX, small_course

pytestmark = pytest.mark.sandbox
MODES = ("never", "student", "attempt")


@pytest.fixture(scope="module")
def graders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Grader]]:
    """Return a grader of a small course for each way of drawing."""
    with Pool() as pool:
        yield {mode: Grader(_assignment(tmp_path_factory.mktemp(mode), mode), pool) for mode in MODES}


def _assignment(root: Path, mode: str) -> assignments.Assignment:
    course: Course = small_course(root)
    path = root / "rubrics" / f"{NAME}.toml"
    path.write_text(path.read_text().replace('name = "small"\n', f'name = "small"\nredraw = "{mode}"\n', 1))
    generate_release(course, NAME)
    return assignments.load_assignment(course, NAME)


def attempt(grader: Grader, student: str, source: str) -> SubmittedFiles:
    """Return the released notebooks with one function inserted."""
    notebooks: dict[str, Any] = {}
    for name, data in grader.assignment.release_bytes.items():
        paper = nbformat.reads(data.decode(), as_version=4)
        for cell in paper.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == "softmax-answer":
                cell.source = source
        notebooks[name] = nbformat.writes(paper).encode()
    return SubmittedFiles(student, notebooks)


def points(graded: GradingResult) -> dict[str, Decimal]:
    """Return the points of the question with hidden inputs."""
    return {result.item: result.points for result in graded.score.items if result.question == "softmax"}


def constants(grader: Grader, handed: SubmittedFiles) -> str:
    """Return a function that knows only the right results of one attempt's inputs.

    It simulates a page that reveals every hidden number.
    """
    rubric = grader.assignment.rubric
    draw_scope = find_draw_scope(rubric, handed.student, handed.compute_digest())
    draw = Draw.from_secret(grader.secret, rubric, rubric.get_question("softmax"), draw_scope)
    answer = types.ModuleType("answer")
    exec(f"import numpy\n{SOFTMAX}", vars(answer))
    right, table = answer.softmax, {}

    def recorded(scores: Any) -> Any:
        table[scores.tobytes().hex()] = right(scores).tolist()
        return right(scores)

    answer.softmax = recorded  # type: ignore[attr-defined]
    file = rubric.checks["softmax"]
    program = CheckProgram(file)
    try:
        for check in file.checks:
            outcome = program.run(
                check.id, "", make_namespace(lambda: answer, {}), file.derive_seed(draw.seed, check, "")
            )
            assert "passed" == outcome.status, outcome.message
    finally:
        program.close()
    return (
        f"import json\nTABLE = json.loads({json.dumps(table)!r})\n"
        "def softmax(scores):\n    return numpy.array(TABLE[scores.tobytes().hex()])\n"
    )


FULL = {"rows": Decimal(2), "batch": Decimal(1), "overflow": Decimal(0)}
NOTHING = dict.fromkeys(FULL, Decimal(0))


@pytest.mark.parametrize("mode", MODES)
def test_right_answers_are_right_whatever_is_drawn(mode: str, graders: Mapping[str, Grader]) -> None:
    """Right answers pass for all inputs, and grading again gives the same messages."""
    grader = graders[mode]
    for student in ("ada", "alan"):
        handed = attempt(grader, student, SOFTMAX)
        graded = grader.grade(handed)
        assert FULL == points(graded)
        assert graded.score == grader.grade(handed).score


@pytest.mark.parametrize(
    ("mode", "own", "others"),
    [("never", FULL, FULL), ("student", FULL, NOTHING), ("attempt", NOTHING, NOTHING)],
)
def test_a_table_of_constants_is_worth_what_the_rubric_says(
    mode: str, own: dict[str, Decimal], others: dict[str, Decimal], graders: Mapping[str, Grader]
) -> None:
    """A table of constants earns nothing in the next attempt or for another student, if inputs differ."""
    grader = graders[mode]
    table = constants(grader, attempt(grader, "ada", "def softmax(scores): return scores"))
    assert own == points(grader.grade(attempt(grader, "ada", table)))
    assert others == points(grader.grade(attempt(grader, "alan", table)))


def test_a_table_of_constants_of_another_course_earns_nothing(
    graders: Mapping[str, Grader], tmp_path: Path
) -> None:
    """A table of constants from a course with another secret earns nothing."""
    grader = graders["never"]
    with Pool() as pool:
        assignment = _assignment(tmp_path, "never")
        (assignment.course.private / "secret").write_bytes(bytes(reversed(grader.secret)))
        other = Grader(assignment, pool)
        table = constants(other, attempt(other, "ada", "def softmax(scores): return scores"))
        assert FULL == points(other.grade(attempt(other, "ada", table)))
    assert grader.secret != other.secret
    assert NOTHING == points(grader.grade(attempt(grader, "ada", table)))


def test_what_an_exception_says_is_repeated_where_it_is_of_no_use(graders: Mapping[str, Grader]) -> None:
    """The text of an exception is shown only if the next attempt has other inputs."""
    source = "def softmax(scores): raise RuntimeError(f'{scores.sum()} and more')\n"
    for mode, told in (("never", False), ("student", False), ("attempt", True)):
        graded = graders[mode].grade(attempt(graders[mode], "ada", source))
        result = next(item_result for item_result in graded.score.items if item_result.item == "rows")
        assert "and more" in result.staff
        assert ("raised" if told else "raised.withheld") == result.student.code
        assert told == ("and more" in str(result.student.params))
