"""A mark does not depend on how busy the machine is: what code computes counts, not how long that takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from autograder.checks.base import Evidence
from autograder.errors import SandboxFault
from autograder.limits import PATIENCE
from autograder.records import Cell, Ending, ItemResult, Limits
from autograder.sandbox.base import Sandbox
from autograder.sandbox.outside import allowance
from autograder.sandbox.outside.allowance import Allowance
from autograder.sandbox.session import Session
from tests.checks.asking import DRAW, answer, check_of

QUESTION = """
[[question]]
id = "q"
kind = "count"
points = 3
answer = "work"
[[question.case]]
name = "short"
args = [0.1]
value = 1
[[question.case]]
name = "long"
args = [0.5]
value = 1
[[question.case]]
name = "endless"
args = [1e9]
value = 1
[[question.item]]
id = "all"
points = 3
credit = "each"
text = { en = "All" }
"""
COMPUTES = """
import time

def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return 1

def work(seconds):
    return compute(seconds)

compute(0.5)
"""
LIMITS = Limits(cell_seconds=0.9, call_seconds=0.9, submission_seconds=30)
HOGS = 4 * (os.cpu_count() or 1)


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many other programs that compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def graded(sandbox: Sandbox) -> tuple[tuple[ItemResult, ...], float]:
    """The results of the notebook, and how long the longest call took by the clock."""
    check, given = check_of(QUESTION), answer(COMPUTES)
    with Session(sandbox, (Cell(COMPUTES),), LIMITS) as session:
        session.run()
        observed = session.ask(check.plan(given, DRAW))
        assert [None] == [run.ending for run in session.runs if run]
    return check.judge(Evidence(given, observed, draw=DRAW)), session.spent().call_seconds


@pytest.mark.sandbox
def test_the_same_notebook_gets_the_same_mark_on_a_busy_machine(plain_sandbox: Sandbox) -> None:
    """Beside four other programs for each core every result is as it is without them.

    The call that computes half a second of the 0.9 it may takes longer than that by the clock there.
    """
    idle, _ = graded(plain_sandbox)
    with hogs(HOGS):
        busy, longest = graded(plain_sandbox)
    assert idle == busy
    assert 2 == idle[0].points
    assert "ending.call-time" == idle[0].code
    assert longest > LIMITS.call_seconds


@pytest.mark.sandbox
def test_what_waits_is_stopped_by_the_clock(plain_sandbox: Sandbox) -> None:
    """Sleeping computes nothing: it may last some times as long as computing may, and no longer."""
    source = "import time\ndef work(seconds): time.sleep(seconds * 1e9)\n"
    check, given = check_of(QUESTION), answer(source)
    limits = Limits(call_seconds=0.2)
    started = time.monotonic()
    with Session(plain_sandbox, (Cell(source),), limits) as session:
        observed = session.ask(check.plan(given, DRAW)[:1])
    assert Ending.CALL_TIME is observed[0][0].ending
    assert PATIENCE * 0.2 <= time.monotonic() - started < PATIENCE * 0.2 + 5


class Machine:
    """A clock, and a box that gets a share of it."""

    def __init__(self, patch: pytest.MonkeyPatch, share: float) -> None:
        self.now, self.share = 100.0, share
        patch.setattr(allowance.time, "monotonic", lambda: self.now)

    def used(self) -> float:
        """Processor seconds until now."""
        return (self.now - 100.0) * self.share

    def until_over(self, allowed: Allowance) -> float:
        """How long the box ran before its time was used up."""
        while not allowed.over():
            self.now += max(allowed.pause(), 1e-4)
        return self.now - 100.0


@pytest.mark.parametrize(
    ("share", "ends"),
    [(1.0, 2.0), (0.5, 4.0), (0.25, 8.0), (2.0, 1.0), (0.0, 2.0 * PATIENCE), (0.001, 2.0 * PATIENCE)],
)
def test_time_ends_with_what_is_computed(monkeypatch: pytest.MonkeyPatch, share: float, ends: float) -> None:
    """Two seconds: sooner with two cores, later with a share of one; what hardly computes is waiting."""
    machine = Machine(monkeypatch, share)
    assert machine.until_over(Allowance(2.0, machine.used)) == pytest.approx(ends, abs=0.05)


def test_what_was_kept_from_computing_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share too small to use its time up is no verdict: the submission is run again, or a person looks."""
    machine = Machine(monkeypatch, 0.1)
    with pytest.raises(SandboxFault, match="the machine was too busy"):
        machine.until_over(Allowance(2.0, machine.used))


def test_short_calls_cost_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers within some milliseconds is never looked at, and endless time never ends."""
    machine = Machine(monkeypatch, 1.0)
    looks: list[float] = []
    short = Allowance(2.0, lambda: looks.append(machine.now) or machine.used())  # type: ignore[func-returns-value]
    machine.now += allowance.GRACE / 2
    assert not short.over()
    assert [] == looks
    machine.now += 1e9
    assert not Allowance(float("inf"), machine.used).over()
