"""What verifying brings to light: what is not as it must be, and which trial lost what."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.checks.base import TRIVIAL
from autograder.records import Spent


class VerifyFinding(Struct, frozen=True):
    """One thing that is not as it must be."""

    paper: str
    """``"answer key"``, ``"untouched release"``, ``"rubric"``, ``"course"``, or a trial."""
    place: str
    """``question.item``, or a notebook and a cell."""
    expected: str
    got: str
    remedy: str


class Mark(enum.StrEnum):
    """What became of one item of one trial."""

    KEPT = "kept"
    LOST = "lost"
    OPEN = "open"
    """Nobody could judge it, which is our fault."""


class Row(Struct, frozen=True):
    """One trial beside what came of it."""

    name: str
    family: str
    loses: tuple[str, ...]
    """What it must lose; none: an accepted alternative."""
    marks: Mapping[str, Mark]
    """By item of the question."""
    wrong: tuple[str, ...] = ()
    """Those of the items that are not as the trial says."""
    findings: tuple[VerifyFinding, ...] = ()
    """About these items, and about items of other questions."""
    warnings: tuple[VerifyFinding, ...] = ()
    """What is allowed, and worth a look."""
    spent: Spent | None = None
    """What it used; None where its text was enough, so that nothing was run."""


class Matrix(Struct, frozen=True):
    """All trials of one question."""

    question: str
    items: tuple[str, ...]
    manual: tuple[str, ...]
    """Those of the items that a person decides on."""
    rows: tuple[Row, ...]

    @property
    def mistakes(self) -> tuple[Row, ...]:
        """The trials that must lose something."""
        return tuple(row for row in self.rows if row.loses)

    @property
    def alternatives(self) -> tuple[Row, ...]:
        """The trials that must lose nothing."""
        return tuple(row for row in self.rows if not row.loses and row.family != TRIVIAL)


class Survivor(Struct, frozen=True):
    """A mutant of the answer key that the tests of its cell let pass."""

    line: int
    """Of the answer cell, from 1."""
    before: str
    after: str
    mistake: str
    """What was changed, in a few words."""
    elsewhere: tuple[str, ...] = ()
    """Questions about other cells that lose points."""


class MutatedCell(Struct, frozen=True):
    """One answer cell of an adopted assignment, and how its tests deal with mutants."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    """The questions about this cell; all questions of the notebook if it has none."""
    mutants: int
    undecided: int
    """Mutants that need manual review."""
    survivors: tuple[Survivor, ...]


class Verified(Struct, frozen=True):
    """What came of verifying one assignment."""

    assignment: str
    findings: tuple[VerifyFinding, ...]
    matrices: tuple[Matrix, ...] = ()
    key: Spent = Spent()
    """What the answer key used."""
    most: Spent = Spent()
    """The most that key or trial used, for each limit."""
    boxes: int = 0
    """Trials for which a whole notebook was run."""
    seconds: float = 0.0
    warnings: tuple[VerifyFinding, ...] = ()
    """What is allowed, and worth a look."""
    mutated: tuple[MutatedCell, ...] = ()
    """Of an adopted assignment: how its own tests deal with mutants of the answer key."""
    automatic: Decimal = Decimal(0)
    """Points that are decided without a person."""
    possible: Decimal = Decimal(0)
    """Points of all items."""
