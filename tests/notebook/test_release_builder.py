"""The release of a notebook contains only what students need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.utils import compute_checksum

from autograder.core.errors import CourseError, NotebookError, RubricError
from autograder.notebook.release_builder import build_release
from autograder.notebook.student_check import FILE_NAME, build_student_check
from autograder.questions import list_forms
from autograder.rubric import Rubric
from tests.support.solution_lines import leaked, solution_fragments

NAME = "small-exam"


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell's nbgrader metadata, or an empty dictionary."""
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


def edited(source_bytes: bytes, grade_id: str, **fields: Any) -> bytes:
    """Return the source notebook with changed fields in one cell; ``nbgrader`` updates its metadata."""
    tree = json.loads(source_bytes)
    cell = next(cell for cell in tree["cells"] if nbgrader_of(cell).get("grade_id") == grade_id)
    cell["metadata"]["nbgrader"].update(fields.pop("nbgrader", {}))
    cell.update(fields)
    return json.dumps(tree).encode()


def test_the_release_is_the_stored_one(source_bytes: bytes, release_bytes: bytes, rubric: Rubric) -> None:
    """The same source always gives the same bytes, namely those of the fixture."""
    assert build_release(source_bytes, rubric, NAME) == release_bytes


def test_no_line_of_a_solution_is_left(source_bytes: bytes, release_bytes: bytes) -> None:
    """Every withheld line is known and part of the source, but not of the release's bytes."""
    fragments = solution_fragments(source_bytes)
    assert fragments == (
        'projection_size = "d_model^2"',
        "Each of d_model outputs reads d_model inputs.",
        "return Scale(2).factor * x",
        "score_shape = (2, 8, 128, 128)",
        "Their variance grows with the width of a head.",
    )
    assert leaked(fragments, source_bytes) == fragments
    assert leaked(fragments, release_bytes) == ()
    for fragment in fragments:
        assert fragment.encode() not in release_bytes
        assert json.dumps(fragment)[1:-1].encode() not in release_bytes


def test_solutions_elsewhere_in_the_file_are_removed(
    source_bytes: bytes, rubric: Rubric, release_bytes: bytes
) -> None:
    """Outputs, execution counts, attachments, tags and other metadata are not released."""
    tree = json.loads(source_bytes)
    tree["metadata"] |= {"authors": [{"name": "A"}], "solution": "return Scale(2).factor * x"}
    tree["metadata"]["kernelspec"]["env"] = {"SECRET": "1"}
    for cell in tree["cells"]:
        cell["metadata"]["tags"] = ["score_shape = (2, 8, 128, 128)"]
        if cell["cell_type"] == "code":
            cell |= {
                "execution_count": 4,
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": "return Scale(2).factor * x"}
                ],
            }
        elif nbgrader_of(cell).get("solution"):
            cell["attachments"] = {"solution.png": {"image/png": "AAAA"}}
    assert build_release(json.dumps(tree).encode(), rubric, NAME) == release_bytes


def test_checksums_are_nbgraders(release_bytes: bytes) -> None:
    """Each cell with an id carries the checksum that nbgrader computes for it."""
    notebook = nbformat.reads(release_bytes.decode(), as_version=4)
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len(cells) == 14
    for cell in cells:
        assert cell.metadata.nbgrader.checksum == compute_checksum(cell)


