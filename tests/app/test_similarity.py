"""Which works of a class are compared: what a group hands in together once, and what each does alone."""

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
    """ada and bob are a group, and each has a folder; zoe handed in what ada did."""
    new_course = small_course(tmp_path / "course")
    new_course.groups.write_text("group,student\nred,ada\nred,bob\nred,cleo\n")
    return new_course


def hand_in(course: Course, student: str, *names: str) -> None:
    """Put notebooks of one student into their place."""
    folder = course.root / "submitted" / student / NAME
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.ipynb").write_bytes(answered(course.root, softmax_answer=COPIED)[f"{name}.ipynb"])
    (folder / "timestamp.txt").write_text(f"2026-05-0{len(names)} 09:00:00 UTC")


def compared(course: Course) -> tuple[set[str], set[tuple[str, ...]], tuple[str, ...]]:
    """Whose works were compared, the pairs, and what was remarked."""
    comparison = find_similar(course, NAME)
    return set(comparison.works), {pair.students for pair in comparison.pairs}, comparison.remarks


def test_a_group_is_not_alike_to_itself(course: Course) -> None:
    """Platforms lay what a group handed in for each of its members; late ones are compared as well."""
    generate_release(course, NAME)
    for student in ("ada", "bob", "zoe"):
        hand_in(course, student, "formulas", "code")
    course.exams.write_text(f'[{NAME}]\nend = 2026-05-01T09:00:00Z\nlate = "refuse"\n')
    works, pairs, remarks = compared(course)
    assert (2, True) == (len(works), works <= {"ada", "bob", "zoe"})
    assert {tuple(sorted(works))} == pairs
    assert () == remarks


def test_what_each_member_does_alone_is_each_ones(course: Course) -> None:
    """The shared notebook is the work of whoever handed it in; members can have copied what is their own."""
    changed(course.locate_rubric(NAME), '{ name = "code" }', '{ name = "code", individual = true }')
    generate_release(course, NAME)
    hand_in(course, "ada", "formulas", "code")
    hand_in(course, "bob", "code")
    works, pairs, remarks = compared(course)
    assert ({"ada", "bob"}, {("ada", "bob")}, ()) == (works, pairs, remarks)
