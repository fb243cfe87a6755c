"""A class with known marks, and the state that must be the same after any number of kills."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.sandbox.pool import Pool
from autograder.store.gradebook import Gradebook
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course

WORKERS = 2
SURVIVED = "run-again"
"""The note that a submission was run again after a fault of ours, the only trace that a kill may leave."""

FORMULAS = ("d_model * d_model", "d_model * d_model", "2 * d_model", "d_model + ")
FUNCTIONS = (
    "def double(x):\n    return 2 * x",
    "import time\ntime.sleep(0.1)\ndef double(x):\n    time.sleep(0.02)\n    return x + x",
    "def double(x):\n    return 3 * x",
    "import os\ndef double(x):\n    os._exit(3)",
    "import os\nos.abort()",
    "def double(x):\n    raise ValueError('no')",
    "import threading, time\nthreading.Timer(9, print).start()\ndef double(x):\n    return x * 2",
)


def make_class(root: Path, students: int, preload: str) -> Course:
    """Make a course with submissions that are right, wrong or slow, or end their own boxes."""
    course = make_course(root)
    rubric = course.locate_rubric(NAME)
    rubric.write_text(rubric.read_text().replace('preload = ["numpy"]', f'preload = ["{preload}"]'))
    for number in range(students):
        formula, function = FORMULAS[number % len(FORMULAS)], FUNCTIONS[number % len(FUNCTIONS)]
        notebook = json.loads(CONTROL)
        for cell in notebook["cells"]:
            grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if grade_id == "formula-answer":
                cell["source"] = f'projection_size = "{formula}"'
            elif grade_id == "double-answer":
                cell["source"] = function
        hand_in(course, f"student-{number:02}", json.dumps(notebook).encode())
    return course


def grade(root: Path, report: Any = lambda student: None) -> None:
    """Grade the class as ``autograder grade`` does; call ``report`` for each student whose mark is stored."""
    course = Course.from_folder(root)
    assignment = assignments.load_assignment(course, NAME)
    with Gradebook(course.gradebook) as gradebook, Pool() as pool:
        handins = course.list_handins(NAME)
        for outcome in batch.grade_class(assignment, handins, gradebook, pool, workers=WORKERS):
            report(outcome.student)


class State(Struct, frozen=True):
    """Everything that grading a class leaves behind."""

    results: dict[str, Any]
    """Student → the current result, without times and without the note of having been run again."""
    marks: list[tuple[Any, ...]]
    """nbgrader's grades and comments."""
    rows: dict[str, int]
    """Table → number of rows, except the runs."""
    files: dict[str, int]
    """Path in the course → 1, or for nbgrader's copies their digest."""
    damage: str
    """SQLite's integrity check of the file."""


def state(root: Path, name: str = NAME) -> State:
    """Return the state on disk; no grading may be running."""
    course = Course.from_folder(root)
    with sqlite3.connect(course.gradebook) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {one: database.execute(f"SELECT count(*) FROM {one}").fetchone()[0] for one in tables}
        marks = database.execute(
            "SELECT a.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade, m.auto_comment "
            "FROM submitted_assignment a JOIN submitted_notebook n ON n.assignment_id = a.id "
            "JOIN grade g ON g.notebook_id = n.id JOIN base_cell c ON c.id = g.cell_id "
            "LEFT JOIN comment m ON m.notebook_id = n.id AND m.cell_id = g.cell_id ORDER BY 1, 2"
        ).fetchall()
        damage = database.execute("PRAGMA integrity_check").fetchone()[0]
    database.close()
    rows.pop("autograder_run")
    return State(current(root, name), marks, rows, files(root), damage)


def current(root: Path, name: str = NAME) -> dict[str, Any]:
    """Return the current result of every student who has one."""
    course = Course.from_folder(root)
    if not course.gradebook.exists():
        return {}
    with Gradebook(course.gradebook) as gradebook:
        results = gradebook.load_results(name)
    return {student: _plain(graded) for student, graded in results.items()}


def interrupted(root: Path) -> int:
    """Return how many runs were started and never finished."""
    with sqlite3.connect(Course.from_folder(root).gradebook) as database:
        query = "SELECT count(*) FROM autograder_run WHERE finished_at IS NULL"
        number: int = database.execute(query).fetchone()[0]
    database.close()
    return number


def _plain(graded: GradingResult) -> Any:
    plain = msgspec.to_builtins(graded)
    for name in ("seconds", "sandbox_seconds", "spent"):
        plain.pop(name)
    plain["score"]["notes"] = [note for note in plain["score"]["notes"] if note["code"] != SURVIVED]
    for notebook in plain["notebooks"]:
        for run in notebook["runs"]:
            if run:
                run.pop("seconds")
    return plain


def files(root: Path) -> dict[str, int]:
    """Return all files, with the contents of nbgrader's copies."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() or path.is_symlink():
            name = path.relative_to(root).as_posix()
            copied = name.startswith("autograded/")
            found[name] = hash(path.read_bytes()) if copied else 1
    return found


def run_again(root: Path) -> int:
    """Return how many submissions have the note that they were run again."""
    with Gradebook(Course.from_folder(root).gradebook) as gradebook:
        results = gradebook.load_results(NAME)
    return sum(SURVIVED in {note.code for note in graded.score.notes} for graded in results.values())
