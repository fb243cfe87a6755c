"""Records of an adopted assignment, the same for nbgrader and otter."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from msgspec import Struct

Origin = Literal["nbgrader", "otter"]


class FoundTest(Struct, frozen=True):
    """One test, which becomes an item of the rubric."""

    id: str
    code: str
    """The complete code, including hidden lines."""
    points: Decimal
    doctest: bool = False
    visible: bool = False
    """Whether students saw it."""
    success: str = ""
    failure: str = ""
    outside: str = ""
    """Why it cannot be judged outside the student's sandbox; empty if it can."""


class FoundQuestion(Struct, frozen=True):
    """One question of the rubric."""

    id: str
    notebook: str
    points: Decimal
    tests: tuple[FoundTest, ...] = ()
    """Empty: the question is graded manually."""
    answer_cell: str = ""
    file: str = ""
    after: str = ""
    """The cell of the notebook after which the tests run; empty: after the last one."""
    cell: str = ""
    """The grade cell, if its name differs from the question's."""
    all_or_nothing: bool = False
    notebook_names: tuple[str, ...] = ()
    """Names of builtins or of an import that the notebook redefines before the tests that use them."""


class FoundNotebook(Struct, frozen=True):
    """One notebook and its files."""

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
    """Sentences for staff about everything that is not adopted or differs from the original."""
    seconds: float = 0.0
    """Time limit of a cell; 0: not specified."""
    cell_start: str = ""
    """A line that runs at the beginning of each cell during grading."""

    @property
    def judged(self) -> Mapping[str, str]:
        """By ``question.test``: why a test cannot be judged outside the sandbox; empty texts if it can."""
        return {
            f"{question.id}.{test.id}": test.outside for question in self.questions for test in question.tests
        }
