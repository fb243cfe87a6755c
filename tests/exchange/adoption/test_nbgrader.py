"""An nbgrader course is read without changes."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.app.adoption import adopt_assignments
from autograder.core.errors import CourseError
from autograder.exchange.adoption.nbgrader import list_assignments, read_assignment
from autograder.exchange.adoption.rubric_text import format_rubric
from tests.exchange.adoption import courses


def read(course: Path, name: str) -> dict[str, Any]:
    """Return the rubric of an assignment, parsed from TOML."""
    return tomllib.loads(format_rubric(read_assignment(course, name)))


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Return a course with two notebooks, partial credit, manual cells and a task."""
    courses.load("series").write(tmp_path)
    return tmp_path


def test_every_cell_with_points_is_a_question(series: Path) -> None:
    """Test cells become `cells` in the same place, manual cells and tasks `written`, with their ids."""
    rubric = read(series, "series")
    kinds = {one["id"]: (one["kind"], one["notebook"], one["points"]) for one in rubric["question"]}
    assert kinds == {
        "triangular_values": ("tests", "first", 1),
        "triangular_invalid": ("tests", "first", 1),
        "geometric_partial": ("tests", "first", 4),
        "limit_values": ("tests", "first", 1),
        "limit_uses": ("tests", "first", 1),
        "formula": ("written", "first", 2),
        "use": ("written", "first", 2),
        "plan": ("written", "first", 3),
        "why": ("written", "second", 2),
        "steps_values": ("tests", "second", 2),
    }
    assert rubric["assignment"]["points"] == 19
    assert rubric["assignment"]["adopted"] == "nbgrader"
    question = rubric["question"][0]
    assert (question["after"], question["answer_cell"]) == ("triangular_values", "triangular")


def test_hidden_lines_are_part_of_a_test(series: Path) -> None:
    """The test is copied verbatim from the source; with hidden lines it is not entirely visible."""
    found = {one.id: one for one in read_assignment(series, "series").questions}
    test = found["triangular_values"].tests[0]
    assert "triangular(100) == 5050" in test.code
    assert not test.visible
    assert found["triangular_invalid"].tests[0].visible


def test_files_travel_along(series: Path) -> None:
    """Files in the folder of the notebooks are released with each notebook."""
    rubric = read(series, "series")
    assert [one["data"] for one in rubric["assignment"]["notebooks"]] == [["notes.txt"], ["notes.txt"]]


def test_a_package_beside_the_notebook_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    """The course's own package is released with the assignment, and its imports are preloaded."""
    courses.load("classifier").write(tmp_path)
    rubric = read(tmp_path, "classifier")
    assert rubric["assignment"]["notebooks"][0]["data"] == ["vision"]
    assert rubric["assignment"]["preload"] == ["numpy"]


def test_without_a_source_the_gradebook_knows_the_hidden_tests(series: Path) -> None:
    """Without source notebooks, the hidden tests are read from nbgrader's gradebook."""
    (series / "source").rename(series / "release")
    with sqlite3.connect(series / "gradebook.db") as book:
        book.executescript(
            "create table assignment (id, name); create table notebook (id, name, assignment_id);"
            "create table base_cell (id, name, notebook_id); create table source_cell (id, source);"
            "insert into assignment values (1, 'series'); insert into notebook values (2, 'second', 1);"
            "insert into base_cell values (3, 'steps_values', 2);"
            "insert into source_cell values (3, 'assert steps(9, 9) == 9');"
        )
    found = read_assignment(series, "series")
    code = {one.id: one.tests[0].code for one in found.questions if one.tests}
    assert code["steps_values"] == "assert steps(9, 9) == 9"
    assert "there is no source" in found.remarks[0]


