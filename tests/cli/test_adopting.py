"""The commands of docs/adopting.md, run in order on a cloned nbgrader course."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.running import only_object, run
from tests.exchange.adoption import courses

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

TABLES = """
create table assignment (id, name);
create table submitted_assignment (id, assignment_id, student_id);
create table submitted_notebook (id, assignment_id);
create table base_cell (id, name);
create table grade (cell_id, notebook_id, auto_score);
insert into assignment values (1, 'layers');
"""


def gradebook(path: Path, marks: dict[str, dict[str, float]]) -> None:
    """Write a gradebook that contains only marks, in nbgrader's schema."""
    with sqlite3.connect(path) as book:
        book.executescript(TABLES)
        for number, (student, cells) in enumerate(marks.items(), start=1):
            book.execute("insert into submitted_assignment values (?, 1, ?)", (number, student))
            book.execute("insert into submitted_notebook values (?, ?)", (number, number))
            for cell, points in cells.items():
                name = f"{number}-{cell}"
                book.execute("insert into base_cell values (?, ?)", (name, cell))
                book.execute("insert into grade values (?, ?, ?)", (name, number, points))


def test_from_a_course_to_marks_in_two_commands(tmp_path: Path) -> None:
    """Twenty submissions with fifteen tests are adopted and graded, with nbgrader's marks."""
    assignment = courses.load("layers")
    recorded = json.loads((courses.EXPECTED / "layers.json").read_text("utf-8"))
    assignment.write(tmp_path)
    for student, handed in courses.submissions(assignment, recorded["released"]).items():
        into = tmp_path / "submitted" / student / "layers"
        into.mkdir(parents=True)
        (into / "layers.ipynb").write_text(json.dumps(handed["layers"]), "utf-8")
    adopted = only_object(run("adopt", str(tmp_path), "--json").stdout)["adopted"]
    assert [(question["name"], question["tests"], question["not_outside"]) for question in adopted] == [
        ("layers", 15, [])
    ]
    gradebook(tmp_path / "old.db", recorded["marks"])
    options = ("grade", "layers", "--course", str(tmp_path), "--against", str(tmp_path / "old.db"))
    same = run(*options)
    assert same.returncode == 0, same.stderr
    assert "300 of 300 marks are the same as nbgrader's" in same.stdout
    recorded["marks"]["01-right"]["relu_values"] = 0.0
    (tmp_path / "old.db").unlink()
    gradebook(tmp_path / "old.db", recorded["marks"])
    other = run(*options)
    assert other.returncode == 1
    assert "299 of 300" in other.stdout
    page = (tmp_path / "staff" / "layers-compared.html").read_text("utf-8")
    assert "01-right: relu_values" in page
    assert "np.maximum(x.data, 0)" in page
    assert "ReLU()(Tensor([-1, 0, 2]))" in page

    verified = run("verify", "layers", "--quick", "--course", str(tmp_path))
    assert verified.returncode == 0, verified.stdout


def test_marks_of_another_program_must_be_readable(tmp_path: Path) -> None:
    """An assignment of our own, a folder without results and a file that is not a gradebook are refused."""
    courses.load("series").write(tmp_path)
    (tmp_path / "submitted" / "ada" / "series").mkdir(parents=True)
    (tmp_path / "old").mkdir()
    (tmp_path / "old.db").write_text("nothing of the sort")
    run("adopt", str(tmp_path))
    options = ("grade", "series", "--course", str(tmp_path), "--against")
    for path, said in (
        ("old", "expected STUDENT/results.json"),
        ("old.db", "expected a gradebook of nbgrader's"),
    ):
        refused = run(*options, str(tmp_path / path))
        assert refused.returncode == 3
        assert said in refused.stderr
    rubric = tmp_path / "rubrics" / "series.toml"
    rubric.write_text(rubric.read_text("utf-8").replace('adopted = "nbgrader"\n', ""), "utf-8")
    refused = run(*options, str(tmp_path / "old.db"))
    assert (refused.returncode, "was not adopted" in refused.stderr) == (3, True)
