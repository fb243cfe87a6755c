"""Rubrics are read strictly: an error is refused with its place and what was expected."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from autograder.errors import RubricError
from autograder.rubric import load, parse
from tests.support.cases import each

GOOD = """
version = 2
[assignment]
name = "exam"
points = 2.5
preload = ["torch"]
[assignment.limits]
cell_seconds = 3
[[assignment.notebooks]]
name = "exam"
data = ["corpus.txt"]
take_along = ["own.py"]
[[question]]
id = "a"
kind = "count"
points = 2.5
answer = "x"
value = 3
[[question.item]]
id = "i"
points = 2
text = { en = "x" }
[[question.item]]
id = "j"
points = 0.5
manual = true
cell = "a-why"
text = { en = "y" }
[[question.item]]
id = "late"
points = -1
text = { en = "z" }
"""


def test_a_rubric_is_read_with_exact_points() -> None:
    """Points are decimals, options stay with their kind, and a cell carries what it can bring at most."""
    rubric = parse(GOOD.encode())
    question = rubric.question("a")
    assert (2, Decimal("2.5"), 64) == (rubric.version, rubric.assignment.points, len(rubric.digest))
    assert {"a": Decimal(2), "a-why": Decimal("0.5")} == question.cells()
    assert {"value": 3} == question.options
    assert ("exam", "a-answer") == (question.notebook, question.answer_cell)
    assert 3.0 == rubric.assignment.limits.cell_seconds


@each(
    ("old", "new", "message"),
    [
        (
            "version = 2",
            "version = 0",
            "version: expected a line 'version = 1', a whole number from 1, got",
        ),
        ("version = 2", "versoin = 2", "unknown key 'versoin'; did you mean 'version'"),
        ("cell_seconds", "cel_seconds", "cel_seconds"),
        ("preload =", "prelaod =", "unknown key 'prelaod'; did you mean 'preload'"),
        ("points = 2.5\nanswer", "points = 3\nanswer", "points: 3 are stated, but the parts add up to 2.5"),
        ("points = 2.5\npreload", "points = 9\npreload", "points: 9 are stated, but the parts add up to 2.5"),
        ('id = "j"', 'id = "i"', "item 2: id: 'i' stands twice"),
        ('id = "a"', 'id = "a b"', "id: expected letters, digits"),
        ("manual = true", 'manual = "yes"', "manual"),
        ('data = ["corpus.txt"]', 'data = ["../secret"]', "'../secret' is not a plain file name"),
        ('data = ["corpus.txt"]', 'data = ["own.py"]', "'own.py' stands twice"),
        ('data = ["corpus.txt"]', 'data = ["coursecheck.py"]', "'coursecheck.py' stands twice"),
        ('id = "a"\n', 'id = "a"\nnotebook = "other"\n', "notebook: expected one of exam, got 'other'"),
        ("version = 2", "version = ", "not valid TOML"),
    ],
)
def test_an_error_is_refused(old: str, new: str, message: str) -> None:
    """The message names the place, what was expected and what came."""
    assert 1 == GOOD.count(old)
    with pytest.raises(RubricError) as caught:
        parse(GOOD.replace(old, new).encode())
    assert message in str(caught.value)


def test_a_question_needs_an_item() -> None:
    """Points without a line of the rubric cannot be explained."""
    text = b"""
version = 1
assignment = { name = "x", points = 1 }
[[question]]
id = "a"
kind = "count"
points = 1
"""
    with pytest.raises(RubricError, match=r"at least one \[\[question.item\]\] is needed"):
        parse(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    """A rubric in another encoding is said to be one."""
    with pytest.raises(RubricError, match=r"not UTF-8 \(at line 2\)"):
        parse(b"version = 1\n\xff\xfe")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path and the reason are in the message."""
    with pytest.raises(RubricError, match=r"none\.toml: the rubric cannot be read: No such file"):
        load(tmp_path / "none.toml")
