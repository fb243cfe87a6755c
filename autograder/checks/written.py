"""The kind ``written``: text that a person reads."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.options import place, question_options
from autograder.checks.results import blank, manual, no_answer, result
from autograder.errors import RubricError
from autograder.records import Answer, ItemResult, Scenario
from autograder.rubric import Question, Rubric, convert


class WrittenQuestion(Struct, frozen=True):
    """Options of a ``written`` question: none."""


class WrittenItem(Struct, frozen=True):
    """Options of an item of a ``written`` question."""

    guide: str = ""
    """For staff: what to look for."""


class WrittenCheck:
    """Every item waits for a person; a cell that was left alone has no points and needs nobody."""

    kind: ClassVar[str] = "written"
    question_type = WrittenQuestion
    item_type = WrittenItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        del rubric
        self.question = question
        question_options(question, WrittenQuestion)
        for item in question.items:
            convert(item.options, WrittenItem, place(question, item))
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
        del key
        read = tuple(item.id for item in self.question.items if not item.cell)
        if not read:
            return ()
        return (
            Trial("an empty cell", "", read),
            Trial("blanks only", " \n\t", read),
            Trial("one word", "Yes."),
        )

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """NEEDS_REVIEW for every item, or NO_ANSWER when the cell was left alone."""
        return tuple(
            result(self.question, item, no_answer())
            if blank(evidence.answer) and not item.cell
            else manual(self.question, item, evidence)
            for item in self.question.items
        )
