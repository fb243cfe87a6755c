"""Make tests independent of how fast and how busy this machine is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from fractions import Fraction
from unittest import mock

from autograder.sandbox import session
from autograder.sandbox.outside import box

USUAL = 0.0037
"""Seconds that the work takes on the machine on which the limits were set."""


def slowness() -> float:
    """How many times longer a fixed piece of work takes than usual; at least 1, so no limit is tightened."""
    times = []
    for _ in range(5):
        started = time.thread_time()
        total, text = Fraction(0), "x"
        for number in range(1, 1500):
            total += Fraction(number, 7)
            text = text[-50:] + str(number)
        times.append(time.thread_time() - started)
    return max(1.0, min(times) / USUAL)


@contextlib.contextmanager
def patient_grader() -> Iterator[None]:
    """Let the grader wait much longer for boxes that other work keeps from computing.

    Usually it gives up soon and calls the machine too busy, which is a fault of ours and no verdict. The time
    that a box may compute or sleep stays the same.
    """
    with (
        mock.patch.object(box, "MAX_CLOCK_FACTOR", 30),
        mock.patch.object(session, "MAX_CLOCK_FACTOR", 30),
    ):
        yield
