"""A box can be used many times from the same state, and by one judge's box after another."""

from __future__ import annotations

import pytest

from autograder.errors import BoxEnded
from autograder.records import Call, CellTest, Limits, Scenario
from autograder.sandbox.base import BranchingBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.testing import CellTester

pytestmark = pytest.mark.sandbox

COUNTED = "seen = []\ndef total(numbers):\n    seen.append(1)\n    return sum(numbers), len(seen)\n"


def asked(box: BranchingBox) -> object:
    """How often the function was called, as the box says."""
    (answer,) = box.ask([Scenario("s", (Call("total", args=([2],)),))], seconds=5)[0]
    return answer.value


def test_nothing_stays_that_happens_in_a_branch(plain_sandbox: NamespaceSandbox) -> None:
    """After each copy the box is as it was before; what ends the copy in another way ends the box."""
    box = plain_sandbox.open(Limits())
    assert isinstance(box, BranchingBox)
    box.run_cell(COUNTED, seconds=5)
    for _ in range(2):
        box.branch()
        assert [(2, 1), (2, 2)] == [asked(box), asked(box)]
        box.rejoin()
    assert (2, 1) == asked(box)
    box.branch()
    with pytest.raises(BoxEnded):
        box.run_cell("import os; os._exit(3)", seconds=5)
    box.close()


def test_a_judge_meets_nothing_of_the_one_before(plain_sandbox: NamespaceSandbox) -> None:
    """Values that a test handed over are not those of another judge's test that have the same place."""
    student = plain_sandbox.open(Limits())
    student.run_cell(COUNTED, seconds=5)
    for numbers in ([1, 2], [5]):
        tester = CellTester(lambda: plain_sandbox.open(Limits()))
        code = f"numbers = {numbers}\nassert total(numbers)[0] == {sum(numbers)}, total(numbers)"
        outcome = tester.run(CellTest("t", code, shared=False), student)
        tester.close()
        assert (True, "") == (outcome.passed, outcome.message)
    student.close()
