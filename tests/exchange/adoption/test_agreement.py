"""Compare our marks with those of nbgrader 0.9.6 and otter 7.0.0 on the same submissions.

The recorded marks are written by `tests.exchange.adoption.record`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from autograder.app.adoption import adopt_assignments
from autograder.app.classes import grade_class
from autograder.app.mark_comparison import PeerClass, PeerComparison, compare_scores
from autograder.course import Course
from autograder.exchange.adoption import otter
from autograder.grading import assignment as assignments
from tests.exchange.adoption import courses

pytestmark = [pytest.mark.apart, pytest.mark.sandbox]


def compared(name: str, root: Path) -> PeerComparison:
    """Grade the twenty submissions of an assignment and compare them with the recorded marks."""
    assignment = courses.load(name)
    recorded = json.loads((courses.EXPECTED / f"{name}.json").read_text("utf-8"))
    folder = assignment.write(root)
    adopt_assignments(root)
    for student, handed in courses.submissions(assignment, recorded["released"]).items():
        into = root / "submitted" / student / name
        shutil.copytree(
            folder, into, ignore=shutil.ignore_patterns("*.ipynb", "rubrics", "release", "submitted")
        )
        for notebook, content in handed.items():
            (into / f"{notebook}.ipynb").write_text(json.dumps(content), "utf-8")
    course = Course(root)
    scores = {one.student: one.graded.score for one in grade_class(course, name).outcomes}
    marks = recorded["marks"]
    if assignment.origin == "otter":
        marks = {
            student: {otter.to_grade_id(question): points for question, points in one.items()}
            for student, one in marks.items()
        }
    return compare_scores(
        assignments.load_assignment(course, name),
        course.list_handins(name),
        scores,
        PeerClass(assignment.origin, marks),
    )


IN_OUR_FAVOUR = {"18-warns"}
"""Students who lose points in the other program for a warning on standard error."""


@pytest.mark.parametrize("name", courses.NAMES)
def test_marks_are_the_same(name: str, tmp_path: Path) -> None:
    """Each answer gets the other program's marks, needs manual review, or gets more for a reason."""
    found = compared(name, tmp_path)
    assert found.remarks == ()
    for one in found.differences:
        waits = one.reason.startswith("A person decides here")
        favoured = one.student in IN_OUR_FAVOUR and one.theirs is not None and one.ours > one.theirs
        assert waits or favoured, one
