"""A saved notebook is checked without running it: answers, their readings, and changed cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder import rubric as rubrics
from autograder.core.errors import CourseError, NotebookError
from autograder.course import Course
from autograder.grading import release_generation
from autograder.notebook.document import parse_notebook
from autograder.notebook.student.report import MISSING, PERSON, PROBLEM, READY
from autograder.notebook.student.saved_notebook import NotebookReport, report_on
from autograder.notebook.student_check import FILE_NAME, read_specification

NAME = "dl4nlp-exam"
Change = Callable[[list[dict[str, Any]]], None]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Return the files of the exam's release."""
    course = Course.from_folder(Path(__file__).parents[3])
    return release_generation.build_release_files(course, rubrics.load_rubric(course.locate_rubric(NAME)))


@pytest.fixture(scope="module")
def specification(files: dict[str, bytes]) -> dict[str, Any]:
    """Return the specification in the students' check file."""
    return read_specification(files[FILE_NAME].decode(), FILE_NAME)


@pytest.fixture
def seen(files: dict[str, bytes], specification: dict[str, Any]) -> Callable[[Change], NotebookReport]:
    """Return a function that reports on the exam after a change to its cells."""

    def see(change: Change) -> NotebookReport:
        tree = json.loads(files[f"{NAME}.ipynb"])
        change(tree["cells"])
        return report_on(parse_notebook(json.dumps(tree).encode()).cells, specification, NAME, "en")

    return see


def cell(cells: list[dict[str, Any]], grade_id: str) -> dict[str, Any]:
    """Return the cell with this grade_id."""
    return next(one for one in cells if one["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def lines(paper: NotebookReport, question: str) -> list[tuple[str, str]]:
    """Return state and text of each line about a question."""
    (report,) = [one for one in paper.reports if one.question == question]
    return [(line.state, line.text + line.reading) for line in report.lines]


def answered(grade_id: str, source: str) -> Change:
    """Return a change that writes an answer."""

    def change(cells: list[dict[str, Any]]) -> None:
        cell(cells, grade_id)["source"] = source

    return change


def test_the_untouched_release_has_no_answer(seen: Callable[[Change], NotebookReport]) -> None:
    """The untouched release has no answers, and all given cells are unchanged."""
    paper = seen(lambda _: None)
    assert {MISSING} == {report.state for report in paper.reports}
    assert len(paper.reports) > 30
    assert [(READY, "All given cells are unchanged.")] == [line[:2] for line in paper.cells]
    assert not paper.is_complete


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("mlp_parameters = '8 d²'", (READY, "mlp_parameters is read as 8*d_model^2")),
        (
            "mlp_parameters = None",
            (MISSING, "mlp_parameters is still empty (None). Replace it with your answer"),
        ),
        ("mlp_parameters = '8*'", (PROBLEM, "mlp_parameters: Your formula could not be read at ▸ in “8*▸”")),
        ("mlp = '8*d^2'", (MISSING, "mlp_parameters has no value in the answer cell.")),
        ("mlp_parameters = 8 *", (PROBLEM, "Your answer is not valid Python, so it cannot be run.")),
        ("%matplotlib inline\nmlp_parameters = 8 *", (PROBLEM, "Line 2: invalid syntax.")),
        (
            "mlp_parameters = str(8)",
            (READY, "mlp_parameters is known only after the cell runs"),
        ),
        (
            "mlp_parameters = __import__('os').system('touch /tmp/x')",
            (READY, "known only after the cell runs"),
        ),
        ("mlp_parameters = [1, 2]", (PROBLEM, "mlp_parameters is of type list")),
    ],
)
def test_a_formula_is_read_from_the_cell(
    seen: Callable[[Change], NotebookReport], source: str, expected: tuple[str, str]
) -> None:
    """A literal is read as in grading; other expressions are left to the notebook."""
    (state, text), *_ = lines(seen(answered("task3-b-answer", source)), "task3-b")
    assert expected[0] == state
    assert expected[1] in text


def test_code_is_found_by_its_definition(seen: Callable[[Change], NotebookReport]) -> None:
    """A class counts as present if the cell defines it."""
    paper = seen(answered("task5-a-answer", "class Decoder:\n    def forward(self, x):\n        return x"))
    assert [(READY, "Decoder is there (class)")] == lines(paper, "task5-a")


def test_a_text_is_there_as_soon_as_something_is_written(seen: Callable[[Change], NotebookReport]) -> None:
    """Written answers are distinguished from untouched cells, and need manual review."""
    written = seen(answered("task1-a", "Because."))
    assert [(READY, "Something is written here. It is graded after you submit it.")] == lines(
        written, "task1-a"
    )
    assert [(MISSING, "Nothing is written here yet.")] == lines(seen(answered("task1-a", "  ")), "task1-a")


def test_changed_deleted_and_copied_cells_are_named(seen: Callable[[Change], NotebookReport]) -> None:
    """Each change has a separate message that states its consequence."""

    def change(cells: list[dict[str, Any]]) -> None:
        cell(cells, "task1")["source"] += "!"
        cells.remove(cell(cells, "task2"))
        cells.append(cell(cells, "task1-a"))
        cells.remove(cell(cells, "task3-b-answer"))

    paper = seen(change)
    said = [
        (PROBLEM, "The given cell task1 was changed. The original is used instead,"),
        (PROBLEM, "The given cell task2 was deleted. The original is restored; nothing is lost."),
        (PROBLEM, "2 cells are marked as the answer task1-a, because the answer cell was split"),
    ]
    assert said == [
        (line.state, line.text[: len(text)]) for line, (_, text) in zip(paper.cells, said, strict=True)
    ]
    assert "The answer cell task3-b-answer is missing." in lines(paper, "task3-b")[0][1]


