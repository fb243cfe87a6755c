"""Marks given by nbgrader and otter, read from their files."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from autograder.core.errors import CourseError

PeerMarks = Mapping[str, Mapping[str, float]]
"""By student and by grade cell (nbgrader) or question (otter). Answers without a mark are missing."""


def read_gradebook_marks(gradebook: Path, assignment: str) -> PeerMarks:
    """Read the automatic marks from a gradebook of nbgrader.

    Raises:
        CourseError: it is not one.
    """
    query = (
        "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
        " join base_cell on base_cell.id = grade.cell_id"
        " join submitted_notebook on submitted_notebook.id = grade.notebook_id"
        " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " join assignment on assignment.id = submitted_assignment.assignment_id"
        " where assignment.name = ? and grade.auto_score is not null"
    )
    marks: dict[str, dict[str, float]] = {}
    try:
        with contextlib.closing(sqlite3.connect(f"{gradebook.resolve().as_uri()}?mode=ro", uri=True)) as book:
            for student, cell, score in book.execute(query, (assignment,)):
                marks.setdefault(student, {})[cell] = float(score)
    except sqlite3.Error as error:
        raise CourseError(
            f"{gradebook}: expected a gradebook of nbgrader's (SQLite), got: {error}"
        ) from error
    return marks


def read_results_marks(path: Path) -> Mapping[str, float]:
    """Read the marks of each question from a results.json. Points of a question's cases are added up.

    Raises:
        CourseError: it is not a results.json.
    """
    try:
        tests = json.loads(path.read_bytes())["tests"]
        marks: dict[str, float] = {}
        for test in tests:
            # otter names a case "question - case"; "Public Tests" is a summary.
            name = str(test.get("name", "")).partition(" - ")[0]
            if name != "Public Tests" and test.get("score") is not None:
                marks[name] = marks.get(name, 0.0) + float(test["score"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path}: expected a results.json with a list 'tests': {error!r}") from error
    return marks
