"""Test that checks with a tolerance do not trust an object of a student's class."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.grading.pipeline import Grader
from tests.questions.general.test_notebook_tests_tolerances import OBJECTS, RIGHT, TOLERANCES
from tests.support.code_course import grade, open_grader

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
OURS = {
    "assert_close": "assert_close(f(2), 4.5)",
    "assert_equal": "assert_equal(f(2), 4.5)",
    "tiered": "tiered(abs(f(2) - 4.5), {1e-6: 1}, lower_is_better=True)",
    "a sum": "assert_close(f(2) + -4.5, 0.0)",
}
CODES = [*TOLERANCES.values(), *OURS.values()]


def write_checks() -> str:
    """Return a file with a check for each tolerance."""
    head = "import numpy as np\nfrom autograder.checking import *\n"
    parts = [f'{head}\nsolution(source="""{RIGHT}\n""")\n']
    for number, code in enumerate(CODES):
        lines = "".join(f"    {line}\n" for line in f"f = student.f\n{code}".splitlines())
        parts.append(
            f'@check(points=1, title="{number}")\ndef t{number}(student, reference, draw):\n{lines}\n'
        )
    return "\n".join(parts)


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return one grader for all objects."""
    checks = {"q": (len(CODES), write_checks())}
    with open_grader(tmp_path_factory.mktemp("tolerances"), checks) as opened:
        yield opened


def list_earned(grader: Grader, source: str) -> list[str]:
    """Return the checks that give points."""
    items = grade(grader, {"q": f"import numpy as np\n{source}"}).score.items
    return [CODES[number] for number, item in enumerate(items) if item.points]


def test_a_number_earns_all_points(grader: Grader) -> None:
    """A plain number passes all checks."""
    assert list_earned(grader, RIGHT) == CODES


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_earn_nothing(grader: Grader, name: str) -> None:
    """An object that is not plain data is never compared by methods of its class."""
    assert list_earned(grader, OBJECTS[name]) == []
