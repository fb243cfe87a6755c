"""A regrade that is killed anywhere and run again ends like an undisturbed one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from autograder.app import classes
from autograder.course import Course
from autograder.grading.grades import PersonMark
from autograder.store.gradebook import Gradebook
from tests.support import small_course
from tests.support.made_once import made_once
from tests.support.regraded_class import NAME, accept_13, final, make_class
from tests.support.secrecy import python_path
from tests.support.thorough import THOROUGH, rotating
from tests.survival.regrading import STEPS

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 600
KILLS = 50 if THOROUGH else 2
MATTER_MOST = (
    ("recording", "after"),
    ("agreeing to change what was shown", "before"),
    ("writing the log", "after"),
)


def _changed(folder: Path) -> None:
    """Make a class with published and manual marks, and change its rubric."""
    make_class(folder)
    course = Course.from_folder(folder)
    with Gradebook(course.gradebook) as book:
        half = PersonMark(Decimal("0.5"), items={"why": Decimal("0.5")}, worth={"why": Decimal(1)})
        book.give_mark(NAME, "ada", ("formulas", "mlp-why"), half)
    classes.write_feedback(course, NAME, publish_marks=True)
    accept_13(course)
    rubric = course.locate_rubric(NAME)
    small_course.changed(rubric, 'id = "why"\npoints = 1', 'id = "why"\npoints = 3')
    answer = '\nanswer = "mlp_parameters"'
    small_course.changed(rubric, f"points = 3{answer}", f"points = 5{answer}")
    small_course.changed(rubric, "points = 13", "points = 15")


@pytest.fixture
def changed(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """Return the changed class, in a folder that may be modified."""
    made = made_once(tmp_path_factory, "changed", _changed)
    shutil.copytree(made, tmp_path / "course")
    return tmp_path / "course"


def _begun(folder: Path, *step: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.survival.regrading", str(folder), *step]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": python_path(str(ROOT)), **threads}
    return subprocess.Popen(command, cwd=ROOT, env=environment)


def _unkilled(changed: Path, elsewhere: Path) -> Any:
    """Return the end state of an undisturbed regrade in another copy of the class."""
    shutil.copytree(changed, elsewhere)
    assert 0 == _begun(elsewhere).wait(PATIENCE_SECONDS)
    found = final(Course.from_folder(elsewhere))
    assert [("publish", "regrade")] == [tuple(entry[0] for entry in found[3])]
    assert {"ada", "bob", "nil"} == set(found[4])  # an item is worth more: pages show the maximum
    assert Decimal("1.5") == found[1]["ada"]["formulas", "mlp-why"].points
    return found


def _killed_at(changed: Path, elsewhere: Path, step: str, when: str) -> Any:
    """Return the end state of a regrade killed at a step and run again; None: it was not killed there."""
    shutil.copytree(changed, elsewhere)
    code = _begun(elsewhere, step, when).wait(PATIENCE_SECONDS)
    assert code in (0, -signal.SIGKILL), (step, when)
    assert 0 == _begun(elsewhere).wait(PATIENCE_SECONDS)
    found = final(Course.from_folder(elsewhere))
    shutil.rmtree(elsewhere)
    return found if code else None


@pytest.mark.apart
def test_killed_at_every_step(changed: Path, tmp_path: Path) -> None:
    """The end state is the same after a kill before or after each step, and every step is reached.

    Every test run includes kills between results and marks, before pages may change, and after writing the
    log.
    """
    wanted = _unkilled(changed, tmp_path / "unkilled")
    others = [one for one in product(STEPS, ("before", "after")) if one not in MATTER_MOST]
    for step, when in [*MATTER_MOST, *rotating(others, parts=8)]:
        assert wanted == _killed_at(changed, tmp_path / "killed", step, when), (step, when)


@pytest.mark.apart
def test_killed_at_random_moments(changed: Path, tmp_path: Path) -> None:
    """A regrade is killed twice, or fifty times; when a class is complete, a new one starts."""
    wanted = _unkilled(changed, tmp_path / "unkilled")
    chance, kills, classes_done = random.Random(17), 0, 0
    while kills < KILLS:
        folder = tmp_path / f"class-{classes_done}"
        shutil.copytree(changed, folder)
        code = -signal.SIGKILL
        while code == -signal.SIGKILL:
            running = _begun(folder)
            time.sleep(chance.uniform(0.3, 6))
            running.kill()
            code = running.wait(PATIENCE_SECONDS)
            kills += code == -signal.SIGKILL
        assert 0 == code
        assert wanted == final(Course.from_folder(folder)), classes_done
        shutil.rmtree(folder)
        classes_done += 1
