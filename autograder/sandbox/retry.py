"""How often our own failures are made up for before they are told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from autograder.errors import SandboxFault

T = TypeVar("T")

FAULTS = 3
"""So many failures of ours in a row, or within one submission, are made up for by doing it again."""
LOST = 2
"""So many boxes of one submission that were lost (`errors.BoxLost`) are enough: it waits for a person as a
whole. One is what an operator or a full machine does; two look like a purpose."""
SECONDS = 60.0
"""What has failed for so long is not tried again: it hangs, nobody kills it."""


def made_up_for(action: Callable[[], T]) -> T:
    """Do something that a killed process of ours may interrupt, and do it again when one did.

    Raises:
        SandboxFault: it failed once more than `FAULTS` times, or for too long.
    """
    started = time.monotonic()
    for _ in range(FAULTS):
        try:
            return action()
        except SandboxFault:
            if time.monotonic() - started > SECONDS:
                raise
    return action()
