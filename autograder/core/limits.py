"""Limits in words: which number bounds what, how much that is, and the range that a rubric may choose."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Ending, LimitKind, Limits

FLOOD_FACTOR = 4
"""A box ends when its output exceeds this multiple of the output that is kept."""

CLOCK_FACTOR = 2
"""Wall-clock time that a cell, a call or a submission may take, as a multiple of its processor time.

The processor time is the same on a busy machine; the wall-clock time is not, and must not decide a mark. The
clock pauses while the box waits for a processor.
"""

MAX_CLOCK_FACTOR = 6
"""Upper bound for the wall-clock time including waits for a processor, as a multiple of the limit."""

UNKNOWN_WAIT_FACTOR = 3
"""The same on kernels that do not report waiting times."""

KERNEL_CPU_FACTOR = 2
"""Processor time that the kernel itself grants a box, as a multiple of its limit. The kernel counts by ticks
and may be a tenth ahead of the time it reports, so at factor 1 it could end a box for a reason that we cannot
see. The exact limit is enforced from outside."""

BYTES_OF_TEXT = 4
"""Memory charged for one byte of text in a reply: a Python string may need that much per character."""

BYTES_OF_DESCRIPTION = 64
"""Memory charged for one byte of the description of the arrays; each takes about sixty bytes."""

BYTES_OF_VALUE = 256
"""Memory charged for one value in a reply of whatever type: a number, a list, a dictionary entry."""


_OF_SCRATCH, _OF_MEMORY = 0.9, 0.25
"""Shares that submitted files may take, so that code has room to work with them."""


class Budgets(Struct, frozen=True):
    """Upper bounds on the resources that the grader itself spends on one submission; rubrics do not set them.

    Each is enforced at its source and has its own sentence; docs/operators.md shows them as a table.
    """

    question_mb: int = 128
    """Memory for the answers to one question; twice the limit for one answer. `replies.weight` counts it."""
    answers_mb: int = 1024
    """Total of the answers read, counted in the same way: this bounds the time that reading takes."""
    judging_seconds: int = 60
    """Processor time of reading and judging. An honest submission takes about one second of it."""
    shown_kb: int = 6144
    """Text and pictures of the notebook that are kept for staff and pages, output included."""
    stored_mb: int = 8
    """Size of one attempt in the database."""
    page_kb: int = 8192
    """Text and pictures of the notebook on a page, as the page shows them."""
    attempts: int = 3
    """Attempts per student with notebooks and outputs kept in the database; marks are kept for all."""


def compute_budgets(limits: Limits) -> Budgets:
    """Return the budgets of one submission; they grow with the rubric's limits for answers and output."""
    usual = Budgets()
    output_kb = limits.output_kb - Limits().output_kb
    return Budgets(
        question_mb=max(usual.question_mb, 2 * limits.reply_mb),
        answers_mb=max(usual.answers_mb, 16 * limits.reply_mb),
        shown_kb=usual.shown_kb + max(0, output_kb),
        stored_mb=usual.stored_mb + max(0, output_kb >> 10),
        page_kb=usual.page_kb + max(0, 2 * output_kb),
    )


OF_BUDGET: Mapping[Ending, str] = {Ending.QUESTION_SIZE: "question_mb", Ending.ANSWERS_SIZE: "answers_mb"}
"""Ending → the field of `Budgets` that was exceeded."""


class MemoryBudget:
    """The remaining part of a memory budget. Not thread safe."""

    def __init__(self, mb: float, ending: Ending, *parents: MemoryBudget) -> None:
        """Start with the full budget.

        Args:
            mb: its size.
            ending: of a box with answers that do not fit.
            parents: budgets that the same answers also count against.
        """
        self.left = int(mb * (1 << 20))
        self._ending = ending
        self._others = parents

    def count_answer(self, size: int) -> Ending | None:
        """Charge an answer of this many bytes; return the ending if it does not fit."""
        self.left -= size
        # All budgets are charged even if one is already exceeded: totals stay correct.
        for parent in self._others:
            parent.count_answer(size)
        return self.ending

    @property
    def ending(self) -> Ending | None:
        """The ending that the next answer would meet; None while there is room."""
        if self.left < 0:
            return self._ending
        return next((other.ending for other in self._others if other.ending), None)


