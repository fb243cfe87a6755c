"""Names in tests of adopted courses refer to the right object, for the answer key and each student."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import nbformat
import pytest

from autograder.app.adoption import adopt_assignments
from autograder.course import Course
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify.papers import with_sources
from autograder.sandbox.pool import Pool
from tests.support.small_course import answer, cell

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
KEY = {
    "max": "def max(xs):\n    return sorted(xs)[-1] if xs else None",
    "type": "def type(x):\n    return 'text'",
    "F": "F = 9.81 * 2",
    "scale": "a = 3\ndef scale(x):\n    return 2 * x",
    "grid": "x = [0, 1, 2]",
    "rows": "def rows():\n    return array([[1, 2], [3, 4]])",
}
TESTS = {
    "max": "assert max([]) is None\nassert max([3, 1]) == 3",
    "type": "assert type('a') == 'text'",
    "F": "assert abs(F - 19.62) < 1e-9",
    "scale": "a = x = 5\nassert scale(a) == 10\n### BEGIN HIDDEN TESTS\na = 6\nassert scale(a) == 12\n"
    "### END HIDDEN TESTS",
    "grid": "assert len(x) == 3",
    "rows": "def total(values):\n    return sum(values, axis=0).tolist()\nassert total(rows()) == [4, 6]",
}
FULL = dict.fromkeys(KEY, "1 passed")
STUDENTS: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "right": ({}, FULL),
    "Python's own max": ({"max": "pass"}, {**FULL, "max": "0 failed"}),
    "F left out": ({"F": "G = 3"}, {**FULL, "F": "0 failed"}),
    "a function reads what the test binds": (
        {"scale": "a = 3\ndef scale(x):\n    return 2 * x if a else 0"},
        {**FULL, "scale": "0 needs-review"},
    ),
    "a later cell reads what the hidden lines bind": (
        {"grid": "x = [0, 1, 2][:a]"},
        {**FULL, "scale": "0 needs-review"},
    ),
    "wrong, and reads nothing": ({"scale": "def scale(x):\n    return 3 * x"}, {**FULL, "scale": "0 failed"}),
    "a given import hidden": (
        {"rows": "def rows():\n    return array([[1, 2]])\ndef sum(*_, **__):\n    return array([4, 6])"},
        {**FULL, "rows": "0 failed"},
    ),
    "checks disarmed": ({"grid": "x = [0]\nlen = lambda x: 3"}, {**FULL, "grid": "0 failed"}),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return the grader of the adopted course."""
    root = tmp_path_factory.mktemp("names")
    cells = [cell("setup", "import torch.nn.functional as F\nfrom numpy import array, sum")]
    for name, text in KEY.items():
        cells += [
            answer(f"{name}_answer", f"# your {name}", text),
            cell(name, TESTS[name], grade=True, points=1),
        ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    (root / "source" / "names").mkdir(parents=True)
    nbformat.write(notebook, root / "source" / "names" / "names.ipynb")
    adopt_assignments(root)
    with Pool() as pool:
        yield Grader(load_assignment(Course(root), "names"), pool)


def results(grader: Grader, paper: bytes) -> dict[str, str]:
    """Return points and status of each question."""
    score = grader.grade(SubmittedFiles("ada", {"names": paper})).score
    return {one.question: f"{one.points.normalize():f} {one.status.value}" for one in score.items}


@pytest.mark.parametrize("name", STUDENTS)
def test_names_are_whose_the_notebook_says(grader: Grader, name: str) -> None:
    """A right answer never gets zero, and a test that would see another object needs manual review."""
    changed, expected = STUDENTS[name]
    sources = {f"{question}_answer": text for question, text in {**KEY, **changed}.items()}
    assert expected == results(grader, with_sources(grader.assignment.release_bytes["names"], sources))
