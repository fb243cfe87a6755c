"""Test checks of an answer that calls a function of an earlier question: a mistake costs points once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.checking.check_parser import CheckFileError, parse_check_file
from autograder.grading.pipeline import Grader
from tests.support.code_course import grade, open_grader

DOUBLE = """
from autograder.checking import assert_equal, check, solution
solution(source='''
def double(x):
    return 2 * x
''')

@check(points=1, title="Doubled")
def doubled(student, reference, draw):
    assert_equal(student.double(21), 42)
"""
TOTAL = """
from autograder.checking import assert_equal, check, solution
solution(source='''
FACTOR = 2

def double(x):
    return FACTOR * x

def total(numbers):
    return sum(map(double, numbers))
''')

@check(points=2, title="The total", carry="double")
def whole(student, reference, draw):
    numbers = draw.integers(1, 50, 6).tolist()
    assert_equal(student.total(numbers), reference.total(numbers))
"""
WRONG = "def double(x): return x + 2"
TOTAL_BY_DOUBLE = "def total(numbers): return sum(double(n) for n in numbers)"
SPY = (
    "def total(numbers):\n    found = double(1)\n    if found == 2:\n"
    "        print('SEEN', double.__globals__['FACTOR'], 'total' in double.__globals__)\n"
    "    return sum(double(n) for n in numbers)"
)
ANSWERS = {
    "both right": ("def double(x): return x * 2", TOTAL_BY_DOUBLE, ("1 ", "2 ")),
    "the first wrong": (WRONG, TOTAL_BY_DOUBLE, ("0 code.failed", "2 code.carried")),
    "the first raises": ("def double(x): raise KeyError", TOTAL_BY_DOUBLE, ("0 raised", "2 code.carried")),
    "the second wrong": (WRONG, "def total(n): return 1 + double(n[0])", ("0 code.failed", "0 code.failed")),
    "looks at the right one": (WRONG, SPY, ("0 code.failed", "2 code.carried")),
    "the second takes the other's solution": (
        WRONG,
        "def total(numbers): return double.__globals__['total'](numbers)",
        ("0 code.failed", "0 raised"),
    ),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    checks = {"double": (1, DOUBLE), "total": (2, TOTAL)}
    with open_grader(tmp_path_factory.mktemp("carried"), checks) as opened:
        yield opened


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_a_mistake_in_an_earlier_function_costs_once(
    first: str, second: str, expected: tuple[str, str], grader: Grader
) -> None:
    """The solution replaces a wrong earlier function; nothing that student code sees of it is recorded."""
    results = grade(grader, {"double": first, "total": second}).score.items
    assert expected == tuple(f"{result.points.normalize():f} {result.code}" for result in results), results
    assert "SEEN" not in str(results)


REFUSED = {
    "what the question asks for": ("total", "'total' is asked for here"),
    "what is not there": ("triple", "the solution does not define 'triple'"),
}


@pytest.mark.parametrize(("name", "message"), REFUSED.values(), ids=REFUSED)
def test_carry_refuses_names_that_would_give_the_answer_away(name: str, message: str) -> None:
    text = TOTAL.replace('carry="double"', f'carry="{name}"')
    with pytest.raises(CheckFileError, match=message):
        parse_check_file({"reference.checks.total": text}, "total")


def test_carry_refuses_a_function_that_needs_the_answer() -> None:
    text = TOTAL.replace("return FACTOR * x", "return total([x]) if x else FACTOR")
    with pytest.raises(CheckFileError, match="'total' is asked for here, or what it needs is"):
        parse_check_file({"reference.checks.total": text}, "total")
