"""Similarity in classes with groups: a group's submission is compared once, individual work per member."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.app.similarity import find_similar
from autograder.course import Course
from autograder.grading.release_generation import generate_release
from tests.service.course import answered
from tests.support.small_course import NAME, changed, small_course

COPIED = "import numpy as np\ndef softmax(a):\n    b = np.exp(a - a.max())\n    return b / b.sum()\n"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Make a course in which ada and bob form a group, each with a folder; zoe copied from ada."""
    new_course = small_course(tmp_path / "course")
    new_course.groups.write_text("group,student\nred,ada\nred,bob\nred,cleo\n")
    return new_course


def hand_in(course: Course, student: str, *names: str) -> None:
    """Write notebooks of one student into the submission folder."""
    folder = course.root / "submitted" / student / NAME
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.ipynb").write_bytes(answered(course.root, softmax_answer=COPIED)[f"{name}.ipynb"])
    (folder / "timestamp.txt").write_text(f"2026-05-0{len(names)} 09:00:00 UTC")


def compared(course: Course) -> tuple[set[str], set[tuple[str, ...]], tuple[str, ...]]:
    """Return the compared students, the pairs, and the remarks."""
    comparison = find_similar(course, NAME)
    return set(comparison.works), {pair.students for pair in comparison.pairs}, comparison.remarks


def test_a_group_is_not_alike_to_itself(course: Course) -> None:
    """Platforms copy a group's submission to each member; late submissions are compared as well."""
    generate_release(course, NAME)
    for student in ("ada", "bob", "zoe"):
        hand_in(course, student, "formulas", "code")
    course.exams.write_text(f'[{NAME}]\nend = 2026-05-01T09:00:00Z\nlate = "refuse"\n')
    works, pairs, remarks = compared(course)
    assert (2, True) == (len(works), works <= {"ada", "bob", "zoe"})
    assert {tuple(sorted(works))} == pairs
    assert () == remarks


def test_what_each_member_does_alone_is_each_ones(course: Course) -> None:
    """The shared notebook belongs to its submitter; individual parts of two members are compared."""
    changed(course.locate_rubric(NAME), '{ name = "code" }', '{ name = "code", individual = true }')
    generate_release(course, NAME)
    hand_in(course, "ada", "formulas", "code")
    hand_in(course, "bob", "code")
    works, pairs, remarks = compared(course)
    assert ({"ada", "bob"}, {("ada", "bob")}, ()) == (works, pairs, remarks)
