"""Three shapes of public assignments, from their sources to the marks of thirty students, item by item.

A captioning network with a package and data; a language model in modules, without a notebook; a model of
characters that is trained in the notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.app import preparing
from autograder.course import Course
from autograder.messages import render
from autograder.records import Graded
from tests.shapes import captions, characters, language
from tests.shapes.classes import graded_class

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]


def prove(course: Course, name: str) -> None:
    """The release is made, the key sits the exam, and each planted mistake loses what it says."""
    preparing.release(course, name)
    found = preparing.build_and_verify(course, name)
    assert () == tuple(found.findings)
    assert not [row.name for matrix in found.matrices for row in matrix.rows if row.findings]


def told(results: Mapping[str, Graded], student: str, question: str) -> str:
    """What a student reads about the first item of a question."""
    item = next(one for one in results[student].score.items if one.question == question)
    return f"{item.code}: {render(item.student, 'en')}"


def test_a_captioning_network(tmp_path: Path) -> None:
    """A package with data; a mistake of a module is told by its name, and costs nothing where it is used."""
    course = captions.course(tmp_path)
    prove(course, captions.NAME)
    results = graded_class(course, captions.NAME, captions.WORKS)
    assert told(results, "s04", "step").endswith("the bias is not added.")
    assert "carried.right" in told(results, "s04", "sample")
    assert told(results, "s07", "loss").endswith("divide by the captions, not by their words.")
    assert told(results, "s15", "step").startswith("file.missing: ")
    assert "carried.right" in told(results, "s15", "sample")


def test_a_language_model_in_modules(tmp_path: Path) -> None:
    """No notebook is handed in; a model and a table of predictions are measured on their own."""
    course = language.course(tmp_path)
    prove(course, language.NAME)
    results = graded_class(course, language.NAME, language.WORKS)
    codes = {
        student: [
            one.code for one in results[student].score.items if one.question in {"model", "predictions"}
        ]
        for student in ("s05", "s07", "s08", "s09", "s14", "s16", "s17", "s18", "s19", "s21")
    }
    assert {
        "s05": ["score.constant", ""],
        "s07": ["score.sum", ""],
        "s08": ["score.shape", ""],
        "s09": ["score.batch", ""],
        "s14": ["", "score.tier"],
        "s16": ["", "score.constant"],
        "s17": ["", "score.shape"],
        "s18": ["", "score.file"],
        "s19": ["", "score.no-file"],
        "s21": ["no-answer", "score.no-file"],
    } == codes


def test_a_model_that_is_trained(tmp_path: Path) -> None:
    """Losses that were typed in earn nothing; a checkpoint is measured as numbers, a pickle is not opened."""
    course = characters.course(tmp_path)
    prove(course, characters.NAME)
    results = graded_class(course, characters.NAME, characters.WORKS)
    assert "Your notebook arrives at 0" in told(results, "s03", "training")
    assert "Your notebook arrives at 0" in told(results, "s04", "training")
    assert told(results, "s12", "checkpoint").startswith("score.no-file: ")
    assert told(results, "s13", "checkpoint").startswith("score.safetensors: ")
    assert told(results, "s14", "checkpoint").startswith("score.safetensors: ")
    assert told(results, "s15", "checkpoint").startswith("score.floor: ")
