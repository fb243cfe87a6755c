"""Versions store everything that is needed for grading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autograder import rubric as rubrics
from autograder.app import open_course
from tests.support.code_course import NAME, code_course

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord

CHECKS = """
from autograder.checking import check, solution
from reference.checks.shared import TITLE

solution(source="def double(x): return 2 * x")

@check(points=1, title=TITLE)
def doubled(student, reference, draw):
    assert student.double(4) == 8
"""


def test_a_rubric_is_read_with_its_checks(service_course: CourseRecord, tmp_path: Path) -> None:
    """The rubric is loaded from the database with its checks and their imports."""
    from autograder.service import versions

    shared = {"checks/shared.py": 'TITLE = "Twice"\n'}
    code_course(tmp_path / "course", {"double": (1, CHECKS)}, reference=shared)
    course = open_course(tmp_path / "course")
    service_course.secret = course.load_secret()
    service_course.save()
    offer = versions.create_or_update_offer(service_course, course, NAME)
    kept = versions.load_rubric(offer.version)
    assert rubrics.load_rubric(course.locate_rubric(NAME)) == kept
    assert ["doubled"] == [item.id for item in kept.get_question("double").items]