def test_settings_that_are_not_followed_are_told(series: Path) -> None:
    """nbgrader_config.py is not executed, and every unsupported setting is reported."""
    (series / "nbgrader_config.py").write_text(
        "c = get_config()\nc.ExecutePreprocessor.timeout = 45\n"
        "c.ClearSolutions.begin_solution_delimeter = 'X'\n"
        "c.CourseDirectory.course_id = 'x'\nc.Autograde.exclude_overwriting = compute()\nboom()\n"
    )
    found = read_assignment(series, "series")
    assert found.seconds == 45
    assert found.remarks == (
        "nbgrader_config.py: c.Autograde.exclude_overwriting is computed; not taken over",
        "nbgrader_config.py: c.ClearSolutions.begin_solution_delimeter is not taken over",
    )


@pytest.mark.parametrize("stub", ["{'python': '# your turn'}", "'# your turn'"])
def test_stubs_of_the_course_stand_in_the_place_of_solutions(series: Path, stub: str) -> None:
    """The course's stubs, by language or as one text for Python, are used in the release."""
    (series / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.ClearSolutions.code_stub = {stub}\nc.ClearSolutions.text_stub = 'Your words'\n"
    )
    assert read_assignment(series, "series").remarks == ()
    adopt_assignments(series)
    cells = json.loads((series / "release" / "series" / "first.ipynb").read_text())["cells"]
    texts = {one["metadata"]["nbgrader"]["grade_id"]: "".join(one["source"]) for one in cells[1:]}
    assert texts["geometric"].endswith('begins with 1."""\n    # your turn')
    assert texts["formula"] == "Your words"


HIDDEN = "### BEGIN HIDDEN TESTS\nassert steps(9, 9)\n### END HIDDEN TESTS"
LABEL = "# Hidden tests of your answer run here when your work is graded."
SHOWN = {
    "hidden lines alone": (HIDDEN, LABEL),
    "visible lines too": (f"assert steps(1, 1)\n{HIDDEN}", "assert steps(1, 1)"),
    "no lines at all": ("", ""),
}


@pytest.mark.parametrize(("source", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_cell_with_hidden_tests_alone_is_labelled(series: Path, source: str, shown: str) -> None:
    """A cell with only hidden tests gets a label for students, because nbgrader leaves it empty."""
    path = series / "source" / "series" / "second.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][3]["source"] = source
    path.write_text(json.dumps(notebook))
    adopt_assignments(series)
    cells = json.loads((series / "release" / "series" / "second.ipynb").read_text())["cells"]
    assert "".join(cells[3]["source"]).strip() == shown


def test_questions_of_two_notebooks_may_share_an_id(series: Path) -> None:
    """nbgrader allows the same grade_id in two notebooks; a rubric needs unique ids."""
    path = series / "source" / "series" / "second.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][1]["metadata"]["nbgrader"]["grade_id"] = "formula"
    path.write_text(json.dumps(notebook))
    ids = {one.id: one.cell for one in read_assignment(series, "series").questions if "formula" in one.id}
    assert ids == {"first.formula": "formula", "second.formula": "formula"}


def test_tests_that_nbgrader_makes_go_to_a_person(series: Path) -> None:
    """Cells with ### AUTOTEST become manual questions with a message until nbgrader generates their tests."""
    path = series / "source" / "series" / "second.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][3]["source"] = "### AUTOTEST steps(1, 2)"
    path.write_text(json.dumps(notebook))
    found = read_assignment(series, "series")
    assert [one.tests for one in found.questions if one.id == "steps_values"] == [()]
    assert "second.ipynb, cell 4 (steps_values)" in found.remarks[0]


def test_a_course_without_the_assignment_names_those_it_has(series: Path) -> None:
    """The error lists the assignments of the course."""
    assert list(list_assignments(series)) == ["series"]
    with pytest.raises(CourseError, match=r"no assignment 'ps9' in source/ or release/; found: series"):
        read_assignment(series, "ps9")


def test_points_are_as_they_are_stated(tmp_path: Path) -> None:
    """Fractional points stay exact."""
    courses.load("containers").write(tmp_path)
    path = tmp_path / "source" / "containers" / "containers.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][2]["metadata"]["nbgrader"]["points"] = 0.5
    path.write_text(json.dumps(notebook))
    assert read_assignment(tmp_path, "containers").questions[0].points == Decimal("0.5")
