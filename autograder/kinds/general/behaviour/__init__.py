"""The kind ``behaviour``: a function or class is called on hidden inputs and compared with the reference."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import field

from autograder.checks.base import AcceptedResult, Draw, Evidence, Observations
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging import carried, forbidden
from autograder.checks.judging.named import ScenarioResults, told_as_named
from autograder.checks.judging.results import (
    Finding,
    combine,
    differing,
    failed,
    first_failure,
    is_blank,
    observations_at,
    reference_value,
    same_value,
)
from autograder.checks.kind import Kind
from autograder.checks.options import (
    Rules,
    check_cases,
    named_cases,
    place,
)
from autograder.checks.planning.drawing import SAMPLE, Inputs, describe, plain
from autograder.checks.planning.subject import Callee, CalleeOptions
from autograder.checks.properties import Probe, PropertyItem, probe
from autograder.checks.values.arrays import compare_values
from autograder.checks.values.quoting import quote, quote_names
from autograder.checks.values.trivial import accepted_results
from autograder.errors import RubricError
from autograder.records import Answer, ItemResult, Ref, Scenario
from autograder.rubric import Item, Question
from autograder.wording import Phrase


class BehaviourQuestion(CalleeOptions, frozen=True):
    """Options of a ``behaviour`` question."""

    weights: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    """Name in the ``state_dict`` → shape. Drawn, and loaded into the student's and the reference's object."""
    biases: Literal["none", "optional"] = "none"
    """``optional``: a ``*.bias`` may exist for every ``*.weight``; it is set to zero."""
    forbidden: tuple[str, ...] = ()
    """Names that the answer may not make use of."""
    carry_forward: tuple[str, ...] = ()
    """Ids of earlier questions whose functions this answer may call: where one of them is wrong, the
    reference's results stand in for it."""
    compare: Rules = Rules()


class BehaviourItem(PropertyItem, frozen=True):
    """Options of an item of a ``behaviour`` question."""

    compare: Rules | None = None
    """Instead of the question's."""


MOST_PLANS = 4
"""Draws whose plans are kept; a class has one where all meet the same inputs."""