def test_the_release_is_valid_and_says_only_what_it_must(release_bytes: bytes) -> None:
    """The release is valid format 4.5 with minimal metadata; prompts and checks are not editable."""
    notebook = nbformat.reads(release_bytes.decode(), as_version=4)
    nbformat.validate(notebook)
    assert sorted(notebook.metadata) == ["kernelspec", "language_info"]
    locks = {
        cell.metadata.nbgrader.grade_id: (cell.metadata.get("deletable"), cell.metadata.get("editable"))
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    assert locks["given"] == locks["double"] == locks["double-prompt"] == (False, False)
    assert locks["double-answer"] == locks["essay"] == (False, None)


def test_missing_and_doubled_cell_ids_become_stable(source_bytes: bytes, rubric: Rubric) -> None:
    """Without usable ids in the source, two builds are equal and all ids are unique."""
    tree = json.loads(source_bytes)
    for number, cell in enumerate(tree["cells"]):
        cell["id"] = ("same", "not allowed!", 7)[number % 3]
    data = json.dumps(tree).encode()
    first = build_release(data, rubric, NAME)
    assert first == build_release(data, rubric, NAME)
    ids = [cell["id"] for cell in json.loads(first)["cells"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("### BEGIN SOLUTION\nx = 1", "cell 9, line 1: BEGIN SOLUTION has no END SOLUTION"),
        ("x = 1\n### END SOLUTION", "cell 9, line 2: END SOLUTION without its beginning: no region is open"),
        (
            "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION",
            "cell 9, line 2: BEGIN SOLUTION stands inside BEGIN SOLUTION of line 1",
        ),
        (
            "### BEGIN SOLUTION\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\n### END SOLUTION",
            "cell 9, line 2: BEGIN HIDDEN TESTS stands inside BEGIN SOLUTION of line 1",
        ),
        (
            "### BEGIN SOLUTION\nx\n### END HIDDEN TESTS",
            "line 3: END HIDDEN TESTS without its beginning: BEGIN SOLUTION",
        ),
        ("### BEGIN MARK SCHEME\nx\n### END MARK SCHEME", "cell 9: BEGIN MARK SCHEME is only allowed in"),
    ],
)
def test_malformed_markers_are_named(source_bytes: bytes, rubric: Rubric, source: str, message: str) -> None:
    """Unclosed, nested, stray or misplaced markers block the release; the error names cell and line."""
    with pytest.raises(NotebookError, match=message) as caught:
        build_release(edited(source_bytes, "double-answer", source=source), rubric, NAME)
    assert caught.value.code == "bad-markers"


@pytest.mark.parametrize(
    ("cell", "source", "line"),
    [
        ("formula", 'check("formula")\n### BEGIN HIDDEN TESTS\nassert x == 1\n### END HIDDEN TESTS', 2),
        ("setup", "### BEGIN HIDDEN TESTS\nx\n### END HIDDEN TESTS", 1),
        ("double-answer", "### BEGIN HIDDEN TESTS\nx\n### END HIDDEN TESTS", 1),
        ("formula", 'check("formula")\n\nassert projection_size', 3),
        ("formula", "from nose.tools import assert_equal\nassert_equal(projection_size, 'd')", 2),
        ("formula", "import numpy as np\nnp.testing.assert_allclose([1.0], [1.0])", 2),
        ("formula", "import pytest\nwith pytest.raises(ValueError):\n    projection_size()", 2),
        ("formula", "if projection_size != 'd':\n    raise AssertionError('wrong')", 2),
        ("formula", "def test_it():\n    for n in range(3):\n        self.assertEqual(n, n)", 3),
        ("formula", "%matplotlib inline\n!ls\nassert projection_size", 3),
    ],
)
def test_tests_that_no_rubric_knows_are_refused(
    source_bytes: bytes, rubric: Rubric, cell: str, source: str, line: int
) -> None:
    """Hidden tests and assertions in graded cells are refused because they would not count."""
    with pytest.raises(NotebookError) as caught:
        build_release(edited(source_bytes, cell, source=source), rubric, NAME)
    assert "own-tests" == caught.value.code
    said = str(caught.value)
    assert re.match(rf"notebook '{NAME}', cell \d+ \({cell}\), line {line}: ", said)
    assert "points; those follow from the rubric alone. State there what is tested" in said


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("setup", "from coursecheck import check\nassert check is not None"),
        ("formula", 'check("formula")  # assert nothing'),
        ("formula", 'check("formula")\nprint("assert", projection_size)'),
    ],
)
def test_assertions_that_carry_no_points_stay(
    source_bytes: bytes, rubric: Rubric, cell: str, source: str
) -> None:
    """Given cells may contain assertions, and comments are not tests."""
    assert build_release(edited(source_bytes, cell, source=source), rubric, NAME)


def test_a_solution_in_a_locked_cell_is_refused(source_bytes: bytes, rubric: Rubric) -> None:
    """A solution region in a given cell is refused; the error names the cell."""
    source = "class Scale:\n    ### BEGIN SOLUTION\n    pass\n    ### END SOLUTION"
    with pytest.raises(NotebookError, match="cell 7: BEGIN SOLUTION is only allowed in an answer cell"):
        build_release(edited(source_bytes, "given", source=source), rubric, NAME)


