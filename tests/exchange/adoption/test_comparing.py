"""Marks recorded by nbgrader and otter are read."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from autograder.app.mark_comparison import read_gradebook_marks, read_results_marks
from autograder.core.errors import CourseError

TABLES = """
create table assignment (id, name);
create table submitted_assignment (id, assignment_id, student_id);
create table submitted_notebook (id, assignment_id);
create table base_cell (id, name);
create table grade (cell_id, notebook_id, auto_score, manual_score);
insert into assignment values (1, 'ps1'), (2, 'ps2');
insert into submitted_assignment values (3, 1, 'ada'), (4, 2, 'ada');
insert into submitted_notebook values (5, 3), (6, 4);
insert into base_cell values (7, 'squares'), (8, 'essay');
insert into grade values (7, 5, 1.5, 9), (8, 5, null, 2), (7, 6, 4, null);
"""


def test_gradebook_gives_automatic_marks_of_the_assignment(tmp_path: Path) -> None:
    """Manual marks and other assignments are ignored."""
    with sqlite3.connect(tmp_path / "gradebook.db") as book:
        book.executescript(TABLES)
    assert read_gradebook_marks(tmp_path / "gradebook.db", "ps1") == {"ada": {"squares": 1.5}}


def test_another_file_is_refused(tmp_path: Path) -> None:
    """The error names the file and what was expected."""
    path = tmp_path / "gradebook.db"
    path.write_text("nothing of the sort")
    with pytest.raises(CourseError, match=r"gradebook\.db: expected a gradebook of nbgrader's"):
        read_gradebook_marks(path, "ps1")


def test_cases_of_one_question_are_added_up(tmp_path: Path) -> None:
    """otter's case names begin with the question; its summary of public tests is ignored."""
    path = tmp_path / "results.json"
    tests = [
        {"name": "Public Tests", "score": 0},
        {"name": "q1 - 1", "score": 0.5},
        {"name": "q1 - 2", "score": 1},
        {"name": "q2", "score": 2},
    ]
    path.write_text(json.dumps({"tests": tests}))
    assert read_results_marks(path) == {"q1": 1.5, "q2": 2}
    path.write_text("[]")
    with pytest.raises(CourseError, match=r"expected a results\.json with a list 'tests'"):
        read_results_marks(path)
