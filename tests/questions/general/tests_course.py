"""A course in the manner of nbgrader, with points for test cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.core.records import GradingResult
from autograder.course import Course
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from tests.support.small_course import answer, cell, write_course

NAME = "tests"
RUBRIC = """\
version = 1

[assignment]
name = "tests"
points = 10
preload = ["numpy"]
languages = ["en"]

[assignment.limits]
cell_seconds = 2
call_seconds = 2

[[question]]
id = "squares_test"
kind = "tests"
points = 4
answer_cell = "squares"
after = "squares_test"
JUDGED

[[question.item]]
id = "values"
points = 3
text = { en = "Values" }
seconds = 2
code = '''
assert squares(1) == [1]
assert squares(3) == [1, 4, 9]
### BEGIN HIDDEN TESTS
assert squares(5) == [1, 4, 9, 16, 25]
### END HIDDEN TESTS
'''
[[question.item]]
id = "refused"
points = 1
text = { en = "Refused" }
visible = true
code = '''
try:
    squares(0)
except ValueError:
    pass
else:
    raise AssertionError("squares(0) should raise")
'''

[[question]]
id = "scaled_test"
kind = "tests"
points = 4
answer_cell = "scaled"
after = "scaled_test"
JUDGED

[[question.item]]
id = "arrays"
points = 4
text = { en = "Arrays" }
code = '''
x = np.array([1.0, 2.0])
y = scaled(x)
assert isinstance(y, np.ndarray)
assert np.allclose(y, [3.0, 6.0])
assert np.array_equal(x, [1.0, 2.0])
4 if len(squares(2)) == 2 else 1.5
'''

[[question]]
id = "last"
kind = "tests"
style = "otter"
all_or_nothing = true
points = 2
answer_cell = "scaled"
JUDGED

[[question.item]]
id = "one"
points = 1
text = { en = "One" }
doctest = true
success = { en = "Well done." }
code = '''
>>> squares(2)
[1, 4]
>>> scaled(np.array([2]))
array([6])
'''
[[question.item]]
id = "two"
points = 1
text = { en = "Two" }
failure = { en = "Look at the sum." }
code = '''
assert sum(squares(4)) == 30
'''
"""
SQUARES = """\
def squares(n):
    if n < 1:
        raise ValueError("n must be at least 1")
    return [i**2 for i in range(1, n + 1)]
"""
LATER = "squares = scaled_before = None\ndef squares(n):\n    return [i**2 for i in range(1, n + 1)]"
SCALED = "def scaled(x):\n    return 3 * x\n"


def write_tests_course(root: Path, *, inside: bool = False) -> Course:
    """Write the course into an empty folder, and release it."""
    rubric = RUBRIC.replace("JUDGED", 'judged = "inside"' if inside else "")
    cells = [
        cell("setup", "import numpy as np"),
        answer("squares", "# def squares(n): ...", SQUARES),
        cell("squares_test", "squares", grade=True, points=4),
        answer("scaled", "# def scaled(x): ...", SCALED),
        cell("scaled_test", "scaled", grade=True, points=4),
        cell("later", LATER),
        cell("last", "pass", grade=True, points=2),
    ]
    course = write_course(root, NAME, rubric, {NAME: cells}, "")
    generate_release(course, NAME)
    return course


def sat(grader: Grader, *, timeouts: Mapping[str, int] | None = None, **answers: str) -> GradingResult:
    """Grade the right answers with some replaced; an empty answer leaves the cell unchanged."""
    written = {"squares": SQUARES, "scaled": SCALED, **answers}
    sources = {name: source for name, source in written.items() if source}
    paper = with_sources(grader.assignment.release_bytes[NAME], sources)
    return grader.grade(SubmittedFiles("ada", {NAME: paper}), timeouts=timeouts)


def told(graded: GradingResult) -> dict[str, tuple[str, str]]:
    """Return points and code of each item."""
    return {
        f"{result.question}.{result.item}": (
            f"{result.points.normalize():f}",
            result.code or result.status.value,
        )
        for result in graded.score.items
    }
