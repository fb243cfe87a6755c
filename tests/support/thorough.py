"""Try an even part of what could be tried, or all of it with ``THOROUGH=1``.

For long lists of like cases of which each is told from the others in the same way; the part is the same in
every run. What must hold for each single case is not sampled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
THOROUGH = bool(os.environ.get("THOROUGH"))


def sample(cases: Sequence[T], most: int) -> list[T]:
    """At most so many of the cases, evenly from the first to the last one; all of them where all is tried."""
    if THOROUGH or len(cases) <= most:
        return list(cases)
    return [cases[number * (len(cases) - 1) // max(most - 1, 1)] for number in range(most)]
