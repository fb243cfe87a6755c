"""The limits in words: which number bounds what, how much that is, and what a rubric may set."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.errors import RubricError
from autograder.records import Ending, LimitKind, Limits

FLOOD_FACTOR = 4
"""So many times the output that is kept ends the box."""

CLOCK_FACTOR = 2
"""How many times as long a cell, a call or a submission may take by the clock as it may compute.

What it computes is the same on a busy machine; how long that takes is not, and must not decide a mark. The
clock stands still while the box waits for a processor.
"""

MAX_CLOCK_FACTOR = 6
"""So many times its time by the clock a box gets altogether, where it has to wait for a processor."""

UNKNOWN_WAIT_FACTOR = 3
"""The same where the kernel does not tell what waits."""

KERNEL_CPU_FACTOR = 2
"""So many times its processor time a box is granted by the kernel itself, which counts by ticks and may be
a tenth ahead of what it tells: then nobody would know why it ended a box. The exact limit is kept from
outside."""

BYTES_OF_TEXT = 4
"""What one byte of text in a reply counts: so much memory its letters can take."""

BYTES_OF_DESCRIPTION = 64
"""What one byte of the description of the arrays counts; some sixty bytes describe each."""

BYTES_OF_VALUE = 256
"""What one value in a reply counts, whatever it is: a number, a list, an entry of a dictionary."""


_OF_SCRATCH, _OF_MEMORY = 0.9, 0.25
"""What files that were handed in may take, so that there is room left for what code does with them."""


class Budgets(Struct, frozen=True):
    """What the grader itself spends on one submission at most; no rubric states them.

    Each is enforced where it arises, and has its own sentence; docs/operators.md shows them as a table.
    """

    question_mb: int = 128
    """Memory for the answers to one question; twice what one answer may have. `replies.weight` counts it."""
    answers_mb: int = 1024
    """Answers read altogether, counted in the same way: this bounds the time that reading takes."""
    judging_seconds: int = 60
    """Processor time of reading and judging. An honest submission takes about one second of it."""
    shown_kb: int = 6144
    """Text and pictures of the notebook that are kept for people and pages, output included."""
    stored_mb: int = 8
    """What one attempt takes in the database."""
    page_kb: int = 8192
    """Text and pictures of the notebook on a page, as the page shows them."""
    attempts: int = 3
    """Attempts of one student whose notebooks and outputs stay in the database; marks stay of all."""


def budgets(limits: Limits) -> Budgets:
    """The budgets of one submission: where a rubric allows larger answers or more output, so do they."""
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
"""Ending → the field of `Budgets` that brought it about."""


class MemoryBudget:
    """What is left of a budget of memory. Not thread safe."""

    def __init__(self, mb: float, ending: Ending, *others: MemoryBudget) -> None:
        """Begin with all of it.

        Args:
            mb: how much.
            ending: of a box whose answers do not fit.
            others: what the same answers count against.
        """
        self.left = int(mb * (1 << 20))
        self._ending = ending
        self._others = others

    def take(self, size: int) -> Ending | None:
        """Count an answer of so many bytes; the ending where it does not fit."""
        self.left -= size
        for other in self._others:
            other.take(size)
        return self.ending

    @property
    def ending(self) -> Ending | None:
        """Of what comes now: None while there is room."""
        if self.left < 0:
            return self._ending
        return next((other.ending for other in self._others if other.ending), None)


def room_for_files(limits: Limits) -> int:
    """Bytes that files which were handed in may take in a box, so that there is room left to work with."""
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
"""Ending → the field of `Limits` that brought it about; the others are no limits."""

OF_MET: Mapping[LimitKind, str] = {
    LimitKind.MEMORY: "memory_mb",
    LimitKind.PROCESSES: "processes",
    LimitKind.OUTPUT: "output_kb",
    LimitKind.DISK: "scratch_mb",
    LimitKind.FILES: "scratch_files",
    LimitKind.DESCRIPTORS: "descriptors",
    LimitKind.REPLY_SIZE: "reply_mb",
}
"""Limit met → the field of `Limits`; of a network there is none at all, and nothing to set."""

_UNITS = {"seconds": " s", "mb": " MB", "kb": " kB"}


def amount(kind: Ending | LimitKind, limits: Limits) -> str:
    """How much was allowed, with its unit and without a language, e.g. ``"30 s"``; empty for no limit."""
    if isinstance(kind, Ending) and kind in OF_BUDGET:
        return f"{getattr(budgets(limits), OF_BUDGET[kind])} MB"
    field = OF_MET.get(kind) if isinstance(kind, LimitKind) else OF_ENDING.get(kind)
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
            raise RubricError(f"expected {expected}, got {table[name]}", place, name)
    scratch, memory = (
        _number(table.get(name, getattr(Limits(), name))) for name in ("scratch_mb", "memory_mb")
    )
    if scratch is not None and memory is not None and scratch > memory:
        raise RubricError(
            f"expected at most memory_mb ({memory:g}), got {scratch:g}; what is written counts as memory",
            place,
            "scratch_mb",
        )


def _number(value: object) -> float | None:
    """A number of a rubric; None for what is none, which is refused where types are checked."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return value if isinstance(value, int) else float(value)  # an integer may be too large for a float
