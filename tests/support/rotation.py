"""Run a rotating part of the adversarial suites: another part every day, all of it with ``THOROUGH=1``.

Trying every attack at every level takes longer than one run may. Each part is tried every `PARTS` days;
the header of a test run says which one it is, and ``ROTATION=2`` repeats it on another day.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

from tests.support.thorough import THOROUGH

T = TypeVar("T")
PARTS = 3
VARIABLE = "ROTATION"


def current_part() -> int:
    """Return the number of the part to run, from 1 to `PARTS`.

    It is kept in the environment: all processes of a run that lasts past midnight agree on it.

    Raises:
        ValueError: the environment names no such part.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    text = os.environ.setdefault(VARIABLE, str(today.toordinal() % PARTS + 1))
    if text not in {str(number) for number in range(1, PARTS + 1)}:
        raise ValueError(f"{VARIABLE} is a number from 1 to {PARTS}, not {text!r}")
    return int(text)


def rotating(cases: Sequence[T]) -> list[T]:
    """Return every third case, beginning with another one each day; all of them if ``THOROUGH`` is set."""
    return list(cases) if THOROUGH else list(cases[current_part() - 1 :: PARTS])


def describe_part() -> str:
    """Return the line for the header of a test run."""
    if THOROUGH:
        return "adversarial suites: all parts"
    part = current_part()
    return f"adversarial suites: part {part} of {PARTS} ({VARIABLE}={part} repeats it, THOROUGH=1 runs all)"
