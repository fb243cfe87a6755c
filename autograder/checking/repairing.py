"""Checks that look at other checks of the same answer, and all sets of planted faults."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from autograder.checking.drawing import InputDraw
from autograder.checking.loading import DefinedNames, results_of
from autograder.checking.outcomes import DiffersFromStudent

MOST_FAULTS = 10
"""Up to so many, all sets of them are tried."""
SAMPLE = 1000
"""Sets that are tried of more faults."""

Check = Callable[..., None]
_arguments: ContextVar[tuple[Any, Any, InputDraw] | None] = ContextVar("arguments", default=None)


def run_check(check: Check, student: Any, reference: Any, draw: InputDraw, *values: Any) -> None:
    """Run a check, so that `holds` knows for whom; one without parts is run once for each answer.

    Raises:
        Exception: what the check raised.
    """
    if values or not isinstance(student, DefinedNames):
        check(student, reference, draw, *values)
        return
    known = results_of(student)
    key = (check, draw.origin)
    if key not in known:
        token = _arguments.set((student, reference, draw))
        try:
            check(student, reference, draw)
            known[key] = None
        except DiffersFromStudent:
            raise
        except Exception as error:  # noqa: BLE001 - raised below, and whenever the check is asked for again
            known[key] = error
        finally:
            _arguments.reset(token)
    if (error := known[key]) is not None:
        raise error


def holds(check: Check) -> bool:
    """Return whether the same answer passes another check, which is run if it was not yet.

    For a property that can be seen only where another one holds::

        if holds(self_mask):
            assert_close(...)

    Args:
        check: the function, without parts.

    Raises:
        LookupError: no check is running.
    """
    arguments = _arguments.get()
    if arguments is None:
        raise LookupError("holds(…) is asked within a check")
    student, reference, draw = arguments
    try:
        run_check(check, student, reference, draw.restarted())
    except Exception:  # noqa: BLE001 - whatever it is, it does not hold
        return False
    return True


def list_subsets(faults: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of faults that are tried: all of them, or of many faults a sample.

    A sample has the empty set, each fault alone, each alone repaired, all pairs as far as there is room, and
    random ones.
    """
    if len(faults) <= MOST_FAULTS:
        for size in range(len(faults) + 1):
            yield from itertools.combinations(faults, size)
        return
    chosen = dict.fromkeys(((), *((fault,) for fault in faults), tuple(faults)))
    chosen |= dict.fromkeys(tuple(other for other in faults if other != fault) for fault in faults)
    chosen |= dict.fromkeys(itertools.combinations(faults, 2))
    generator = random.Random(0)
    while len(chosen) < SAMPLE:
        chosen[tuple(fault for fault in faults if generator.random() < 0.5)] = None
    yield from itertools.islice(chosen, SAMPLE)
