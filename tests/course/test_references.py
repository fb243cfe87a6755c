"""Misspelt names of the reference in a rubric are reported at release."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.core.errors import RubricError
from autograder.course import Course
from autograder.course.references import check_references
from autograder.grading import release_generation
from tests.support.small_course import NAME, changed, small_course

ROOT = Path(__file__).parents[2]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return the small course with a package in its reference folder."""
    made = small_course(tmp_path)
    package = made.reference / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import *\n")
    (package / "inner.py").write_text(
        "import math as m\nfrom os import path\nif m.pi:\n    def first(): ...\nelse:\n    second = 1\n"
        "def outer():\n    third = 1\n    def fourth(): ...\nclass Fifth: ...\nsixth, *rest = 1, 2\n"
    )
    return made


@pytest.mark.parametrize(
    ("key", "stated", "message"),
    [
        ("reference", "smal:softmax", "'smal:softmax': reference/ has no module smal; did you mean 'small'?"),
        ("reference", "small:softmex", "reference/small.py defines no softmex; did you mean 'softmax'?"),
        ("trials", "smal:trials", "reference/ has no module smal; did you mean 'small'?"),
        ("trials", "small:trails", "reference/small.py defines no trails; did you mean 'trials'?"),
        ("trials", "small", "expected 'module:name', got 'small'"),
        ("reference", "parts.iner:first", "has no module parts.iner; did you mean 'parts.inner'?"),
        ("reference", "parts.inner:third", "defines no third"),
        ("reference", "parts.inner:fourth", "defines no fourth"),
    ],
)
def test_a_misspelt_name_stops_the_release(course: Course, key: str, stated: str, message: str) -> None:
    """The error states file, line, question, key and nearest name, before anything is written."""
    path = course.locate_rubric(NAME)
    question, old = (
        ("softmax", 'trials = "small:trials"') if key == "trials" else ("layers", 'kind = "number"')
    )
    changed(path, old, f'{old}\n{key} = "{stated}"' if key == "reference" else f'{key} = "{stated}"')
    line = path.read_text().split("\n").index(f'{key} = "{stated}"') + 1
    with pytest.raises(RubricError) as caught:
        release_generation.generate_release(course, NAME)
    said = str(caught.value)
    assert said.startswith(f"{path}, line {line}: question {question!r}: {key}: ")
    assert message in said
    assert not course.locate_release(NAME).exists()


@pytest.mark.parametrize(
    "stated",
    [
        "small:softmax",
        "parts.inner:first",
        "parts.inner:second",
        "parts.inner:Fifth",
        "parts.inner:sixth",
        "parts.inner:rest",
        "parts.inner:m",
        "parts.inner:path",
        "parts:anything",
        "parts:inner",
    ],
)
def test_whatever_a_module_binds_is_found(course: Course, stated: str) -> None:
    """Definitions, imports and multiple assignments are found; a star import may define any name."""
    changed(course.locate_rubric(NAME), 'trials = "small:trials"', f'trials = "{stated}"')
    check_references(course, rubrics.load_rubric(course.locate_rubric(NAME)))


def test_a_reference_that_is_no_python_is_told(course: Course) -> None:
    """The error names the file and the reason."""
    (course.reference / "small.py").write_text("def softmax(:\n")
    with pytest.raises(RubricError, match=r"reference/small\.py, line 1: not valid Python: invalid syntax"):
        release_generation.generate_release(course, NAME)


def test_what_the_shipped_rubrics_name_is_there() -> None:
    """The shipped rubrics name existing modules and functions."""
    course = Course.from_folder(ROOT)
    for name in course.list_assignments():
        check_references(course, rubrics.load_rubric(course.locate_rubric(name)))
