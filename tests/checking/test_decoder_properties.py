"""Test the exam's decoder: right repairs earn full marks, and each remaining fault costs its item."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.checking.runner import CheckProgram
from autograder.core.records import Status
from benchmarks.repair import judge_case
from tests.support.repair_variants import CHECKS, ROOT, Case, catalogue, held, rating, subsets
from tests.support.thorough import sample

RIGHT = [case for case in (*catalogue(), *held()) if not case.loses]
WRONG = [case for case in catalogue() if case.loses and case.group in ("rewritten", "wrong")]


@pytest.fixture(scope="module")
def program() -> Iterator[CheckProgram]:
    """Return the checks of the decoder."""
    found = CheckProgram(CHECKS, str(ROOT))
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.parametrize("case", sample(list(subsets()), 20), ids=lambda case: case.name)
def test_every_set_of_faults_is_told_exactly(program: CheckProgram, case: Case) -> None:
    """No property is misled by other faults."""
    assert rating(case, judge_case(program, case, "try")) == ("exact", [])


@pytest.mark.slow
@pytest.mark.parametrize("case", sample(RIGHT, 30), ids=lambda case: f"{case.group}: {case.name}")
def test_right_repair_loses_nothing(program: CheckProgram, case: Case) -> None:
    """A right repair in usual words earns full marks; an unusual design may need manual review."""
    results = judge_case(program, case, "try")
    failed = {name for name, result in results.items() if result.status is Status.FAILED}
    if not case.group.endswith("odd"):  # our judgement and the author's differ there
        assert failed <= set(case.open)
    if case.group in ("accepted", "idioms", "rewritten"):
        assert rating(case, results) == ("exact", [])


@pytest.mark.slow
@pytest.mark.parametrize("case", sample(WRONG, 20), ids=lambda case: f"{case.group}: {case.name}")
def test_wrong_repair_loses_no_other_item(program: CheckProgram, case: Case) -> None:
    """Items that cannot be decided need manual review."""
    how, _ = rating(case, judge_case(program, case, "try"))
    assert how != "wrong"
