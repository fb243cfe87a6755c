"""What kinds have in common: options are read, a blank cell has no result, some items wait for a person.

A kind derives from `ItemwiseCheck` and says what is asked (`asked`) or tested (`cell_tests`), and what is
wrong with one item (`verdict`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from autograder.checks.base import Check, Draw, Evidence
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import (
    Finding,
    is_blank,
    no_answer,
    result,
)
from autograder.checks.options import item_options, question_options
from autograder.records import Answer, Call, ItemResult
from autograder.rubric import Item, Question, Rubric

Q = TypeVar("Q", bound=Struct)
"""The kind's question options."""
I = TypeVar("I", bound=Struct)  # noqa: E741 - read beside Q
"""The kind's item options."""
Verdict = ItemResult | Finding | None
"""On one item: what is wrong, None where nothing is; or the whole result, where more is to be said."""


class ItemwiseCheck(Check, Generic[Q, I]):
    """One question whose items are judged one by one."""

    question_type: type[Q]
    item_type: type[I]

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Read the options, and let the kind `prepare` what follows from them.

        Raises:
            RubricError: an option is missing, misspelt or of the wrong type; names the question.
        """
        self.question = question
        self.rubric = rubric
        self.options = question_options(question, self.question_type)
        self.items = item_options(question, self.item_type)
        self.prepare()

    @property
    def automatic(self) -> tuple[tuple[Item, I], ...]:
        """The items that no person decides on, with their options."""
        return tuple((item, self.items[item.id]) for item in self.question.items if item.id in self.items)

    def prepare(self) -> None:
        """Validate what the options say together; make what is the same for every submission.

        Raises:
            RubricError: they do not fit together; names the question.
        """

    def plan(self, answer: Answer, draw: Draw) -> tuple[Call, ...]:
        """The calls to make in the student's box; none for a cell that was left blank."""
        return () if self.is_unanswered(answer) else self.asked(answer, draw)

    def is_unanswered(self, answer: Answer) -> bool:
        """Whether there is nothing to judge: the cell was left as it was handed out, or emptied."""
        return is_blank(answer)

    def asked(self, answer: Answer, draw: Draw) -> tuple[Call, ...]:
        """The calls to make for a cell that was written in."""
        del answer, draw
        return ()

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item, in the rubric's order. Pure; never raises on any evidence."""
        return self.each(evidence, lambda item, options: self.verdict(item, options, evidence))

    @abstractmethod
    def verdict(self, item: Item, options: I, evidence: Evidence) -> Verdict:
        """What is to be said of an item that no person decides on, in a cell that was written in."""

    def each(self, evidence: Evidence, verdict: Callable[[Item, I], Verdict]) -> tuple[ItemResult, ...]:
        """The results: of a person's items, of a cell that was left blank, and the verdict on all others."""
        results = []
        for item in self.question.items:
            found: Verdict
            if item.manual:
                found = manual(self.question, item, evidence)
            elif self.is_unanswered(evidence.answer):
                found = no_answer()
            else:
                found = verdict(item, self.items[item.id])
            results.append(found if isinstance(found, ItemResult) else result(self.question, item, found))
        return tuple(results)