@pytest.mark.parametrize(
    ("grade_id", "nbgrader", "message"),
    [
        ("double", {"points": 4}, r"cell 10 \(double\): points: the rubric says 3, the notebook 4"),
        ("double", {"grade_id": "doubled"}, "gives 3 points to 'double'.*did you mean 'doubled'"),
        (
            "double",
            {"grade": False},
            "gives 3 points to 'double'.*known are: essay, formula, formula-why, shape",
        ),
        ("given", {"grade": True, "points": 1}, "cell 7: 'given' carries 1 points but is not in the rubric"),
        ("double-answer", {"grade_id": "elsewhere"}, "question 'double' has no answer cell"),
    ],
)
def test_a_notebook_that_disagrees_with_its_rubric_is_refused(
    source_bytes: bytes, rubric: Rubric, grade_id: str, nbgrader: dict[str, Any], message: str
) -> None:
    """Points, grade cells and answer cells must match the rubric; the error states both values."""
    with pytest.raises(RubricError, match=message):
        build_release(edited(source_bytes, grade_id, nbgrader=nbgrader), rubric, NAME)


def test_a_notebook_the_rubric_does_not_know_is_refused(source_bytes: bytes, rubric: Rubric) -> None:
    """The name must be one of the assignment's notebooks."""
    with pytest.raises(RubricError, match="notebook 'other': the rubric's notebooks are: small-exam"):
        build_release(source_bytes, rubric, "other")


@pytest.mark.parametrize(
    ("grade_id", "fields", "code"),
    [
        ("given", {"nbgrader": {"grade_id": "über"}}, "bad-grade-id"),
        ("essay", {"nbgrader": {"solution": False}}, "not-gradable"),
        ("given", {"cell_type": "heading"}, "not-a-cell"),
        ("given", {"source": 7}, "not-a-cell"),
    ],
)
def test_cells_that_nbgrader_cannot_release_are_named(
    source_bytes: bytes, rubric: Rubric, grade_id: str, fields: dict[str, Any], code: str
) -> None:
    """Cells that nbgrader would refuse without naming them are refused with their number."""
    with pytest.raises(NotebookError, match=r"cell \d+") as caught:
        build_release(edited(source_bytes, grade_id, **fields), rubric, NAME)
    assert caught.value.code == code


def test_other_languages_and_old_formats_are_refused(source_bytes: bytes, rubric: Rubric) -> None:
    """Only Python notebooks of format 4 can be released."""
    tree = json.loads(source_bytes)
    tree["metadata"] = {"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}}
    with pytest.raises(NotebookError, match="expected a Python notebook, got 'r'"):
        build_release(json.dumps(tree).encode(), rubric, NAME)
    tree = {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": []}]}
    with pytest.raises(CourseError, match="no cells"):
        build_release(json.dumps(tree).encode(), rubric, NAME)
    with pytest.raises(CourseError, match="The file is empty"):
        build_release(b"", rubric, NAME)


@pytest.fixture(scope="module")
def nbgrader_course(tmp_path_factory: pytest.TempPathFactory, source_bytes: bytes, rubric: Rubric) -> Path:
    """Return an nbgrader course folder with the small exam as source and its own environment."""
    course = tmp_path_factory.mktemp("course")
    folder = course / "source" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_bytes(source_bytes)
    (folder / FILE_NAME).write_bytes(build_student_check(rubric, forms=list_forms()))
    return course


def nbgrader(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an nbgrader command in the course, with this environment's programs on the path."""
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        **{
            name: str(course / ".jupyter")
            for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
        },
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
def test_nbgrader_generates_the_same_release(nbgrader_course: Path, release_bytes: bytes) -> None:
    """``nbgrader generate_assignment`` accepts the source; its cells equal those of our release."""
    done = nbgrader(nbgrader_course, "generate_assignment", NAME)
    assert done.returncode == 0, done.stderr
    theirs = json.loads((nbgrader_course / "release" / NAME / f"{NAME}.ipynb").read_bytes())
    ours = json.loads(release_bytes)
    assert [(cell["cell_type"], cell["source"], cell["metadata"]) for cell in ours["cells"]] == [
        (cell["cell_type"], cell["source"], cell["metadata"]) for cell in theirs["cells"]
    ]


def test_a_written_answer_of_the_key_is_whole_in_each_language(source_bytes: bytes, rubric: Rubric) -> None:
    """Language markers in the answer key are checked when the release is made."""
    data = edited(source_bytes, "essay", source="One variance.\n<!-- fr -->\nUne variance.")
    with pytest.raises(NotebookError, match="<!-- fr -->: expected one of") as caught:
        build_release(data, rubric, NAME)
    assert "language" == caught.value.code
