"""Steps add up: what is within another is not counted twice, whatever thread it runs in."""

from __future__ import annotations

import threading

import pytest

from autograder.core import stopwatch
from autograder.core.stopwatch import StepTime, Stopwatch


class Clock:
    """A clock per thread that shows what a test says: by the wall, in programs, in the kernel."""

    def __init__(self) -> None:
        self._own = threading.local()

    def now(self) -> tuple[float, float, float]:
        """Return what it shows."""
        return getattr(self._own, "shown", (0.0, 0.0, 0.0))

    def spend(self, seconds: float, user: float = 0.0, system: float = 0.0) -> None:
        """Let time pass in this thread."""
        wall, in_programs, in_kernel = self.now()
        self._own.shown = (wall + seconds, in_programs + user, in_kernel + system)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all stopwatches meanwhile."""
    clock = Clock()
    monkeypatch.setattr(stopwatch, "_read_clocks", clock.now)
    return clock


def test_a_step_within_a_step_is_taken_off(clock: Clock) -> None:
    """The outer one has what is left."""
    watch = Stopwatch()
    with watch.measure_step("outer"):
        clock.spend(3, 2, 1)
        with watch.measure_step("inner"):
            clock.spend(8, 5)
        clock.spend(1)
    assert [("inner", StepTime(8, 5, 0)), ("outer", StepTime(4, 2, 1))] == list(watch.get_steps().items())


def test_a_step_that_raises_is_counted_and_closed(clock: Clock) -> None:
    """What comes after it is not within it."""
    watch = Stopwatch()

    def fail() -> None:
        clock.spend(1)
        raise KeyError

    with pytest.raises(KeyError), watch.measure_step("outer"), watch.measure_step("inner"):
        fail()
    with watch.measure_step("outer"):
        clock.spend(2)
    assert {"inner": StepTime(1), "outer": StepTime(2)} == watch.get_steps()


def test_threads_add_to_the_same_step(clock: Clock) -> None:
    """Each by its own time; steps that were timed elsewhere as well."""
    watch = Stopwatch()

    def work() -> None:
        with watch.measure_step("work"):
            clock.spend(4, 3)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watch.add_step("work", StepTime(0.0, 1.0, 2.0))
    assert StepTime(8, 7, 2) == watch.get_steps()["work"]
