"""The limits in words: which number bounds what, how much that is, and what a rubric may set."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from autograder.errors import RubricError
from autograder.records import Ending, Limits, Met

FLOOD_FACTOR = 4
"""So many times the output that is kept ends the box."""

PATIENCE = 6
"""How many times as long a cell, a call or a submission may take by the clock as it may compute.

What it computes is the same on a busy machine; how long that takes is not, and must not decide a mark.
"""

OF_ENDING: Mapping[Ending, str] = {
    Ending.CELL_TIME: "cell_seconds",
    Ending.CALL_TIME: "call_seconds",
    Ending.SUBMISSION_TIME: "submission_seconds",
    Ending.PROCESSOR_TIME: "processor_seconds",
    Ending.MEMORY: "memory_mb",
    Ending.DISK: "scratch_mb",
    Ending.OUTPUT: "output_kb",
    Ending.REPLY_SIZE: "reply_mb",
    Ending.RESTARTS: "restarts",
}
"""Ending → the field of `Limits` that brought it about; the others are no limits."""

OF_MET: Mapping[Met, str] = {
    Met.MEMORY: "memory_mb",
    Met.PROCESSES: "processes",
    Met.OUTPUT: "output_kb",
    Met.DISK: "scratch_mb",
    Met.FILES: "scratch_files",
    Met.DESCRIPTORS: "descriptors",
    Met.REPLY_SIZE: "reply_mb",
}
"""Limit met → the field of `Limits`."""

_UNITS = {"seconds": " s", "mb": " MB", "kb": " kB"}


def amount(kind: Ending | Met, limits: Limits) -> str:
    """How much was allowed, with its unit and without a language, e.g. ``"30 s"``; empty for no limit."""
    field = OF_MET[kind] if isinstance(kind, Met) else OF_ENDING.get(kind)
    if field is None:
        return ""
    value = getattr(limits, field)
    if kind is Ending.OUTPUT:
        value *= FLOOD_FACTOR
    return f"{value:.10g}{_UNITS.get(field.rpartition('_')[2], '')}"


def ranges() -> dict[str, tuple[float, float]]:
    """The least and the most that a rubric may set, by field of `Limits`."""
    found = {}
    for field in msgspec.inspect.type_info(Limits).fields:  # type: ignore[attr-defined]
        found[field.name] = (field.type.ge, field.type.le)
    return found


def check(table: Mapping[str, Any], place: str) -> None:
    """Refuse limits that make no sense.

    Args:
        table: a rubric's ``[assignment.limits]``, as read; types and names are checked elsewhere.
        place: the rubric and the table, for the message.

    Raises:
        RubricError: a number is outside of its range, or two of them contradict one another.
    """
    for name, (least, most) in ranges().items():
        value = _number(table.get(name))
        if value is not None and not least <= value <= most:  # so is what is not a number
            expected = f"{least:,.10g} to {most:,.10g}"
            raise RubricError(f"{place}: {name}: expected {expected}, got {table[name]}")
    scratch, memory = (
        _number(table.get(name, getattr(Limits(), name))) for name in ("scratch_mb", "memory_mb")
    )
    if scratch is not None and memory is not None and scratch > memory:
        raise RubricError(
            f"{place}: scratch_mb: expected at most memory_mb ({memory:g}), got {scratch:g}; what is written "
            "counts as memory"
        )


def _number(value: object) -> float | None:
    """A number of a rubric; None for what is none, which is refused where types are checked."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return value if isinstance(value, int) else float(value)  # an integer may be too large for a float
