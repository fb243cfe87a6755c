"""Adopted tests: mistakes in the key that pass them are told, and questions are proposed that say more."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.app.adopting import adopt
from autograder.app.classes import grade
from autograder.app.strengthening import Strengthened, strengthen
from autograder.course import Course
from autograder.errors import CourseError
from tests.adopting import courses

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

SMALL = """nbgrader
%% code answer clipped
def clipped(value, low=0, high=10):
    \"\"\"The value, or the bound that it is beyond.\"\"\"
    ### BEGIN SOLUTION
    if low > high:
        raise ValueError("low is above high")
    if value < low:
        return low
    return high if value > high else value
    ### END SOLUTION
%% code test clipped_test 2
assert clipped(5) == 5
assert clipped(12) == 10
%% code test clipped_refuses 1
assert clipped(1) == 1
try:
    clipped(1, 3, 2)
except ValueError:
    pass
else:
    raise AssertionError("no ValueError")
%% code answer share
### BEGIN SOLUTION
share = sum(map(clipped, [-2, 7, 30])) / 3
### END SOLUTION
%% code test share_test 1
from hashlib import sha1
assert isinstance(share, float)
assert sha1(f"{share:.2f}".encode()).hexdigest() == "<sha1 5.67>"
%% code answer root
def root(value):
    ### BEGIN SOLUTION
    if value not in (4, 9):
        raise ValueError("not a square of mine")
    return int(value**0.5)
    ### END SOLUTION
%% code test root_test 1
assert root(4) == 2
assert root(9) == 3
%% code answer told
def told(value):
    ### BEGIN SOLUTION
    print(clipped(value))
    ### END SOLUTION
%% code test told_test 1
assert told(3) is None
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A small course of nbgrader's, adopted."""
    with pytest.MonkeyPatch.context() as patch:
        corpus = tmp_path_factory.mktemp("corpus")
        (corpus / "small.txt").write_text(SMALL, "utf-8")
        patch.setattr(courses, "CORPUS", corpus)
        root = tmp_path_factory.mktemp("course")
        courses.load("small").write(root)
    adopt(root)
    return Course(root)


@pytest.fixture(scope="module")
def found(course: Course) -> Strengthened:
    """What is found in it."""
    return strengthen(course, "small")


def test_weak_tests_are_told_with_the_changed_line(found: Strengthened) -> None:
    """Nothing asks for a value below the bound: mistakes there pass, others do not."""
    cell = found.cells[0]
    assert (cell.cell, cell.tests) == ("clipped", ("clipped_test", "clipped_refuses"))
    passing = {(one.line, one.after) for one in cell.survivors}
    assert (6, "pass") in passing  # nobody tests a value below the lower bound
    assert (8, "return (value if value > high else high)") not in passing
    assert (5, "pass") not in passing  # the exception is asked for
    assert len(passing) < cell.mutants


def test_other_tests_and_proposals_that_see_a_mistake_are_named(found: Strengthened) -> None:
    """The third question uses the function with a value below the bound."""
    dropped = next(one for one in found.cells[0].survivors if one.after == "pass")
    assert dropped.elsewhere == ("share_test",)


def test_each_test_has_a_proposal_or_a_reason(found: Strengthened) -> None:
    """Calls with whole numbers become a count, hashes a value; what prints stays a test."""
    advice = {one.question: (one.kind, one.reason) for one in found.tests}
    assert [kind for kind, _ in advice.values()] == ["count", "behaviour", "value", "", ""]
    assert "not a square of mine" in advice["root_test"][1]  # hidden inputs are none that it takes
    assert "gives None" in advice["told_test"][1]


def test_proposals_stand_beside_the_rubric(course: Course, found: Strengthened) -> None:
    """The rubric is as it was; the proposed one is valid, has the same points, and exceptions count."""
    assert {path.relative_to(course.root).as_posix() for path in found.written} == {
        "rubrics/stronger/small.toml",
        "rubrics/stronger/key_small.py",
    }
    assert course.assignments() == ("small",)
    assert all(one.kind == "cells" for one in rubrics.load(course.rubric("small")).questions)
    proposed = rubrics.load(course.rubrics / "stronger" / "small.toml")
    assert proposed.assignment.points == 6
    refuses = proposed.question("clipped_refuses")
    assert refuses.items[0].needs == ("test-refuses-1",)
    assert refuses.items[1].points == 0


def test_applied_proposals_grade(course: Course, found: Strengthened, tmp_path: Path) -> None:
    """A mutant that the tests let pass loses its points; the key's answers keep theirs."""
    assert found.written
    shutil.copytree(course.root, tmp_path / "course")
    applied = Course(tmp_path / "course")
    assert strengthen(applied, "small", most=0, apply=True).written == (
        applied.rubric("small"),
        applied.reference / "key_small.py",
    )
    for student, old, new in (("right", "share", "share"), ("weak", "return low", "return low - 1")):
        notebook = json.loads((applied.source("small") / "small.ipynb").read_text("utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = cell["source"].replace(old, new)
        folder = applied.root / "submitted" / student / "small"
        folder.mkdir(parents=True)
        (folder / "small.ipynb").write_text(json.dumps(notebook), "utf-8")
    scores = {one.student: one.graded.score for one in grade(applied, "small").outcomes}
    assert sum(one.points for one in scores["right"].items) == Decimal(6)
    again = strengthen(applied, "small", most=0)  # what was written before has its right results still
    assert [one.question for one in again.tests if one.kind] == []
    lost = {one.question for one in scores["weak"].items if one.points < one.possible}
    assert "share_test" in lost


def test_a_file_of_ones_own_is_never_written_over(course: Course, tmp_path: Path) -> None:
    """The error names it."""
    shutil.copytree(course.root, tmp_path / "course")
    other = Course(tmp_path / "course")
    (other.rubrics / "stronger").mkdir(exist_ok=True)
    (other.rubrics / "stronger" / "key_small.py").write_text("mine = 1\n")
    with pytest.raises(CourseError, match=r"key_small\.py: a file of yours lies there"):
        strengthen(other, "small", most=0)


KINDS = {
    "series": ["count", "behaviour", "behaviour", "behaviour", "", "count"],
    "flowers": ["value", "", "", "", "behaviour", ""],
    "regression": ["value", "value", "", "", "", "", "behaviour"],
    "words": ["behaviour", "", "", ""],
    "attention_parts": ["behaviour", "behaviour", "behaviour", "behaviour", "", "", "", ""],
}


@pytest.mark.apart
@pytest.mark.parametrize("name", KINDS)
def test_proposals_of_the_corpus(name: str, tmp_path: Path) -> None:
    """The answer key earns full points by each; every other test has a reason."""
    courses.load(name).write(tmp_path)
    adopt(tmp_path)
    found = strengthen(Course(tmp_path), name, most=4)
    assert [one.kind for one in found.tests] == KINDS[name]
    assert all(one.reason for one in found.tests)
    assert all(cell.mutants <= 4 for cell in found.cells)
