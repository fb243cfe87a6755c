"""Grade one class repeatedly and compare every mark: ``python -m tests.survival.again --times 20``.

Each run is a separate process with ``--again``, with a different number of workers, and so in a different
order and under a different load. Verdicts, points, messages, readings, staff texts and nbgrader's gradebook
must be identical byte for byte. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from autograder.authoring.demo import course as demo_course
from autograder.core.records import GradingResult
from autograder.course import Course
from autograder.store.gradebook import Gradebook
from tests.survival.classroom import SURVIVED

ROOT = Path(__file__).parents[2]
WORKERS = (2, 1, 4, 3)
"""In turn: more workers change the order, and leave each of them less processor time."""
MOST_SHOWN = 20
_GRADES = (
    "SELECT a.student_id, c.name, g.auto_score, g.needs_manual_grade, m.auto_comment "
    "FROM submitted_assignment a JOIN submitted_notebook n ON n.assignment_id = a.id "
    "JOIN grade g ON g.notebook_id = n.id JOIN base_cell c ON c.id = g.cell_id "
    "LEFT JOIN comment m ON m.notebook_id = n.id AND m.cell_id = g.cell_id"
)

Marks = dict[str, str]
"""The compared values by name."""


def graded_once(course: Course, name: str, workers: int, *options: str) -> Marks:
    """Grade a class in a separate process, and return the results."""
    command = [sys.executable, "-m", "autograder", "grade", name, "--again", "--json", *options]
    done = subprocess.run(
        [*command, "--workers", str(workers), "--course", str(course.root)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):  # 1: the class needs attention, as in every run
        sys.exit(f"grading ended with {done.returncode}:\n{done.stderr}")
    return marks(course, name)


def marks(course: Course, name: str) -> Marks:
    """Return every item and remark of every student, and the rows of nbgrader's gradebook."""
    found: Marks = {}
    with Gradebook(course.gradebook) as gradebook:
        results = gradebook.load_results(name)
    for student, graded in results.items():
        found |= _of(student, graded)
    with sqlite3.connect(course.gradebook) as database:
        for student, cell, *row in database.execute(_GRADES):
            found[f"{name}, {student}, gradebook, {cell}"] = repr(row)
    database.close()
    return found


def _of(student: str, graded: GradingResult) -> Marks:
    score = graded.score
    items = {
        f"{score.assignment}, {student}, {item.question}.{item.item}": msgspec.json.encode(item).decode()
        for item in score.items
    }
    notes = [note for note in score.notes if note.code != SURVIVED]
    items[f"{score.assignment}, {student}, notes"] = msgspec.json.encode(notes).decode()
    return items


def differing(first: Marks, later: Marks, run: int) -> list[str]:
    """Return the differences in words."""
    return [
        f"run {run}: {name}:\n  {first.get(name, 'nothing')}\n  {later.get(name, 'nothing')}"
        for name in sorted({*first, *later})
        if first.get(name) != later.get(name)
    ]


def again(folder: Path, *, students: int, seed: int, times: int, names: Sequence[str]) -> dict[str, Any]:
    """Make the demo's class, grade it repeatedly, and compare with the first run.

    Args:
        folder: the folder in which to create the course.
        students: number of students.
        seed: seed of the class.
        times: number of runs.
        names: the assignments; empty: all of the demo.
    """
    started = time.monotonic()
    course, classes = demo_course.make_course(folder, students=students, seed=seed)
    found: list[str] = []
    compared = 0
    for name in names or classes:
        first = graded_once(course, name, WORKERS[0])
        for run in range(1, times):
            later = graded_once(course, name, WORKERS[run % len(WORKERS)])
            found += differing(first, later, run + 1)
            compared += len(later)
            sys.stderr.write(f"{name}: {run + 1} of {times}, {len(found)} differences\n")
    return {
        "students": students,
        "times": times,
        "assignments": list(names or classes),
        "compared": compared,
        "different": len(found),
        "differences": found[:MOST_SHOWN],
        "seconds": round(time.monotonic() - started, 1),
    }


def main() -> None:
    """Parse, grade, print; exit with 1 if there is a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--students", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--assignment", action="append", default=[], help="only this one; repeatable")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autograder-again-") as name:
        figures = again(
            Path(name) / "course",
            students=options.students,
            seed=options.seed,
            times=options.times,
            names=options.assignment,
        )
    for text in figures["differences"]:
        sys.stderr.write(text + "\n")
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.exit(bool(figures["different"]))


if __name__ == "__main__":
    main()
