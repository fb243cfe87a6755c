"""What reading somebody else's assignment brought to light."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from msgspec import Struct

Origin = Literal["nbgrader", "otter"]


class FoundTest(Struct, frozen=True):
    """One test: an item of a rubric."""

    id: str
    code: str
    """The whole of it, hidden lines included."""
    points: Decimal
    doctest: bool = False
    visible: bool = False
    """Students saw it."""
    success: str = ""
    failure: str = ""
    outside: str = ""
    """Why it cannot be judged outside of the student's box; empty where it can."""


class FoundQuestion(Struct, frozen=True):
    """What becomes a question of the rubric."""

    id: str
    notebook: str
    points: Decimal
    tests: tuple[FoundTest, ...] = ()
    """None: a person decides."""
    answer_cell: str = ""
    file: str = ""
    after: str = ""
    """The cell of the notebook at which the tests run; empty: after the last one."""
    cell: str = ""
    """The grade cell, where it is not called as the question."""
    all_or_nothing: bool = False
    notebook_names: tuple[str, ...] = ()
    """Names of Python's or of an import that the notebook defines itself before the tests, which use them."""


class FoundNotebook(Struct, frozen=True):
    """One notebook, and what goes with it."""

    name: str
    data: tuple[str, ...] = ()
    starter: tuple[str, ...] = ()


class FoundAssignment(Struct, frozen=True):
    """One assignment."""

    name: str
    origin: Origin
    notebooks: tuple[FoundNotebook, ...]
    questions: tuple[FoundQuestion, ...]
    preload: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What could not be taken over, or is not as it was: sentences for staff."""
    seconds: float = 0.0
    """How long a cell may take; 0: not said."""
    cell_start: str = ""
    """A line that runs at the beginning of each cell while notebooks are graded."""

    @property
    def judged(self) -> Mapping[str, str]:
        """Why each test cannot be judged outside, by ``question.test``; empty texts where it can."""
        return {f"{one.id}.{test.id}": test.outside for one in self.questions for test in one.tests}
