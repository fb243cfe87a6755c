"""A course with twenty students and two assignments, from Moodle's export to Moodle's import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.cli.scripted_class import WAYS, scripted_class
from tests.cli.scripted_course import make_files, scripted_term

pytestmark = pytest.mark.slow
STUDENTS = 20


def test_every_way_to_hand_in_occurs() -> None:
    """Both assignments have groups of one, two and three; some members of a group run out of slip days."""
    class_ = scripted_class(STUDENTS)
    for groups in class_.groups.values():
        assert set(WAYS) == {group.way for group in groups}
        assert {1, 2, 3} == {len(group.members) for group in groups}
        assert sorted(student.id for student in class_.students) == sorted(
            student.id for group in groups for student in group.members
        )
    spent = {
        group.name: {class_.stands("calling")[member.id].is_refused for member in group.members}
        for group in class_.groups["calling"]
        if group.way.attempts
    }
    assert {False, True} in spent.values()


@pytest.mark.sandbox
def test_a_course_from_the_platform_and_back(tmp_path: Path) -> None:
    """Every number of every step equals the expected one, for each member of each group."""
    class_ = scripted_class(STUDENTS)
    steps = 0
    for step in scripted_term(make_files(tmp_path, class_), class_, run):
        assert step.foreseen == step.actual, step.name
        steps += 1
    assert 23 == steps
