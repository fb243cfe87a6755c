"""Each folder of tests/submissions/notebooks has one fault, with the expected result in expected.toml."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from autograder.core.errors import NotebookError
from autograder.core.records import Submission
from autograder.notebook.cell_matching import LOST
from autograder.notebook.document import MAX_BYTES, MAX_CELLS, MAX_SOURCE
from autograder.notebook.files import read_file
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook

FAULTS = Path(__file__).parents[1] / "submissions" / "notebooks"
FOLDERS = sorted(folder.name for folder in FAULTS.iterdir() if not folder.name.startswith("_"))
CONTROL = "control-answered"


def submission(folder: str, release: Release) -> Submission:
    """Return the submission read from a fault's notebook."""
    data = read_file(FAULTS / folder / "submission.ipynb")
    return read_notebook(data, release, student="student", assignment="small-exam")


def expectation(folder: str) -> dict[str, object]:
    """Return the expected result of a fault."""
    return tomllib.loads((FAULTS / folder / "expected.toml").read_text())


GRADED = [folder for folder in FOLDERS if "code" not in expectation(folder)]
REFUSED = [folder for folder in FOLDERS if folder not in GRADED]


@pytest.mark.parametrize("folder", REFUSED)
def test_what_is_no_notebook_is_refused_by_name(folder: str, release: Release) -> None:
    """Files that are not gradable notebooks raise a NotebookError with the expected code."""
    with pytest.raises(NotebookError) as caught:
        submission(folder, release)
    assert expectation(folder)["code"] == caught.value.code
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("folder", GRADED)
def test_odd_notebooks_leave_exactly_the_expected_notes(folder: str, release: Release) -> None:
    """Each anomaly, and nothing else, is noted for staff."""
    found = Counter(note.code for note in submission(folder, release).notes)
    assert expectation(folder)["notes"] == dict(found)


@pytest.mark.parametrize("folder", GRADED)
def test_every_answer_is_found(folder: str, release: Release) -> None:
    """Each answer equals the control's answer, unless expected.toml states a difference."""
    expected = expectation(folder)
    read_back = submission(folder, release)
    control = submission(CONTROL, release).answers
    assert list(control) == list(read_back.answers)
    assert expected.get("unanswered", []) == [a.grade_id for a in read_back.answers.values() if not a.changed]
    own: dict[str, str] = expected.get("answers", {})
    for grade_id, answer in read_back.answers.items():
        if answer.changed:
            assert own.get(grade_id, control[grade_id].source) == answer.source


@pytest.mark.parametrize("folder", GRADED)
def test_answers_that_cannot_be_told_ask_for_a_human(folder: str, release: Release) -> None:
    """The note answer-cell-lost is given for exactly the answers listed as lost in expected.toml."""
    found = [note.place for note in submission(folder, release).notes if note.code == LOST]
    assert expectation(folder).get("lost", []) == found


@pytest.mark.parametrize("folder", GRADED)
def test_locked_cells_are_the_releases(folder: str, release: Release) -> None:
    """Each locked cell of the release is run exactly once, with the release's text."""
    program = [
        (cell.grade_id, cell.source)
        for cell in submission(folder, release).cells
        if cell.grade_id in release.by_id and release.by_id[cell.grade_id].is_locked
    ]
    expected = [(cell.grade_id, cell.source) for cell in release.cells if cell.is_locked]
    assert sorted(expected) == sorted(program)


@pytest.mark.parametrize("folder", [f for f in GRADED if f not in ("reordered", "only-answers")])
def test_restored_cells_stand_where_the_release_has_them(folder: str, release: Release) -> None:
    """Restored cells are in the release's order unless the student moved them."""
    program = [cell.grade_id for cell in submission(folder, release).cells if cell.grade_id]
    in_order = [cell.grade_id for cell in release.cells if cell.grade_id in program]
    assert in_order == program


def test_no_output_of_a_student_is_kept(release: Release) -> None:
    """A submission contains nothing from the student's outputs."""
    assert "full marks" in (FAULTS / "control-outputs" / "submission.ipynb").read_text()
    assert "full marks" not in repr(submission("control-outputs", release))


def test_fifty_megabytes_of_outputs_are_read(release: Release, release_bytes: bytes) -> None:
    """A 50 MB notebook full of harmless outputs becomes a submission."""
    tree = json.loads(release_bytes)
    tree["cells"][1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["step 1, loss 0.25, [ok] {x}\n"] * 700_000},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0K" * 3_000_000}},
    ]
    data = json.dumps(tree).encode()
    assert 45_000_000 < len(data) < MAX_BYTES
    result = read_notebook(data, release, student="s", assignment="a")
    assert result.notes == ()


