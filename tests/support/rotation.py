"""Run a rotating part of the adversarial suites: another part every day, all of it with ``THOROUGH=1``.

Trying every attack at every level takes longer than one run may. The header of a test run says which day's
part it is, and ``ROTATION`` with that number repeats it on another day.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

from tests.support.thorough import THOROUGH

T = TypeVar("T")
VARIABLE = "ROTATION"


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
        return "adversarial suites: all of them"
    number = current_rotation()
    return f"adversarial suites: part {number} ({VARIABLE}={number} repeats it, THOROUGH=1 runs all)"
