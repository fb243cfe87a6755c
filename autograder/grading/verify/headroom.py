"""Check that the resources used stay well within the limits of the rubric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograder.core.records import Limits, Note, ResourceUsage
from autograder.grading.verify.findings import VerifyFinding
from autograder.sandbox import limit_notes

HEADROOM = 2
"""The answer key and each trial may use at most 1/HEADROOM of each limit.

A correct solution of a student may be slower than the key, and graders are busy."""


_STOPPED = frozenset((limit_notes.CELL_ENDED, limit_notes.CALL_ENDED, limit_notes.MET))
"""Codes of notes about cells and calls that were stopped, or met a limit."""


def find_exceeded(spent: ResourceUsage, limits: Limits) -> frozenset[str]:
    """Return the limits of which too much was used to leave headroom."""
    names = ResourceUsage.__struct_fields__
    return frozenset(name for name in names if getattr(spent, name) * HEADROOM > float(getattr(limits, name)))


def report_exceeded(
    paper: str, place: str, spent: ResourceUsage, limits: Limits, names: Iterable[str]
) -> Iterator[VerifyFinding]:
    """Report usage that is too close to the named limits."""
    for name in sorted(names):
        allowed = float(getattr(limits, name))
        unit = "MB" if name.endswith("_mb") else "s"
        yield VerifyFinding(
            paper,
            place,
            f"at most {allowed / HEADROOM:g} {unit}, one part in {HEADROOM} of {name}",
            f"{getattr(spent, name):.3g} {unit}",
            f"make it faster or smaller, or raise {name} in [assignment.limits]",
        )


def report_stopped(paper: str, place: str, notes: Iterable[Note]) -> Iterator[VerifyFinding]:
    """Report cells and calls that were stopped, or that met a limit and continued.

    Points that are lost for that reason do not show that the check works.
    """
    for note in notes:
        if note.code in _STOPPED:
            yield VerifyFinding(
                paper,
                place,
                "code that ends by itself, within every limit",
                f"{note.place}: {note.text}".removeprefix(": "),
                "plant a mistake that ends, or raise the limit in [assignment.limits]",
            )


def take_smaller(first: ResourceUsage, second: ResourceUsage) -> ResourceUsage:
    """Return the smaller usage for each limit, of two runs of the same paper."""
    return ResourceUsage(
        **{name: min(getattr(first, name), getattr(second, name)) for name in ResourceUsage.__struct_fields__}
    )