@pytest.mark.parametrize("filler", ["{},", "[],", "0,", '"ab",'])
@pytest.mark.parametrize(("times", "code"), [(3_000_000, "too-complex"), (9_000_000, "too-large")])
def test_memory_bombs_are_refused(filler: str, times: int, code: str, release: Release) -> None:
    """Small JSON that expands to gigabytes is refused before it is parsed."""
    data = ('{"cells": [' + filler * times + "0]}").encode()
    with pytest.raises(NotebookError) as caught:
        read_notebook(data, release, student="s", assignment="a")
    assert caught.value.code == code


@pytest.mark.parametrize("filler", ['\\"', "\\", '"', '""', '"\\'])
def test_hostile_quotes_are_read_or_refused(filler: str, release: Release) -> None:
    """Unclosed strings and runs of quotes are refused, whatever their length."""
    data = ('{"cells": [' + "{" * 2_100_000 + '"' + filler * (8_000_000 // len(filler))).encode()
    with pytest.raises(NotebookError):
        read_notebook(data, release, student="s", assignment="a")


@pytest.mark.parametrize("filler", ["\n", " \n", "$", "$a", "a ", "a = ", "def ", "\r", "\t"])
def test_hostile_sources_are_read_or_refused(filler: str, release: Release, release_bytes: bytes) -> None:
    """A megabyte of any text in an answer cell of the wrong type is read."""
    tree = json.loads(release_bytes)
    for cell in tree["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["cell_type"] = "markdown"
            cell["source"] = "$a$" + filler * (900_000 // len(filler))
    result = read_notebook(json.dumps(tree).encode(), release, student="s", assignment="a")
    assert all(answer.changed for answer in result.answers.values())


def test_a_file_over_the_cap_is_refused(release: Release) -> None:
    """A file one byte over the limit is refused before it is parsed."""
    with pytest.raises(NotebookError) as caught:
        read_notebook(b" " * (MAX_BYTES + 1), release, student="s", assignment="a")
    assert caught.value.code == "too-large"


def test_too_many_cells_are_refused(release: Release, release_bytes: bytes) -> None:
    """One cell more than the limit is refused, in the current format and in format 3."""
    tree = json.loads(release_bytes)
    tree["cells"] = [{"cell_type": "code", "source": "", "metadata": {}}] * (MAX_CELLS + 1)
    old = {"nbformat": 3, "worksheets": [{"cells": tree["cells"]}]}
    for notebook in (tree, old):
        with pytest.raises(NotebookError) as caught:
            read_notebook(json.dumps(notebook).encode(), release, student="s", assignment="a")
        assert caught.value.code == "too-many-cells"


def test_a_huge_code_cell_is_refused_and_a_huge_text_is_cut(release: Release, release_bytes: bytes) -> None:
    """Code over the limit raises an error that names the cell; text over the limit is cut with a note."""
    tree = json.loads(release_bytes)
    text = "a" * (MAX_SOURCE + 1)
    cell = {"cell_type": "markdown", "source": text, "metadata": {}}
    tree["cells"].insert(0, cell)
    result = read_notebook(json.dumps(tree).encode(), release, student="s", assignment="a")
    assert [note.code for note in result.notes].count("cell-cut") == 1
    assert len(result.cells[0].source) == MAX_SOURCE
    cell["cell_type"] = "code"
    with pytest.raises(NotebookError, match="Cell 1 has 1000001 characters") as caught:
        read_notebook(json.dumps(tree).encode(), release, student="s", assignment="a")
    assert caught.value.code == "cell-too-large"


def test_a_thousand_oddities_keep_the_notes_that_ask_for_a_human(release: Release) -> None:
    """The number of notes is limited, but notes that cause manual review are always kept."""
    flags = {"grade_id": "mine", "solution": True, "schema_version": 3}
    cells = [
        {"cell_type": "code", "source": f"x{n} = 1", "metadata": {"nbgrader": flags}} for n in range(1000)
    ]
    result = read_notebook(
        json.dumps({"nbformat": 4, "cells": cells}).encode(), release, student="s", assignment="a"
    )
    assert len(result.notes) == 200
    lost = {note.place for note in result.notes if note.code == LOST}
    assert {answer.grade_id for answer in result.answers.values() if answer.cell_type == "code"} == lost
