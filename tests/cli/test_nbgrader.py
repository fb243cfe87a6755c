"""nbgrader uses this repository as a course, and reads the gradebook that grading writes."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.new_assignment import CONFIGURATION
from tests.cli.running import ASSIGNMENT, ROOT, environment, only_object, run, run_cold

pytestmark = pytest.mark.sandbox


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a copy of the parts of this repository that nbgrader reads."""
    shutil.copytree(ROOT / "assignments", tmp_path / "assignments")
    shutil.copyfile(ROOT / "nbgrader_config.py", tmp_path / "nbgrader_config.py")
    return tmp_path


@pytest.mark.slow
def test_nbgrader_generates_the_same_cells(repository: Path) -> None:
    """``nbgrader generate_assignment`` accepts the sources, and makes the cells of `generate`."""
    done = run_cold("generate_assignment", ASSIGNMENT, cwd=repository, program="nbgrader")
    assert 0 == done.returncode, done.stderr
    release = repository / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    theirs = json.loads(release.read_text("utf-8"))
    for folder in ("rubrics", "reference"):
        shutil.copytree(ROOT / folder, repository / folder)
    generated = run("generate", ASSIGNMENT, "--language", "all", cwd=repository)
    assert 0 == generated.returncode, generated.stderr
    ours = json.loads(release.read_text("utf-8"))
    pairs = [(a["source"], b["source"]) for a, b in zip(theirs["cells"], ours["cells"], strict=True)]
    filled = [their for their, our in pairs if their != our]
    assert len(filled) == 1  # the title page with tables that only generate writes
    assert "<!-- exam tasks en -->\n" in filled[0]


@pytest.mark.slow
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
            f"{student['id']} ({student['last_name']}, {student['first_name']}) -- {student['email']}, None"
            for student in csv.DictReader(file)
        }
    assert expected == listed


@pytest.mark.slow
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


ONE_CLICK = """
import json, os, sys
from nbgrader.apps.api import NbGraderAPI
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
served = FormgradeExtension()
served.root_dir = os.getcwd()
served.initialize([])
served.coursedir.parent.load_config_file()
api = NbGraderAPI(served.coursedir, served.authenticator, parent=served.coursedir.parent)
sys.stdout.write(json.dumps(api.autograde(sys.argv[1], sys.argv[2])))
"""
"""What formgrader's button runs: `BaseHandler.api` and `AutogradeHandler` of its server extension."""


def contents(course: Path) -> dict[str, str]:
    """Return the content of every file that autograding could change."""
    files = [course / "gradebook.db", *(course / "autograded").rglob("*.ipynb")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def one_click(course: Path, student: str) -> dict[str, str]:
    """Return what formgrader's button shows for one student."""
    words = [sys.executable, "-c", ONE_CLICK, ASSIGNMENT, student]
    done = subprocess.run(words, cwd=course, env=environment(), capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    shown: dict[str, str] = json.loads(done.stdout)
    return shown


def test_the_shipped_configuration_is_that_of_new_courses() -> None:
    """Both refuse autograding; the shipped one also has a course name."""
    shipped = (ROOT / "nbgrader_config.py").read_text("utf-8")
    assert CONFIGURATION + 'c.CourseDirectory.course_id = "autograder"\n' == shipped


@pytest.mark.slow
def test_a_course_that_does_not_switch_it_off_is_told(course: Path) -> None:
    """An older configuration, with which one click would replace all automatic scores, gives a warning."""
    message = "nbgrader_config.py: nbgrader's own autograde, one click in formgrader, is not switched off"
    assert message not in run("grades", ASSIGNMENT, cwd=course).stderr
    (course / "nbgrader_config.py").write_text('c.CourseDirectory.source_directory = "assignments"\n')
    assert message in run("grades", ASSIGNMENT, cwd=course).stderr
    (course / "nbgrader_config.py").unlink()
    assert message not in run("grades", ASSIGNMENT, cwd=course).stderr


@pytest.mark.slow
@pytest.mark.parametrize("configuration", ["shipped", "new"])
def test_nbgrader_does_not_autograde(course: Path, configuration: str) -> None:
    """`nbgrader autograde` and formgrader's button say what to do instead, before any file is changed."""
    if configuration == "new":
        (course / "nbgrader_config.py").write_text(CONFIGURATION, encoding="utf-8")
    student = min(path.name for path in (course / "autograded").iterdir())
    before = contents(course)
    for more in (["--force"], [f"--student={student}", "--force", "--create"]):
        done = run_cold("autograde", ASSIGNMENT, *more, cwd=course, program="nbgrader")
        named = f" --student {student}" if more[1:] else ""
        assert 0 != done.returncode
        assert f"autograder grade {ASSIGNMENT}{named}\n" in done.stderr
        assert "without a sandbox" in done.stderr
    shown = one_click(course, student)
    assert shown["success"] is False
    said = "[ERROR] nbgrader's autograde is switched off in this course: it would run student code"
    assert said in shown["log"]
    assert f"autograder grade {ASSIGNMENT} --student {student}" in shown["log"]
    assert before == contents(course)
