"""Answers that reach for the box in which checks run, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from autograder.assignment import load
from autograder.grading.pipeline import Grader
from autograder.sandbox.pool import Pool
from tests.support.code_course import NAME, code_course, grade

APPLY = '''
from autograder.checking import assert_equal, check, solution

solution(source="""
def apply(f, x):
    return f(f(x))
""")

@check(points=1, title="Twice")
def twice(student, reference, draw):
    n = draw.integers(2, 90)
    assert_equal(student.apply(lambda x: x * n, 3), 3 * n * n)

@check(points=1, title="Of two numbers")
def count(student, reference, draw):
    assert_equal(student.apply(iter([1, 2, 3]).__next__, 3), 3)
'''
ASKED = """
import gc
def apply(f, x):
    for one in gc.get_objects():
        if type(one).__name__ == "Callbacks" and id(f) in one._keys:
            return str(one._call("{how}", one._keys[id(f)], {args}, {{}}))
"""
QUESTIONS = {"apply": (2, APPLY)}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    course = code_course(tmp_path_factory.mktemp("course"), QUESTIONS)
    with Pool() as pool:
        yield Grader(load(course, NAME), pool)


def summarise(grader: Grader, answers: Mapping[str, str]) -> dict[str, str]:
    graded = grade(grader, answers)
    return {
        f"{one.question}.{one.item}": one.status.name
        for one in graded.score.items
        if one.question in answers
    }


@pytest.mark.parametrize(
    ("how", "args"),
    [
        ("__get__", "(x, 1)"),
        ("__class__", "()"),
        ("__getattribute__", "('__name__',)"),
        ("next", "()"),
        ("send", "(1,)"),
    ],
)
def test_functions_of_checks_can_only_be_called(how: str, args: str, grader: Grader) -> None:
    found = summarise(grader, {"apply": ASKED.format(how=how, args=args)})
    assert set(found.values()) == {"NEEDS_REVIEW"}
