"""Test expected values, which the reference computes for the same calls as students."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.core.errors import CourseError
from autograder.grading import assignment as assignments
from autograder.grading.expected_values import compute_expected_values
from autograder.sandbox.pool import Pool
from tests.grading.test_batch import NAME, make_course

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return (2, 8, 128, 128)", ""),
        ("raise ValueError('bad')", "failed: ValueError: bad"),
        ("import os; os._exit(1)", "ended its box"),
    ],
    ids=["right", "raises", "ends its box"],
)
def test_expected_values_are_those_of_the_reference(
    body: str, error: str, tmp_path: Path, pool: Pool
) -> None:
    """A failing reference is an error of the course, reported before grading."""
    assignment = assignments.load_assignment(make_course(tmp_path / "course"), NAME)
    source = f"def scores():\n    {body}\n"
    (assignment.course.reference / "arithmetic.py").write_text(source, encoding="utf-8")
    if error:
        with pytest.raises(CourseError, match=error):
            compute_expected_values(assignment, pool)
        return
    (expected,) = compute_expected_values(assignment, pool)
    assert {name: [observation.value for observation in seen] for name, seen in expected.items()} == {
        "shape": [(2, 8, 128, 128)]
    }


@pytest.mark.slow
def test_a_busy_machine_stops_no_class(tmp_path: Path, pool: Pool) -> None:
    """A reference may take longer than the time limit for students."""
    assignment = assignments.load_assignment(make_course(tmp_path / "course"), NAME)
    assert assignment.rubric.assignment.limits.call_seconds == 2
    slow = "import time\ndef scores():\n    time.sleep(2.5)\n    return (2, 8, 128, 128)\n"
    (assignment.course.reference / "arithmetic.py").write_text(slow, encoding="utf-8")
    (expected,) = compute_expected_values(assignment, pool)
    assert ["shape"] == list(expected)
