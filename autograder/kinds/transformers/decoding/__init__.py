"""The kind ``decoding``: filters of logits exactly, searches with their ties, and samples by distribution.

The reference is an oracle: asked with the arguments of the student's function it gives everything that is
right, and for mistakes it knows what they give (``reference/decoding_questions.py``). So a wrong answer is
recognised by what it computes, never by its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from autograder.checks.base import Draw, Evidence
from autograder.checks.judging.known import check_worths, known_mistake, shared
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import (
    Finding,
    blank,
    combine,
    differing,
    failed,
    no_answer,
    observations_at,
    reference_value,
    result,
    review,
    trouble,
)
from autograder.checks.options import (
    check_cases,
    check_oracle,
    item_options,
    needed_cases,
    place,
    question_options,
)
from autograder.checks.planning.drawing import SAMPLE
from autograder.checks.planning.targets import same_value
from autograder.checks.values.arrays import Difference
from autograder.errors import RubricError
from autograder.kinds.transformers.decoding.contracts import contract_of
from autograder.kinds.transformers.decoding.options import DecodingItem, DecodingQuestion
from autograder.kinds.transformers.decoding.plan import Asking
from autograder.records import Answer, ItemResult, Scenario, Tensor
from autograder.rubric import Item, Question, Rubric
from autograder.wording import Phrase

AREA = "decoding"
"""Of the vocabulary: the code of a mistake stands there behind this and a dot."""


class DecodingCheck:
    """One function, asked in every case and round; the plan has one scenario for each."""

    kind: ClassVar[str] = "decoding"
    question_type = DecodingQuestion
    item_type = DecodingItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        del rubric
        self.question = question
        self.options = question_options(question, DecodingQuestion)
        self.items = item_options(question, DecodingItem)
        check_oracle(question, "the function", "reference/decoding_questions.py")
        self.cases = needed_cases(self.options, question)
        self._asking = Asking(question.answer, self.options)
        self._contract = contract_of(self.options)
        for item in question.items:
            if item.id in self.items:
                self._check(item, self.items[item.id])
        for name, case in self.cases.items():
            self._check_case(
                f"{place(question)}, case {name!r}", self._asking.arguments(name, case, SAMPLE)[0]
            )

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Every case in every round."""
        if blank(answer):
            return ()
        return tuple(
            self._asking.student(f"{self.question.id}: {name}", drawn, self.cases[name], draw)
            for name, drawn in self._rounds()
        )

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same of the oracle."""
        return tuple(
            self._asking.reference(f"{self.question.id}: {name}", drawn, self.cases[name], draw)
            for name, drawn in self._rounds()
        )

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; see `autograder.checks.base.Check`."""
        return tuple(self._judge(item, evidence) for item in self.question.items)

    def _judge(self, item: Item, evidence: Evidence) -> ItemResult:
        if item.manual:
            return manual(self.question, item, evidence)
        if blank(evidence.answer):
            return result(self.question, item, no_answer())
        options = self.items[item.id]
        names = options.cases or tuple(self.cases)
        findings: list[Finding | None] = []
        suspects: list[list[str]] = []
        for name in names:
            rounds = [self._round(index, name, options, evidence) for index in self._indices(name)]
            wrong = [finding for finding, _ in rounds if finding is not None]
            suspects += [codes for finding, codes in rounds if finding is not None]
            findings.append(combine(wrong, item.points, credit="all"))
        finding = combine(findings, item.points, credit=options.credit)
        if finding is not None and suspects:
            finding = known_mistake(finding, shared(suspects), AREA, options.mistake)
        return result(self.question, item, finding)

    def _round(
        self, index: int, name: str, item: DecodingItem, evidence: Evidence
    ) -> tuple[Finding | None, list[str]]:
        """What one scenario came to, and the mistakes that give the same."""
        what = self.cases[name].asked(self.question.answer, name)
        told, finding = reference_value(observations_at(evidence.expected, index), self._asking.start)
        if finding is not None:
            return finding, []
        right = self._contract.right(told)
        if right is None:
            return review(f"{what}: the reference is no oracle of the contract {self.options.contract}"), []
        observations = observations_at(evidence.observed, index)
        start, end = self._asking.start, self._asking.start + self._asking.calls
        finding = trouble(observations, end, self.question.answer, what)
        if finding is not None:
            return finding, []
        values = [observation.value for observation in observations[start:end]]
        if values[0] is None:
            return no_answer("value.none", f"{what} is None", what=what), []
        if self.options.contract != "sample" and not all(same_value(values[0], one) for one in values[1:]):
            return failed("unsteady", f"{what}: two equal calls differ", what=what), []
        given, difference = self._contract.read(values, right)
        if difference is not None:
            return differing(difference, what), []
        tests = self.options.rounds * len(item.cases or self.cases)
        difference = self._contract.differs(given, right, item, tests)
        if difference is None:
            return None, []
        return self._wrong(difference, what, given, told, tests)

    def _wrong(
        self, difference: Difference, what: Phrase, given: Any, told: Mapping[str, Any], tests: int
    ) -> tuple[Finding, list[str]]:
        codes = [
            pair[0]
            for pair in told.get("mistakes") or ()
            if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
            if self._contract.same(given, pair[1], tests)
        ]
        return differing(difference, what), codes

    def _rounds(self) -> list[tuple[str, str]]:
        """Case, and the name under which its hidden numbers are drawn; one for each scenario."""
        return [(name, f"{name} #{number}") for name in self.cases for number in range(self.options.rounds)]

    def _indices(self, name: str) -> list[int]:
        return [index for index, (case, _) in enumerate(self._rounds()) if case == name]

    def _check(self, item: Item, options: DecodingItem) -> None:
        where = place(self.question, item)
        check_cases(item, options, self.cases, self.question)
        if options.measure == "support" and self.options.contract != "sample":
            raise RubricError(f'{where}: measure: support needs contract = "sample"')
        check_worths(options.mistake, AREA, item.points, where)

    def _check_case(self, where: str, args: tuple[Any, ...]) -> None:
        first = args[0] if args else None
        numbers = first.array if isinstance(first, Tensor) else first
        if not isinstance(numbers, np.ndarray) or numbers.ndim < 2:
            raise RubricError(f"{where}: args: the first one must be an array of logits or tokens with rows")
        if self.options.contract == "sample" and numbers.shape[0] != 1:
            raise RubricError(f"{where}: args: one row is drawn from, got {numbers.shape[0]}")
