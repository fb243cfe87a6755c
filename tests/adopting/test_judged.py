"""Which tests are judged outside, over the whole corpus, and why the others are not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from autograder.adopting import nbgrader, otter
from autograder.adopting.found import FoundTest
from autograder.adopting.judged import with_reasons
from tests.adopting import courses


def reason(code: str, *before: str, data: tuple[str, ...] = ()) -> str:
    """Why a test is not judged outside."""
    return with_reasons([FoundTest("test", code, Decimal(1))], before, data)[0].outside


def test_names_of_the_notebook_decide() -> None:
    """What the notebook binds may not be bound or deleted by a test; what only a test binds may."""
    assert reason("f = 3", "def f(): ...") == "it rebinds f"
    assert "f" in reason("del f", "def f():\n    x = 1")
    assert not reason("x = 3", "def f():\n    x = 1")
    assert not reason("f(1)", "import f")


def test_files_that_everybody_has_may_be_read() -> None:
    """They lie in the judge's box as well; others only in the student's, and nothing is written."""
    data = ("words.txt", "data")
    assert not reason("assert f(open('words.txt').read())", data=data)
    assert not reason("assert os.path.exists('./data/rows.csv')", data=data)
    assert not reason("bank.open('ada', 50)", data=data)
    for code in ("open('mine.txt')", "open('words.txt', 'w')", "open(name)", "Path('mine.txt').exists()"):
        assert "looks at files" in reason(code, data=data), code


def test_functions_and_drawings_are_no_reason() -> None:
    """The student's code calls the test's functions, and what is drawn is asked of its box."""
    assert not reason("assert f(lambda x: x)", "def f(g): ...")
    assert not reason("import matplotlib.pyplot as plt\nassert plt.gca().get_title()", "import pandas")


def test_at_least_85_percent_of_the_corpus_is_judged_outside(tmp_path: Path) -> None:
    """118 of 119 tests; the one left deletes a student's function to see whether it is used."""
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
    assert reasons == {"series, limit_uses.test": "it rebinds triangular"}
