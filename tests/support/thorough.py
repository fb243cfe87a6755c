"""Run a part of long tests, or all of them with ``THOROUGH=1``.

`sample` takes a fixed part of a long list of similar cases; properties that each single case must have are
not sampled. `rotating` takes another part every day, for adversarial suites and others that are too long
for one run. The header of a test run states the day's number, and ``ROTATION`` with that number repeats its
part on another day.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
THOROUGH = bool(os.environ.get("THOROUGH"))
VARIABLE = "ROTATION"


def sample(cases: Sequence[T], most: int) -> list[T]:
    """Return at most some number of cases, evenly spaced, or all of them if thorough."""
    if THOROUGH or len(cases) <= most:
        return list(cases)
    return [cases[number * (len(cases) - 1) // max(most - 1, 1)] for number in range(most)]


def current_rotation() -> int:
    """Return the number of the day, or the one set in the environment.

    It is stored in the environment, so that all processes of a run agree on it after midnight.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return int(os.environ.setdefault(VARIABLE, str(today.toordinal())))


def rotating(cases: Sequence[T], parts: int = 3) -> list[T]:
    """Return every n-th case, starting with another one each day, or all of them if thorough."""
    return list(cases) if THOROUGH else list(cases[current_rotation() % parts :: parts])


def describe_rotation() -> str:
    """Return the line for the header of a test run."""
    if THOROUGH:
        return "rotating tests: all of them"
    number = current_rotation()
    return f"rotating tests: part {number} ({VARIABLE}={number} repeats it, THOROUGH=1 runs all)"