def compute_file_allowance(limits: Limits) -> int:
    """Return how many bytes submitted files may take in a box, so that there is room to work with them."""
    return int(min(_OF_SCRATCH * limits.scratch_mb, _OF_MEMORY * limits.memory_mb) * (1 << 20))


OF_ENDING: Mapping[Ending, str] = {
    Ending.CELL_TIME: "cell_seconds",
    Ending.CALL_TIME: "call_seconds",
    Ending.SUBMISSION_TIME: "submission_seconds",
    Ending.PROCESSOR_TIME: "processor_seconds",
    Ending.MEMORY: "memory_mb",
    Ending.OUTPUT: "output_kb",
    Ending.REPLY_SIZE: "reply_mb",
    Ending.RESTARTS: "restarts",
}
"""Ending → the field of `Limits` that was exceeded; other endings are no limits."""

OF_MET: Mapping[LimitKind, str] = {
    LimitKind.MEMORY: "memory_mb",
    LimitKind.PROCESSES: "processes",
    LimitKind.OUTPUT: "output_kb",
    LimitKind.DISK: "scratch_mb",
    LimitKind.FILES: "scratch_files",
    LimitKind.DESCRIPTORS: "descriptors",
    LimitKind.REPLY_SIZE: "reply_mb",
}
"""Limit met → the field of `Limits`. The network is missing: a box has none, so there is nothing to set."""

_UNITS = {"seconds": " s", "mb": " MB", "kb": " kB"}


def format_limit(kind: Ending | LimitKind, limits: Limits) -> str:
    """Format the allowed amount with its unit, in no language, e.g. ``"30 s"``; empty if it is no limit."""
    if isinstance(kind, Ending) and kind in OF_BUDGET:
        return f"{getattr(compute_budgets(limits), OF_BUDGET[kind])} MB"
    field = OF_MET.get(kind) if isinstance(kind, LimitKind) else OF_ENDING.get(kind)
    if field is None:
        return ""
    value = getattr(limits, field)
    if kind is Ending.OUTPUT:
        value *= FLOOD_FACTOR
    return f"{value:.10g}{_UNITS.get(field.rpartition('_')[2], '')}"


def list_ranges() -> dict[str, tuple[float, float]]:
    """Return the least and the most that a rubric may set, by field of `Limits`."""
    ranges_by_field = {}
    for field in msgspec.inspect.type_info(Limits).fields:  # type: ignore[attr-defined]
        ranges_by_field[field.name] = (field.type.ge, field.type.le)
    return ranges_by_field


def check_limits(table: Mapping[str, Any], place: str) -> None:
    """Refuse limits that make no sense.

    Args:
        table: a rubric's ``[assignment.limits]``, as read; types and names are checked elsewhere.
        place: the rubric and the table, for the message.

    Raises:
        RubricError: a number is outside of its range, or two of them contradict each other.
    """
    for name, (least, most) in list_ranges().items():
        value = _to_number(table.get(name))
        if value is not None and not least <= value <= most:  # true for NaN as well
            expected = f"{least:,.10g} to {most:,.10g}"
            raise RubricError(f"expected {expected}, got {table[name]}", place, name)
    scratch, memory = (
        _to_number(table.get(name, getattr(Limits(), name))) for name in ("scratch_mb", "memory_mb")
    )
    if scratch is not None and memory is not None and scratch > memory:
        raise RubricError(
            f"expected at most memory_mb ({memory:g}), got {scratch:g}; what is written counts as memory",
            place,
            "scratch_mb",
        )


def _to_number(value: object) -> float | None:
    """Return a number of a rubric; None for other types, which are refused by the type check."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return value if isinstance(value, int) else float(value)  # an integer may be too large for a float
