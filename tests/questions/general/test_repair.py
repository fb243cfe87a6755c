"""Test planted faults through the whole pipeline and the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.core.errors import NotebookError
from autograder.core.records import ItemResult, Status
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader
from autograder.grading.release_generation import generate_release
from autograder.sandbox.pool import Pool
from tests.checking.test_planted_faults import RIGHT
from tests.support.code_course import NAME, code_course, grade

pytestmark = [pytest.mark.sandbox]


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return the grader of a course with one question."""
    course = code_course(
        tmp_path_factory.mktemp("faults"), {"mean": (3, RIGHT)}, kind="repair", given="SCALE = 1.0"
    )
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


def judge(grader: Grader, source: str) -> dict[str, ItemResult]:
    """Return the results of an answer by item."""
    return {item.item: item for item in grade(grader, {"mean": source}).score.items}


@pytest.mark.parametrize(
    ("left", "earned"), [((), 3), (("zeros",), 1), (("length",), 2), (("zeros", "length"), 0)], ids=str
)
def test_every_fault_that_is_left_costs_its_points(
    grader: Grader, left: tuple[str, ...], earned: int
) -> None:
    """A remaining fault costs its points and affects no other item."""
    file = grader.assignment.rubric.checks["mean"]
    results = judge(grader, f"{file.make_listing(left)}\n# mine")
    assert {name for name, result in results.items() if result.status is Status.FAILED} == set(left)
    assert sum(result.points for result in results.values()) == Decimal(earned)


def test_another_defect_is_a_remark_and_costs_nothing(grader: Grader) -> None:
    """Another defect costs nothing; staff see a remark, unless a planted fault is left."""
    source = "def mean(numbers):\n    return sum(numbers) / len(numbers) + (len(numbers) > 4)"
    results = judge(grader, source)
    assert {result.status for result in results.values()} == {Status.PASSED}
    assert "same_values" in results["zeros"].remark
    assert not judge(grader, source.replace("/ len(numbers)", "/ (len(numbers) + 1)"))["zeros"].remark


def test_listing_that_is_handed_in_unchanged_is_no_answer(grader: Grader) -> None:
    """An unchanged listing is no answer and is not run."""
    release = grader.assignment.release_bytes[NAME].decode()
    assert "if number]" in release
    results = {item.item: item for item in grade(grader, {}).score.items}
    assert {result.status for result in results.values()} == {Status.NO_ANSWER}


def test_generate_refuses_a_listing_without_a_fault(tmp_path: Path) -> None:
    """Generating a release fails if a fault is missing in the listing."""
    course = code_course(tmp_path, {"mean": (3, RIGHT)}, kind="repair")
    notebook = course.locate_source(NAME) / f"{NAME}.ipynb"
    text = notebook.read_text("utf-8")
    assert text.count("if number]") == 1
    notebook.write_text(text.replace("if number]", "if True]"), "utf-8")
    with pytest.raises(NotebookError, match="the fault 'zeros' is not in the listing") as raised:
        generate_release(course, NAME)
    assert raised.value.code == "fault-missing"


def test_object_of_the_students_class_decides_nothing(grader: Grader) -> None:
    """A result that equals everything needs manual review, in each property."""
    source = "class Any:\n    def __eq__(self, other):\n        return True\n"
    results = judge(grader, f"{source}\ndef mean(numbers):\n    return Any()")
    assert Status.PASSED not in {result.status for result in results.values()}
