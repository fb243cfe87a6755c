"""Checks that look at other checks of the same answer."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from autograder.checking.drawing import InputDraw
from autograder.checking.loading import DefinedNames, results_of
from autograder.checking.outcomes import DiffersFromStudent

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
