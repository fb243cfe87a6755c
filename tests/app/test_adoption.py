"""Adopting an existing course: it is done once and does not touch the course's own files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.app import adoption
from autograder.app.adoption import adopt_assignments
from autograder.core.errors import AutograderError, CourseError, RubricError
from autograder.course import Course
from autograder.exchange.adoption.records import FoundAssignment
from autograder.grading.release_generation import read_answer_key
from tests.exchange.adoption import courses


def manual_course(root: Path) -> Path:
    """Write a course with manual marking only: two notebooks, manual cells and a task."""
    assignment = courses.load("series")
    for notebook in assignment.notebooks.values():
        notebook["cells"] = [
            cell
            for cell in notebook["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id", "") not in assignment.answers
            and not (
                cell["metadata"].get("nbgrader", {}).get("grade")
                and not cell["metadata"]["nbgrader"]["solution"]
            )
        ]
    assignment.write(root)
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Return the content of every file by its path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_adopting_twice_changes_nothing(tmp_path: Path) -> None:
    """Rubric and release are written once; the course's own files are never written."""
    course = manual_course(tmp_path)
    before = contents(course)
    (first,) = adopt_assignments(course)
    after = contents(course)
    assert {path.relative_to(course).as_posix() for path in first.written} == {
        "rubrics/series.toml",
        "release/series/first.ipynb",
        "release/series/second.ipynb",
        "release/series/notes.txt",
    }
    assert (first.questions, first.manual, first.tests) == (4, 4, 0)
    assert {path: after[path] for path in before} == before
    (second,) = adopt_assignments(course)
    assert second.written == ()
    assert contents(course) == after


def test_one_that_cannot_be_adopted_holds_up_no_other(tmp_path: Path) -> None:
    """An assignment that cannot be adopted is reported with its reason.

    It is an error only if requested by name.
    """
    course = manual_course(tmp_path)
    broken = course / "source" / "broken" / "broken.ipynb"
    broken.parent.mkdir()
    notebook = json.loads((course / "source" / "series" / "first.ipynb").read_text())
    mark = {
        "cell_type": "markdown",
        "metadata": {},
        "source": "=== BEGIN MARK SCHEME ===\n=== END MARK SCHEME ===",
    }
    broken.write_text(json.dumps({**notebook, "cells": [*notebook["cells"], mark]}))
    refused, taken = adopt_assignments(course)
    assert (refused.name, refused.written) == ("broken", ())
    assert "BEGIN MARK SCHEME is only allowed in a task" in refused.refused
    assert (taken.name, taken.refused, taken.questions) == ("series", "", 4)
    with pytest.raises(AutograderError, match="MARK SCHEME"):
        adopt_assignments(course, "broken")


def test_a_question_without_a_cell_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first grading would stop for the whole class; no files are left behind."""
    course = manual_course(tmp_path)
    before = contents(course)
    read = adoption.nbgrader.read_assignment

    def with_another_cell(*args: object) -> FoundAssignment:
        assignment = read(*args)
        first, *following = assignment.questions
        return replace(assignment, questions=(replace(first, cell="nowhere"), *following))

    monkeypatch.setattr(adoption.nbgrader, "read_assignment", with_another_cell)
    with pytest.raises(RubricError, match="no cell is graded under that name"):
        adopt_assignments(course)
    assert {path: text for path, text in contents(course).items() if ".secret" not in path} == before
    monkeypatch.undo()
    (taken,) = adopt_assignments(course)
    assert course / "release" / "series" / "first.ipynb" in taken.written


@pytest.mark.parametrize("points", [0, 2])
def test_a_course_without_points_is_told_what_to_do(points: int, tmp_path: Path) -> None:
    """A course in which every mark would be 0 gets a remark that names the rubric to edit."""
    course = manual_course(tmp_path)
    for path in (course / "source" / "series").glob("*.ipynb"):
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            flags = cell["metadata"].get("nbgrader", {})
            flags.update({"points": points} if flags.get("points") is not None else {})
        path.write_text(json.dumps(notebook))
    (course / "source").rename(course / "release")
    (adopted,) = adopt_assignments(course)
    remarks = [remark for remark in adopted.remarks if "all points are 0" in remark]
    assert bool(remarks) == (points == 0)
    assert adopted.points == 4 * points
    for remark in remarks:
        assert "formula, use, plan" in remark
        assert "rubrics/series.toml" in remark


def test_a_rubric_that_was_changed_stays(tmp_path: Path) -> None:
    """Edits of the rubric are never overwritten."""
    course = manual_course(tmp_path)
    (first,) = adopt_assignments(course)
    first.rubric.write_text(first.rubric.read_text().replace("The answer to use", "A use of it"))
    adopt_assignments(course)
    assert "A use of it" in first.rubric.read_text()


def test_release_has_no_check_of_ours(tmp_path: Path) -> None:
    """Students get the notebooks as nbgrader releases them, without coursecheck.py and solutions."""
    course = manual_course(tmp_path)
    adopt_assignments(course)
    assert not (course / "release" / "series" / "coursecheck.py").exists()
    released = json.loads((course / "release" / "series" / "first.ipynb").read_text())
    text = "".join("".join(cell["source"]) for cell in released["cells"])
    assert "print(limit(0.9))" not in text
    assert "MARK SCHEME" not in text


def test_without_a_source_there_is_no_answer_key(tmp_path: Path) -> None:
    """The error says where to put the sources, not that a notebook should be submitted."""
    course = manual_course(tmp_path)
    adopt_assignments(course)
    shutil.rmtree(course / "source")
    rubric = rubrics.load_rubric(course / "rubrics" / "series.toml")
    with pytest.raises(CourseError, match=r"series: only its release is here.*into .*source/series"):
        read_answer_key(Course(course), rubric)


def test_what_is_no_course_is_refused(tmp_path: Path) -> None:
    """The error says what was expected."""
    with pytest.raises(CourseError, match="expected an nbgrader course, with notebooks in source"):
        adopt_assignments(tmp_path)
    with pytest.raises(CourseError, match="there is no such folder"):
        adopt_assignments(tmp_path / "nowhere")
    course = manual_course(tmp_path)
    with pytest.raises(CourseError, match="no assignment 'ps2'; found: series"):
        adopt_assignments(course, "ps2")
