"""How long one cell or call may take: so much processor time, and some times as long by the clock.

Processor time is the same however busy the machine is; the clock alone bounds what waits. It stands still
while the box waits for a processor, which the kernel counts. What was kept from computing for longer than it
had to itself is a fault of ours: it is run again, and costs no mark. What sleeps, or waits for something
else, is not.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from autograder.errors import SandboxFault
from autograder.limits import CLOCK_FACTOR, MAX_CLOCK_FACTOR, UNKNOWN_WAIT_FACTOR

GRACE, MOST_GRACE = 0.005, 0.1
"""Seconds at the beginning that are not counted, a hundredth of what is allowed between these: nearly every
call is done by then, and looking costs."""
INTERVAL = 0.01
"""Seconds between two looks, at least."""
IDLE = 0.02
"""Where the kernel does not tell what waits for a processor: what computes for a smaller share of its time
waits for something else; others were kept from computing."""
_CORES = os.cpu_count() or 1


class Allowance:
    """The time of one cell, of one call, or of several calls together. Not thread safe."""

    def __init__(
        self,
        seconds: float,
        used: Callable[[], float],
        delayed: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Begin to count.

        Args:
            seconds: of processor time.
            used: how much processor time all processes of the box have had.
            delayed: how long the box has waited for a processor; None where nobody can tell.
        """
        self._seconds = seconds
        self._by_the_clock = CLOCK_FACTOR * seconds
        self._used = used
        self._delayed = delayed
        self._started = time.monotonic()
        self._before: tuple[float, float] | None = None
        self._next_look = math.inf
        if seconds < math.inf:
            self._next_look = self._started + max(GRACE, min(seconds / 100, MOST_GRACE))

    def pause(self) -> float:
        """Seconds until `over` has something to look at."""
        return max(0.0, self._next_look - time.monotonic())

    def over(self) -> bool:
        """Whether the time is used up; looks only when it is time to.

        Raises:
            SandboxFault: it is by the clock, and the machine was too busy.
        """
        now = time.monotonic()
        if now < self._next_look:
            return False
        used, delayed = self._used(), self._delayed()
        if self._before is None:
            self._before = used, delayed or 0.0
        computed, passed = used - self._before[0], now - self._started
        left = self._seconds - computed
        if left <= 0:
            return True
        kept = 0.0 if delayed is None else max(0.0, delayed - self._before[1])
        waiting = self._by_the_clock - (passed - kept)
        if waiting <= 0 and (delayed is not None or computed < IDLE * passed):
            return True
        latest = self._by_the_clock * (UNKNOWN_WAIT_FACTOR if delayed is None else MAX_CLOCK_FACTOR)
        if passed >= latest:
            raise SandboxFault(
                f"the machine was too busy: {computed:.1f} s of {self._seconds:.1f} s were computed "
                f"within {passed:.1f} s"
            )
        # All cores together cannot use up what is left any earlier.
        self._next_look = now + max(INTERVAL, min(left / _CORES, waiting, latest - passed))
        return False