class BehaviourCheck(ItemwiseCheck[BehaviourQuestion, BehaviourItem]):
    """Cases compared with the reference, and properties of the student's own code.

    The plan has one scenario for each case that an item uses, then one for each property. Each begins
    with a construction of its own, so that a crash in one loses nothing of the others.
    """

    kind: ClassVar[str] = "behaviour"
    question_type = BehaviourQuestion
    item_type = BehaviourItem

    def prepare(self) -> None:
        """Refuse what cannot be called; make the probes of properties."""
        options, question = self.options, self.question
        self.cases = named_cases(options, question)
        biases = options.biases == "optional"
        self.carries = carried.questions_before(question, self.rubric, options.carry_forward)
        self._subject = Callee(question.answer, options, options.weights, biases=biases)
        if not question.answer:
            raise RubricError("the name of the function or class is missing", place(question), "answer")
        self._plans: dict[Draw, tuple[Scenario, ...]] = {}
        self._probes: dict[str, Probe] = {}
        used: dict[str, str] = {}
        for item, own in self.automatic:
            check_cases(item, own, self.cases, question)
            if own.property:
                self._probes[item.id] = self._probe(item, own)
            else:
                for name in self._cases_of(own, item):
                    used.setdefault(name, item.id)
        self._used, self._serves = tuple(used), used
        sample = Inputs(options, SAMPLE)
        self._scenarios(sample, self._used)
        self._start = len(self._subject.prologue(sample, weights=True))
        self._calls = self._start + options.times

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The cases, then the properties; the cases once more where something is forbidden."""
        del answer
        return (*self.trial_plan(draw), *self._recorded(Inputs(self.options, draw)))

    def trial_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The cases, then the properties."""
        known = self._plans.get(draw)
        if known is None:
            inputs = Inputs(self.options, draw)
            probes = (
                Scenario(f"{self.question.id}: {name}", probe.calls(inputs))
                for name, probe in self._probes.items()
            )
            known = (*self._scenarios(inputs, self._used), *probes)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[draw] = known
        return known

    def carried_plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The cases and the properties once more."""
        del answer
        return self.trial_plan(draw)

    def to_replace(self, evidence: Evidence) -> tuple[Question, ...]:
        """The questions before this one whose functions are wrong, where an item of this one fails."""
        if is_blank(evidence.answer) or not carried.gains(self.judge(evidence)):
            return ()
        return self._wrong_before(evidence)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The cases whose result is not stated."""
        return self._scenarios(Inputs(self.options, draw), self._referenced())

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; what the answer uses that is forbidden is the same for all."""
        used = functools.cache(lambda: self._forbidden(evidence))
        names = ", ".join(one.answer for one in self._wrong_before(evidence))
        again = msgspec.structs.replace(evidence, observed=evidence.carried)

        def judged(item: Item, options: BehaviourItem) -> Finding | ItemResult | None:
            own = self.verdict(item, options, evidence)
            if own is None or not evidence.carried:
                return forbidden.applied(used(), own)
            with_right = self.verdict(item, options, again)
            best = carried.better(self.question, item, own, with_right, names)
            return best if used() is None else forbidden.applied(used(), own if best is own else None)

        return self.each(evidence, judged)

    def verdict(self, item: Item, options: BehaviourItem, evidence: Evidence) -> Finding | None:
        """What is wrong in the cases of an item, or with its property; a named mistake by its name."""
        if item.id in self._probes:
            index = len(self._used) + list(self._probes).index(item.id)
            observations = observations_at(evidence.observed, index)
            finding = self._probes[item.id].verdict(observations, self.question.answer, evidence.draw)
            places = [index]
        else:
            names = options.cases or tuple(self.cases)
            findings = [self._explained(name, options, evidence) for name in names]
            finding = combine(findings, item.points, credit=options.credit)
            places = [self._used.index(name) for name in names]
        if finding is None or not evidence.named:
            return finding
        own = [self._results(place, evidence) for place in places]
        others = [self._results(place, evidence) for place in range(len(self._used))]
        rules = options.compare or self.options.compare
        return told_as_named(finding, item.id, evidence.named, own, others=others, rules=rules)

    def accepted_results(self, evidence: Evidence) -> tuple[AcceptedResult, ...]:
        """Look at the cases of every item that has no property."""
        inputs, found = Inputs(self.options, evidence.drawn), []
        for item, own in self.automatic:
            if item.id in self._probes:
                continue
            cases = []
            for name in own.cases or tuple(self.cases):
                right, fault = self._right(name, evidence)
                if fault is None:
                    args, kwargs = inputs.case(name, self.cases[name])
                    cases.append((self._subject.result(right), (*args, *kwargs.values())))
            rules = own.compare or self.options.compare
            found += [AcceptedResult(item.id, result) for result in accepted_results(cases, rules)]
        return tuple(found)

    def _results(self, place: int, evidence: Evidence) -> ScenarioResults:
        """What the calls of one scenario gave: the student's, the right ones, those of named mistakes."""
        of_case = place < len(self._used)
        calls = slice(self._start, self._calls) if of_case else slice(None)

        def values(observed: Sequence[Observations]) -> tuple[Any, ...]:
            came = observations_at(observed, place)[calls]
            if not all(one.ok for one in came) or (of_case and len(came) < self.options.times):
                return ()
            return tuple(self._subject.result(one.value) for one in came if not isinstance(one.value, Ref))

        right: tuple[Any, ...] = ()
        if of_case:
            name = self._used[place]
            right = (self._subject.result(self._right(name, evidence)[0]),)
        return ScenarioResults(
            values(evidence.observed), right, [values(one.observed) for one in evidence.named]
        )

    def _right(self, name: str, evidence: Evidence) -> tuple[Any, Finding | None]:
        """The right result of one case, or why there is none, which is our fault."""
        stated = plain(self.cases[name].value)
        if stated is not None:
            return stated, None
        theirs = observations_at(evidence.expected, self._referenced().index(name))
        return reference_value(theirs, self._start)

    def _recorded(self, inputs: Inputs) -> tuple[Scenario, ...]:
        """The cases once more, to record what they go through; only where something is forbidden."""
        if not (self.options.forbidden and self._used and self.options.library == "torch"):
            return ()
        return tuple(
            forbidden.recording(one, one.calls[: self._start + 1], self.options.forbidden)
            for one in self._scenarios(inputs, self._used)
        )

    def _forbidden(self, evidence: Evidence) -> Finding | None:
        if not self.options.forbidden:
            return None
        first = len(self._used) + len(self._probes)
        places = range(len(self._used)) if self.options.library == "torch" else ()
        seen = [observations_at(evidence.observed, place) for place in places]
        usual = [one[self._start] if len(one) > self._start else None for one in seen]
        recorded = [observations_at(evidence.observed, first + place) for place in places]
        return forbidden.finding(evidence, self.question.answer, self.options.forbidden, recorded, usual)

    def _explained(self, name: str, item: BehaviourItem, evidence: Evidence) -> Finding | None:
        """The finding of one case; only a case that is wrong is drawn again, to name its sizes."""
        if self._case(name, item, evidence, self._what(name, None)) is None:
            return None
        finding = self._case(name, item, evidence, self._what(name, evidence.draw))
        if finding is None or evidence.draw is None:
            return finding
        arguments = Inputs(self.options, evidence.draw).case(name, self.cases[name])
        staff, called = finding.staff or finding.code, describe(arguments, scalars=True)
        if called == describe(arguments):
            return finding
        return msgspec.structs.replace(finding, staff=f"{staff}; called with {called}")

    def _case(self, name: str, item: BehaviourItem, evidence: Evidence, what: Phrase) -> Finding | None:
        """How the student's result of one case differs from what is right."""
        start, calls = self._start, self._calls
        expected, finding = self._right(name, evidence)
        if finding is not None:
            return finding
        observations = observations_at(evidence.observed, self._used.index(name))
        finding = first_failure(observations, calls, self.question.answer, what)
        if finding is not None:
            return finding
        absent, beyond = self._subject.missing_weights(observations)
        if absent:
            names = quote_names(absent)
            return failed("weights.missing", f"{what}: no weights {names}", what=what, names=names)
        given = self._subject.result(observations[start].value)
        if calls - start == 2 and not same_value(observations[start].value, observations[start + 1].value):
            return failed("unsteady", f"{what}: two equal calls differ", what=what)
        rules = item.compare or self.options.compare
        difference = compare_values(given, self._subject.result(expected), rules)
        if difference is None:
            return None
        finding = differing(difference, what)
        if not beyond:
            return finding
        staff = f"{finding.staff}; has weights beyond the contract: {quote(', '.join(beyond))}"
        return msgspec.structs.replace(finding, staff=staff)

    def _scenarios(self, inputs: Inputs, names: Sequence[str]) -> tuple[Scenario, ...]:
        prologue = self._subject.prologue(inputs, weights=True)
        scenarios = []
        for name in names:
            case = self.cases[name]
            call = self._subject.call(inputs.case(name, case), method=case.method, seed=case.seed)
            calls = (call,) * self.options.times
            title = f"{self.question.id}: {name}"
            scenarios.append(Scenario(title, (*prologue, *calls), serves=self._serves[name]))
        return tuple(scenarios)

    def _referenced(self) -> list[str]:
        return [name for name in self._used if self.cases[name].value is None]

    def _what(self, name: str, draw: Draw | None) -> Phrase:
        """The case in words, with the sizes of its inputs when the draw is known."""
        sizes = describe(Inputs(self.options, draw).case(name, self.cases[name])) if draw else ""
        return self.cases[name].asked(self.question.answer, name, sizes)

    def _cases_of(self, options: BehaviourItem, item: Item) -> tuple[str, ...]:
        names = options.cases or tuple(self.cases)
        where = place(self.question, item)
        if not names:
            raise RubricError("the question has no case and the item no property", where, "cases")
        if not self.question.reference and any(self.cases[name].value is None for name in names):
            raise RubricError("nothing says what is right: state value or a reference", where, "cases")
        return names

    def _wrong_before(self, evidence: Evidence) -> tuple[Question, ...]:
        return carried.wrong_before(self.rubric, self.carries, evidence.earlier)

    def _probe(self, item: Item, options: BehaviourItem) -> Probe:
        where = place(self.question, item)
        if options.cases:
            raise RubricError("a property has one case: case = …", where, "cases")
        if options.case and options.case not in self.cases:
            raise RubricError(f"no case {options.case!r}", where, "case")
        first = next(iter(self.cases), "")
        name = options.case or first
        return probe(self._subject, options, f"property:{item.id}", self.cases.get(name), where)


KIND = Kind(BehaviourCheck, form="code")
