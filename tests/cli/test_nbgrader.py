"""nbgrader works with this repository as a course, and with the gradebook that grading writes."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import ASSIGNMENT, ROOT, only_object, run, run_cold

pytestmark = pytest.mark.sandbox


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of what nbgrader sees of this repository."""
    shutil.copytree(ROOT / "assignments", tmp_path / "assignments")
    shutil.copyfile(ROOT / "nbgrader_config.py", tmp_path / "nbgrader_config.py")
    return tmp_path


def test_nbgrader_generates_the_same_cells(repository: Path, graded: Path) -> None:
    """``nbgrader generate_assignment`` accepts the sources, and makes the cells that generate makes."""
    done = run_cold("generate_assignment", ASSIGNMENT, cwd=repository, program="nbgrader")
    assert 0 == done.returncode, done.stderr
    name = f"release/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    theirs, ours = (json.loads((folder / name).read_text("utf-8")) for folder in (repository, graded))
    pairs = [(a["source"], b["source"]) for a, b in zip(theirs["cells"], ours["cells"], strict=True)]
    filled = [their for their, our in pairs if their != our]
    assert len(filled) == 1  # the title page, whose tables only generate knows
    assert "<!-- exam tasks en -->\n" in filled[0]


def test_nbgrader_validates_the_solutions(repository: Path, graded: Path) -> None:
    """``nbgrader validate`` finds nothing wrong with the source, run in an ordinary kernel."""
    folder = repository / "assignments" / ASSIGNMENT
    shutil.copyfile(graded / "release" / ASSIGNMENT / "coursecheck.py", folder / "coursecheck.py")
    done = run_cold("validate", f"{ASSIGNMENT}.ipynb", cwd=folder, program="nbgrader")
    assert 0 == done.returncode, done.stderr
    assert "Success! Your notebook passes all the tests." in done.stdout


def test_nbgrader_lists_the_students(graded: Path) -> None:
    """``nbgrader db student list`` reads the gradebook, with the names of the roster."""
    done = run_cold("db", "student", "list", cwd=graded, program="nbgrader")
    listed = {line for line in done.stdout.splitlines() if " -- " in line}
    assert 0 == done.returncode
    with (graded / "roster.csv").open(encoding="utf-8", newline="") as file:
        expected = {
            f"{one['id']} ({one['last_name']}, {one['first_name']}) -- {one['email']}, None"
            for one in csv.DictReader(file)
        }
    assert expected == listed


def test_nbgrader_exports_the_grades(course: Path) -> None:
    """``nbgrader export`` writes the same points that grading reports."""
    points = only_object(run("grade", ASSIGNMENT, "--json", cwd=course).stdout)["points"]
    done = run_cold("export", cwd=course, program="nbgrader")
    assert 0 == done.returncode, done.stderr
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        exported = {
            row["student_id"]: float(row["score"])
            for row in csv.DictReader(file)
            if row["assignment"] == ASSIGNMENT
        }
    assert points == exported
