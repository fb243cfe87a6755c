"""Try a part of what could be tried, or all of it with ``THOROUGH=1``.

`sample` is for long lists of like cases of which each is told from the others in the same way; the part is
the same in every run. What must hold for each single case is not sampled. `rotating` is for the adversarial
suites and others that take longer than one run may: another part every day. The header of a test run says
which day's part it is, and ``ROTATION`` with that number repeats it on another day.
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
    """At most so many of the cases, evenly from the first to the last one; all of them where all is tried."""
    if THOROUGH or len(cases) <= most:
        return list(cases)
    return [cases[number * (len(cases) - 1) // max(most - 1, 1)] for number in range(most)]


def current_rotation() -> int:
    """Return the number of the day, or the one that the environment asks for.

    It is kept in the environment: all processes of a run that lasts past midnight agree on it.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return int(os.environ.setdefault(VARIABLE, str(today.toordinal())))


def rotating(cases: Sequence[T], parts: int = 3) -> list[T]:
    """Return every n-th case, beginning with another one each day; with ``THOROUGH`` all of them."""
    return list(cases) if THOROUGH else list(cases[current_rotation() % parts :: parts])


def describe_rotation() -> str:
    """Return the line for the header of a test run."""
    if THOROUGH:
        return "rotating tests: all of them"
    number = current_rotation()
    return f"rotating tests: part {number} ({VARIABLE}={number} repeats it, THOROUGH=1 runs all)"
