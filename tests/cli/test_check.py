"""The command ``check``: output, exit codes, and errors for files that are not notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.course import Course
from autograder.grading import release_generation
from autograder.grading.verify.papers import with_sources
from autograder.notebook.student_check import FILE_NAME
from tests.cli.running import ROOT, run

NAME = "variants-practice"
ANSWERS = {
    "projections-answer": "attention_parameters = 4",
    "scores-answer": "score_shape = (1, 2, 3, 3)",
    "mlp-answer": "mlp_parameters = '8*d_model^2'",
    "positions-answer": "most_tokens = 7",
    "cache-answer": "def cached_numbers(n_layers, length, d_model):\n    return 0",
    "repair-answer": "class Decoder:\n    def forward(self, target):\n        return target",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a student's folder, with an answered notebook."""
    student_folder = tmp_path_factory.mktemp("student")
    course = Course.from_folder(ROOT)
    files = release_generation.build_release_files(course, rubrics.load_rubric(course.locate_rubric(NAME)))
    for file, data in files.items():
        student_folder.joinpath(file).write_bytes(data if file == FILE_NAME else with_sources(data, ANSWERS))
    return student_folder


def test_a_complete_notebook_ends_well(folder: Path) -> None:
    """Every question has a line, and the end says that the check gives no marks."""
    done = run("check", str(folder / f"{NAME}.ipynb"))
    assert (0, "") == (done.returncode, done.stderr)
    assert "✓ mlp: mlp_parameters is read as 8*d_model^2\n" in done.stdout
    assert done.stdout.endswith(
        "✓ All given cells are unchanged.\nQuestions answered: 6 of 6.\n"
        "This check looks at the form only and gives no marks. Answers are graded after you submit them.\n"
    )


def test_json_says_the_same(folder: Path) -> None:
    """The output is one object on one line, in the requested language."""
    done = run("check", str(folder / f"{NAME}.ipynb"), "--json", "--language", "de")
    (line,) = done.stdout.splitlines()
    said = json.loads(line)
    assert (NAME, NAME, True) == (said["assignment"], said["notebook"], said["complete"])
    (mlp,) = [question for question in said["questions"] if question["question"] == "mlp"]
    assert "ready" == mlp["state"]
    assert "mlp_parameters wird gelesen als " == mlp["lines"][0]["text"]
    assert "8*d_model^2" == mlp["lines"][0]["reading"]
    assert mlp["lines"][0]["mathml"].startswith("<math")
    assert "es gibt keine Punkte" in said["note"]


def test_something_missing_ends_with_1(folder: Path, tmp_path: Path) -> None:
    """An unanswered question is a finding."""
    path = tmp_path / f"{NAME}.ipynb"
    path.write_bytes(with_sources((folder / path.name).read_bytes(), {"mlp-answer": "mlp_parameters = None"}))
    done = run("check", str(path), "--with", str(folder / FILE_NAME))
    assert (1, "") == (done.returncode, done.stderr)
    assert "○ mlp: mlp_parameters is still empty (None)." in done.stdout


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("text", b"hello", "The file is not a notebook"),
        ("picture", b"\x89PNG\xff\x00", "binary data"),
        (
            "other",
            b'{"cells": [{"cell_type": "raw", "source": ""}], "nbformat": 4}',
            "is no notebook of 'variants-practice'",
        ),
    ],
)
def test_what_is_no_notebook_of_the_assignment_is_named(
    folder: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    """One sentence on standard error, no output, and exit code 3."""
    path = tmp_path / f"{name}.ipynb"
    path.write_bytes(content)
    done = run("check", str(path), "--with", str(folder / FILE_NAME))
    assert (3, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(f"autograder: {path}: ")
    assert said in done.stderr
    assert 1 == done.stderr.count("\n")


def test_a_notebook_without_its_folder_is_sent_back_there(folder: Path, tmp_path: Path) -> None:
    """Without coursecheck.py the assignment is unknown; the error says what to do."""
    path = tmp_path / f"{NAME}.ipynb"
    path.write_bytes((folder / path.name).read_bytes())
    done = run("check", str(path))
    assert (3, "") == (done.returncode, done.stdout)
    assert "Put the notebook into the folder that you got" in done.stderr


def test_a_notebook_that_is_not_there_is_what_is_told(tmp_path: Path) -> None:
    """A missing notebook is reported first, not a missing coursecheck.py: the name is probably misspelt."""
    done = run("check", str(tmp_path / "sheet.ipynb"))
    assert 3 == done.returncode
    assert "sheet.ipynb: 'sheet.ipynb': there is no such file" in done.stderr
