"""How long one cell or call may take: so much processor time, and some times as long by the clock.

Processor time is the same however busy the machine is; the clock alone bounds what waits. What was kept from
computing until its time was up by the clock is a fault of ours: it is run again, and costs no mark.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from autograder.errors import SandboxFault
from autograder.limits import PATIENCE

GRACE = 0.005
"""Seconds at the beginning that are not counted: nearly every call is done by then, and looking costs."""
INTERVAL = 0.01
"""Seconds between two looks, at least."""
IDLE = 0.02
"""What computes for a smaller share of its time waits for something; others were kept from computing."""
_CORES = os.cpu_count() or 1


class Allowance:
    """The time of one cell, of one call, or of several calls together. Not thread safe."""

    def __init__(self, seconds: float, used: Callable[[], float]) -> None:
        """Begin to count.

        Args:
            seconds: of processor time.
            used: how much processor time all processes of the box have had.
        """
        self._seconds = seconds
        self._used = used
        self._started = time.monotonic()
        self._before: float | None = None
        self._next_look = self._started + GRACE if seconds < math.inf else math.inf

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
        used = self._used()
        if self._before is None:
            self._before = used
        computed, passed = used - self._before, now - self._started
        left = self._seconds - computed
        if left <= 0:
            return True
        if passed >= PATIENCE * self._seconds:
            if computed < IDLE * passed:
                return True
            raise SandboxFault(
                f"the machine was too busy: {computed:.1f} s of {self._seconds:.1f} s were computed "
                f"within {passed:.1f} s"
            )
        # All cores together cannot use up what is left any earlier.
        self._next_look = now + max(INTERVAL, min(left / _CORES, PATIENCE * self._seconds - passed))
        return False