def test_cells_without_checksums_are_not_called_changed(seen: Callable[[Change], NotebookReport]) -> None:
    """Without checksums, which some programs remove, no cell is reported as changed."""

    def change(cells: list[dict[str, Any]]) -> None:
        for one in cells:
            one["metadata"].get("nbgrader", {}).pop("checksum", None)

    (line,) = seen(change).cells
    assert PERSON == line.state
    assert "not known whether" in line.text


def test_another_assignment_is_told_apart(specification: dict[str, Any]) -> None:
    """A notebook without any cell of the assignment is refused."""
    foreign = {"nbformat": 4, "cells": [{"cell_type": "code", "source": "1", "metadata": {}}]}
    with pytest.raises(NotebookError, match="is no notebook of 'dl4nlp-exam'") as caught:
        report_on(parse_notebook(json.dumps(foreign).encode()).cells, specification, "other", "en")
    assert "other-assignment" == caught.value.code


@pytest.mark.parametrize(
    "content",
    [
        "",
        "SPECIFICATION = 7",
        'SPECIFICATION = "[]"',
        'SPECIFICATION = "{\\"questions\\": {\\"q\\": 7}}"',
        "SPECIFICATION = __import__('os').abort()",
        "SPECIFICATION = " + "[" * 5000,
    ],
)
def test_a_damaged_check_file_is_refused(content: str) -> None:
    """The check file is read as data, because students can edit it; invalid content raises an error."""
    with pytest.raises(CourseError, match=r"here: is not the coursecheck.py of an assignment"):
        read_specification(content, "here")


def strip_marks(cells: list[dict[str, Any]]) -> None:
    """Save the notebook as a program without nbgrader metadata."""
    for one in cells:
        one["metadata"] = {}


def test_a_notebook_without_marks_is_read_by_the_names_it_defines(
    seen: Callable[[Change], NotebookReport],
) -> None:
    """A notebook without metadata is read by defined names; undefined names are missing, texts unknown."""

    def change(cells: list[dict[str, Any]]) -> None:
        cell(cells, "task3-b-answer")["source"] = "mlp_parameters = '8*d_model^2'"
        strip_marks(cells)

    paper = seen(change)
    assert [READY] == [state for state, _ in lines(paper, "task3-b")]
    assert [PERSON] == [state for state, _ in lines(paper, "task1-a")]
    assert [MISSING] == [state for state, _ in lines(paper, "task1-e")]
    assert "removed the marks" in paper.cells[0].text


def test_a_blank_reason_beside_an_answer_is_missing(seen: Callable[[Change], NotebookReport]) -> None:
    """A question is answered only if all of its cells are."""
    answer = answered("task3-b-answer", "mlp_parameters = '8*d_model^2'")
    paper = seen(answer)
    (report,) = [one for one in paper.reports if one.question == "task3-b"]
    assert MISSING == report.state
    assert "task3-b-why" in report.lines[-1].text


def add_code(source: str) -> Change:
    """Return a change that adds a student's cell at the end."""
    code = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    return lambda cells: cells.append(code)


def test_a_cell_of_the_students_own_that_is_no_python_is_named(
    seen: Callable[[Change], NotebookReport],
) -> None:
    """An added cell that is not valid Python is named, for example a method outside its class."""
    paper = seen(add_code("    def forward(self, x):\n        return x"))
    (line,) = [one for one in paper.cells if "not valid Python" in one.text]
    assert PROBLEM == line.state
    assert [] == [one for one in seen(add_code("%time\n!ls\nx = 1")).cells if "valid Python" in one.text]


def test_an_answer_in_code_that_is_a_text_cell_is_read_as_code(
    seen: Callable[[Change], NotebookReport],
) -> None:
    """Code in a text cell is read as code without its fences, as in grading."""

    def change(cells: list[dict[str, Any]]) -> None:
        one = cell(cells, "task5-a-answer")
        one |= {"cell_type": "markdown", "source": "```python\nclass Decoder:\n    pass\n```"}

    state, said = lines(seen(change), "task5-a")[0]
    assert state == PROBLEM
    assert "Line 1: invalid syntax." in said


@pytest.mark.parametrize(
    ("source", "attachments", "state"),
    [
        ("![](a.png)", {}, PERSON),
        ("![](attachment:a.svg)", {"a.svg": {"image/svg+xml": "<svg/>"}}, PROBLEM),
        ("![](attachment:a.png)", {"a.png": {"image/png": "iVBORw0KGgo="}}, READY),
    ],
    ids=["a file", "SVG", "attached"],
)
def test_pictures_that_nobody_will_see_are_named(
    source: str, attachments: dict[str, Any], state: str, seen: Callable[[Change], NotebookReport]
) -> None:
    """Pictures that cannot be shown are reported before submission."""

    def change(cells: list[dict[str, Any]]) -> None:
        cell(cells, "task1-a").update(source=source, attachments=attachments)

    assert state == lines(seen(change), "task1-a")[-1][0]


def test_a_syntax_error_is_told_once_for_all_names_of_a_cell(
    seen: Callable[[Change], NotebookReport],
) -> None:
    """A syntax error is reported once per cell, not for each of its names."""
    found = lines(seen(answered("task1-e-answer", "attention_operations = “O(n)”")), "task1-e")
    assert 1 == len([text for _, text in found if "not valid Python" in text])
