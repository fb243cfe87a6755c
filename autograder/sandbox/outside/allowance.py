"""How long one cell or call may take: a limit of processor time, and a multiple of it by the clock.

Processor time is the same however busy the machine is; the clock only bounds waiting. It stops while the box
waits for a processor, which the kernel counts. If a box was kept from computing for longer than it could
compute, that is a fault of ours: it is run again, and costs no points. Sleeping, or waiting for something
other than a processor, is not such a fault.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from autograder.core.errors import SandboxFault
from autograder.core.limits import CLOCK_FACTOR, MAX_CLOCK_FACTOR, UNKNOWN_WAIT_FACTOR

GRACE, MOST_GRACE = 0.005, 0.1
"""Seconds at the beginning that are not checked: a hundredth of the allowed time, between these bounds.
Nearly every call has ended by then, and checks cost time."""
INTERVAL = 0.01
"""Minimum seconds between two checks."""
IDLE = 0.02
"""If the kernel does not report waiting for a processor: a box that computes for a smaller share of its time
waits for something else; above it, the box was kept from computing."""
_CORES = os.cpu_count() or 1


class Allowance:
    """The time of one cell, of one call, or of several calls together. Not thread-safe."""

    def __init__(
        self,
        seconds: float,
        used: Callable[[], float],
        delayed: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Start counting.

        Args:
            seconds: of processor time.
            used: returns the processor time that all processes of the box have had.
            delayed: returns how long the box has waited for a processor; None if this is not known.
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

    def get_pause(self) -> float:
        """Return the seconds until `over` has something to check."""
        return max(0.0, self._next_look - time.monotonic())

    def over(self) -> bool:
        """Return whether the time is used up; checks only when a check is due.

        Raises:
            SandboxFault: it is used up by the clock, and the machine was too busy.
        """
        now = time.monotonic()
        if now < self._next_look:
            return False
        used, delayed = self._used(), self._delayed()
        # Use before the first check is not counted.
        if self._before is None:
            self._before = used, delayed or 0.0
        computed, passed = used - self._before[0], now - self._started
        left = self._seconds - computed
        if left <= 0:
            return True
        kept = 0.0 if delayed is None else max(0.0, delayed - self._before[1])
        waiting = self._by_the_clock - (passed - kept)
        # The time by the clock is up, and the box could have computed: it waited by itself.
        if waiting <= 0 and (delayed is not None or computed < IDLE * passed):
            return True
        latest = self._by_the_clock * (UNKNOWN_WAIT_FACTOR if delayed is None else MAX_CLOCK_FACTOR)
        if passed >= latest:
            raise SandboxFault(
                f"the machine was too busy: {computed:.1f} s of {self._seconds:.1f} s were computed "
                f"within {passed:.1f} s"
            )
        # All cores together cannot use up the remaining time any earlier.
        self._next_look = now + max(INTERVAL, min(left / _CORES, waiting, latest - passed))
        return False
