"""The kind ``written``: text that is graded manually."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Answer
from autograder.questions.base.base import Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck
from autograder.questions.base.judging.manual import ManualItem
from autograder.questions.base.judging.results import Finding, make_review
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import locate_question
from autograder.rubric import Item


class WrittenQuestion(Struct, frozen=True):
    """A ``written`` question has no options."""


class WrittenCheck(ItemwiseCheck[WrittenQuestion, ManualItem]):
    """Every item needs manual review, except that an unwritten answer earns nothing without one."""

    kind: ClassVar[str] = "written"
    question_type = WrittenQuestion
    item_type = ManualItem

    def prepare(self) -> None:
        """Refuse items without manual grading."""
        for item, _ in self.automatic:
            raise RubricError(
                "a written answer needs manual = true", locate_question(self.question, item), "manual"
            )

    def judge_item(self, item: Item, options: ManualItem, evidence: Evidence) -> Finding:
        """Return a request for review; `prepare` refuses items that would get here."""
        del options, evidence
        return make_review(f"{item.id}: nobody decides")

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return empty answers, which need no manual review, and a single word, which does."""
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


KIND = Kind(WrittenCheck, form="written")
