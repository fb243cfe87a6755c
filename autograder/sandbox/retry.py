"""How often failures of our own infrastructure are retried before they are reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from autograder.errors import SandboxFault

T = TypeVar("T")

MAX_FAULTS = 3
"""So many failures of ours in a row, or within one submission, are retried."""
MAX_LOST_BOXES = 2
"""So many boxes of one submission that were lost (`errors.BoxLost`) are enough: it waits for a person as a
whole. One is what an operator or a full machine does; two look deliberate."""
SECONDS = 60.0
"""What has failed for so long is not tried again: it hangs, nobody kills it."""


def retry_infrastructure(action: Callable[[], T]) -> T:
    """Do something that a killed process of ours may interrupt, and do it again when one did.

    Raises:
        SandboxFault: it failed once more than `MAX_FAULTS` times, or for too long.
    """
    started = time.monotonic()
    for _ in range(MAX_FAULTS):
        try:
            return action()
        except SandboxFault:
            if time.monotonic() - started > SECONDS:
                raise
    return action()
