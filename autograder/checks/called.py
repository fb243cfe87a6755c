"""What the kinds ``count``, ``shape`` and ``value`` share besides: their values may come of functions.

A wrong value that a named trial of the reference gives as well is told as that mistake, and functions of
earlier answers may be carried forward; see `checks.judging.named` and `checks.judging.carried`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from autograder.checks.base import Draw, Evidence, Observations
from autograder.checks.compared import Compared, ComparedCheck
from autograder.checks.judging import carried
from autograder.checks.judging.named import ENOUGH, ScenarioResults, told_as_named
from autograder.checks.judging.results import is_blank, result
from autograder.checks.options import AnswerItem, CalledOptions, Rules, place
from autograder.checks.planning.targets import FoundValue, ValueTarget
from autograder.errors import RubricError
from autograder.records import Answer, ItemResult, Scenario
from autograder.rubric import Item, Question

Q = TypeVar("Q", bound=CalledOptions)
I = TypeVar("I", bound=AnswerItem)  # noqa: E741 - read beside Q


class CalledCheck(ComparedCheck[Q, I]):
    """Values that are compared, of variables or of calls, with mistakes that trials name."""

    enough: ClassVar[int] = ENOUGH
    """So many wrong whole numbers that differ tell a mistake."""

    def prepare(self) -> None:
        """See `ComparedCheck`; refuse to carry forward what is not called."""
        super().prepare()
        self.carries = carried.questions_before(self.question, self.rubric, self.options.carry_forward)
        if self.carries and not self.targets.cases:
            text = "only calls can be made once more: state the cases of a function"
            raise RubricError(text, place(self.question), "carry_forward")

    def plain(self, read: Any) -> Any:
        """A value that was read, as numbers, arrays and texts that can be compared with another one."""
        return read

    def rules(self, item: Item) -> Rules:
        """How values are compared with those of trials."""
        del item
        return Rules()

    def trial_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The variables to read, or the cases to call."""
        return self.targets.trial_plan(draw)

    def carried_plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The cases once more."""
        return self.asked(answer, draw)

    def to_replace(self, evidence: Evidence) -> tuple[Question, ...]:
        """The questions before this one whose functions are wrong, where an item of this one fails."""
        if is_blank(evidence.answer) or not carried.gains(self.judge(evidence)):
            return ()
        return self._wrong_before(evidence)

    def verdict(self, item: Item, options: I, evidence: Evidence) -> ItemResult:
        """What is wrong, with the student's own functions or better with right results of some."""
        own = self._told(item, options, evidence)
        if not evidence.carried:
            return self._as_result(item, own)
        again = self._told(item, options, replace(evidence, observed=evidence.carried))
        names = ", ".join(one.answer for one in self._wrong_before(evidence))
        best = carried.better(self.question, item, own.finding, again.finding, names)
        if isinstance(best, ItemResult):
            return replace(best, reading=again.reading)
        return self._as_result(item, own if best is own.finding else Compared(best, again.reading))

    def _as_result(self, item: Item, found: Compared) -> ItemResult:
        return replace(result(self.question, item, found.finding), reading=found.reading)

    def _told(self, item: Item, options: I, evidence: Evidence) -> Compared:
        """What came of an item's values; a mistake of a trial by its name."""
        found = self.found(item, options, evidence)
        if found.finding is None or not evidence.named:
            return found
        own = [self._results(target, item, options, evidence) for target in self.targets.of_item(item)]
        others = [self._results(target, item, options, evidence) for target in self.targets.every]
        told = told_as_named(
            found.finding,
            item.id,
            evidence.named,
            own,
            others=others,
            rules=self.rules(item),
            enough=self.enough,
        )
        return replace(found, finding=told)

    def _results(self, target: ValueTarget, item: Item, options: I, evidence: Evidence) -> ScenarioResults:
        """One value: the student's, the right one, those of named mistakes."""

        def values(found: FoundValue, *, right: bool = False) -> tuple[Any, ...]:
            if found.finding is not None:
                return ()
            read = self.read_right if right else self.read
            value, finding = read(found.value, item, target)
            return () if finding is not None else (self.plain(value),)

        def of_trial(observed: Sequence[Observations]) -> tuple[Any, ...]:
            return values(self.targets.of_trial(target, options.key, observed))

        rights = (
            FoundValue(self.stated(item, evidence)[0])
            if self.has_value(item)
            else self.targets.expected(target, options.key, evidence)
        )
        return ScenarioResults(
            values(self.targets.value(target, options.key, evidence)),
            values(rights, right=True),
            [of_trial(one.observed) for one in evidence.named],
        )

    def _wrong_before(self, evidence: Evidence) -> tuple[Question, ...]:
        return carried.wrong_before(self.rubric, self.carries, evidence.earlier)
