"""The tests of the corpus that are judged outside the box, and reasons why others are not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from autograder.exchange.adoption import nbgrader, otter
from autograder.exchange.adoption.records import FoundQuestion, FoundTest, with_reasons
from tests.exchange.adoption import courses


def reason(code: str, *before: str, data: tuple[str, ...] = ()) -> str:
    """Return the reason why a test is not judged outside the box."""
    return with_reasons([FoundTest("test", code, Decimal(1))], before, data)[0].outside


def test_a_test_may_not_delete_what_the_notebook_binds() -> None:
    """A name deleted by a test would remain in the student's box."""
    assert "f" in reason("del f", "def f():\n    x = 1")
    assert not reason("f(1)", "import f")


def read_course(root: Path, *cells: tuple[str, str]) -> dict[str, FoundQuestion]:
    """Return the questions of an nbgrader course of given cells, answers and tests, in order."""
    lines = ["nbgrader"]
    for number, (role, text) in enumerate(cells):
        lines.append(f"%% code {role} {role}{number}{' 1' if role == 'test' else ''}\n{text}")
    assignment = root / "corpus" / "made.txt"
    assignment.parent.mkdir()
    assignment.write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(courses, "CORPUS", assignment.parent)
        courses.load("made").write(root)
    return {one.id: one for one in nbgrader.read_assignment(root, "made").questions}


HIDDEN = "### BEGIN HIDDEN TESTS\na = 5\nassert f(a) == 10\n### END HIDDEN TESTS"
READ_LATER = {
    "a function that the test calls": [("answer", "a = 3\ndef f(x): return a * x"), ("test", HIDDEN)],
    "a function in a class": [
        ("answer", "a = 3\nclass F:\n    def g(self): return a"),
        ("test", HIDDEN),
    ],
    "a lambda": [("answer", "a = 3\nf = lambda x: a * x"), ("test", HIDDEN)],
    "a function that changes it": [
        ("answer", "a = 3\ndef f(x):\n    global a\n    a += x"),
        ("test", HIDDEN),
    ],
    "a later cell": [("answer", "a = 3"), ("test", HIDDEN), ("answer", "b = 2 * a")],
    "a later cell that goes on from it": [("answer", "a = 3"), ("test", HIDDEN), ("given", "a += 1")],
    "a later cell that may not bind it": [
        ("answer", "a = 3\nc = 0"),
        ("test", HIDDEN),
        ("given", "if c:\n    a = 1\nprint(a)"),
    ],
    "a given cell, of a name that only the test binds": [
        ("answer", "f = 1"),
        ("test", HIDDEN),
        ("given", "a"),
    ],
}
NOT_READ = {
    "only the cell before": [("answer", "a = 3\nb = a + 1\ndef f(x): return 2 * x"), ("test", HIDDEN)],
    "a parameter": [("answer", "a = 3\ndef f(a): return 2 * a"), ("test", HIDDEN)],
    "a local variable": [("answer", "a = 3\ndef f(x):\n    a = 2\n    return a * x"), ("test", HIDDEN)],
    "an attribute": [("answer", "a = 3\nclass F:\n    def g(self): return self.a"), ("test", HIDDEN)],
    "bound anew": [("answer", "a = 3"), ("test", HIDDEN), ("answer", "a = 1\nb = a\ndef g(): return a")],
    "a loop": [("answer", "a = 3"), ("test", HIDDEN), ("answer", "for a in range(3):\n    print(a)")],
    "visible lines, which run in the notebook too": [
        ("answer", "a = 3\ndef f(x): return 2 * x"),
        ("test", "a = 5\nassert f(a) == 10"),
        ("answer", "b = a"),
    ],
    "a comprehension of the test": [
        ("answer", "a = 3\ndef f(x): return a * x"),
        ("test", "assert all(f(a) == 3 * a for a in (1, 2))"),
    ],
}


@pytest.mark.parametrize("cells", READ_LATER.values(), ids=READ_LATER)
def test_a_name_that_other_code_reads_may_not_be_bound(cells: list[tuple[str, str]], tmp_path: Path) -> None:
    """The test would bind the name in its own box, where other code cannot read it."""
    test = read_course(tmp_path, *cells)["test1"].tests[0]
    assert test.outside == "it binds a, which other code of the notebook reads"


@pytest.mark.parametrize("cells", NOT_READ.values(), ids=NOT_READ)
def test_a_name_that_no_other_code_reads_may_be_bound(cells: list[tuple[str, str]], tmp_path: Path) -> None:
    """Tests may bind names such as a and x."""
    assert not read_course(tmp_path, *cells)["test1"].tests[0].outside


