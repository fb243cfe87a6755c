"""What a submission costs, held against the same notebook in a bare process on the same machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.apart]
ROOT = Path(__file__).parents[1]
FEW, MANY = 10, 50
MOST = 8
"""Times the processor time of a fork that executes the cells and their tests. With checks in Python, each
submission's in a box of their own, it is 3.3, and up to 5 beside other programs."""
ROUNDS = 3
"""What else a machine does makes a round dearer, never cheaper."""


def test_a_submission_costs_a_few_times_the_bare_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class of `make bench` without its other programs: two sizes, so that the start is not counted."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import peers_assignment as bench
    from peers_tools import Ours, measure_floor

    ours = Ours(tmp_path, Path(sys.prefix))

    def spent(size: int) -> float:
        students = list(bench.generate_students(size, 0))
        ours.submit_class({one.name: bench.fill_answers(ours.release, one.answers) for one in students})
        return ours.grade_class().processor

    spent(1)  # the course's sandbox is tested
    ratio = MOST
    for _ in range(ROUNDS):
        few, many = spent(FEW), spent(MANY)
        bare = measure_floor("fork", list(bench.generate_students(FEW, 0)), tmp_path).processor
        ratio = min(ratio, (many - few) / (MANY - FEW) / bare)
        if ratio < MOST:
            break
    assert ratio < MOST
    assert ratio > 1, "a grader cannot be cheaper than what it runs: the measurement is broken"
