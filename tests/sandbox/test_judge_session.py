"""Tests of one submission: messages between boxes are passed on unread, and hostile replies end a box."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.errors import BoxEnded
from autograder.core.records import CellOutcome, CellTest, Ending, Limits
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.judge_session import CellTester, find_unbound_names
from autograder.sandbox.pool import Pool

LIMITS = Limits(cell_seconds=2, call_seconds=2)
REPLIES = """
import sys
def f(): return 1
def replied(self, tree, arrays): return {tree}, {{}}
sys.modules["autograder.sandbox.inside.remote"].Remote.run_operation = replied
"""
HUGE = """
wire = sys.modules["autograder.sandbox.exchange.wire"]
class Writes:
    def encode(self, message, usual=wire._JSON_OUT.encode): return usual(message).replace('"huge"', "1e999")
wire._JSON_OUT = Writes()
"""
NO_VALUES = {
    "deep": "{'$': 'dict', 'v': [['v', " + 40 * "[" + 40 * "]" + "]]}",
    "very deep": "{'$': 'dict', 'v': [['v', " + 90 * "[" + 90 * "]" + "]]}",
    "unknown tag": "{'$': 'dict', 'v': [['v', {'$': 'whatever', 'type': 'shared', 'v': []}]]}",
    "unknown key": "{'$': 'dict', 'v': [['v', {'$': 'tuple', 'v': [], 'z': 1}]]}",
    "missing array": "{'$': 'dict', 'v': [['v', {'$': 'numpy', 'k': '0'}]]}",
    "no pairs": "{'$': 'dict', 'v': ['v', 1]}",
    "huge": "{'$': 'dict', 'v': [['v', 'huge']]}",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return the shared sandbox."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("numpy",)))


def outcome(sandbox: Sandbox, source: str, code: str) -> CellOutcome:
    """Return the outcome of a test after a notebook with one cell."""
    student = sandbox.open(LIMITS, seed=0)
    tester = CellTester(lambda: sandbox.open(LIMITS, seed=1))
    try:
        student.run_cell(source, seconds=2)
        return tester.run(CellTest("test", code, seconds=2), student)
    finally:
        tester.close()
        student.close()


LARGE = {
    "numbers": (
        "np.zeros(200_000)",
        "over 1 MB were returned; raise reply_mb in [assignment.limits], or let",
    ),
    "text": ("'x' * 5_000_000", "over 4 MB of text were returned; let the test look at less of it"),
    "texts": ("[f'{number:060d}' for number in range(100_000)]", "over 4 MB of text were returned; let the"),
    "parts": (
        "[str(number) for number in range(300_000)]",
        "has over 200000 parts; let the test look at less of it",
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize(("value", "reason"), LARGE.values(), ids=LARGE)
def test_a_large_value_needs_manual_review_and_ends_nothing(
    sandbox: Sandbox, value: str, reason: str
) -> None:
    """The message says what to do, and the student's box is unchanged for the next test."""
    limits = Limits(cell_seconds=2, call_seconds=2, reply_mb=1)
    student = sandbox.open(limits, seed=0)
    tester = CellTester(lambda: sandbox.open(limits, seed=1))
    try:
        student.run_cell(f"import numpy as np\nlarge = {value}\nsmall = 3", seconds=2)
        first = tester.run(CellTest("first", "assert len(large) > 3", seconds=2), student)
        second = tester.run(CellTest("second", "assert small == 3", seconds=2), student)
    finally:
        tester.close()
        student.close()
    assert reason in first.refused
    assert first.ending is None
    assert second.passed


@pytest.mark.sandbox
@pytest.mark.parametrize("how", NO_VALUES)
def test_a_reply_that_is_no_value_ends_the_students_box(sandbox: Sandbox, how: str) -> None:
    """A forged reply earns no points, even if the test expects exceptions."""
    source = REPLIES.format(tree=NO_VALUES[how]) + (HUGE if how == "huge" else "")
    test = "try:\n    f()\nexcept BaseException:\n    pass"
    assert Ending.PROTOCOL == outcome(sandbox, source, test).ending


