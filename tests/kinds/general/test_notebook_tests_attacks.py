"""Attacks on test cells earn nothing: outside they meet no test, inside they are disarmed."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from autograder.core.records import Cell, CellOutcome, CellTest, Limits
from autograder.questions.base.judging.judgeable import list_imports, make_changed_forms
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.session import Session
from autograder.sandbox.testing import CellTester, Key, create_visit
from autograder.sandbox.timeouts import Timeouts
from tests.kinds.general.cell_attacks import ATTACKS, TESTS

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
RIGHT = """
import numpy as np
def squares(n): return [i * i for i in range(1, n + 1)]
def scaled(x): return 3 * x
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x)
    def pop(self): return self.items.pop()
total = 55
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all attacks."""
    with Pool() as pool:
        yield pool.sandbox(Environment(preload=("numpy",)))


def outcomes(sandbox: Sandbox, source: str, *, inside: bool) -> dict[str, CellOutcome]:
    """What came of each test after a notebook of one answer."""
    limits = Limits(cell_seconds=2, call_seconds=2)
    found: dict[Key, CellOutcome] = {}
    opened = functools.partial(sandbox.open, limits, seed=1)
    runner = CellTester(opened, list_imports(["import numpy as np"]))
    tests = {
        ("q", name): CellTest(
            name, code, seconds=2, inside=inside, changed=make_changed_forms(code) if inside else ()
        )
        for name, code in TESTS.items()
    }
    cells = [Cell("import numpy as np"), Cell(source)]
    with Session(
        sandbox, cells, limits, visits={2: create_visit(runner, tests, found, Timeouts())}
    ) as session:
        session.run()
    runner.close()
    return {name: outcome for (_, name), outcome in found.items()}


def earned(found: dict[str, CellOutcome]) -> list[str]:
    """The tests that give points."""
    return [name for name, one in found.items() if one.passed and not one.doubt and one.value is None]


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_a_right_answer_earns_everything(sandbox: Sandbox, place: str) -> None:
    """The tests that the attacks meet are fair."""
    assert [*TESTS] == earned(outcomes(sandbox, RIGHT, inside=place == "inside"))


def test_attacks_earn_nothing_outside(sandbox: Sandbox) -> None:
    """No test runs where the attack is, and what it answers is plain data or a handle."""
    assert len(ATTACKS) >= 40
    found = {name: earned(outcomes(sandbox, source, inside=False)) for name, source in ATTACKS.items()}
    assert {} == {name: tests for name, tests in found.items() if tests}


def test_attacks_are_disarmed_inside(sandbox: Sandbox) -> None:
    """A test that was disarmed passes with other constants as well, and goes to a person."""
    found = {name: outcomes(sandbox, source, inside=True) for name, source in ATTACKS.items()}
    assert {} == {name: tests for name, one in found.items() if (tests := earned(one))}
    assert 20 <= sum(any(one.doubt for one in tests.values()) for tests in found.values())
