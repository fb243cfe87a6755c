"""The kind ``decoding``: filters of logits exactly, searches with their ties, and samples by distribution.

The reference is an oracle: asked with the arguments of the student's function it gives everything that is
right, and for mistakes it knows what they give (``reference/decoding_questions.py``). So a wrong answer is
recognised by what it computes, never by its text.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from autograder.checks.base import Draw, Evidence
from autograder.checks.itemwise import OracleCheck
from autograder.checks.judging.oracle import MistakeWorth, matching_mistakes, read_reply
from autograder.checks.judging.results import (
    Finding,
    combine,
    differing,
    first_failure,
    observations_at,
    reference_value,
    repeated_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import (
    CallOptions,
    Case,
    CaseItem,
    GivenClass,
    check_cases,
    needed_cases,
    place,
)
from autograder.checks.planning.drawing import SAMPLE, Arguments, Inputs
from autograder.checks.planning.subject import asking
from autograder.errors import RubricError
from autograder.kinds.transformers.decoding.contracts import DecodingContract, Filters, Samples, Searches
from autograder.records import Answer, Call, Ref, Scenario, Tensor
from autograder.rubric import Item


class DecodingQuestion(CallOptions, frozen=True):
    """Options of a ``decoding`` question."""

    contract: Literal["filter", "search", "sample"] = "filter"
    """``filter``: what is kept of logits; ``search``: sequences; ``sample``: tokens drawn for every row."""
    returns: Literal["logits", "probabilities", "either"] = "logits"
    """Of a filter: logits with -inf for what is removed, or probabilities that sum to 1."""
    model: GivenClass | None = None
    """The class whose object, with random weights, is the first argument."""
    rounds: Annotated[int, Meta(ge=1, le=20)] = 3
    """Each case is asked so often, each time with other hidden numbers and another random model."""
    draws: Annotated[int, Meta(ge=100, le=200_000)] = 10_000
    """Rows that are drawn in one call of a sampling function; it is called twice."""


class DecodingItem(CaseItem, frozen=True):
    """Options of an item of a ``decoding`` question."""

    measure: Literal["result", "support"] = "result"
    """``support``: of a sampling function only that nothing impossible is drawn, and something at random."""
    mistake: tuple[MistakeWorth, ...] = ()


MODEL = "model"
"""The kept name of the given model."""


class Asking:
    """The calls of one question.

    Args:
        name: the function the student writes.
        options: of the question.
    """

    def __init__(self, name: str, options: DecodingQuestion) -> None:
        self._name = name
        self._options = options
        self.calls = 2 if options.contract == "sample" else options.times
        """Calls of the function in one scenario."""
        self.start = 3 if options.model else 0
        """Calls before the first one of the function."""

    def student(self, title: str, name: str, case: Case, draw: Draw) -> Scenario:
        """One case in one round: the given model, then the function, as often as it takes."""
        first, second = self._seeds(name, draw)
        args, kwargs = self.arguments(name, case, draw)
        if self._options.contract == "sample":
            args = (self._rows(args[0]), *args[1:])
        else:
            second = first
        seeds = (first, second) if case.seed is None else (case.seed, case.seed)
        model = self._options.model
        prologue = self._model(model.name, "", name, draw) if model else ()
        args = (Ref(MODEL), *args) if model else args
        asked = tuple(
            asking(self._name, self._options, (args, kwargs), seed=seed) for seed in seeds[: self.calls]
        )
        return Scenario(title, (*prologue, *asked))

    def reference(self, title: str, name: str, case: Case, draw: Draw) -> Scenario:
        """The same of the oracle: its model, then what it expects; one row where rows are drawn."""
        args, kwargs = self.arguments(name, case, draw)
        model = self._options.model
        prologue = self._model(self._name, "model", name, draw) if model else ()
        args = (Ref(MODEL), *args) if model else args
        asked = asking(self._name, self._options, (args, kwargs), attribute="expected", grad=False)
        return Scenario(title, (*prologue, asked))

    def arguments(self, name: str, case: Case, draw: Draw) -> Arguments:
        """The hidden arguments of one case in one round, without the model."""
        return Inputs(self._options, draw).case(name, case)

    def _model(self, target: str, attribute: str, name: str, draw: Draw) -> tuple[Call, ...]:
        model = self._options.model or GivenClass("")
        arguments = Inputs(self._options, draw).arguments("model", model.args, model.kwargs)
        seed = self._seeds(f"model of {name}", draw)[0]
        made = asking(target, self._options, arguments, attribute=attribute, seed=seed, keep=MODEL)
        # Whoever searches does not train: what the model gives can be changed in place, and needs no memory
        # for a backward pass. Autograd itself is on, as in a notebook.
        frozen = Call(Ref(MODEL), attribute="requires_grad_", args=(False,), keep=MODEL)
        return made, frozen, Call(Ref(MODEL), attribute="eval", keep=MODEL)

    @staticmethod
    def _seeds(name: str, draw: Draw) -> tuple[int, int]:
        first, second = draw.generator(f"seed: {name}").integers(0, 2**31, 2)
        return int(first), int(second)

    def _rows(self, row: Any) -> Any:
        """Many times the same row."""
        numbers = row.array if isinstance(row, Tensor) else row
        rows = np.repeat(numbers, self._options.draws, axis=0)
        return Tensor(rows, row.dtype) if isinstance(row, Tensor) else rows


class DecodingCheck(OracleCheck[DecodingQuestion, DecodingItem]):
    """One function, asked in every case and round; the plan has one scenario for each."""

    kind: ClassVar[str] = "decoding"
    question_type = DecodingQuestion
    item_type = DecodingItem
    example: ClassVar[str] = "reference/decoding_questions.py"

    def prepare(self) -> None:
        """Refuse cases without rows, and measures of another contract."""
        super().prepare()
        self.cases = needed_cases(self.options, self.question)
        self._asking = Asking(self.question.answer, self.options)
        contracts: dict[str, DecodingContract] = {
            "filter": Filters(self.options.returns),
            "search": Searches(),
            "sample": Samples(self.options.draws),
        }
        self._contract = contracts[self.options.contract]
        for item, options in self.automatic:
            check_cases(item, options, self.cases, self.question)
            if options.measure == "support" and self.options.contract != "sample":
                raise RubricError('support needs contract = "sample"', place(self.question, item), "measure")
        for name, case in self.cases.items():
            where = place(self.question).at(f", case {name!r}", "case", name)
            self._check_case(where, self._asking.arguments(name, case, SAMPLE)[0])

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Every case in every round."""
        del answer
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

    def verdict(self, item: Item, options: DecodingItem, evidence: Evidence) -> Finding | None:
        """What is wrong in the cases of an item: in each the first round that is."""
        findings: list[Finding | None] = []
        found: list[list[str]] = []
        for name in options.cases or tuple(self.cases):
            rounds = [self._round(index, name, options, evidence) for index in self._indices(name)]
            wrong = [finding for finding, _ in rounds if finding is not None]
            found += [codes for finding, codes in rounds if finding is not None]
            findings.append(combine(wrong, item.points, credit="all"))
        return self.known(combine(findings, item.points, credit=options.credit), found, options)

    def _round(
        self, index: int, name: str, item: DecodingItem, evidence: Evidence
    ) -> tuple[Finding | None, list[str]]:
        """What one scenario came to, and the mistakes that give the same."""
        what = self.cases[name].asked(self.question.answer, name)
        start, calls = self._asking.start, self._asking.calls
        reply, finding = reference_value(observations_at(evidence.expected, index), start)
        if finding is not None:
            return finding, []
        right = self._contract.right(read_reply(reply).right)
        if right is None:
            return review(f"{what}: the reference is no oracle of the contract {self.options.contract}"), []
        observations = observations_at(evidence.observed, index)
        drawn = self.options.contract == "sample"  # two calls that differ, as they should
        value, finding = repeated_value(
            observations, start, 1 if drawn else calls, self.question.answer, what
        )
        finding = finding or first_failure(observations, start + calls, self.question.answer, what)
        if finding is not None:
            return finding, []
        values = [one.value for one in observations[start : start + calls]] if drawn else [value]
        given, difference = self._contract.read(values, right)
        if difference is not None:
            return differing(difference, what), []
        tests = self.options.rounds * len(item.cases or self.cases)
        difference = self._contract.differs(given, right, tests, support=item.measure == "support")
        if difference is None:
            return None, []
        return differing(difference, what), matching_mistakes(
            reply, lambda wrong: self._contract.same(given, wrong, tests)
        )

    def _rounds(self) -> list[tuple[str, str]]:
        """Case, and the name under which its hidden numbers are drawn; one for each scenario."""
        return [(name, f"{name} #{number}") for name in self.cases for number in range(self.options.rounds)]

    def _indices(self, name: str) -> list[int]:
        return [index for index, (case, _) in enumerate(self._rounds()) if case == name]

    def _check_case(self, where: str, args: tuple[Any, ...]) -> None:
        first = args[0] if args else None
        numbers = first.array if isinstance(first, Tensor) else first
        if not isinstance(numbers, np.ndarray) or numbers.ndim < 2:
            raise RubricError("the first one must be an array of logits or tokens with rows", where, "args")
        if self.options.contract == "sample" and numbers.shape[0] != 1:
            raise RubricError(f"one row is drawn from, got {numbers.shape[0]}", where, "args")


KIND = Kind(DecodingCheck, form="code")
