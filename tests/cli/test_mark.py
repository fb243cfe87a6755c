"""``autograder mark``: a sheet of a folder course, filled in and imported into nbgrader's gradebook."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.running import ASSIGNMENT, only_object, run

pytestmark = pytest.mark.sandbox


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a sheet."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def saved(path: Path, rows: list[dict[str, str]]) -> None:
    """Save the sheet as a German spreadsheet program does."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def given(course: Path) -> dict[tuple[str, str], float]:
    """Return the manual marks in nbgrader's gradebook, by student and cell."""
    query = """
        SELECT a.student_id, b.name, g.manual_score FROM grade g
        JOIN submitted_notebook n ON n.id = g.notebook_id
        JOIN submitted_assignment a ON a.id = n.assignment_id
        JOIN base_cell b ON b.id = g.cell_id WHERE g.manual_score IS NOT NULL
    """
    with sqlite3.connect(course / "gradebook.db") as connection:
        points = {(row[0], row[1]): row[2] for row in connection.execute(query)}
    connection.close()
    return points


def test_from_the_sheet_to_the_grades(course: Path, tmp_path: Path) -> None:
    """Export, preview, import and list grades; marks given in formgrader appear in the next sheet."""
    path = tmp_path / "marks.csv"
    words = (ASSIGNMENT, "--course", str(course), "--to")
    done = run("mark", "export", *words, str(path), "--waiting")
    assert 0 == done.returncode, done.stderr
    rows = rows_of(path)
    assert len(rows) > 5
    unchanged = run("mark", "import", str(path), "--course", str(course))
    assert (0, "nothing to enter\n") == (unchanged.returncode, unchanged.stdout)
    for row in rows:
        row["points"] = row["possible"].replace(".", ",") if not row["possible"].startswith("-") else "0"
    saved(path, rows)
    before = given(course)
    tried = run("mark", "import", str(path), "--course", str(course), "--dry-run", "--json")
    trial = only_object(tried.stdout)
    assert (0, False, [], []) == (tried.returncode, trial["entered"], trial["errors"], trial["refused"])
    assert before == given(course)
    done = run("mark", "import", str(path), "--course", str(course))
    assert 0 == done.returncode, done.stderr
    assert len(trial["changes"]) == len(given(course)) - len(before)
    waiting = tmp_path / "rest.csv"
    assert 0 == run("mark", "export", *words, str(waiting), "--waiting").returncode
    assert [] == rows_of(waiting)
    assert 0 == run("mark", "import", str(path), "--course", str(course)).returncode  # everything is stored
    stands = only_object(run("grades", ASSIGNMENT, "--course", str(course), "--json").stdout)
    assert {0.0} == {student["open"] for student in stands["students"]}


def test_exit_codes_tell(course: Path, tmp_path: Path) -> None:
    """1: an answer was marked differently meanwhile; 3: the sheet is not usable, or already exists."""
    path = tmp_path / "marks.csv"
    export = ("mark", "export", ASSIGNMENT, "--course", str(course), "--to", str(path), "--groups")
    assert 0 == run(*export).returncode
    assert 3 == run(*export).returncode
    rows = rows_of(path)
    items = Counter((row["who"], row["cell"]) for row in rows)
    rows = [row for row in rows if int(row["count"]) > 1 and items[row["who"], row["cell"]] == 1][:1]
    saved(path, [{**rows[0], "points": "0"}])
    place = ("mark", "import", str(path), "--course", str(course))
    assert 0 == run(*place).returncode
    assert int(rows[0]["count"]) == len(given(course))
    saved(path, [{**rows[0], "points": "0.5"}])
    done = run(*place)
    assert 1 == done.returncode
    assert "has changed since the sheet was written" in done.stderr
    saved(path, [{**rows[0], "points": "1000"}])
    done = run(*place)
    assert 3 == done.returncode
    assert "nothing was entered" in done.stderr
    assert {0.0} == set(given(course).values())
    assert 3 == run("mark", "import", str(tmp_path / "none.csv"), "--course", str(course)).returncode
    assert 2 == run("mark", "export", ASSIGNMENT).returncode
