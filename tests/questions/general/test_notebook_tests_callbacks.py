# ruff: noqa: E501 - attacks are read line by line
"""Test student code that gets a function of a test: it can call it, but not reach the judge's box."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.records import CellOutcome, CellTest, Limits
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from tests.support.cell_tests import list_earned, run_cell_tests

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
TESTS = {
    "function": "secret, seen = 41, []\ndef plus(x):\n    seen.append(x)\n    return x + 1\n"
    "assert use(plus, secret) == 42 and seen == [41]",
    "iterator": "assert use(iter([3, 4]), None) == [3, 4]",
    "optimizer": "import random\nrng = random.Random(7)\nassert use(rng, None) == random.Random(7).random()",
    "context": "with guard() as held:\n    assert held == 5",
}
"""Each test requires one right value."""
RIGHT = """
import random, contextlib
def use(one, x):
    if isinstance(one, random.Random): return one.random()
    return one(x) if callable(one) else list(one)
@contextlib.contextmanager
def guard(): yield 5
"""
_GUARD = """
class guard:
    def __enter__(self): return {held}
    def __exit__(self, *told):
        {left}
        return True
"""


def _use(body: str, guard: str = _GUARD.format(held="0", left="pass")) -> str:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"import sys, os, gc, threading\ndef use(one, x):\n{lines}\n{guard}"


ATTACKS = {
    "globals of the function": _use("return one.__globals__['secret'] + 1"),
    "its code replaced": _use("one.__code__ = (lambda x: 42).__code__\nreturn one(x)"),
    "what it closes over": _use("asked = one.__closure__[0].cell_contents\nreturn asked(('x',), {})"),
    "any key": _use("""
asked = one.__closure__[0].cell_contents
call = asked.func.__self__._call
for key in [f'own-{n}' for n in range(50)] + ['', '__class__', 'own--1', None, 'exit']:
    for how in ('call', 'next', 'get', '__getattribute__', 'exec'):
        try: call(how, key, ('x',), {})
        except Exception: pass
return 42"""),
    "operations of the other side": _use("""
asked = one.__closure__[0].cell_contents
remote = asked.func.__self__._call.__self__
for tree in ({'ask': ['name', ['secret'], {}, {}, 0]}, {'done': {'value': None}}, {'v': 42}, {'raised': []}):
    try: remote._further(({'$': 'dict', 'v': [[k, v] for k, v in tree.items()]}, {}), 1)
    except Exception: pass
return 42"""),
    "a function that never ends": _use("while True: one(0)"),
    "called from everywhere": _use("""
out = []
ts = [threading.Thread(target=lambda: out.append(one(41))) for _ in range(5)]
[t.start() for t in ts]; [t.join() for t in ts]
return out[0]"""),
    "called by a child": _use("""
if os.fork() == 0:
    try: one(41)
    finally: os._exit(0)
os.wait()
return 42"""),
    "one inside the other": _use("return one(Deep(one))")
    + "\nclass Deep:\n    def __init__(self, f): self.f = f\n    def __add__(self, o): return self.f(self)\n",
    "an argument that adds up": _use("return one(Odd(41))")
    + "\nclass Odd(int):\n    def __add__(self, o): return Odd(42)\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\n",
    "a result that equals all": _use("one(41)\nreturn Odd()")
    + "\nclass Odd:\n    def __eq__(self, o): return True\n    def __next__(self): return self\n    def __iter__(self): return self\n",
    "its own exception as the end": _use("raise SystemExit(0)"),
    "the test's assertion suppressed": _use("return 0", _GUARD.format(held="0", left="pass")),
    "the box is ended": _use(
        "one(41) if callable(one) else None\nos._exit(0)", _GUARD.format(held="os._exit(0)", left="pass")
    ),
    "too much is handed over": _use("one([0] * 10**7)\nreturn 42"),
    "classes of the test's exceptions": _use("""
try: one('text')
except BaseException as error:
    for kind in type(error).__mro__:
        try: kind.__init__ = lambda *a: None; kind.__eq__ = lambda *a: True
        except TypeError: pass
    raise