BYTES = {
    "no tree": 'b""',
    "no JSON": 'b"{"',
    "two trees": """b'1\\n{"$": "dict", "v": []}'""",
    "what would close the request": """b'null]}\\n{"op": "ask", "scenarios": []}'""",
    "no text": 'b"\\xff\\xfe"',
    "too many parts": 'b"[" + b"[]," * 1_000_001 + b"1]"',
}
AS_BYTES = """
import sys
wire = sys.modules["autograder.sandbox.exchange.wire"]
def f(): return 1
if {cell}:
    wire.pack = lambda message, arrays=None: wire.pack_payload(message, wire.Payload({tree}, []))
else:
    wire.make_payload = lambda tree, arrays: wire.Payload({tree}, [])
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("how", BYTES)
def test_bytes_that_are_no_tree_end_the_students_box(sandbox: Sandbox, how: str) -> None:
    """The grader passes them on as the value, and they never become a part of the request."""
    source = AS_BYTES.format(cell=False, tree=BYTES[how])
    test = "try:\n    f()\nexcept BaseException:\n    pass"
    assert Ending.PROTOCOL == outcome(sandbox, source, test).ending


@pytest.mark.sandbox
def test_a_cell_tells_nothing_to_another_box(sandbox: Sandbox) -> None:
    """Neither a cell nor a call can send a message to another box: data after a reply breaks the protocol."""
    student = sandbox.open(LIMITS, seed=0)
    try:
        with pytest.raises(BoxEnded) as ended:
            student.run_cell(AS_BYTES.format(cell=True, tree="b'[]'"), seconds=2)
    finally:
        student.close()
    assert Ending.PROTOCOL == ended.value.ending


@pytest.mark.sandbox
def test_a_reply_without_its_parts_goes_to_a_person(sandbox: Sandbox) -> None:
    """An incomplete reply can be parsed but contains no result, so it needs manual review."""
    told = outcome(sandbox, REPLIES.format(tree="{'$': 'dict', 'v': []}"), "f()")
    assert "could not be read" in told.refused


@pytest.mark.sandbox
@pytest.mark.parametrize("depth", [20, 29, 30, 31, 32, 60])
def test_values_of_any_depth_can_be_judged(sandbox: Sandbox, depth: int) -> None:
    """Values that are too deep for a reply stay in the student's box and can still be tested."""
    source = "def f(n):\n    x = 1\n    for _ in range(n): x = [x]\n    return x"
    test = f"x = f({depth})\nfor _ in range({depth}): x = x[0]\nassert x == 1"
    assert outcome(sandbox, source, test).passed


MODULES = """
import torch
from torch import nn
class Inner(nn.Module):
    c = 5
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 3)
        self._modules["c"] = nn.Linear(2, 4)
        self.__dict__["d"] = 7
        self._modules["d"] = nn.Linear(2, 4)
    def swap(self):
        self.a, self.b = self.b, self.a
class Other(Inner):
    def __getattr__(self, name):
        return 3 if name == "a" else super().__getattr__(name)
"""
OF_MODULES = {
    "children": "m = Inner()\nassert (m.a.out_features, m.b.out_features) == (2, 3)",
    "what stands in front of a child": "m = Inner()\nassert (m.c, m.d) == (5, 7)",
    "another child": "m = Inner()\nm.a\nm.swap()\nassert (m.a.out_features, m.b.out_features) == (3, 2)",
    "a child that the test exchanges": "m = Inner()\nm.a\nm.a = m.b\nassert m.a.out_features == 3",
    "a class that answers itself": "m = Other()\nassert m.a == 3 and m.b.out_features == 3",
}


@pytest.mark.sandbox
@pytest.mark.slow
def test_modules_within_a_module_are_those_that_it_has() -> None:
    """Submodules are announced before they are looked up.

    Attributes of the student's class take precedence.
    """
    with Pool() as pool:
        sandbox = pool.get_sandbox(Environment(preload=("torch",), tests=True))
        found = {about: outcome(sandbox, MODULES, test) for about, test in OF_MODULES.items()}
    assert {} == {about: one for about, one in found.items() if not one.passed}


def test_names_that_a_test_does_not_bind() -> None:
    """Only names that a test does not bind are looked up."""
    code = "import numpy as np\ndef g(x): return x + y\nfor i in z: g(i)\ntry: w\nexcept E as e: print(e)"
    assert ("E", "print", "w", "y", "z") == find_unbound_names(code)
    assert ("f",) == find_unbound_names(">>> f(1)\n2\n", doctests=True)
    assert () == find_unbound_names("def (:")


OBJECTS = """
class EqualToAll:
    def __eq__(self, other): return True
class Long(list):
    def __len__(self): return 3
class True_:
    def __bool__(self): return True
class Honest(list): pass
equal, long, true, honest, number = EqualToAll(), Long(), True_(), Honest([7]), 7
"""


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("code", "doubt"),
    [
        pytest.param(
            "if equal == 42: pass", "EqualToAll.__eq__ says equal to anything", id="equals anything"
        ),
        pytest.param("assert len(long) == 3", "does not hold", id="another length"),
        pytest.param("assert true", "it rests on", id="nothing but its own word"),
    ],
)
def test_test_that_passes_by_the_word_of_a_students_object_is_doubted(
    sandbox: Sandbox, code: str, doubt: str
) -> None:
    """The judge's box gives the reason; the kind `tests` then asks for manual review."""
    found = outcome(sandbox, OBJECTS, code)
    assert found.passed
    assert doubt in found.doubt


@pytest.mark.sandbox
@pytest.mark.parametrize("code", ["assert number == 7", "assert honest == [7] and len(honest) == 1"])
def test_test_that_passes_by_plain_values_is_not_doubted(sandbox: Sandbox, code: str) -> None:
    """Plain values within an object of the student's are not doubted either."""
    found = outcome(sandbox, OBJECTS, code)
    assert (True, "") == (found.passed, found.doubt)


@pytest.mark.sandbox
def test_judge_meets_nothing_of_the_one_before(sandbox: Sandbox) -> None:
    """Values handed over to an earlier judge's test are not visible, even with the same index."""
    student = sandbox.open(LIMITS)
    student.run_cell("def total(numbers):\n    return sum(numbers)", seconds=2)
    for numbers in ([1, 2], [5]):
        tester = CellTester(lambda: sandbox.open(LIMITS))
        code = f"numbers = {numbers}\nassert total(numbers) == {sum(numbers)}, total(numbers)"
        found = tester.run(CellTest("t", code, shared=False), student)
        tester.close()
        assert (True, "") == (found.passed, found.message)
    student.close()
