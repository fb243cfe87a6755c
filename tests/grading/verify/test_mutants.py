"""Test that `verify` reports the mutants of an adopted answer key that its tests do not detect."""

from __future__ import annotations

import pytest

from autograder.app.adoption import adopt_assignments
from autograder.app.preparation import Verification, build_and_verify
from autograder.course import Course
from tests.exchange.adoption import courses

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

SMALL = """nbgrader
%% code answer clipped
def clipped(value, low=0, high=10):
    \"\"\"The value, or the bound that it is beyond.\"\"\"
    ### BEGIN SOLUTION
    if low > high:
        raise ValueError("low is above high")
    if value < low:
        return low
    return high if value > high else value
    ### END SOLUTION
%% code test clipped_test 2
assert clipped(5) == 5
assert clipped(12) == 10
%% code test clipped_refuses 1
assert clipped(1) == 1
try:
    clipped(1, 3, 2)
except ValueError:
    pass
else:
    raise AssertionError("no ValueError")
%% code answer share
### BEGIN SOLUTION
share = sum(map(clipped, [-2, 7, 30])) / 3
### END SOLUTION
%% code test share_test 1
assert round(share, 2) == 5.67
%% code answer forever
def forever(n):
    ### BEGIN SOLUTION
    while n > 0:
        n -= 1
    return n
    ### END SOLUTION
%% code test forever_test 1
assert forever(3) == 0
"""


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Verification:
    """Verify a small adopted nbgrader course."""
    root = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        corpus = tmp_path_factory.mktemp("corpus")
        (corpus / "small.txt").write_text(SMALL, "utf-8")
        patch.setattr(courses, "CORPUS", corpus)
        courses.load("small").write(root)
    adopt_assignments(root)
    return build_and_verify(Course(root), "small")


def test_verify_lists_mutants_that_the_tests_of_a_cell_miss(verified: Verification) -> None:
    """No test of the cell uses a value below the lower bound."""
    cell = verified.mutated[0]
    assert (cell.cell, cell.tests) == ("clipped", ("clipped_test", "clipped_refuses"))
    survivors = {(survivor.line, survivor.after): survivor.elsewhere for survivor in cell.survivors}
    assert survivors[6, "pass"] == ("share_test",)  # another cell's test calls it with such a value
    assert (5, "pass") not in survivors  # the exception is tested
    assert len(survivors) < cell.mutants


def test_verify_decides_about_mutants_that_loop_for_ever(verified: Verification) -> None:
    """Without ``n -= 1`` the function never returns, so its test fails with a timeout."""
    cell = verified.mutated[-1]
    assert cell.cell == "forever"
    assert not any(survivor.before == "n -= 1" for survivor in cell.survivors)


def test_verify_of_an_adopted_assignment_has_no_other_findings(verified: Verification) -> None:
    assert verified.findings == ()
    assert verified.matrices == ()
