"""The kind ``written``: text that a person reads."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from autograder.checks.base import Evidence, Trial
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.manual import ManualItem
from autograder.checks.judging.results import Finding, review
from autograder.checks.kind import Kind
from autograder.checks.options import place
from autograder.errors import RubricError
from autograder.records import Answer
from autograder.rubric import Item


class WrittenQuestion(Struct, frozen=True):
    """A ``written`` question has no options of its own."""


class WrittenCheck(ItemwiseCheck[WrittenQuestion, ManualItem]):
    """Every item waits for a person; where nothing was written there are no points, and nobody is needed."""

    kind: ClassVar[str] = "written"
    question_type = WrittenQuestion
    item_type = ManualItem

    def prepare(self) -> None:
        """Refuse items that nobody decides on."""
        for item, _ in self.automatic:
            raise RubricError("a written answer needs manual = true", place(self.question, item), "manual")

    def verdict(self, item: Item, options: ManualItem, evidence: Evidence) -> Finding:
        """There is no item without a person."""
        del options, evidence
        return review(f"{item.id}: nobody decides")

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


KIND = Kind(WrittenCheck, form="written")
