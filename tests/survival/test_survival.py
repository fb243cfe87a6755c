"""A short session of killing; ``python -m tests.survival.run`` is a long one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.secrecy import python_path
from tests.survival.kills import POINTS, VICTIMS

pytestmark = pytest.mark.apart

ROOT = Path(__file__).parents[2]
KILLS = 8


def survive(*arguments: str) -> dict[str, Any]:
    """Return the statistics of a session in a separate process, which adopts the orphans."""
    command = [sys.executable, "-m", "tests.survival.run", *arguments]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": python_path(str(ROOT)), **threads}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert bool(figures["findings"]) == bool(done.returncode), done.stderr
    return figures


@pytest.mark.sandbox
def test_kills_lose_no_mark_and_leave_nothing() -> None:
    """After kills of broker, zygote, its parent and boxes, the state is the same as without them."""
    figures = survive("--kills", str(KILLS), "--students", "10", "--seed", "20")
    assert [] == figures["findings"]
    assert figures["kills"] >= KILLS
    assert set(VICTIMS) == set(figures["by_victim"])
    assert figures["marks_reported_and_checked"] > 0


@pytest.mark.parametrize("point", POINTS)
def test_kill_points_name_steps_of_the_grader(point: str) -> None:
    """Otherwise the grading process would end at the first kill that is planned there."""
    owner, name = POINTS[point]
    assert callable(getattr(owner, name))
