"""Faults as unified diffs and as exchanged expressions: what they change, and what is refused."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from autograder.errors import CourseError
from autograder.kinds.general.debugging.listing import Edit, FaultyListing, Patch

RIGHT = """\
import numpy as np


class Scaler:
    def fit(self, x):
        self.mean = x.mean(axis=0)
        self.count = 0

    def add(self, x):
        self.count += len(x)

        return self.count

    def __call__(self, x):
        return x - self.mean
"""
FAULTY = RIGHT.replace("axis=0", "axis=1").replace("+= len(x)", "= len(x)")
MODULE = '"""A module with more in it."""\n\nimport os\nimport numpy as np\n\nPLACE = os.sep\n\n\n'


def unified(right: str, faulty: str, context: int = 3) -> str:
    """As ``diff -u`` writes it."""
    lines = (one.splitlines(keepends=True) for one in (right, faulty))
    return "".join(difflib.unified_diff(*lines, "a/right.py", "b/faulty.py", n=context))


def planted(right: str, diff: str) -> str:
    """The listing with the one fault."""
    return FaultyListing(right, {"one": (Patch(diff),)}, "q").text({"one"})


@pytest.mark.parametrize("context", [0, 1, 3, 20])
def test_a_diff_leads_from_right_to_faulty(context: int) -> None:
    """Several hunks are one fault."""
    assert FAULTY == planted(RIGHT, unified(RIGHT, FAULTY, context))


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    """With its own head, and blanks of empty lines that an editor took away."""
    for name, text in (("right.py", RIGHT), ("faulty.py", FAULTY)):
        (tmp_path / name).write_text(text)
    command = ("git", "diff", "--no-index", "right.py", "faulty.py")
    diff = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert diff.startswith("diff --git")
    assert FAULTY == planted(RIGHT, diff)
    assert FAULTY == planted(RIGHT, diff.replace("\n \n", "\n\n"))


def test_hunks_are_placed_by_their_lines() -> None:
    """A diff of a whole module fits the listing, which stands on other lines and between others."""
    module = [MODULE + one.partition("\n\n\n")[2] + "\n\nLAST = 1\n" for one in (RIGHT, FAULTY)]
    assert FAULTY == planted(RIGHT, unified(*module))


def test_faults_in_one_line_stand_beside_each_other() -> None:
    """No more than what differs is changed, so neighbours do not collide; the same characters do."""
    one, two = (
        RIGHT.replace(*pair) for pair in (("self.mean = x", "self.mean = 2 * x"), ("axis=0", "axis=1"))
    )
    faults = {"one": (Patch(unified(RIGHT, one)),), "two": (Patch(unified(RIGHT, two)),)}
    both = FaultyListing(RIGHT, faults, "q").text({"one", "two"})
    assert "self.mean = 2 * x.mean(axis=1)" in both
    with pytest.raises(CourseError, match="faults 'two' and 'three' change the same text: '0'"):
        FaultyListing(RIGHT, {**faults, "three": (Edit("axis=0", "axis=2"),)}, "q")


def test_two_faults_that_put_lines_into_one_place_collide() -> None:
    """Which of them comes first would be left open."""
    at = "        return self.count\n"
    faults = {
        name: (Patch(unified(RIGHT, RIGHT.replace(at, f"        {name}()\n{at}"))),)
        for name in ("one", "two")
    }
    with pytest.raises(CourseError, match="'one' and 'two' change the same"):
        FaultyListing(RIGHT, faults, "q")


@pytest.mark.parametrize(
    ("diff", "told"),
    [
        (unified(FAULTY, RIGHT), "leads from the faulty listing to the right one; turn it around"),
        (unified(RIGHT, FAULTY) + unified(RIGHT, FAULTY), "changes several files"),
        ("self.mean = 0", "expected a unified diff"),
        (unified(RIGHT, FAULTY).rpartition("\n ")[0], "other lines than '@@ -"),
        ("@@ -1 +1 @@\n-nowhere\n+here", "found 0 times"),
    ],
)
def test_a_diff_that_cannot_be_planted_is_refused(diff: str, told: str) -> None:
    """The fault is named, and what to do."""
    with pytest.raises(CourseError, match="fault 'one'") as error:
        planted(RIGHT, diff)
    assert told in str(error.value)


def test_lines_that_stand_twice_need_context() -> None:
    """No place is guessed by a line number."""
    twice = "def f(x):\n    x = x + 1\n    y = 2\n    x = x + 1\n    return x\n"
    other = "def f(x):\n    x = x + 1\n    y = 2\n    x = x + 2\n    return x\n"
    assert other == planted(twice, unified(twice, other, 1))
    with pytest.raises(CourseError, match="found 2 times; give more lines of context"):
        planted(twice, unified(twice, other, 0))


@given(some.lists(some.sampled_from(["a = 1", "b = 2", "", "c = 3"]), max_size=9), some.data())
def test_any_diff_gives_the_other_text(lines: list[str], data: some.DataObject) -> None:
    """With the whole text as context there is one place, wherever lines come, go and change."""
    others = data.draw(some.lists(some.sampled_from([*lines, "a = 1", "d = 4"]), max_size=9))
    right, faulty = ("".join(f"{line}\n" for line in ("first = 0", *one)) for one in (lines, others))
    if right != faulty:
        assert faulty == planted(right, unified(right, faulty, 99))