OWN_NAMES = {
    "a function like one of Python's": (
        "def max(xs): return sorted(xs)[-1]",
        "assert max([1, 2]) == 2",
        ("max",),
    ),
    "several": ("def sum(x): ...\nhash = 3", "assert sum([1]) == 1 and hash == 3", ("hash", "sum")),
    "a class": ("class list: ...", "assert list()", ("list",)),
    "a value like a usual import": ("F = 9.81", "assert F > 9", ("F",)),
    "an import of the answer's": ("from numpy import sum", "assert sum([1]) == 1", ("sum",)),
    "an import under a usual name": ("import numpy as np", "assert np.sum([1]) == 1", ()),
    "type": ("def type(x): return 'text'", "assert type('a') == 'text'", ("type",)),
    "Python's own": ("def f(x): return x", "assert max([f(1)]) == 1", ()),
    "local in a function": ("def f(x):\n    sum = 0\n    return sum", "assert sum([f(1)]) == 0", ()),
    "the test's own": ("def sum(x): ...", "sum = 3\nassert sum == 3", ()),
    "not used": ("def sum(x): ...", "assert True", ()),
}


@pytest.mark.parametrize(("answer", "test", "names"), OWN_NAMES.values(), ids=OWN_NAMES)
def test_names_that_the_notebook_defines_over_others(
    answer: str, test: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    """The rubric lists Python names and imports that the notebook redefines for a test."""
    questions = read_course(tmp_path, ("given", "import numpy as np"), ("answer", answer), ("test", test))
    assert names == questions["test2"].notebook_names


def test_names_that_given_cells_import_are_not_the_students(tmp_path: Path) -> None:
    """Tests import these names themselves, so that students cannot replace them."""
    cells = [("given", "from numpy import sum"), ("answer", "f = [[1]]"), ("test", "assert sum(f, axis=0)")]
    assert () == read_course(tmp_path, *cells)["test2"].notebook_names


def test_names_defined_later_are_not_the_notebooks_yet(tmp_path: Path) -> None:
    """A test before the definition uses Python's built-in name."""
    cells = [("answer", "f = 1"), ("test", "assert max([f]) == 1"), ("answer", "def max(x): return 2")]
    assert () == read_course(tmp_path, *cells)["test1"].notebook_names


def test_a_name_that_the_notebook_binds_after_a_test_is_the_notebooks(tmp_path: Path) -> None:
    """The last binding of a name applies, as in nbgrader's single kernel."""
    cells = [
        ("answer", "f = 1"),
        ("test", "x = y = 2\nassert f == 1"),
        ("answer", "x = 3"),
        ("test", "assert (x, y) == (3, 2)"),
    ]
    assert ("x",) == read_course(tmp_path, *cells)["test3"].notebook_names


def test_files_that_everybody_has_may_be_read() -> None:
    """Tests may read data files, which the judge's box contains, but no other files and write none."""
    data = ("words.txt", "data")
    assert not reason("assert f(open('words.txt').read())", data=data)
    assert not reason("assert os.path.exists('./data/rows.csv')", data=data)
    assert not reason("bank.open('ada', 50)", data=data)
    for code in ("open('mine.txt')", "open('words.txt', 'w')", "open(name)", "Path('mine.txt').exists()"):
        assert "looks at files" in reason(code, data=data), code


def test_functions_and_drawings_are_no_reason() -> None:
    """Tests may pass functions to student code, and check plots in the student's box."""
    assert not reason("assert f(lambda x: x)", "def f(g): ...")
    assert not reason("import matplotlib.pyplot as plt\nassert plt.gca().get_title()", "import pandas")


def test_at_least_85_percent_of_the_corpus_is_judged_outside(tmp_path: Path) -> None:
    """118 of 119 tests are judged outside; the remaining one deletes a student's function."""
    reasons: dict[str, str] = {}
    count = 0
    for name in courses.NAMES:
        assignment = courses.load(name)
        assignment.write(tmp_path / name)
        read = nbgrader.read_assignment if assignment.origin == "nbgrader" else otter.read_assignment
        judged = read(tmp_path / name, name).judged
        count += len(judged)
        reasons |= {f"{name}, {test}": why for test, why in judged.items() if why}
    assert count == 119
    assert reasons == {"series, limit_uses.test": "it deletes a name of the notebook's"}
