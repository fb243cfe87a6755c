"""``autograder grades``: points and grades with manual marks, as a table, JSON and CSV."""

from __future__ import annotations

import csv
import io
import sqlite3
from pathlib import Path

import pytest

from tests.cli.running import ASSIGNMENT, STUDENTS, only_object, run, run_cold

pytestmark = pytest.mark.sandbox


def mark_all(course: Path, share: float) -> None:
    """Give every open cell a share of its points as manual mark."""
    with sqlite3.connect(course / "gradebook.db") as connection:
        connection.execute(
            "UPDATE grade SET needs_manual_grade = 0, manual_score = ? * "
            "(SELECT max_score FROM grade_cells WHERE grade_cells.id = grade.cell_id) "
            "WHERE needs_manual_grade",
            (share,),
        )
    connection.close()


def test_grades_follow_what_people_gave(course: Path) -> None:
    """Before manual marking there are ranges, afterwards one grade within them; printing writes nothing."""
    before = (course / "gradebook.db").read_bytes()
    done = run("grades", ASSIGNMENT, "--course", str(course), "--json")
    first = {student["student"]: student for student in only_object(done.stdout)["students"]}
    assert STUDENTS == len(first)
    assert before == (course / "gradebook.db").read_bytes()
    assert "provisional" in {student["state"] for student in first.values()}
    mark_all(course, 0.5)
    done = run("grades", ASSIGNMENT, "--course", str(course), "--json")
    for student in only_object(done.stdout)["students"]:
        was = first[student["student"]]
        decided = (
            "final" if not student["time"] else "provisional: staff decide how the submission time counts"
        )
        assert (decided, 0.0, student["grade"]) == (student["state"], student["open"], student["best_grade"])
        assert float(was["grade"]) >= float(student["grade"]) >= float(was["best_grade"])
        assert was["total"] <= student["total"] <= was["total"] + was["open"]


def test_csv_has_every_question_and_agrees_with_nbgrader(course: Path) -> None:
    """The questions' points add up to the total, and totals equal those that nbgrader exports."""
    mark_all(course, 0.25)
    done = run("grades", ASSIGNMENT, "--course", str(course), "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    sums = ("student", "points", "late", "bonus", "total", "open")
    other_columns = (*sums, "grade", "best_grade", "passed", "state", "time", "group")
    for row in rows:
        questions = [float(value) for name, value in row.items() if name not in other_columns]
        assert pytest.approx(float(row["points"])) == sum(questions)
    exported = run_cold("export", cwd=course, program="nbgrader")
    assert 0 == exported.returncode, exported.stderr
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        listed = [row for row in csv.DictReader(file) if row["assignment"] == ASSIGNMENT]
        theirs = {row["student_id"]: float(row["score"]) for row in listed}
    assert theirs == pytest.approx({row["student"]: float(row["total"]) for row in rows})


def test_bonus_points_of_the_course_count(course: Path) -> None:
    """Bonus points raise totals; an error in the list is reported with its line."""
    done = run("grades", ASSIGNMENT, "--course", str(course), "--json")
    student = only_object(done.stdout)["students"][0]
    (course / "bonus.csv").write_text(f"id,assignment,points\n{student['student']},{ASSIGNMENT},2.5\n")
    done = run("grades", ASSIGNMENT, "--course", str(course), "--json")
    raised = only_object(done.stdout)["students"][0]
    assert (student["total"] + 2.5, 2.5) == (raised["total"], raised["bonus"])
    (course / "bonus.csv").write_text(f"id,assignment,points\nada,{ASSIGNMENT},many\n")
    done = run("grades", ASSIGNMENT, "--course", str(course))
    assert (3, "") == (done.returncode, done.stdout)
    assert "bonus.csv: line 2: points: expected a number" in done.stderr
    (course / "bonus.csv").write_text(f"id,assignment,points\n{student['student']}0,{ASSIGNMENT},2\n")
    done = run("grades", ASSIGNMENT, "--course", str(course))
    assert (3, "") == (done.returncode, done.stdout)
    assert f"is not in the class list; did you mean '{student['student']}'" in " ".join(done.stderr.split())


def test_the_table_and_a_course_without_gradebook(course: Path) -> None:
    """The table shows state and grade; without a gradebook the command says what to run."""
    done = run("grades", ASSIGNMENT, "--course", str(course))
    assert 0 == done.returncode
    assert "provisional" in done.stdout
    (course / "gradebook.db").unlink()
    done = run("grades", ASSIGNMENT, "--course", str(course))
    assert 3 == done.returncode
    assert f"run: autograder grade {ASSIGNMENT}" in done.stderr
