"""Test answers in cells whose type was changed: readable ones are judged, others need review."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from autograder.core.records import GradingResult, ItemResult, Status
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader
from autograder.grading.release_generation import generate_release
from autograder.notebook.document import parse_notebook
from autograder.notebook.student.report import READY
from autograder.notebook.student.saved_notebook import report_on
from autograder.notebook.student_check import FILE_NAME, read_specification
from autograder.sandbox.pool import Pool
from tests.grading.test_split_answers import marks, sit
from tests.support.small_course import NAME, SOFTMAX, small_course

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the released course with two notebooks."""
    course = small_course(tmp_path_factory.mktemp("course"))
    generate_release(course, NAME)
    return course


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    """Return a grader of the course."""
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


def turn(cells: list[dict[str, Any]], grade_id: str, source: str) -> None:
    """Turn an answer's cell into a text cell."""
    (cell,) = (cell for cell in cells if marks(cell) == grade_id)
    cell |= {"cell_type": "markdown", "source": source}


def result(graded: GradingResult, question: str) -> ItemResult:
    """Return the first result of a question."""
    return next(item for item in graded.score.items if item.question == question)


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("mlp", "8*d_model^2"),
        ("mlp", "$8 d_{model}^2$"),
        ("mlp", 'mlp_parameters = "8*d_model^2"'),
        ("layers", "12"),
        ("layers", "layers = 6 + 6"),
        ("activation", "gelu"),
        ("softmax", SOFTMAX),
        ("softmax", f"```python\n{SOFTMAX}\n```"),
    ],
)
def test_grade_reads_answers_in_cells_turned_to_text(question: str, source: str, grader: Grader) -> None:
    """Code in text cells is run; other text is read as the answer itself."""
    notebook = "code" if question == "softmax" else "formulas"
    graded = sit(grader, notebook, lambda cells: turn(cells, f"{question}-answer", source))
    assert Status.PASSED is result(graded, question).status


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("mlp", "It is 8 times the square of the width."),
        ("mlp", "mlp_parameters = 8 d_model^2"),
        ("layers", "There are 12 layers."),
        ("places", "| scored | summed |\n|---|---|\n| key | value |"),
        ("softmax", "I would divide the powers by their sum."),
        ("softmax", "def softmax(scores)\n    return scores"),
    ],
)
def test_grade_asks_a_person_about_texts_that_it_cannot_read(
    question: str, source: str, grader: Grader
) -> None:
    """Texts that cannot be read need manual review."""
    notebook = "code" if question == "softmax" else "formulas"
    item_result = result(
        sit(grader, notebook, lambda cells: turn(cells, f"{question}-answer", source)), question
    )
    assert item_result.status is Status.NEEDS_REVIEW
    codes = {"review.cell-type", "unreadable.unknown-name", "number.not-a-number", "answer.not-python"}
    assert item_result.code in codes


@pytest.mark.parametrize(
    ("question", "source", "expected"),
    [
        ("mlp", "4*d_model^2", (Status.FAILED, Decimal(1))),
        ("mlp", "3*d_model^2", (Status.FAILED, Decimal(0))),
        ("layers", "layers = 11", (Status.FAILED, Decimal(0))),
        ("softmax", "def softmax(scores):\n    return scores", (Status.FAILED, Decimal(0))),
        ("mlp", "", (Status.NO_ANSWER, Decimal(0))),
    ],
)
def test_grade_judges_wrong_answers_that_it_read(
    question: str, source: str, expected: tuple[Status, Decimal], grader: Grader
) -> None:
    """Wrong answers in text cells are judged as wrong."""
    notebook = "code" if question == "softmax" else "formulas"
    item_result = result(
        sit(grader, notebook, lambda cells: turn(cells, f"{question}-answer", source)), question
    )
    assert expected == (item_result.status, item_result.points)


@pytest.mark.parametrize(
    "source", ["8*d_model^2", 'mlp_parameters = "8*d_model^2"', "$8 d^2$", "Eight squares."]
)
def test_check_calls_ready_only_what_grading_reads(source: str, course: Course, grader: Grader) -> None:
    """`check` reports an answer as ready only if grading reads the same answer."""
    tree = json.loads(grader.assignment.release_bytes["formulas"])
    turn(tree["cells"], "mlp-answer", source)
    specification = read_specification((course.locate_release(NAME) / FILE_NAME).read_text(), FILE_NAME)
    paper = report_on(parse_notebook(json.dumps(tree).encode()).cells, specification, "formulas", "en")
    (report,) = (candidate for candidate in paper.reports if candidate.question == "mlp")
    graded = sit(grader, "formulas", lambda cells: turn(cells, "mlp-answer", source))
    assert (READY in {line.state for line in report.lines}) == bool(result(graded, "mlp").reading)
