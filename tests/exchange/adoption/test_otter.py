"""otter assignments are read without changes, with the same result as in otter."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.app.adoption import adopt_assignments
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.exchange.adoption import otter
from autograder.exchange.adoption.otter_settings import list_remarks, replace_plugins
from autograder.exchange.adoption.otter_tests import parse_cell, resolve_points
from autograder.exchange.adoption.rubric_text import format_rubric
from autograder.grading.assignment import load_assignment
from autograder.store.gradebook.cells import collect_wanted_cells
from tests.exchange.adoption import courses

OTTERS = tuple(name for name in courses.NAMES if courses.load(name).origin == "otter")


def recorded(name: str) -> dict[str, Any]:
    """Return the recorded result of otter 7.0.0 for an assignment."""
    found: dict[str, Any] = json.loads((courses.EXPECTED / f"{name}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", OTTERS)
def test_students_notebook_is_otters(name: str, tmp_path: Path) -> None:
    """The text of each cell equals the output of otter assign, except for its last cells.

    otter's comments around questions that become a PDF are ignored.
    """
    courses.load(name).write(tmp_path)
    ours = json.loads(otter.build_student_notebook(tmp_path, name))
    theirs = [
        re.sub(r"<!-- (BEGIN|END) QUESTION -->", "", "".join(cell["source"])).strip()
        for cell in recorded(name)["released"][name]["cells"]
    ]
    texts = ["".join(cell["source"]).strip() for cell in ours["cells"]]
    assert [text for text in theirs if text in texts] == texts
    assert texts[0] == theirs[0]


def test_answer_key_holds_the_solutions(tmp_path: Path) -> None:
    """The answer key is executable, and every cell with points has an id."""
    courses.load("words").write(tmp_path)
    cells = json.loads(otter.build_answer_key(tmp_path, "words"))["cells"]
    graded = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"]["points"]
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("grade")
    }
    assert graded == {"q1": 2, "q2": 3, "q3": 3, "q4": 1, "q5": 2}
    assert any("return max(text.split(), key=len)" in cell["source"] for cell in cells)


def test_rubric_has_an_item_for_each_case(tmp_path: Path) -> None:
    """All-or-nothing grading, messages, doctests and hidden cases become part of the rubric."""
    courses.load("words").write(tmp_path)
    rubric = tomllib.loads(format_rubric(otter.read_assignment(tmp_path, "words")))
    third = rubric["question"][2]
    assert (third["style"], third["all_or_nothing"], third["after"]) == ("otter", True, "q3-check")
    assert third["item"][0]["success"] == {"en": "Plain palindromes are found"}
    assert [one.get("visible", False) for one in third["item"]] == [True, True, False]
    assert all(one["doctest"] for one in third["item"])
    assert rubric["question"][4]["kind"] == "written"


def test_environment_is_read_by_name() -> None:
    """``env["name"]`` is read as the name; tests that use all names cannot be judged outside the box."""
    plain = parse_cell('def t(env):\n    assert env["f"](1) == 2', "", ok_format=False, label="x")
    assert plain.code.endswith("t()")
    assert "env" not in plain.code
    assert not plain.outside
    sought = parse_cell(
        'def t(env):\n    assert "f" in env and env.get("g") is None\n    for name in ("f", "g"):\n'
        "        if name in env:\n            assert env[name](1) == 2",
        "",
        ok_format=False,
        label="x",
    )
    assert not sought.outside
    assert "env" not in sought.code
    assert "'f' in globals()" in sought.code
    every = parse_cell("def t(env):\n    assert len(env) > 3", "", ok_format=False, label="x")
    assert every.outside == "it asks for all names of the notebook (env)"


def test_a_named_assignment_stays_one_that_otter_grades(tmp_path: Path) -> None:
    """The assignment name is written to the notebook, because otter refuses one without it."""
    cells = [("raw", "# ASSIGNMENT CONFIG\nname: sheet-one"), ("markdown", "Read this.")]
    tree = {
        "cells": [{"cell_type": kind, "metadata": {}, "source": text} for kind, text in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "first.ipynb").write_text(json.dumps(tree))
    ours = json.loads(otter.build_student_notebook(tmp_path, "first"))
    assert ours["metadata"]["otter"] == {"assignment_name": "sheet-one"}


def test_points_are_divided_as_otter_does() -> None:
    """Stated points are kept, the remaining ones are shared equally without rounding losses."""
    cases = [parse_cell("f()", "1", ok_format=True, label="x")] * 3
    total, tests = resolve_points(cases, 1, "x")
    assert total == 1
    assert sum(one.points for one in tests) == 1
    assert resolve_points(cases, {"each": 2}, "x")[0] == 6
    assert [one.points for one in resolve_points(cases, [1, 0, 2], "x")[1]] == [1, 0, 2]
    with pytest.raises(CourseError, match="2 are stated, but there are 3 tests"):
        resolve_points(cases, [1, 2], "x")
    assert resolve_points(cases, None, "x")[0] == Decimal(1)


def test_seeds_begin_each_cell_while_it_is_graded(tmp_path: Path) -> None:
    """Students keep their seed; grading sets otter's seed before every cell."""
    courses.load("dice").write(tmp_path)
    found = otter.read_assignment(tmp_path, "dice")
    assert tomllib.loads(format_rubric(found))["assignment"]["cell_start"] == "rng_seed = 42"
    assert found.remarks == ()
    assert "rng_seed = 713" in otter.build_student_notebook(tmp_path, "dice").decode()
    assert "rng_seed = 713" not in otter.build_answer_key(tmp_path, "dice").decode()


