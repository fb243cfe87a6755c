"""Steps add up: what is within another is not counted twice, whatever thread it runs in."""

from __future__ import annotations

import threading
import time

import pytest

from autograder.stopwatch import StepTime, Stopwatch


def busy(seconds: float) -> None:
    """Use the processor for so long."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_step_within_a_step_is_taken_off() -> None:
    """The outer one has what is left; together they are all that passed."""
    watch, began = Stopwatch(), time.monotonic()
    with watch.step("outer"):
        busy(0.03)
        with watch.step("inner"):
            busy(0.06)
            time.sleep(0.02)
    passed, steps = time.monotonic() - began, watch.steps()
    assert ["inner", "outer"] == list(steps)
    assert steps["inner"].seconds >= 0.08
    assert 0.025 < steps["outer"].seconds < passed - 0.075
    assert abs(passed - sum(one.seconds for one in steps.values())) < 0.01
    assert steps["inner"].user_seconds + steps["inner"].system_seconds >= 0.05


def test_a_step_that_raises_is_counted_and_closed() -> None:
    """What comes after it is not within it."""
    watch = Stopwatch()
    with pytest.raises(KeyError), watch.step("outer"), watch.step("inner"):
        raise KeyError
    with watch.step("outer"):
        busy(0.02)
    assert watch.steps()["outer"].seconds >= 0.02


def test_threads_add_to_the_same_step() -> None:
    """Each by its own processor time; steps that were timed elsewhere as well."""
    watch = Stopwatch()

    def work() -> None:
        with watch.step("work"):
            busy(0.03)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watch.add("work", StepTime(0.0, 1.0, 2.0))
    took = watch.steps()["work"]
    assert 3.04 < took.user_seconds + took.system_seconds < 4
    assert took.seconds >= 0.03
