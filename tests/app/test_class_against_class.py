"""Tests of students on solutions of others: real bugs count, and not how code is written."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from autograder.app.class_against_class import (
    ClassAgainstClass,
    Hole,
    class_against_class,
    enter_marks,
    write_page,
)
from autograder.app.stores import open_store
from autograder.assignment import load
from autograder.cli.app import app
from autograder.course import Course
from autograder.errors import CourseError
from autograder.grades import PersonMark
from tests.support.second_course import IN_STEPS, NAME, RIGHT, WRONG, graded, made

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

UNMASKED = RIGHT.replace("if mask is not None", "if False")
GOOD = """
import numpy as np
def weights():
    x = np.array([[1.0, 2.0], [3.0, 3.0]])
    rows = soften(x).sum(axis=-1)
    assert np.allclose(rows, 1.0), rows
    mask = np.array([[True, False], [True, True]])
    assert soften(x, mask)[0, 1] == 0.0
"""
ROWS_ALONE = "import numpy as np\ndef weights(f):\n    assert np.allclose(f(np.ones((2, 3))).sum(-1), 1)\n"
TOO_STRICT = "def weights():\n    assert soften([[0.0, 1000.0]])[0][0] == 7\n"
BY_CHANCE = "import os\ndef weights():\n    assert os.urandom(1)[0] % 8 == 0\n"
READS_CODE = "def weights():\n    assert len(soften.__code__.co_code) < 9\n"
READS_CELLS = "def weights():\n    assert 'sum' in In[1]\n"
INSPECTS = "import inspect\ndef weights():\n    assert 'mask' in inspect.getsource(soften)\n"
REPLACES = """
import numpy as np
def weights():
    soften.seen = 1
    assert np.allclose(soften(np.ones((2, 3))).sum(-1), 1)
"""
COUNTS = """
import os
def weights():
    with open('count', 'a+') as file:
        file.write('x'); file.seek(0)
        assert len(file.read()) % 2
"""
ANSWERS = {
    "ada": (RIGHT, GOOD),
    "bob": (WRONG, ROWS_ALONE),
    "cem": (IN_STEPS, TOO_STRICT),
    "dora": (UNMASKED, BY_CHANCE),
    "eve": (RIGHT + "\n# alike\n", READS_CODE),
    "fay": (RIGHT, READS_CELLS),
    "gus": (RIGHT, INSPECTS),
    "hal": (RIGHT, REPLACES),
    "ian": (RIGHT, COUNTS),
    "jo": (RIGHT, "def weights(:"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The class, graded."""
    course = made(tmp_path_factory.mktemp("class"), ANSWERS)
    graded(course, NAME)
    return course


@pytest.fixture(scope="module")
def found(course: Course) -> ClassAgainstClass:
    """Its tests, run once."""
    with pytest.raises(CourseError, match="no question 'x'"):
        class_against_class(course, NAME, "x", "soften")
    return class_against_class(course, NAME, "weights", "soften", points=Decimal(2))


def test_the_command_prints_what_is_to_be_entered(course: Course) -> None:
    """A line for each test; that the author should look is told by the exit code."""
    arguments = ["tests-against", NAME, "--tests", "weights", "--solutions", "soften", "--csv"]
    shown = CliRunner().invoke(app, [*arguments, "--course", str(course.root), "--points", "2"])
    assert 1 == shown.exit_code
    assert "ada,2,2,2.00," in shown.output.split()


def test_equal_solutions_are_run_once(found: ClassAgainstClass) -> None:
    """Comments and layout do not tell solutions apart."""
    assert (4, 2) == (found.solutions, found.wrong)


def test_points_are_for_real_bugs(found: ClassAgainstClass) -> None:
    """A test that finds both bugs gets all points; one's own wrong solution is no find."""
    points = {one.student: (one.bugs, one.points) for one in found.tests if not one.why}
    assert {"ada": (2, Decimal(2)), "bob": (0, Decimal(0)), "hal": (1, Decimal(1))} == points


@pytest.mark.parametrize(
    ("student", "why"),
    [
        ("cem", "it fails on the answer key"),
        ("dora", "it fails on the answer key"),
        ("eve", "'__code__', which shows how"),
        ("fay", "no part of the question"),
        ("gus", ""),
        ("ian", "it fails on the answer key"),
    ],
)
def test_what_is_no_test_of_behaviour_earns_nothing(found: ClassAgainstClass, student: str, why: str) -> None:
    """Wrong, by chance, by the source, or by keeping count."""
    (told,) = (one for one in found.tests if one.student == student)
    assert why in told.why != ""
    assert Decimal(0) == told.points


def test_a_test_that_cannot_be_read_is_told(found: ClassAgainstClass) -> None:
    """It is no line of the table, so it stands among the remarks."""
    assert ("jo: no test that can be read",) == found.left_out


def test_what_the_key_fails_is_not_run_on_everybody(found: ClassAgainstClass) -> None:
    """Of nine tests six fail on the key, which alone they meet from then on."""
    assert 9 * 5 + 3 * 4 <= found.pairs < 9 * (5 + 4)


def test_a_test_that_always_fails_on_the_key_is_shown(found: ClassAgainstClass) -> None:
    """The rubric's author looks whether it is the test that is wrong."""
    assert ("cem",) in [one.tests for one in found.failing_on_key]
    assert () == found.accepted_but_failing


def test_the_page_shows_code_as_text(course: Course, found: ClassAgainstClass) -> None:
    """Tests that fail on the key and their code, points, and nothing that anybody wrote as markup."""
    hostile = Hole(("eve",), ("bob",), "<b>no</b>", "</pre><script>x()</script>", "assert 0 < 1")
    shown = write_page(course, NAME, replace(found, accepted_but_failing=(hostile,))).read_text()
    assert "</pre><script>x()" not in shown
    assert "&lt;/pre&gt;&lt;script&gt;x()" in shown
    assert "assert soften([[0.0, 1000.0]])[0][0] == 7" in shown
    assert '<th scope="row">ada</th><td class="num" data-label="Bugs">2</td>' in shown


def test_points_become_marks(course: Course, found: ClassAgainstClass) -> None:
    """Again for the whole class they follow; what a person gave stays, and too much is refused."""
    with pytest.raises(CourseError, match=r"worth 2\.00 points, but the cell 1; lower"):
        enter_marks(course, NAME, "weights", found)
    half = replace(found, tests=tuple(replace(one, points=one.points / 2) for one in found.tests))
    first = load(course, NAME)
    with open_store(first, new=False) as store:
        store.give(NAME, "bob", (NAME, "weights"), PersonMark(Decimal("0.25")))
    entered = enter_marks(course, NAME, "weights", half)
    assert [("bob", NAME, "weights")] == list(entered.kept)
    with open_store(first, new=False) as store:
        marks = {student: some[NAME, "weights"].points for student, some in store.marks(NAME).items()}
    given = {one.student: one.points for one in half.tests} | {"bob": Decimal("0.25")}
    assert given == marks
    assert 0 == enter_marks(course, NAME, "weights", half).written


def test_a_class_that_was_not_graded_is_refused(tmp_path: Path) -> None:
    """What the checks say of solutions is what tests are held against."""
    with pytest.raises(CourseError, match="gradebook"):
        class_against_class(made(tmp_path, {"ada": ANSWERS["ada"]}), NAME, "weights", "soften")
