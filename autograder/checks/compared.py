"""What the kinds ``count``, ``shape`` and ``value`` share: read a value, compare it, name the mistake."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeVar

from autograder.checks.base import Draw, Evidence
from autograder.checks.drawing import SAMPLE
from autograder.checks.options import AnswerItem, CallOptions, Mistake, item_options, place, question_options
from autograder.checks.results import Finding, blank, combine, manual, no_answer, result, review
from autograder.checks.targets import Target, Targets
from autograder.errors import RubricError
from autograder.records import Answer, ItemResult, Message, Scenario, Status
from autograder.rubric import Item, Question, Rubric

Q = TypeVar("Q", bound=CallOptions)
"""The kind's question options."""
I = TypeVar("I", bound=AnswerItem)  # noqa: E741 - read beside Q
"""The kind's item options."""


class ComparedCheck(Generic[Q, I]):
    """One question whose items compare a value with what is right.

    A kind says how a value is read (`read`), how it differs (`differs`) and what an item's
    options say is right (`stated`); the rest is the same for all of them.
    """

    kind: ClassVar[str]
    question_type: type[Q]
    item_type: type[I]

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        self.question = question
        self.rubric = rubric
        self.options = question_options(question, self.question_type)
        self.items = item_options(question, self.item_type)
        self.targets = Targets(question, self.options, self.items)
        for item in question.items:
            if item.id in self.items:
                self._check(item, self.items[item.id])

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The variables to read, or the cases to call."""
        return () if blank(answer) else self.targets.plan(answer, draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same cases, or one call of the reference without arguments."""
        return self.targets.reference_plan(draw)

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; see `autograder.checks.base.Check`."""
        return tuple(self._judge(item, evidence) for item in self.question.items)

    @abstractmethod
    def read(self, value: Any, target: Target) -> tuple[Any, Finding | None]:
        """The value in the form that is compared, or why it has not that form."""

    @abstractmethod
    def differs(self, given: Any, right: Any, item: Item, target: Target) -> Finding | None:
        """How a value that was read differs from one that is right."""

    @abstractmethod
    def stated(self, item: Item, evidence: Evidence) -> tuple[Any, ...]:
        """What the item's options say is right: its ``value`` first, then what is accepted besides."""

    @abstractmethod
    def has_value(self, item: Item) -> bool:
        """Whether the item states its ``value``."""

    def wrong_value(self, mistake: Mistake, evidence: Evidence) -> Any:
        """What a named mistake looks like."""
        del evidence
        return mistake.when

    def _check(self, item: Item, options: I) -> None:
        where = place(self.question, item)
        if not self.has_value(item) and self.targets.needs_reference(item):
            if not self.question.reference:
                raise RubricError(f"{where}: value: nothing says what is right: state it or a reference")
            if options.answer:
                raise RubricError(f"{where}: value: the reference only knows the question's own answer")
        sample = Evidence(Answer("", "code", "", changed=True), (), draw=SAMPLE)
        for value in self.stated(item, sample):
            if self.read(value, Target(""))[1] is not None:
                raise RubricError(f"{where}: value: {value!r} is no answer of kind {self.kind}")
        for mistake in options.mistake:
            wrong = self.wrong_value(mistake, sample)
            if self.read(wrong, Target(""))[1] is not None:
                raise RubricError(f"{where}, mistake {mistake.code!r}: when: no answer of kind {self.kind}")

    def _judge(self, item: Item, evidence: Evidence) -> ItemResult:
        if item.manual:
            return manual(self.question, item, evidence)
        if blank(evidence.answer):
            return result(self.question, item, no_answer())
        options = self.items[item.id]
        findings = [self._target(item, options, target, evidence) for target in self.targets.of_item(item)]
        return result(self.question, item, combine(findings, item.points, credit=options.credit))

    def _target(self, item: Item, options: I, target: Target, evidence: Evidence) -> Finding | None:
        found = self.targets.value(target, options.key, evidence)
        if found.finding is not None:
            return found.finding
        given, finding = self.read(found.value, target)
        if finding is not None:
            return finding
        rights, finding = self._rights(item, options, target, evidence)
        if finding is not None:
            return finding
        differences = [self.differs(given, right, item, target) for right in rights]
        if None in differences:
            return None
        return self._named(given, item, options.mistake, target, evidence) or differences[0]

    def _rights(
        self, item: Item, options: I, target: Target, evidence: Evidence
    ) -> tuple[list[Any], Finding | None]:
        """Every right value in the form that is compared; the finding is our own fault."""
        values = list(self.stated(item, evidence))
        if not self.has_value(item):
            found = self.targets.expected(target, options.key, evidence)
            if found.finding is not None:
                return [], found.finding
            values.insert(0, found.value)
        rights = [self.read(value, target) for value in values]
        if any(finding is not None for _, finding in rights):
            return [], review(f"{target.what}: the expected value is not one of kind {self.kind}")
        return [right for right, _ in rights], None

    def _named(
        self, given: Any, item: Item, mistakes: Sequence[Mistake], target: Target, evidence: Evidence
    ) -> Finding | None:
        for mistake in mistakes:
            wrong, finding = self.read(self.wrong_value(mistake, evidence), target)
            if finding is None and self.differs(given, wrong, item, target) is None:
                message = Message(mistake.code, text=mistake.text)
                staff = f"{target.what}: named mistake {mistake.code}"
                return Finding(Status.FAILED, message, staff, Decimal(mistake.points))
        return None
