"""Checks that depend on other checks of the same answer."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from autograder.checking.hidden_inputs import InputDraw
from autograder.checking.loader import DefinedNames, get_results

Check = Callable[..., None]
_arguments: ContextVar[tuple[Any, Any, InputDraw] | None] = ContextVar("arguments", default=None)


def run_check(
    check: Check, student: DefinedNames, reference: Any, draw: InputDraw, *values: Any, once: bool = False
) -> None:
    """Run a check, and remember its arguments for `holds`.

    Args:
        check: the function.
        student: the answer.
        reference: the solution.
        draw: of its inputs.
        values: the value of a part, if the check has parts.
        once: cache the outcome, for this answer and draw.

    Raises:
        Exception: raised by the check.
    """
    if not once:
        token = _arguments.set((student, reference, draw))
        try:
            check(student, reference, draw, *values)
        finally:
            _arguments.reset(token)
        return
    outcomes = get_results(student)
    key = (check, draw.origin)
    if key not in outcomes:
        try:
            run_check(check, student, reference, draw)
            outcomes[key] = None
        except Exception as error:  # noqa: BLE001 - raised below, and whenever the check is asked for again
            outcomes[key] = error
    raised: Exception | None = outcomes[key]
    if raised is not None:
        raise raised


def holds(check: Check) -> bool:
    """Return whether the same answer passes another check, which is run if it has not been yet.

    For a property that can be observed only if another one is true::

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
        # Restarted, so that the other check gets the same inputs as when it runs alone.
        run_check(check, student, reference, draw.restarted(), once=True)
    except Exception:  # noqa: BLE001 - whatever it is, it does not hold
        return False
    return True
