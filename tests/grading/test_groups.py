"""Test grading of groups: shared notebooks and individual ones, without running any."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import GradingResult, Status
from autograder.course import Handin, counting_attempts
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.batch import read_handin, refresh_result, refuse_result, was_refused
from autograder.grading.grades import leave_open
from autograder.grading.release_generation import generate_release
from tests.support.small_course import NAME, small_course


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """Return the small course, with an individual second notebook and a group of three."""
    course = small_course(tmp_path_factory.mktemp("course"))
    path = course.locate_rubric(NAME)
    path.write_text(path.read_text().replace('{ name = "code" }', '{ name = "code", individual = true }'))
    generate_release(course, NAME)
    course.groups.write_text("group,student\nred,ada\nred,bob\nred,cleo\n")
    for student, names in (("ada", ("formulas", "code")), ("bob", ("code",)), ("zoe", ("formulas", "code"))):
        folder = course.root / "submitted" / student / NAME
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.ipynb").write_bytes(f"{student} {name}".encode())
        (folder / "timestamp.txt").write_text("2026-05-04 09:00:00 UTC")
    return assignments.load_assignment(course, NAME)


def handins(assignment: Assignment) -> dict[str, Handin]:
    """Return the counting submission of each student."""
    attempts = counting_attempts.find_counting_attempts(assignment.course, assignment.rubric).handins
    return {attempt.student: attempt for attempt in attempts}


def test_members_share_one_notebook_and_bring_the_other(assignment: Assignment) -> None:
    """A missing individual notebook is reported, never replaced by the one of another member."""
    read = {
        who: dict(read_handin(assignment, handin).notebooks) for who, handin in handins(assignment).items()
    }
    missing = read["cleo"].pop("code")
    assert {
        "ada": {"formulas": b"ada formulas", "code": b"ada code"},
        "bob": {"formulas": b"ada formulas", "code": b"bob code"},
        "cleo": {"formulas": b"ada formulas"},
        "zoe": {"formulas": b"zoe formulas", "code": b"zoe code"},
    } == read
    assert isinstance(missing, NotebookError)
    assert ("missing", "code.ipynb is each member's own, and cleo handed in none that counts") == (
        missing.code,
        str(missing),
    )


def test_a_result_follows_the_group(assignment: Assignment) -> None:
    """A group's result is updated without grading, unless another member's submission counts now."""
    cleo = handins(assignment)["cleo"]
    score = leave_open("cleo", assignment.rubric, "x")
    graded = GradingResult(replace(score, by="ada"))
    current = refresh_result(graded, cleo)
    assert current
    assert cleo.group == current.score.group
    assert None is refresh_result(GradingResult(score), cleo)


def test_what_is_refused_has_no_points_and_no_notebooks(assignment: Assignment) -> None:
    """A refused submission has no points and no notebooks."""
    score = leave_open("ada", assignment.rubric, "x")
    late = refuse_result(GradingResult(score), assignment.rubric)
    assert {(Status.NO_ANSWER, 0, "refused.late")} == {
        (item.status, item.points, item.student.code) for item in late.score.items
    }
    assert (False, True) == (was_refused(GradingResult(score)), was_refused(late))
    assert None is refresh_result(late, handins(assignment)["ada"])
