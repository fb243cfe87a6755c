"""How slow this machine is just now, so that limits in seconds mean the same on every one."""

from __future__ import annotations

import time
from fractions import Fraction

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
