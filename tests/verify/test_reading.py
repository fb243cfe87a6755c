"""Trials whose variables are only read share a box, and nothing of one is left for the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.core.errors import BoxEnded
from autograder.core.records import Call, Cell, CellRun, Ending, Limits, Observation
from autograder.grading.verify.trials import is_read_only, read_variables
from autograder.sandbox.base import Usage

PLAN = (Call("x", read=True),)


class PlainBox:
    """Runs cells in this process; a cell that says so ends it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.closed = False

    def run_cell(self, source: str, *, seconds: float) -> CellRun:
        """Run one cell."""
        del seconds
        if source == "end":
            raise BoxEnded(Ending.EXITED)
        exec(source, self.names)
        return CellRun()

    def ask(self, calls: Sequence[Call], *, seconds: float) -> list[Observation]:
        """Read variables."""
        del seconds
        return [
            Observation(ok=call.target in self.names, value=self.names.get(call.target)) for call in calls
        ]

    def close(self) -> Usage:
        """Remember that."""
        self.closed = True
        return Usage()


def read(sources: dict[str, str]) -> dict[str, Any]:
    """The value of x after each source; missing where it could not be read."""
    box = PlainBox()
    before = (Cell("two = 2"),)
    found = read_variables(box, before, {name: (source, PLAN) for name, source in sources.items()}, Limits())
    assert box.closed
    return {name: one[0].value for name, one in found.items()}


def test_each_trial_reads_its_own_variable() -> None:
    """Cells before the answer have run, and a trial that assigns nothing finds nothing of the one before."""
    assert {"a": 2, "b": None, "c": 3} == read({"a": "x = two", "b": "y = 1", "c": "x = two + 1"})


def test_what_comes_after_the_end_of_the_box_is_missing() -> None:
    """A trial that ends the box is missing with all after it, so that they are run alone."""
    assert {"a": 1} == read({"a": "x = 1", "b": "end", "c": "x = 3"})


def test_what_counts_as_reading() -> None:
    """A call is more than reading a variable."""
    assert is_read_only(PLAN)
    assert not is_read_only((*PLAN, Call("f")))
