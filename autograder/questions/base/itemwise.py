"""The shared part of all kinds: read options, skip blank cells, leave some items to manual review.

A kind derives from `ItemwiseCheck` and defines the calls (`list_calls`) or tests (`make_cell_tests`), and how
one item is judged (`judge_item`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from autograder.core.records import Answer, Call, ItemResult
from autograder.questions.base.base import Check, Evidence
from autograder.questions.base.judging.manual import judge_manual
from autograder.questions.base.judging.results import (
    Finding,
    is_blank,
    make_no_answer,
    make_result,
)
from autograder.questions.base.options import read_item_options, read_question_options
from autograder.rubric import Item, Question, Rubric

Q = TypeVar("Q", bound=Struct)
"""The question options of the kind."""
I = TypeVar("I", bound=Struct)  # noqa: E741 - read beside Q
"""The item options of the kind."""
Verdict = ItemResult | Finding | None
"""The judgement of one item: a finding, None if nothing is wrong, or the whole result if it has more to
say."""


class ItemwiseCheck(Check, Generic[Q, I]):
    """A question with items that are judged one by one."""

    question_type: type[Q]
    item_type: type[I]

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Read the options, and let the kind `prepare` everything derived from them.

        Raises:
            RubricError: an option is missing, misspelt or of the wrong type; names the question.
        """
        self.question = question
        self.rubric = rubric
        self.options = read_question_options(question, self.question_type)
        self.items = read_item_options(question, self.item_type)
        self.prepare()

    @property
    def automatic(self) -> tuple[tuple[Item, I], ...]:
        """The items that are graded automatically, with their options."""
        return tuple((item, self.items[item.id]) for item in self.question.items if item.id in self.items)

    def prepare(self) -> None:
        """Validate the options together, and compute everything that is the same for every submission.

        Raises:
            RubricError: they do not fit together; names the question.
        """

    def plan_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls to make in the student's sandbox; none for a blank cell."""
        return () if self.is_unanswered(answer) else self.list_calls(answer)

    def is_unanswered(self, answer: Answer) -> bool:
        """Return whether there is nothing to judge: the cell is unchanged since its release, or empty."""
        return is_blank(answer)

    def list_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls to make for a cell that is not blank."""
        del answer
        return ()

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item, in the rubric's order. Pure; never raises on any evidence."""
        return self.judge_items(evidence, lambda item, options: self.judge_item(item, options, evidence))

    @abstractmethod
    def judge_item(self, item: Item, options: I, evidence: Evidence) -> Verdict:
        """Judge an item that is graded automatically, in a cell that is not blank."""

    def judge_items(
        self, evidence: Evidence, verdict: Callable[[Item, I], Verdict]
    ) -> tuple[ItemResult, ...]:
        """Return one result per item: manual review, no answer for a blank cell, or else the verdict."""
        results = []
        for item in self.question.items:
            outcome: Verdict
            # A manual item may have another cell, which `judge_manual` tests for being blank.
            if item.manual:
                outcome = judge_manual(self.question, item, evidence)
            elif self.is_unanswered(evidence.answer):
                outcome = make_no_answer()
            else:
                outcome = verdict(item, self.items[item.id])
            results.append(
                outcome if isinstance(outcome, ItemResult) else make_result(self.question, item, outcome)
            )
        return tuple(results)
