"""The kind ``repair``: a class was handed out with planted faults; each item is one fault.

Options of the question: none; ``answer`` names the class. Option of an item: ``fault``, the fault's id;
default: the item's own id.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import msgspec
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations, SecondRound
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import blank, no_answer, result, review
from autograder.checks.options import item_options, place, question_options
from autograder.checks.values.quoting import quote
from autograder.errors import RubricError
from autograder.kinds.transformers.repair.experiment import Access
from autograder.kinds.transformers.repair.observed import Observed
from autograder.kinds.transformers.repair.plan import experiments
from autograder.kinds.transformers.repair.verdicts import PROBES, Verdict, exclusive, probes, verdicts
from autograder.records import Answer, ItemResult, Message, Scenario, Status
from autograder.rubric import Item, Question, Rubric

MAX_STAFF = 600


class RepairOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the question: there are none of its own."""


class RepairItem(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one item."""

    fault: str = ""
    """Which fault; default: the item's id."""


class RepairCheck:
    """Judges which planted faults of a decoder class are repaired, from what it computes."""

    kind: ClassVar[str] = "repair"
    question_type = RepairOptions
    item_type = RepairItem
    student_alone: ClassVar[bool] = True

    def __init__(self, question: Question, rubric: Rubric) -> None:  # noqa: ARG002 - as every kind is made
        if not question.answer:
            raise RubricError(f"{place(question)}: answer: the name of the repaired class is missing")
        question_options(question, RepairOptions)
        self._question = question
        self._faults: dict[str, str] = {}
        options = item_options(question, RepairItem)
        for item in question.items:
            if item.id in options:
                self._faults[item.id] = self._fault(item, options[item.id].fault or item.id)
        self._refuse_exclusive()
        self._probes = probes(self._faults.values())

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The experiments of the first round; none when the handed-out text was left as it was."""
        return () if blank(answer) else self._scenarios(draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same experiments on the reference, to see that they work on this machine."""
        return self._scenarios(draw) if self._question.reference else ()

    def second_round(self, evidence: Evidence) -> SecondRound:
        """What only some submissions have to be asked, given what the first round gave."""
        if blank(evidence.answer) or evidence.draw is None:
            return SecondRound()
        observed = Observed(self._question.answer, self._probes, evidence.observed)
        return SecondRound(student=observed.second_round(evidence.draw))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; a fault counts as repaired only on evidence."""
        if blank(evidence.answer):
            return tuple(
                manual(self._question, item, evidence)
                if item.manual
                else result(self._question, item, no_answer())
                for item in self._question.items
            )
        broken = self._broken(evidence.expected)
        found = {} if broken else self._verdicts(evidence.observed, evidence.again)
        return tuple(self._result(item, evidence, found, broken) for item in self._question.items)

    def _fault(self, item: Item, fault: str) -> str:
        if fault in PROBES:
            return fault
        close = difflib.get_close_matches(fault, PROBES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(PROBES)}"
        raise RubricError(f"{place(self._question, item)}: fault: unknown fault {fault!r}; {hint}")

    def _refuse_exclusive(self) -> None:
        for (item, fault), (other, another) in combinations(self._faults.items(), 2):
            if exclusive(fault, another):
                raise RubricError(
                    f"{place(self._question)}: items {item!r} and {other!r}: the faults {fault!r} and "
                    f"{another!r} cannot be told apart in one question; leave one of them out"
                )

    def _scenarios(self, draw: Draw) -> tuple[Scenario, ...]:
        access = Access(self._question.answer)
        return tuple(made.scenario for made in experiments(access, draw, self._probes))

    def _verdicts(
        self, observed: Sequence[Observations], again: Sequence[Observations] = ()
    ) -> dict[str, Verdict]:
        both = Observed(self._question.answer, self._probes, observed, again)
        return verdicts(both, self._faults.values())

    def _broken(self, expected: Sequence[Observations]) -> str:
        """Which faults the experiments find in the reference itself; empty when all is well."""
        if not self._question.reference:
            return ""
        found = self._verdicts(expected)
        findings = {fault: found[fault].finding for fault in self._faults.values()}
        return ", ".join(f"{fault}: {quote(why.staff)}" for fault, why in findings.items() if why is not None)

    def _result(self, item: Item, evidence: Evidence, found: dict[str, Verdict], broken: str) -> ItemResult:
        if item.manual:
            return manual(self._question, item, evidence)
        if broken:
            return result(self._question, item, review(f"the reference is not whole: {broken}"))
        verdict = found[self._faults[item.id]]
        made = result(self._question, item, verdict.finding)
        if made.status is Status.PASSED:
            code = "repair.repaired.object" if verdict.of_object else "repair.repaired"
            told = Message(code, {"name": self._question.answer} if verdict.of_object else {})
            made = msgspec.structs.replace(made, student=told, code=code)
        staff = "; ".join([made.staff, *(f"note: {note}" for note in verdict.notes)])
        return msgspec.structs.replace(made, staff=quote(staff, MAX_STAFF))
