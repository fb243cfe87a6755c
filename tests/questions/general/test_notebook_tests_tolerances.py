"""Test that objects which claim to be within a tolerance earn nothing without review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from autograder.core.records import CellOutcome, CellTest, Limits
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from tests.support.cell_tests import list_earned, run_cell_tests

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
    "sum with the negative": "assert abs(f(2) + -4.5) < 1e-6",
    "sum of a list": "assert abs(sum([f(2), -4.5])) < 1e-6",
    "quotient by a product": "assert abs(f(2) * (1 / 4.5) - 1) < 1e-6",
    "rounded": "assert round(f(2), 3) == 4.5",
    "formatted": "assert f'{f(2):.1f}' == '4.5'",
    "text": "assert str(f(2)) == '4.5' and repr(f(2)) == '4.5'",
    "float": "import math\nassert abs(float(f(2)) - 4.5) < 1e-6 and math.isclose(f(2), 4.5)",
    "whole number": "assert int(f(2)) == 4",
    "array": "assert abs(np.asarray(f(2)) - 4.5).max() < 1e-6",
    "array equal": "assert np.array_equal(f(2), 4.5)",
    "numpy's testing": "np.testing.assert_almost_equal(np.float64(4.5), f(2))",
    "approx": "import pytest\nassert f(2) == pytest.approx(4.5)",
    "member of a list": "assert f(0) == 0.5\nassert f(2) in [4.5]",
    "member of a set": "assert f(0) == 0.5\nassert f(2) in {4.5}",
    "key": "assert {4.5: 1}.get(f(2)) == 1",
    "equal": "assert f(0) == 0.5\nassert f(2) == 4.5 and not f(2) != 4.5",
    "greatest and least": "assert max(f(2), 4.4) < 4.6 and min(f(2), 4.6) > 4.4",
    "quotient and remainder": "assert divmod(f(2), 4.5) == (1, 0)",
    "a number, and near": "assert isinstance(f(2), float) and abs(f(2) - 4.5) < 1e-6",
    "method of its class": "assert f(0) == 0.5\nassert f(2).__eq__(4.5) and not f(2).__sub__(4.5)",
    "distance": "import math\nassert math.dist([f(2)], [4.5]) < 1e-6",
    "pattern": "match f(2):\n    case 4.5: pass\n    case _: raise AssertionError",
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

_EVERYTHING = """
import collections, decimal, fractions, functools, weakref
import numpy as np
def true(s, *o, **k): return True
def zero(s, *o, **k): return 0
zeros = ["abs", "neg", "pos", "round", "trunc", "floor", "ceil", "index", "int", "invert"]
for name in "add sub mul truediv floordiv mod pow matmul divmod and or xor".split():
    zeros += [name, f"r{name}", f"i{name}"]
body = {f"__{name}__": zero for name in zeros}
body |= {f"__{name}__": true for name in "eq lt le gt ge bool contains".split()}
body |= {
    "__ne__": lambda s, o: False, "__float__": lambda s: 0.0, "__len__": lambda s: 1,
    "__hash__": lambda s: hash(4.5), "__getitem__": lambda s, i: s, "__iter__": lambda s: iter([s]),
    "__format__": lambda s, f: "0", "__str__": lambda s: "0", "__repr__": lambda s: "0",
    "__array__": lambda s, *a, **k: np.zeros(()), "item": lambda s: s, "value": property(lambda s: s),
}
"""
_HIDDEN = """
def lie(s, n):
    if n.startswith("__"): raise AttributeError(n)
    return lambda *a, **k: True
