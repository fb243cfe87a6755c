"""Results of verification: findings, and the items that each trial lost."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.core.records import ResourceUsage
from autograder.questions.base.base import TRIVIAL


class VerifyFinding(Struct, frozen=True):
    """A deviation from the expected result."""

    paper: str
    """``"answer key"``, ``"untouched release"``, ``"rubric"``, ``"course"``, or a trial."""
    place: str
    """``question.item``, or a notebook and a cell."""
    expected: str
    got: str
    remedy: str


class Mark(enum.StrEnum):
    """The result of one item in one trial."""

    KEPT = "kept"
    LOST = "lost"
    OPEN = "open"
    """It could not be judged, which is our fault."""


class Row(Struct, frozen=True):
    """One trial and its result."""

    name: str
    family: str
    loses: tuple[str, ...]
    """Items that it must lose; none for an accepted alternative."""
    marks: Mapping[str, Mark]
    """By item of the question."""
    wrong: tuple[str, ...] = ()
    """Items with a result other than the trial states."""
    findings: tuple[VerifyFinding, ...] = ()
    """About these items, and about items of other questions."""
    warnings: tuple[VerifyFinding, ...] = ()
    """Results that are allowed, but deserve attention."""
    spent: ResourceUsage | None = None
    """Resources used; None if its text was sufficient, so that no code was run."""


class Matrix(Struct, frozen=True):
    """All trials of one question."""

    question: str
    items: tuple[str, ...]
    manual: tuple[str, ...]
    """The items that need manual review."""
    rows: tuple[Row, ...]

    @property
    def mistakes(self) -> tuple[Row, ...]:
        """The trials that must lose at least one item."""
        return tuple(row for row in self.rows if row.loses)

    @property
    def alternatives(self) -> tuple[Row, ...]:
        """The trials that must not lose any item."""
        return tuple(row for row in self.rows if not row.loses and row.family != TRIVIAL)


class Survivor(Struct, frozen=True):
    """A mutant of the answer key that passes the tests of its cell."""

    line: int
    """Line in the answer cell, from 1."""
    before: str
    after: str
    mistake: str
    """A short description of the change."""
    elsewhere: tuple[str, ...] = ()
    """Questions about other cells that lose points."""


class MutatedCell(Struct, frozen=True):
    """One answer cell of an adopted assignment, and the results of its tests on mutants."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    """The questions about this cell; all questions of the notebook if it has none."""
    mutants: int
    undecided: int
    """Mutants that need manual review."""
    survivors: tuple[Survivor, ...]


class Verification(Struct, frozen=True):
    """The result of verifying one assignment."""

    assignment: str
    findings: tuple[VerifyFinding, ...]
    matrices: tuple[Matrix, ...] = ()
    key: ResourceUsage = ResourceUsage()
    """Resources used by the answer key."""
    most: ResourceUsage = ResourceUsage()
    """The most that the key or a trial used, for each limit."""
    boxes: int = 0
    """Number of trials for which a whole notebook was run."""
    seconds: float = 0.0
    warnings: tuple[VerifyFinding, ...] = ()
    """Results that are allowed, but deserve attention."""
    mutated: tuple[MutatedCell, ...] = ()
    """For an adopted assignment: the results of the assignment's tests on mutants of the answer key."""
    automatic: Decimal = Decimal(0)
    """Points of the items that are graded automatically."""
    possible: Decimal = Decimal(0)
    """Points of all items."""
