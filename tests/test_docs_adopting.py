"""docs/adopting.md: run the steps of both chapters about migration on existing courses."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import PROGRAMS, ROOT, environment, run
from tests.exchange.adoption import courses
from tests.exchange.adoption.programs import have_nbgrader_grade

pytestmark = [pytest.mark.apart, pytest.mark.sandbox]

STUDENTS = ("01-right", "02-empty", "03-wrong", "05-crash")
"""Some of the twenty students, because the programs take seconds for each."""
PAGE = (ROOT / "docs" / "adopting.md").read_text("utf-8")


def typed(chapter: str, folder: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Run a chapter's commands; return the results by the second word of each."""
    text = PAGE.partition(f"\n## {chapter}\n")[2].partition("\n## ")[0]
    block = re.search(r"```\n(.*?)```", text, re.DOTALL)
    assert block, chapter
    found = {}
    for line in block[1].splitlines():
        program, command, *words = shlex.split(line)
        assert program == "autograder"
        found[command] = run(command, *words, cwd=folder)
    return found


def test_coming_from_nbgrader(tmp_path: Path) -> None:
    """Adopt the course of nbgrader's user guide from its package, as a new user would."""
    spec = importlib.util.find_spec("nbgrader")
    assert spec is not None
    assert spec.origin is not None
    guide = Path(spec.origin).parent / "docs" / "source" / "user_guide"
    course = tmp_path / "my-course"
    for part in ("source/ps1", "submitted"):
        shutil.copytree(guide / part, course / part)
    shutil.copytree(course, tmp_path / "old")
    have_nbgrader_grade(PROGRAMS / "nbgrader", tmp_path / "old", "ps1")
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    done = typed("Coming from nbgrader", tmp_path)
    assert "9 questions, 4 tests, 3 of them judged outside" in done["adopt"].stdout
    codes = {command: one.returncode for command, one in done.items()}
    assert codes == {
        "adopt": 1,  # a test cell deletes a student's function
        "verify": 0,
        "grade": 1,  # two marks differ from nbgrader's
        "feedback": 0,
        "grades": 0,
    }, done
    assert "6 of 8 marks are the same as nbgrader's" in done["grade"].stdout
    assert "bitdiddle" in done["grades"].stdout
    assert "mutants of the answer key pass correct_squares" in done["verify"].stdout
    assert {path: path.read_bytes() for path in before} == before

    nbgrader = [str(PROGRAMS / "nbgrader"), "export", "--to=all.csv"]
    exported = subprocess.run(nbgrader, cwd=course, env=environment(), capture_output=True, check=False)
    assert exported.returncode == 0, exported.stderr
    assert "hacker" in (course / "all.csv").read_text()


def test_coming_from_otter(tmp_path: Path) -> None:
    """Adopt an assignment of the corpus, and compare with the marks of otter 7.0.0."""
    assignment = courses.load("words")
    recorded = json.loads((courses.EXPECTED / "words.json").read_text("utf-8"))
    assignment.write(tmp_path / "homework")
    handed = courses.submissions(assignment, recorded["released"])
    for student in STUDENTS:
        into = tmp_path / "homework" / "submitted" / student / "words"
        into.mkdir(parents=True)
        (into / "words.ipynb").write_text(json.dumps(handed[student]["words"]), "utf-8")
        old = tmp_path / "old" / "results" / student
        old.mkdir(parents=True)
        marks = recorded["marks"][student].items()
        tests = [{"name": name, "score": score} for name, score in marks]
        (old / "results.json").write_text(json.dumps({"tests": tests}))
    done = typed("Coming from otter", tmp_path)
    codes = {command: one.returncode for command, one in done.items()}
    assert codes == {
        "adopt": 0,
        "generate": 0,
        "verify": 1,  # a test also passes for the stub
        "grade": 0,
        "feedback": 0,
    }, done
    assert "q3.test-2" in done["verify"].stdout
    assert "16 of 16 marks are the same as otter's" in done["grade"].stdout
