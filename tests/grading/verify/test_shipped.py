"""Verify every shipped assignment: its answer key, and all planted answers.

Marks must not depend on the drawn values: `VERIFY_DRAWS=10` verifies with ten secrets. A run verifies only
one of the two largest assignments, which alternate daily.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from autograder.course import Course
from tests.grading.verify.test_verify import verified
from tests.support.thorough import rotating

pytestmark = [pytest.mark.long, pytest.mark.sandbox, pytest.mark.apart]

ROOT = Path(__file__).parents[3]
SHIPPED = sorted(folder.name for folder in (ROOT / "assignments").iterdir() if folder.is_dir())
LARGEST = ("dl4nlp-exam", "gpt2")
CHOSEN = [*(name for name in SHIPPED if name not in LARGEST), *rotating(LARGEST, parts=2)]
DRAWS = range(int(os.environ.get("VERIFY_DRAWS", "1")))
"""Numbers of the secrets; they are the same in every run, so findings are reproducible."""


def shipped_course(root: Path, draw: int = 0) -> Course:
    """Return a copy of the shipped course with one of the secrets."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    course = Course.from_folder(root)
    course.load_secret()
    (course.private / "secret").write_bytes(hashlib.sha256(f"draw {draw}".encode()).digest())
    return course


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("name", CHOSEN)
def test_every_assignment_holds(tmp_path: Path, name: str, draw: int) -> None:
    """Shipped assignments verify without findings, and every automatic item is lost by a mistake."""
    verification = verified(shipped_course(tmp_path, draw), name)
    assert () == verification.findings
    automatic = {
        (matrix.question, item)
        for matrix in verification.matrices
        for item in matrix.items
        if item not in matrix.manual
    }
    lost = {
        (matrix.question, item)
        for matrix in verification.matrices
        for row in matrix.mistakes
        for item in row.loses
    }
    assert automatic <= lost
