"""The answer key of every shipped assignment sits its own exam, in the real sandbox."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.course import Course
from autograder.generate import generate
from autograder.sandbox.pool import Pool
from autograder.verify import Finding, verify

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[1]
SHIPPED = sorted(folder.name for folder in (ROOT / "assignments").iterdir() if folder.is_dir())


def course_at(root: Path) -> Course:
    """A copy of the shipped course."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return Course.at(root)


def findings(course: Course, name: str) -> tuple[Finding, ...]:
    """What grading the key and the untouched release brings to light."""
    generate(course, name)
    with Pool() as pool:
        return verify(assignments.load(course, name), pool)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_key_scores_everything_and_the_release_nothing(tmp_path: Path, name: str) -> None:
    """Every automatic item of the key earns its points, every item of the untouched release is unanswered."""
    assert () == findings(course_at(tmp_path), name)


def test_every_slip_of_the_key_is_found(tmp_path: Path) -> None:
    """A wrong formula and a cell that raises are named."""
    course = course_at(tmp_path)
    path = course.sources / "dl4nlp-exam" / "dl4nlp-exam.ipynb"
    source = path.read_text(encoding="utf-8")
    for right, wrong in (
        ('mlp_parameters = \\"8*d_model^2\\"', 'mlp_parameters = \\"4*d_model^2\\"'),
        ("from coursecheck import check", "from coursechek import check"),
    ):
        assert 1 == source.count(right), right
        source = source.replace(right, wrong)
    path.write_text(source, encoding="utf-8")
    found = {(finding.paper, finding.place) for finding in findings(course, "dl4nlp-exam")}
    assert ("answer key", "task3-b.formula") in found
    assert any(place.startswith("dl4nlp-exam, cell") for _, place in found)
