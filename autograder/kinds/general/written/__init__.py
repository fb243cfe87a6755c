"""The kind ``written``: text that a person reads."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.judging.manual import ManualItem, manual
from autograder.checks.judging.signs import Sign, signs_of
from autograder.checks.kind import Kind
from autograder.checks.options import place, question_options
from autograder.errors import RubricError
from autograder.records import Answer, ItemResult, Scenario
from autograder.rubric import Question, Rubric


class WrittenQuestion(Struct, frozen=True):
    """Options of a ``written`` question."""

    sign: tuple[Sign, ...] = ()
    """What graders look for; items say which of them, and how often."""


class WrittenCheck:
    """Every item waits for a person; where nothing was written there are no points, and nobody is needed."""

    kind: ClassVar[str] = "written"
    question_type = WrittenQuestion
    item_type = ManualItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        del rubric
        self.question = question
        signs_of(question)
        question_options(question, WrittenQuestion)
        for item in question.items:
            if not item.manual:
                raise RubricError(f"{place(question, item)}: manual: a written answer needs manual = true")

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Nothing is run."""
        del answer, draw
        return ()

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """Nothing is run."""
        del draw
        return ()

    def trials(self, key: Answer) -> tuple[Trial, ...]:
        """An empty cell leaves nothing for a person to read; a single word is read like any text."""
        read = tuple(item.id for item in self.question.items if not item.cell)
        if not read:
            return ()
        left = (Trial("a placeholder", "**Your answer here.**", read),) if key.cell_type == "markdown" else ()
        return (
            Trial("an empty cell", "", read),
            Trial("blanks only", " \n\t", read),
            *left,
            Trial("one word", "Yes."),
        )

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """NEEDS_REVIEW for every item, or NO_ANSWER where nothing was written."""
        return tuple(manual(self.question, item, evidence) for item in self.question.items)


KIND = Kind(WrittenCheck, form="written")
