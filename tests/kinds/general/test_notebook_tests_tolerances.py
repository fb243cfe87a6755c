"""Objects that say of themselves what a tolerance wants to hear earn nothing unseen."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import pytest

from autograder.checks.judging.judgeable import imports_of
from autograder.records import Cell, CellOutcome, CellTest, Limits
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.session import Session
from autograder.sandbox.testing import CellTester, Key, visit
from autograder.sandbox.timeouts import Timeouts

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
TOLERANCES = {
    "absolute difference": "assert abs(f(2) - 4.5) < 1e-6",
    "difference the other way round": "assert abs(4.5 - f(2)) < 1e-6",
    "relative difference": "assert abs(f(2) / 4.5 - 1) < 1e-6",
    "between two bounds": "assert 4.5 - 1e-6 < f(2) < 4.5 + 1e-6",
    "at most": "assert f(2) <= 4.5 and f(2) >= 4.5",
    "allclose": "assert np.allclose(f(2), 4.5)",
    "isclose": "assert np.isclose(f(2), 4.5)",
    "norm": "assert np.linalg.norm(f(2) - np.array([4.5])) < 1e-6",
    "unittest": "import unittest\nunittest.TestCase().assertAlmostEqual(f(2), 4.5)",
    "beside plain values": "assert f(0) == 0.5\nassert abs(f(2) - 4.5) < 1e-6",
    "in place": "x = f(2)\nx -= 4.5\nassert abs(x) < 1e-6",
    "squared": "assert (f(2) - 4.5) ** 2 < 1e-6",
}
RIGHT = "import numpy as np\ndef f(x): return 2.0 * x + 0.5"
_ODD = "class Odd:\n    {}\ndef f(x): return Odd() if x else 0.5"
_ALL = (
    "__sub__ = __rsub__ = __isub__ = __truediv__ = __rtruediv__ = __abs__ = __pow__ = lambda s, *o: {}\n"
    "    __lt__ = __gt__ = __le__ = __ge__ = lambda s, o: True"
)
OBJECTS = {
    "the difference is 0": _ODD.format("__sub__ = __rsub__ = __isub__ = lambda s, o: 0"),
    "the difference is an array of zeros": _ODD.format("__sub__ = __rsub__ = lambda s, o: np.zeros(1)"),
    "less and greater than anything": _ODD.format("__lt__ = __gt__ = __le__ = __ge__ = lambda s, o: True"),
    "all operators give 0": _ODD.format(_ALL.format("0")),
    "all operators give itself": _ODD.format(_ALL.format("s")),
    "it keeps what it is compared with": _ODD.format(
        "def __rsub__(s, o): s.v = o; return 0.0\n    __sub__ = __isub__ = __rsub__\n"
        "    __float__ = lambda s: s.v"
    ),
    "a list of such": (
        "class Odd:\n    __sub__ = __rsub__ = lambda s, o: 0\ndef f(x): return [Odd()] if x else 0.5"
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all of them."""
    with Pool() as pool:
        yield pool.sandbox(Environment(preload=("numpy",), tests=True))


def run_tests(sandbox: Sandbox, source: str, codes: Mapping[str, str] = TOLERANCES) -> dict[str, CellOutcome]:
    """Return what came of each test after a notebook of one answer."""
    limits = Limits(cell_seconds=5, call_seconds=5)
    found: dict[Key, CellOutcome] = {}
    runner = CellTester(functools.partial(sandbox.open, limits, seed=1), imports_of(["import numpy as np"]))
    tests = {("q", name): CellTest(name, code, seconds=5) for name, code in codes.items()}
    cells = [Cell("import numpy as np"), Cell(source)]
    with Session(sandbox, cells, limits, visits={2: visit(runner, tests, found, Timeouts())}) as session:
        session.run()
    runner.close()
    return {name: outcome for (_, name), outcome in found.items()}


def list_earned(outcomes: dict[str, CellOutcome]) -> list[str]:
    """Return the tests that give points without a person having looked."""
    return [name for name, one in outcomes.items() if one.passed and not one.doubt]


def test_tolerances_pass_for_a_number(sandbox: Sandbox) -> None:
    """The tests are fair: a right answer earns each of them."""
    assert [*TOLERANCES] == list_earned(run_tests(sandbox, RIGHT))


@pytest.mark.parametrize("name", OBJECTS)
def test_tolerances_do_not_believe_an_object(sandbox: Sandbox, name: str) -> None:
    """What a student's class says of itself and a value of the test is never full marks."""
    assert [] == list_earned(run_tests(sandbox, OBJECTS[name]))


SUMS = """
class Vector:
    def __init__(self, data): self.data = list(data)
    def __add__(self, other): return Vector(one + other for one in self.data)
    __radd__ = __add__
    def __mul__(self, other): return Vector(one * other for one in self.data)
    def __sub__(self, other): return Vector(a - b for a, b in zip(self.data, other.data))
"""
OPERATORS = {
    "a sum": "assert (Vector([1, 2]) + 1).data == [2, 3]",
    "a sum the other way round": "assert (1 + Vector([1, 2])).data == [2, 3]",
    "a product": "assert (Vector([1, 2]) * 2).data == [2, 4]",
    "a difference of two": "assert (Vector([1, 2]) - Vector([1, 1])).data == [0, 1]",
}


def test_operators_of_a_class_are_tested_as_ever(sandbox: Sandbox) -> None:
    """What a student's operator gives is seen by the test and compared there."""
    assert [*OPERATORS] == list_earned(run_tests(sandbox, SUMS, OPERATORS))