body["__getattr__"] = lie
"""


def derive(base: str, made: str) -> str:
    """Return an answer that creates an object of a class whose comparisons are always true."""
    return (
        f"{_EVERYTHING}{_HIDDEN}Odd = type('Odd', ({base},), body)\ndef f(x): return {made} if x else 0.5\n"
    )


OBJECTS |= {
    "all of it": derive("object", "Odd()"),
    "a float": derive("float", "Odd(1)"),
    "an int": derive("int", "Odd(1)"),
    "a complex number": derive("complex", "Odd(1)"),
    "a text": derive("str", "Odd('x')"),
    "a list": derive("list", "Odd([1])"),
    "a tuple": derive("tuple", "Odd([1])"),
    "a dictionary": derive("dict", "Odd(a=1)"),
    "a set": derive("set", "Odd([1])"),
    "an array": derive("np.ndarray", "np.ones(1).view(Odd)"),
    "a number of numpy's": derive("np.float64", "Odd(1)"),
    "a named tuple": derive("collections.namedtuple('P', 'v')", "Odd(1)"),
    "a UserList": derive("collections.UserList", "Odd([1])"),
    "a fraction": derive("fractions.Fraction", "Odd(1)"),
    "a decimal number": derive("decimal.Decimal", "Odd(1)"),
    "an exception": derive("Exception", "Odd(1)"),
    "a weak proxy": derive("object", "weakref.proxy(kept)").replace("def f", "kept = Odd()\ndef f"),
    "a class with such a metaclass": (
        f"{_EVERYTHING}class Meta(type): pass\nfor name, one in body.items():\n"
        "    if name != '__hash__': setattr(Meta, name, one)\nMeta.__hash__ = type.__hash__\n"
        "class Odd(metaclass=Meta): pass\ndef f(x): return Odd if x else 0.5\n"
    ),
    "the function is a class": (
        f"{_EVERYTHING}{_HIDDEN}Odd = type('Odd', (), body)\nclass f(Odd):\n"
        "    def __new__(cls, x): return object.__new__(cls) if x else 0.5\n"
        "    def __init__(self, x): pass\n"
    ),
    "a total order": (
        f"{_EVERYTHING}@functools.total_ordering\nclass Odd:\n    __eq__ = __lt__ = true\n"
        "    __hash__ = None\n    __sub__ = __rsub__ = __abs__ = lambda s, *o: s\n"
        "def f(x): return Odd() if x else 0.5\n"
    ),
    "a mock that equals anything": ("from unittest.mock import ANY\ndef f(x): return ANY if x else 0.5\n"),
    "it keeps what a test tells, for the next one": (
        "class Odd:\n    kept = 0\n    def take(s, o, *r):\n"
        "        if isinstance(o, (int, float)): Odd.kept = abs(o)\n        return 0\n"
        "    __rsub__ = __sub__ = __truediv__ = __rtruediv__ = __lt__ = __gt__ = __eq__ = take\n"
        "    __le__ = __ge__ = __contains__ = equals = take\n    __float__ = lambda s: float(Odd.kept)\n"
        "    __repr__ = lambda s: str(Odd.kept)\n    __hash__ = lambda s: 1\n"
        "def f(x): return (Odd.kept or Odd()) if x else 0.5\n"
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return one sandbox for all tests."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("numpy",), tests=True))


def run_tests(sandbox: Sandbox, source: str, codes: Mapping[str, str] = TOLERANCES) -> dict[str, CellOutcome]:
    """Return the outcome of each test after a notebook with one answer."""
    limits, imports = Limits(cell_seconds=5, call_seconds=5), "import numpy as np"
    tests = {name: CellTest(name, code, seconds=5) for name, code in codes.items()}
    return run_cell_tests(sandbox, [imports, source], tests, limits=limits, imports=[imports])


def test_tolerances_pass_for_a_number(sandbox: Sandbox) -> None:
    """A right answer passes each of the tests."""
    assert [*TOLERANCES] == list_earned(run_tests(sandbox, RIGHT))


@pytest.mark.parametrize("name", OBJECTS)
def test_tolerances_do_not_believe_an_object(sandbox: Sandbox, name: str) -> None:
    """Comparisons defined by a student's class never earn full marks."""
    assert [] == list_earned(run_tests(sandbox, OBJECTS[name]))


SUMS = """
class Vector:
    def __init__(self, data): self.data = list(data)
    def __add__(self, other): return Vector(one + other for one in self.data)
    __radd__ = __add__
    def __mul__(self, other): return Vector(one * other for one in self.data)
    def __sub__(self, other): return Vector(a - b for a, b in zip(self.data, other.data))
"""
METHODS = {
    name: f"assert f(0) == 0.5\nassert f(2){code}"
    for name, code in {
        "contains": ".__contains__(4.5)",
        "isclose": ".isclose(4.5)",
        "allclose": ".allclose(np.array([4.5]), atol=1e-6)",
        "equals": ".equals(other=4.5)",
        "startswith": ".startswith('4.5')",
        "sub": ".sub(4.5) == 0",
    }.items()
} | {"in": "assert f(0) == 0.5\nassert 4.5 in f(2)", "masked": "assert (f(2) * np.zeros(3)) == 0"}


@pytest.mark.parametrize("name", ["all of it", "a list", "a named tuple", "the function is a class"])
def test_methods_that_compare_are_believed_no_more_than_operators(sandbox: Sandbox, name: str) -> None:
    """Expected values are not passed to methods of student code, whatever their names."""
    test_outcomes = run_tests(sandbox, OBJECTS[name], METHODS)
    assert [] == list_earned(test_outcomes)
    assert [] == [
        name
        for name, outcome in test_outcomes.items()
        if not (outcome.refused or outcome.error or outcome.doubt)
    ]


OPERATORS = {
    "a sum": "assert (Vector([1, 2]) + 1).data == [2, 3]",
    "a sum the other way round": "assert (1 + Vector([1, 2])).data == [2, 3]",
    "a product": "assert (Vector([1, 2]) * 2).data == [2, 4]",
    "a difference of two": "assert (Vector([1, 2]) - Vector([1, 1])).data == [0, 1]",
}


def test_operators_of_a_class_are_tested_as_ever(sandbox: Sandbox) -> None:
    """The result of a student's operator is still compared by the test."""
    assert [*OPERATORS] == list_earned(run_tests(sandbox, SUMS, OPERATORS))
