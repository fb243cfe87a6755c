"""Answers that attack the box in which checks run, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from autograder.grading.pipeline import Grader
from tests.support.code_course import grade, open_grader

APPLY = '''
from autograder.checking import assert_equal, check, solution

solution(source="""
def apply(f, x):
    return f(f(x))
def total(steps):
    return sum(steps)
""")

@check(points=1, title="Twice")
def twice(student, reference, draw):
    n = draw.integers(2, 90)
    assert_equal(student.apply(lambda x: x * n, 3), 3 * n * n)

@check(points=1, title="Steps")
def steps(student, reference, draw):
    assert_equal(student.total(iter([1, 2, 3])), 6)
'''
ASKED = """
import gc
def apply(f, x=3):
    for one in gc.get_objects():
        if type(one).__name__ == "Callbacks" and id(f) in one._keys:
            return str(one._call({how!r}, one._keys[id(f)], {args}, {{}}))
total = apply
"""
RIGHT = APPLY.split('"""')[1]
HIDE = '''
import numpy as np
from autograder.checking import assert_close, assert_equal, check, solution

solution(source="""
import numpy as np
def hide(x, mask):
    return np.where(mask, 0.0, x)
""")

@check(points=1, title="Hidden")
def hidden(student, reference, draw):
    x = draw.normal(4, 6)
    assert_close(student.hide(x, x > 0), reference.hide(x, x > 0))
'''
PAIR = '''
from autograder.checking import Unclear, Wrong, assert_equal, check, solution

solution(source="""
class Pair:
    def __init__(self, first):
        self.first = first

    def both(self):
        return [self.first, self.first]
""")

@check(points=1, title="Both")
def both(student, reference, draw):
    n = draw.integers(2, 90)
    student.Pair(n)
    assert_equal(student.Pair(n).both(), [n, n])
'''
KINDS = '''
from collections import OrderedDict
from autograder.checking import check, raises, solution

solution(source="""
from collections import OrderedDict
import numpy as np
Table, number = OrderedDict, np.float32
def refuse(error):
    raise error("no")
""")

@check(points=1, title="Of a library")
def of_library(student, reference, draw):
    table = student.Table(a=1)
    assert type(table) is OrderedDict and isinstance(table, student.Table) and isinstance(table, dict)
    assert issubclass(student.Table, dict) and issubclass(student.Table, OrderedDict)
    assert student.Table == OrderedDict and student.Table != dict

@check(points=1, title="Numbers")
def numbers(student, reference, draw):
    import numpy as np
    assert student.number is np.float32 and np.zeros(2, student.number).dtype == np.float32

@check(points=1, title="Exceptions")
def refused(student, reference, draw):
    with raises(KeyError):
        student.refuse(KeyError)
'''
QUESTIONS = {"apply": (2, APPLY), "hide": (1, HIDE), "pair": (1, PAIR), "kinds": (3, KINDS)}
STAND_IN = """
import sys, types
class Pair:
    def __init__(self, first):
        class Again:
            pass
        Again.__qualname__ = Again.__name__ = "{name}"
        Again.__module__ = "{module}"
        made = types.ModuleType("{module}")
        made.{name} = Again
        sys.modules["{module}"] = made
        globals()["Pair"] = Again
"""
RAISED = """
import sys, types
made = types.ModuleType("{module}")
class {name}(Exception):
    pass
{name}.__module__ = "{module}"
{name}.__qualname__ = "{name}"
made.{name} = {name}
sys.modules["{module}"] = made
class Pair:
    def __init__(self, first):
        raise {name}("no")
"""


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    with open_grader(tmp_path_factory.mktemp("course"), QUESTIONS) as opened:
        yield opened


def summarise(grader: Grader, answers: Mapping[str, str]) -> dict[str, str]:
    graded = grade(grader, answers)
    return {
        f"{result.question}.{result.item}": result.status.name
        for result in graded.score.items
        if result.question in answers
    }


@pytest.mark.parametrize(
    ("how", "args"),
    [
        ("__get__", "(x, 1)"),
        ("__class__", "()"),
        ("__reduce__", "()"),
        ("__getattribute__", "('__name__',)"),
        (["call"], "()"),
    ],
)
def test_functions_of_checks_are_only_called_and_iterators_go_on(
    how: object, args: str, grader: Grader
) -> None:
    summary = summarise(grader, {"apply": ASKED.format(how=how, args=args)})
    assert "PASSED" not in summary.values()
    assert summary["apply.twice"] == "NEEDS_REVIEW"


def test_right_answers_pass(grader: Grader) -> None:
    summary = summarise(
        grader, {"apply": RIGHT, "pair": PAIR.split('"""')[1], "kinds": KINDS.split('"""')[1]}
    )
    assert set(summary.values()) == {"PASSED"}, summary


def test_a_library_class_in_the_place_of_a_function_runs_with_the_student(grader: Grader) -> None:
    summary = summarise(grader, {"hide": "import numpy as np\nhide = np.ma.MaskedArray"})
    assert summary == {"hide.hidden": "FAILED"}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *((f"answer_{number}", "Pair") for number in range(4)),
        ("reference.checks.pair", "Wrong"),
        ("lib2to3.__main__", "Pair"),
    ],
)
def test_no_class_of_the_checks_stands_in_for_the_students(module: str, name: str, grader: Grader) -> None:
    summary = summarise(grader, {"pair": STAND_IN.format(module=module, name=name), "apply": RIGHT})
    assert summary["pair.both"] == "FAILED"
    assert summary["apply.twice"] == "PASSED"


@pytest.mark.parametrize(
    ("module", "name"), [("reference.checks.pair", "Wrong"), ("reference.checks.pair", "Unclear")]
)
def test_exceptions_named_as_those_of_checks_are_the_students(module: str, name: str, grader: Grader) -> None:
    summary = summarise(grader, {"pair": RAISED.format(module=module, name=name), "apply": RIGHT})
    assert summary["pair.both"] == "FAILED"
    assert summary["apply.twice"] == "PASSED"
