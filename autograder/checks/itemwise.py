"""What a question kind is: what is asked, and a pure judgement of what came of it.

A kind derives from `ItemwiseCheck`. A check is made once per question and rubric. For each submission it says
which variables to read in the student's box (`asked`), or which tests to run (`cell_tests`); the reference
solution was asked in a box of its own (`reference_plan`). `judge` compares outside, without any sandbox; what
is wrong with one item is its `verdict`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import AcceptedResult, Draw, Evidence, IdleArgument, PartialCredit, Trial
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import (
    Finding,
    is_blank,
    no_answer,
    result,
)
from autograder.checks.options import item_options, question_options
from autograder.records import Answer, CellTest, ItemResult, Scenario
from autograder.rubric import Item, Question, Rubric

Q = TypeVar("Q", bound=Struct)
"""The kind's question options."""
I = TypeVar("I", bound=Struct)  # noqa: E741 - read beside Q
"""The kind's item options."""
Verdict = ItemResult | Finding | None
"""On one item: what is wrong, None where nothing is; or the whole result, where more is to be said."""


class ItemwiseCheck(ABC, Generic[Q, I]):
    """One question whose items are judged one by one."""

    kind: ClassVar[str]
    question_type: type[Q]
    """The record of the question's options."""
    item_type: type[I]
    """The record of the options of its items."""
    runs_tests: ClassVar[bool] = False
    """Its items are tests, which run while the notebook stands at their place; see `cell_tests`."""
    asks_again: ClassVar[bool] = False
    """The reference is asked about single answers; see `second_round`."""

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

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The calls to make in the student's box; none for a cell that was left blank."""
        return () if self.is_unanswered(answer) else self.asked(answer, draw)

    def is_unanswered(self, answer: Answer) -> bool:
        """Whether there is nothing to judge: the cell was left as it was handed out, or emptied."""
        return is_blank(answer)

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The calls to make for a cell that was written in."""
        del answer, draw
        return ()

    def reference_plan(self) -> tuple[Scenario, ...]:
        """The calls to make in the reference's box; empty when nothing is needed.

        There the rubric's ``reference = "module:name"`` is bound to the name the student assigns
        (`Question.answer`).
        """
        return ()

    def second_round(self, evidence: Evidence) -> tuple[Scenario, ...]:
        """Return further calls in the reference's box, which follow from the student's answers.

        The answers may be among the arguments, as plain data that was checked; code never is.

        Args:
            evidence: without what the second round will bring.
        """
        del evidence
        return ()

    @property
    def after(self) -> str:
        """The grade_id of the cell before which tests run; empty: after the last one."""
        return ""

    def cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the test of each item, by its id; several of one item have names of their own.

        Args:
            draw: of the question's hidden inputs.
        """
        del draw
        return {}

    def trials(self, key: Answer) -> Sequence[Trial]:
        """Return answers that must lose exactly what they say, and alternatives, which lose nothing.

        Args:
            key: the answer key's answer, which is right.
        """
        del key
        return ()

    @property
    def ways(self) -> Mapping[str, PartialCredit]:
        """The partial credit of each item that has some, by its id."""
        return {}

    def idle_arguments(self, evidence: Evidence) -> tuple[IdleArgument, ...]:
        """Return arguments of maxima and minima in right answers that were nowhere seen to decide."""
        del evidence
        return ()

    def accepted_results(self, evidence: Evidence) -> tuple[AcceptedResult, ...]:
        """Return results without any work, such as zeros, that are taken for right though they are wrong."""
        del evidence
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


Check = ItemwiseCheck[Any, Any]
"""The check of any kind."""


def trials_of(check: Check, key: Answer) -> tuple[Trial, ...]:
    """The trials that a check makes by itself.

    Where two have one name, as mistakes that are stated twice, the later one is numbered.
    """
    made: dict[str, Trial] = {}
    for trial in check.trials(key):
        name, number = trial.name, 1
        while name in made:
            number += 1
            name = f"{trial.name} ({number})"
        made[name] = replace(trial, name=name)
    return tuple(made.values())
