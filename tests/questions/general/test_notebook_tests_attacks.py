"""Attacks on test cells earn nothing: outside they reach no test, inside they are disarmed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.records import CellOutcome, CellTest, Limits
from autograder.questions.base.judging.judgeable import make_changed_forms
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.pool import Pool
from tests.questions.general.cell_attacks import ATTACKS, TESTS
from tests.support.cell_tests import list_earned, run_cell_tests

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
    """Return one sandbox for all attacks."""
    with Pool() as pool:
        yield pool.get_sandbox(Environment(preload=("numpy",)))


def outcomes(sandbox: Sandbox, source: str, *, inside: bool) -> dict[str, CellOutcome]:
    """Return the outcome of each test after a notebook with one answer."""
    tests = {
        name: CellTest(
            name, code, seconds=2, inside=inside, changed=make_changed_forms(code) if inside else ()
        )
        for name, code in TESTS.items()
    }
    limits, imports = Limits(cell_seconds=2, call_seconds=2), "import numpy as np"
    return run_cell_tests(sandbox, [imports, source], tests, limits=limits, imports=[imports])


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_a_right_answer_earns_everything(sandbox: Sandbox, place: str) -> None:
    """A right answer passes the tests that the attacks face."""
    assert [*TESTS] == list_earned(outcomes(sandbox, RIGHT, inside=place == "inside"))


def test_attacks_earn_nothing_outside(sandbox: Sandbox) -> None:
    """Tests outside receive only plain data or handles from the attacking answer."""
    assert len(ATTACKS) >= 40
    earned = {name: list_earned(outcomes(sandbox, source, inside=False)) for name, source in ATTACKS.items()}
    assert {} == {name: tests for name, tests in earned.items() if tests}


def test_attacks_are_disarmed_inside(sandbox: Sandbox) -> None:
    """A disarmed test also passes with other constants, so it needs manual review."""
    outcomes_by_attack = {name: outcomes(sandbox, source, inside=True) for name, source in ATTACKS.items()}
    assert {} == {name: tests for name, one in outcomes_by_attack.items() if (tests := list_earned(one))}
    assert 20 <= sum(any(one.doubt for one in tests.values()) for tests in outcomes_by_attack.values())