def test_plugins_are_told_with_their_reasons(tmp_path: Path) -> None:
    """No plugin is run; the report names each plugin with the reason."""
    courses.load("dice").write(tmp_path)
    path = tmp_path / "dice.ipynb"
    stated = "requirements: null\\nplugins: [otter.plugins.builtin.RateLimiting]"
    path.write_text(path.read_text().replace("requirements: null", stated))
    (remark,) = otter.read_assignment(tmp_path, "dice").remarks
    assert remark.startswith("dice.ipynb: plugins: otter.plugins.builtin.RateLimiting: not run: how often")


def test_plugin_blocks_are_calls() -> None:
    """Plugin blocks become the calls that otter writes; they do nothing during grading."""
    block = "x = 1\n# BEGIN PLUGIN\nplugin: my.Plugin\nargs:\n  - x\nkwargs:\n  y: 2\n# END PLUGIN\nz = 3"
    assert replace_plugins(block, "cell 1") == 'x = 1\ngrader.run_plugin("my.Plugin", x, y=2)\nz = 3'
    bad = {"seed": {"variable": "a b", "autograder_value": 3}}
    assert list(list_remarks(bad)) == [
        "seed: not taken over: expected a name and a whole number, got variable 'a b', autograder_value 3"
    ]


def source_of(folder: Path, *blocks: tuple[str, str]) -> None:
    """Write a source notebook of raw and other cells."""
    cells = [
        {"cell_type": kind, "metadata": {}, "source": text, "id": f"cell-{number}"}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for number, (kind, text) in enumerate(
            (("raw", "# ASSIGNMENT CONFIG\ntests: {ok_format: false}"), *blocks)
        )
    ]
    tree = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "hw.ipynb").write_text(json.dumps(tree))


TESTED = (
    ("raw", "# BEGIN TESTS"),
    ("code", "def test_x(x):\n    assert x == 3"),
    ("raw", "# END TESTS"),
    ("raw", "# END QUESTION"),
)
SOLVED = (("raw", "# BEGIN SOLUTION"), ("code", "x = 3 # SOLUTION"), ("raw", "# END SOLUTION"))
WITHOUT_CHECK = {
    "with a solution": (SOLVED, "q1", "x = 3 # SOLUTION"),
    "with code that students edit": ((("code", "x = 3"),), "q1", "x = 3"),
    "with several cells of code": ((("code", "import math"), ("code", "x = 3")), "q1", "x = 3"),
    "with a text alone": ((("markdown", "Define x."),), "q1", "# q1 is tested when the notebook is graded."),
    "with nothing": ((), "q1", "# q1 is tested when the notebook is graded."),
}


@pytest.mark.parametrize(("blocks", "cell", "text"), WITHOUT_CHECK.values(), ids=WITHOUT_CHECK)
@pytest.mark.parametrize("check", [True, False], ids=["checked", "unchecked"])
def test_every_question_has_a_cell_for_its_points(
    blocks: tuple[tuple[str, str], ...], cell: str, text: str, *, check: bool, tmp_path: Path
) -> None:
    """A question without a solution cell gets a cell for its points; its tests run at the end."""
    question = f"# BEGIN QUESTION\nname: q1\npoints: 2\ncheck_cell: {str(check).lower()}"
    source_of(tmp_path, ("raw", question), *blocks, *TESTED)
    (adopted,) = adopt_assignments(tmp_path)
    assert adopted.points == 2
    assignment = load_assignment(Course(tmp_path), "hw")
    assert collect_wanted_cells(assignment.rubric, assignment.release_bytes)
    graded = [one for one in assignment.releases["hw"].cells if one.grade]
    assert [cell] == [one.grade_id for one in graded]
    if not check:
        assert graded[0].is_locked == text.startswith("#")
        assert "" == assignment.checks["q1"].after  # type: ignore[attr-defined]


def test_a_block_without_an_end_is_refused(tmp_path: Path) -> None:
    """The error names the block."""
    courses.load("words").write(tmp_path)
    path = tmp_path / "words.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"] = notebook["cells"][:-1]
    path.write_text(json.dumps(notebook))
    with pytest.raises(CourseError, match=r"words\.ipynb: # BEGIN QUESTION has no end"):
        otter.read_assignment(tmp_path, "words")