return 42"""),
    "a list that says one thing and holds another": _use("return Odd([0, 1])")
    + "\nclass Odd(list):\n    def __eq__(self, o): return True\n    def __iter__(self): return iter([3, 4])\n",
    "the seed of the test": _use(
        "one.seed(1) if hasattr(one, 'seed') else None\nreturn one.random() if hasattr(one, 'random') else 0"
    ),
    "the reply is made up": _use("os.write(4, b'AG' + bytes(100))\nreturn 42"),
    "what is told ahead": _use("return 0")
    + "\nclass Meta(type):\n    def __getattribute__(k, n): return object.__getattribute__\nclass Odd(metaclass=Meta): pass\nuse = Odd()\n",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return one sandbox for all attacks."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("numpy",)))


def outcomes(sandbox: Sandbox, source: str) -> dict[str, CellOutcome]:
    """Return the outcome of each test."""
    tests = {name: CellTest(name, code, seconds=1) for name, code in TESTS.items()}
    return run_cell_tests(sandbox, [source], tests, limits=Limits(cell_seconds=2, call_seconds=2))


def test_a_right_answer_earns_everything(sandbox: Sandbox) -> None:
    """A right answer passes the tests that the attacks face."""
    assert [*TESTS] == list_earned(outcomes(sandbox, RIGHT))


HONEST = {"an argument that adds up": ["function"]}
"""Student code receives plain data from the test, so this answer is right."""


def test_attacks_earn_nothing(sandbox: Sandbox) -> None:
    """Unknown keys, messages out of turn and false arguments earn nothing."""
    assert len(ATTACKS) >= 20
    earned = {name: list_earned(outcomes(sandbox, source)) for name, source in ATTACKS.items()}
    assert HONEST == {name: tests for name, tests in earned.items() if tests}


def test_a_function_is_forgotten_when_its_test_is_over(sandbox: Sandbox) -> None:
    """A stored function of a test cannot be called in a later cell or answered by another test."""
    kept = "kept = []\ndef use(one, x):\n    kept.append(one)\n    return 42\n"
    late = "try:\n    kept[0](1)\n    late = 'called'\nexcept RuntimeError:\n    late = 'over'"
    first = {"keeps": CellTest("keeps", "assert use(lambda x: x, 1) == 42")}
    second = {"late": CellTest("late", "assert late == 'over'")}
    test_outcomes = run_cell_tests(sandbox, [kept, late], first, second)
    assert [True, True] == [outcome.passed for outcome in test_outcomes.values()]


def test_a_test_that_cannot_go_on_leaves_the_notebook_in_order(sandbox: Sandbox) -> None:
    """A test that is stopped during a callback leaves later cells and tests intact."""
    kept = (
        "def use(one, x):\n    for _ in range(3):\n        try: one(x)\n        except BaseException: pass\n"
        "    return 42\n"
    )
    refused = "class Own: pass\ndef ask(x):\n    use(Own(), 1)\nuse(ask, 1)"
    first = {"refused": CellTest("refused", refused)}
    second = {"after": CellTest("after", "assert use(lambda x: x, 1) == 42 and y == 3")}
    test_outcomes = run_cell_tests(sandbox, [kept, "y = 3"], first, second)
    assert "of its own" in test_outcomes["refused"].refused
    assert test_outcomes["after"].passed, test_outcomes["after"]


DEPTHS = {20: 6765, 300: 0}


def test_deep_recursion_waits_for_a_person(sandbox: Sandbox) -> None:
    """Deep recursion across both boxes needs manual review instead of failing a right answer."""
    source = (
        "def use(one, x=0):\n    known = {}\n    def asked(n):\n        if n not in known:\n"
        "            known[n] = one(n)\n        return known[n]\n    return asked\n"
    )
    code = "@use\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nassert fib({}) == {}"
    tests = {str(depth): CellTest("deep", code.format(depth, value)) for depth, value in DEPTHS.items()}
    shallow, deep = run_cell_tests(sandbox, [source], tests).values()
    assert shallow.passed
    assert (False, "it calls its own functions more than 150 deep") == (deep.passed, deep.refused)


def test_a_test_in_the_students_box_leaves_the_others_alone(sandbox: Sandbox) -> None:
    """A test that runs in the student's box leaves values of the other tests unchanged."""
    tests = {
        "before": CellTest("before", "a = use([1, 2])\nassert a == [2, 4]"),
        "inside": CellTest("inside", "assert use([3]) == [6]", inside=True),
        "after": CellTest("after", "b = use([5, 6])\nassert b == [10, 12] and a == [2, 4]"),
    }
    test_outcomes = run_cell_tests(sandbox, ["def use(x): return [2 * one for one in x]"], tests)
    assert [True] * 3 == [outcome.passed for outcome in test_outcomes.values()], test_outcomes


def test_sleeping_between_calls_has_an_end(sandbox: Sandbox) -> None:
    """All calls of a test's function share one time limit."""
    source = "import time\ndef use(one, x):\n    while True:\n        time.sleep(0.3)\n        one(x)\n"
    tests = {"slow": CellTest("slow", "use(lambda x: x, 1)", seconds=1)}
    assert not run_cell_tests(sandbox, [source], tests)["slow"].passed


def test_a_handed_over_function_looks_as_it_is(sandbox: Sandbox) -> None:
    """A passed function keeps its parameters and defaults; generators accept sent values."""
    source = (
        "import inspect\n"
        "def curry(one):\n    many = len(inspect.signature(one).parameters)\n"
        "    def rest(got):\n"
        "        return one(*got) if len(got) == many else lambda x: rest([*got, x])\n"
        "    return rest([])\n"
        "def named(one): return one(1, c=5)\n"
        "def drive(gen):\n    next(gen)\n    found = gen.send(5)\n    gen.close()\n    return found\n"
    )
    tests = {
        "curry": "assert curry(lambda a, b, c: a + b + c)(1)(2)(3) == 6",
        "named": "def own(a, /, b=2, *, c, d='x', **more): return [a, b, c, d]\nassert named(own) == [1, 2, 5, 'x']",
        "unplain": "def own(a, b=[7], *, c): return [a, b, c]\nassert named(own) == [1, [7], 5]",
        "drive": "def gen():\n    x = yield 1\n    yield 2 * x\nassert drive(gen()) == 10",
    }
    cell_tests = {name: CellTest(name, code) for name, code in tests.items()}
    test_outcomes = run_cell_tests(sandbox, [source], cell_tests)
    assert [True] * len(tests) == [outcome.passed for outcome in test_outcomes.values()], test_outcomes
