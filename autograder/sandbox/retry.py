"""How often failures of our own infrastructure are retried before they are reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from autograder.core.errors import SandboxFault

T = TypeVar("T")

MAX_FAULTS = 3
"""Number of our own failures, in a row or within one submission, that are retried."""
MAX_LOST_BOXES = 2
"""Number of lost boxes (`errors.BoxLost`) after which a whole submission needs manual review. An operator
or a full machine can cause one; two look deliberate."""
SECONDS = 60.0
"""Seconds after which a failing action is not retried: it hangs, it is not being killed."""


def retry_infrastructure(action: Callable[[], T]) -> T:
    """Run an action and repeat it if the death of one of our processes interrupted it.

    Raises:
        SandboxFault: it failed more than `MAX_FAULTS` times, or for too long.
    """
    started = time.monotonic()
    for _ in range(MAX_FAULTS):
        try:
            return action()
        except SandboxFault:
            if time.monotonic() - started > SECONDS:
                raise
    return action()
