"""The pool: one sandbox per environment, replaced when it dies, started in parallel."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import MAX_FAULTS
from tests.conftest import start_sandbox
from tests.sandbox.contract import LIMITS
from tests.sandbox.fake_sandbox import FakeSandbox
from tests.support.leftovers import zygote_pid

FIRST, SECOND = Environment(), Environment(preload=("json",))


class Starts:
    """Start fake sandboxes slowly, and record how many start at once."""

    def __init__(self) -> None:
        self.made: list[tuple[Environment, FakeSandbox]] = []
        self.together = 0
        self._lock = threading.Lock()
        self._running = 0

    def __call__(self, environment: Environment) -> Sandbox:
        """Start one more."""
        with self._lock:
            self._running += 1
            self.together = max(self.together, self._running)
        time.sleep(0.05)
        with self._lock:
            self._running -= 1
            self.made.append((environment, FakeSandbox()))
            return self.made[-1][1]


def test_an_environment_is_started_once_however_many_ask() -> None:
    """Threads that ask at the same time get the same sandbox."""
    starts = Starts()
    with Pool(starts) as pool, ThreadPoolExecutor(8) as threads:
        given = set(threads.map(lambda _: id(pool.get_sandbox(FIRST)), range(16)))
    assert 1 == len(given)
    assert [FIRST] == [environment for environment, _ in starts.made]


def test_different_environments_start_at_the_same_time() -> None:
    """Environments are started in parallel, and later requests start nothing."""
    starts = Starts()
    with Pool(starts) as pool:
        pool.start_all([FIRST, SECOND])
        assert pool.get_sandbox(FIRST) is not pool.get_sandbox(SECOND)
    assert 2 == starts.together
    assert 2 == len(starts.made)


def test_closing_a_pool_closes_every_sandbox() -> None:
    """Leaving the pool's block closes all sandboxes."""
    starts = Starts()
    with Pool(starts) as pool:
        pool.start_all([FIRST, SECOND])
    assert [True, True] == [fake.closed for _, fake in starts.made]
    with pytest.raises(SandboxFault, match="closed"):
        pool.get_sandbox(FIRST)
    assert 2 == len(starts.made)


class SlowStarts:
    """Start each sandbox only when the test allows it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.made: list[FakeSandbox] = []

    def __call__(self, environment: Environment) -> Sandbox:
        """Start one more when allowed."""
        self.begun.set()
        assert self.go_on.wait(10)
        self.made.append(FakeSandbox())
        return self.made[-1]


def test_what_starts_while_the_pool_is_closed_is_ended() -> None:
    """A waiting caller gets the error that the pool is closed, and no zygote is left behind."""
    starts = SlowStarts()
    pool = Pool(starts)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(pool.get_sandbox, FIRST)
        assert starts.begun.wait(10)
        pool.close()
        starts.go_on.set()
        with pytest.raises(SandboxFault, match="closed"):
            asked.result(10)
    assert [True] == [fake.closed for fake in starts.made]


def test_one_that_cannot_be_closed_keeps_no_other_open() -> None:
    """The others are closed first, and then the error is raised."""
    starts = Starts()
    pool = Pool(starts)
    pool.start_all([FIRST, SECOND])

    def refuse() -> None:
        raise OSError("no")

    starts.made[0][1].close = refuse  # type: ignore[method-assign]
    with pytest.raises(OSError, match="no"):
        pool.close()
    assert starts.made[1][1].closed


def test_a_dead_sandbox_is_closed_and_replaced() -> None:
    """The pool returns a living sandbox; the dead one releases its resources."""
    starts = Starts()
    with Pool(starts) as pool:
        dead = pool.get_sandbox(FIRST)
        dead.close()
        replaced = pool.get_sandbox(FIRST)
        assert dead is not replaced
        assert replaced.is_alive()


def test_a_start_that_fails_is_tried_again_by_the_next_who_asks() -> None:
    """A fault is retried a few times, then raised to the caller, and not remembered."""
    outcomes = iter([*[SandboxFault("once")] * MAX_FAULTS, SandboxFault("no"), FakeSandbox()])

    def start(environment: Environment) -> Sandbox:
        outcome = next(outcomes)
        if isinstance(outcome, SandboxFault):
            raise outcome
        return outcome

    with Pool(start) as pool:
        with pytest.raises(SandboxFault, match="no"):
            pool.get_sandbox(FIRST)
        assert pool.get_sandbox(FIRST).is_alive()


def test_a_lasting_sandbox_opens_boxes_of_the_one_that_runs() -> None:
    """When the first sandbox has died, boxes come from the second; closing the wrapper closes nothing."""
    starts = Starts()
    with Pool(starts) as pool:
        persistent = pool.create_persistent(FIRST)
        persistent.open(LIMITS)
        starts.made[0][1].close()
        persistent.open(LIMITS, seed=7, files={"a": b"1"})
        persistent.close()
        assert persistent.is_alive()
        assert [False] == [fake.closed for _, fake in starts.made[1:]]
    assert [(7, {"a": b"1"})] == [(box.seed, box.files) for box in starts.made[1][1].boxes]


def test_what_cannot_be_started_again_in_the_middle_is_our_fault() -> None:
    """A layer that goes missing during a run costs no points and does not stop other submissions."""
    outcomes = iter([FakeSandbox(), SandboxUnavailable("no namespaces any more")])

    def start(environment: Environment) -> Sandbox:
        outcome = next(outcomes)
        if isinstance(outcome, SandboxUnavailable):
            raise outcome
        return outcome

    with Pool(start) as pool:
        persistent = pool.create_persistent(FIRST)
        pool.get_sandbox(FIRST).close()
        with pytest.raises(SandboxFault, match="no namespaces any more"):
            persistent.open(LIMITS)


@pytest.mark.sandbox
def test_a_killed_zygote_is_replaced() -> None:
    """After SIGKILL the next box comes from a new zygote."""
    with Pool(start_sandbox) as pool:
        first = pool.get_sandbox(FIRST)
        assert isinstance(first, NamespaceSandbox)
        os.kill(zygote_pid(first), signal.SIGKILL)
        first._process.wait(5)
        second = pool.get_sandbox(FIRST)
        assert first is not second
        box = second.open(LIMITS)
        assert "" == box.run_cell("x = 1", seconds=5).error
        box.close()
