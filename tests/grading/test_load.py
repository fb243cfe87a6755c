"""Test that marks do not depend on the machine's load: processor time counts, not elapsed time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.core.errors import SandboxFault
from autograder.core.limits import CLOCK_FACTOR, MAX_CLOCK_FACTOR
from autograder.core.records import Call, Cell, Ending, Limits
from autograder.sandbox.base import Sandbox
from autograder.sandbox.outside import box, watch
from autograder.sandbox.outside.box import Allowance
from autograder.sandbox.session import Session

PLAN = tuple(
    Call("work", args=(seconds,)) for name, seconds in (("short", 0.1), ("long", 0.5), ("endless", 1e9))
)
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
HOGS = 2 * (os.cpu_count() or 1)


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Run this many other programs that compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def ask(sandbox: Sandbox) -> tuple[list[tuple[object, Ending | None]], float]:
    """Return values and endings of the calls, and the elapsed time of the longest one."""
    with Session(sandbox, (Cell(COMPUTES),), LIMITS) as session:
        session.run()
        observed = session.ask(PLAN)
        assert [None] == [run.ending for run in session.runs if run]
    return [
        (observation.value, observation.ending) for observation in observed
    ], session.get_spent().call_seconds


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_same_notebook_gets_the_same_mark_on_a_busy_machine(plain_sandbox: Sandbox) -> None:
    """With two busy programs per core, results are the same as on an idle machine.

    The call that needs half a second of its 0.9 seconds takes longer by the clock there.
    """
    idle, _ = ask(plain_sandbox)
    assert [(1, None), (1, None), (None, Ending.CALL_TIME)] == idle
    for _ in range(5):  # the kernel may still give the box a whole core
        with hogs(HOGS):
            busy, longest = ask(plain_sandbox)
        assert idle == busy
        if longest > LIMITS.call_seconds:
            break


@pytest.mark.sandbox
def test_what_waits_is_stopped_by_the_clock(plain_sandbox: Sandbox) -> None:
    """Sleeping code is stopped by the clock after a multiple of its time limit."""
    source = "import time\ndef work(seconds): time.sleep(seconds * 1e9)\n"
    limits = Limits(call_seconds=0.2)
    with Session(plain_sandbox, (Cell(source),), limits) as session:
        observed = session.ask(PLAN[:1])
    assert Ending.CALL_TIME is observed[0].ending


class Machine:
    """A clock, and a box that gets a share of it."""

    def __init__(self, patch: pytest.MonkeyPatch, share: float) -> None:
        self.now, self.share = 100.0, share
        patch.setattr(box.time, "monotonic", lambda: self.now)

    def used(self) -> float:
        """Return the used processor seconds."""
        return (self.now - 100.0) * self.share

    def until_over(self, allowed: Allowance) -> float:
        """Return how long the box ran until its time was used up."""
        while not allowed.is_over():
            self.now += max(allowed.get_pause(), 1e-4)
        return self.now - 100.0


@pytest.mark.parametrize(
    ("share", "ends"),
    [(1.0, 2.0), (0.5, 4.0), (0.25, 8.0), (2.0, 1.0), (0.0, 2.0 * CLOCK_FACTOR), (0.001, 2.0 * CLOCK_FACTOR)],
)
def test_time_ends_with_what_is_computed(monkeypatch: pytest.MonkeyPatch, share: float, ends: float) -> None:
    """The limit counts processor time: several cores use it up sooner, a share of one core later.

    Code that hardly computes counts as waiting.
    """
    machine = Machine(monkeypatch, share)
    assert machine.until_over(Allowance(2.0, machine.used)) == pytest.approx(ends, abs=0.05)


def test_what_was_kept_from_computing_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the box gets too little processor time, the submission is run again or needs manual review."""
    machine = Machine(monkeypatch, 0.1)
    with pytest.raises(SandboxFault, match="the machine was too busy"):
        machine.until_over(Allowance(2.0, machine.used))


