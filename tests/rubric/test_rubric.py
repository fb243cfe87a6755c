"""Test that rubrics are validated strictly: errors state the place and the expected form."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from autograder.core.errors import RubricError
from autograder.rubric import load_rubric, parse_rubric

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
kind = "number"
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
    """Points are decimals, options stay with their kind, and a cell has its maximum of points."""
    rubric = parse_rubric(GOOD.encode())
    question = rubric.get_question("a")
    assert (2, Decimal("2.5"), 64) == (rubric.version, rubric.assignment.points, len(rubric.digest))
    assert {"a": Decimal(2), "a-why": Decimal("0.5")} == question.list_cells()
    assert {"value": 3} == question.options
    assert ("exam", "a-answer") == (question.notebook, question.answer_cell)
    assert 3.0 == rubric.assignment.limits.cell_seconds


@pytest.mark.parametrize(
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
        ('data = ["corpus.txt"]', 'data = ["../secret"]', "'../secret' is no path below"),
        ('data = ["corpus.txt"]', 'data = ["/etc/passwd"]', "'/etc/passwd' is no path below"),
        ('data = ["corpus.txt"]', 'data = ["corpus/"]', "name a folder without '/' at its end"),
        ('data = ["corpus.txt"]', 'data = ["Own.py"]', "'own.py' and 'Own.py' are one file on some systems"),
        ('data = ["corpus.txt"]', 'data = ["a", "a/b.txt"]', "'a/b.txt' and 'a': one lies in the other"),
        ('take_along = ["own.py"]', 'take_along = ["a", "a/b.txt"]', "only a folder of data may hold others"),
        ('take_along = ["own.py"]', 'starter = ["a/x.py", "b/x.py"]', "'b/x.py' and 'a/x.py' have the same"),
        (
            'take_along = ["own.py"]',
            'result = [{ path = "m.npz", most_mb = 60 }]',
            "results may have 60 MB together, but a box has room for 57 MB",
        ),
        ('take_along = ["own.py"]', 'result = [{ path = "m.npz", most_mb = 0 }]', "most_mb"),
        ('answer = "x"', 'file = "other.py"', "'other.py' is not handed in with the notebook 'exam'"),
        ('answer = "x"', 'file = "own.py"\nanswer_cell = "a"', "answer_cell: the answer is a file or a cell"),
        ('answer = "x"', 'visible = [{ parameters = ["x"] }]', "answer: [[question.visible]] needs the name"),
        ('data = ["corpus.txt"]', 'data = ["own.py"]', "'own.py' stands twice"),
        ('data = ["corpus.txt"]', 'data = ["coursecheck.py"]', "'coursecheck.py' stands twice"),
        ('id = "a"\n', 'id = "a"\nnotebook = "other"\n', "notebook: expected one of exam, got 'other'"),
        ("version = 2", "version = ", "not valid TOML"),
    ],
)
def test_an_error_is_refused(old: str, new: str, message: str) -> None:
    """The message states the place, the expected form and the actual value."""
    assert 1 == GOOD.count(old)
    with pytest.raises(RubricError) as caught:
        parse_rubric(GOOD.replace(old, new).encode())
    assert message in str(caught.value)


def test_a_question_needs_an_item() -> None:
    """A question without an item is rejected, because its points could not be explained."""
    text = b"""
version = 1
assignment = { name = "x", points = 1 }
[[question]]
id = "a"
kind = "number"
points = 1
"""
    with pytest.raises(RubricError, match=r"at least one \[\[question.item\]\] is needed"):
        parse_rubric(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    """A rubric in another encoding than UTF-8 is reported as such."""
    with pytest.raises(RubricError, match=r"not UTF-8 \(at line 2\)"):
        parse_rubric(b"version = 1\n\xff\xfe")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The message contains the path and the reason."""
    with pytest.raises(RubricError, match=r"none\.toml: the rubric cannot be read: No such file"):
        load_rubric(tmp_path / "none.toml")


def test_files_that_students_change_may_lie_in_what_is_given_out() -> None:
    """Released data may contain a module to complete; every submitted file has a size limit."""
    files = """data = ["pkg", "corpus.txt"]
starter = ["pkg/rnn.py"]
result = [{ path = "pkg/out.npy", most_mb = 0.5, optional = true }]
"""
    old = 'data = ["corpus.txt"]\ntake_along = ["own.py"]\n'
    assert 1 == GOOD.count(old)
    text = GOOD.replace(old, files).replace('answer = "x"', 'answer = "x"\nfile = "pkg/rnn.py"')
    rubric = parse_rubric(text.encode())
    notebook = rubric.assignment.notebooks[0]
    assert {"pkg/rnn.py": 1 << 20, "pkg/out.npy": 1 << 19} == notebook.own
    assert ("pkg", "corpus.txt") == notebook.tops
    assert "pkg/rnn.py" == rubric.get_question("a").file
