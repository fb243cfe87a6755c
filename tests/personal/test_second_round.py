"""The assignment that a second round is: its rubric and its notebook follow from the question's."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from autograder import assignment as assignments
from autograder import rubric as rubrics
from autograder.course import Course
from autograder.errors import CourseError, RubricError
from autograder.personal.second_round import RoundFiles, compose, key_answer, module
from tests.support.second_course import NAME, RIGHT, RUBRIC, made


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course that nobody has handed in to."""
    return made(tmp_path_factory.mktemp("course"), {})


def composed(course: Course, question: str) -> RoundFiles:
    """The second round of a question."""
    first = assignments.load(course, NAME)
    return compose(first, first.rubric.question(question))


def test_a_round_is_of_one_question(course: Course) -> None:
    """It has the question's items and texts, what was given before it, and a right answer."""
    found = composed(course, "soften")
    rubric = rubrics.parse(found.rubric)
    assert [question.id for question in rubric.questions] == ["soften"]
    assert (Decimal(3), "sheet-soften-second") == (rubric.assignment.points, rubric.assignment.name)
    assert {"en", "de"} == {*rubric.assignment.title}
    cells = nbformat.reads(found.notebook.decode(), as_version=4).cells
    assert ["markdown", "code", "markdown", "code", "code"] == [cell.cell_type for cell in cells]
    assert "Write `soften`." == cells[2].source
    assert "<!-- de -->" in cells[0].source
    assert RIGHT.strip() in cells[3].source.replace("\n\n\n\n", "\n\n\n")


def test_a_changed_question_has_items_and_a_key_of_its_own(course: Course) -> None:
    """What is stated takes the place of the question's own; the rest stays."""
    found = composed(course, "weights")
    (question,) = rubrics.parse(found.rubric).questions
    assert "symbolic" == question.kind
    assert ["3*d_model^2 + d_model^2/4"] == [*question.items[0].options["accept"]]
    assert "3*d_model^2 + d_model^2/4" in found.notebook.decode()
    assert found.changed


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        ('text = { en = "Four heads share their keys."', 'text = { fr = "x"', "what changes, in en, de"),
        ("solution = 'weights", "solved = 'weights", "the code of a right answer"),
        ('text = { en = "Weights with shared', 'texts = { en = "Weights with shared', "text"),
    ],
)
def test_what_is_stated_is_read_strictly(line: str, instead: str, told: str) -> None:
    """A changed question that is not valid is refused with the rubric that states it."""
    assert line in RUBRIC
    with pytest.raises(RubricError, match=told):
        rubrics.parse(RUBRIC.replace(line, instead).encode())


def test_a_question_that_people_decide_on_has_none(tmp_path: Path) -> None:
    """Nothing would judge it."""
    course = made(tmp_path, {})
    path = course.rubric(NAME)
    path.write_text(
        RUBRIC.replace('cases = ["plain"]', "manual = true").replace('cases = ["masked"]', "manual = true")
    )
    with pytest.raises(CourseError, match="people decide about all of it"):
        composed(course, "soften")


def test_the_key_is_taken_with_what_it_needs(course: Course) -> None:
    """It stands in the answer key's notebook, between its markers."""
    first = assignments.load(course, NAME)
    assert RIGHT == key_answer(first, first.rubric.question("soften"))


def test_what_is_no_python_is_left_out() -> None:
    """Lines with magics go, and cells that cannot be read."""
    assert "a = 1\n\nb = 2" == module(["%matplotlib inline\na = 1", "def", "b = 2\n!ls"])


def test_a_line_of_code_may_look_like_a_magic() -> None:
    """Lines that only a notebook understands go, and only where the cell is no Python with them."""
    code = "def f(a, b):\n    return (\n        a\n        % b\n    )"
    assert code == module([code])
    assert "x = 1" in module(["%matplotlib inline\nx = 1"])