def test_short_calls_cost_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short calls cost no measurement, and an infinite limit never ends."""
    machine = Machine(monkeypatch, 1.0)
    looks: list[float] = []
    short = Allowance(2.0, lambda: looks.append(machine.now) or machine.used())  # type: ignore[func-returns-value]
    machine.now += box.GRACE / 2
    assert not short.is_over()
    assert [] == looks
    machine.now += 1e9
    assert not Allowance(float("inf"), machine.used).is_over()


class Told(Machine):
    """The same machine with a kernel that reports how long the box waited for a processor."""

    def __init__(self, patch: pytest.MonkeyPatch, share: float, kept: float) -> None:
        super().__init__(patch, share)
        self.kept = kept

    def delayed(self) -> float:
        """Return the seconds in which the box was ready to compute."""
        return 7.0 + (self.now - 100.0) * self.kept


@pytest.mark.parametrize(
    ("share", "kept", "ends"),
    [
        (0.1, 0.0, 2.0 * CLOCK_FACTOR),  # sleeps, and computes from time to time
        (
            0.1,
            0.2,
            2.5 * CLOCK_FACTOR,
        ),  # the same on a busy machine: waiting time is added
        (0.1, 0.9, 20.0),  # computes whenever it can
        (0.5, 0.5, 4.0),
        (0.0, 0.0, 2.0 * CLOCK_FACTOR),
    ],
)
def test_sleeping_is_told_from_waiting_for_a_processor(
    monkeypatch: pytest.MonkeyPatch, share: float, kept: float, ends: float
) -> None:
    """Sleeping code is stopped by the clock; code that waits for a processor gets its full time."""
    machine = Told(monkeypatch, share, kept)
    allowed = Allowance(2.0, machine.used, machine.delayed)
    assert machine.until_over(allowed) == pytest.approx(ends, abs=0.05)


def test_what_waits_for_a_processor_for_too_long_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a processor for too long is a fault of the machine, and the wait is limited."""
    machine = Told(monkeypatch, 0.05, 0.95)
    with pytest.raises(SandboxFault, match="the machine was too busy"):
        machine.until_over(Allowance(2.0, machine.used, machine.delayed))
    assert machine.now - 100.0 == pytest.approx(2.0 * CLOCK_FACTOR * MAX_CLOCK_FACTOR, abs=0.05)


def test_what_one_thread_waited_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait at the same time are counted once."""
    now = [100.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])

    def tell(**waited: float) -> None:
        for thread, seconds in waited.items():
            folder = tmp_path / "5" / "task" / thread[1:]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "children").write_text("")
            (folder / "schedstat").write_text(f"1000000 {int(seconds * 1e9)} 3\n")

    tree = watch.Watchdog(5, tmp_path)
    assert tree.measure_delay() is None
    tell(t5=0.0, t6=0.0)
    assert 0.0 == tree.measure_delay()
    now[0] += 2.0
    tell(t5=1.0, t6=1.5)
    assert 1.5 == tree.measure_delay()
    now[0] += 2.0
    tell(t5=3.0, t6=1.5, t7=9.0)
    assert 3.5 == tree.measure_delay()


def test_a_kernel_that_counts_nothing_tells_nothing(tmp_path: Path) -> None:
    """If the kernel reports only zeros, the computed share is used."""
    folder = tmp_path / "5" / "task" / "5"
    folder.mkdir(parents=True)
    (folder / "children").write_text("")
    (folder / "schedstat").write_text("0 0 0\n")
    assert watch.Watchdog(5, tmp_path).measure_delay() is None


NAPS = """
import time

def work(seconds):
    while True:
        time.sleep(0.09)
        end = time.process_time() + 0.01
        while time.process_time() < end:
            pass
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("others", [0, HOGS], ids=["idle", "busy"])
def test_naps_between_steps_are_no_fault_of_ours(plain_sandbox: Sandbox, others: int) -> None:
    """A loop that sleeps most of the time is stopped by the clock, also on a busy machine."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell who waits for a processor")
    limits = Limits(call_seconds=0.5)
    with hogs(others), Session(plain_sandbox, (Cell(NAPS),), limits) as session:
        session.run()
        observed = session.ask(PLAN[:1])
        assert [] == [note for note in session.notes if note.code == "run-again"]
    assert Ending.CALL_TIME is observed[0].ending
