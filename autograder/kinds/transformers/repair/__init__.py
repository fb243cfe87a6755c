"""The kind ``repair``: a class was handed out with planted faults; each item is one fault.

Options of the question: none; ``answer`` names the class. Option of an item: ``fault``, the fault's id;
default: the item's own id.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import msgspec
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations, SecondRound
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.results import Finding, is_blank, result, review
from autograder.checks.kind import Kind
from autograder.checks.options import place
from autograder.checks.values.quoting import quote
from autograder.errors import RubricError
from autograder.kinds.transformers.repair.experiment import Access
from autograder.kinds.transformers.repair.plan import experiments
from autograder.kinds.transformers.repair.verdicts import (
    PROBES,
    Observed,
    Verdict,
    exclusive,
    probes,
    verdicts,
)
from autograder.records import Answer, ItemResult, Message, Scenario, Status
from autograder.rubric import Item

MAX_STAFF = 600
MOST_DRAWS = 8
"""Draws whose experiments are kept for the next student."""


class RepairOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the question: there are none of its own."""


class RepairItem(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one item."""

    fault: str = ""
    """Which fault; default: the item's id."""


class RepairCheck(ItemwiseCheck[RepairOptions, RepairItem]):
    """Judges which planted faults of a decoder class are repaired, from what it computes."""

    kind: ClassVar[str] = "repair"
    question_type = RepairOptions
    item_type = RepairItem
    student_alone: ClassVar[bool] = True

    def prepare(self) -> None:
        """Refuse unknown faults, and faults that cannot be told apart."""
        if not self.question.answer:
            raise RubricError("the name of the repaired class is missing", place(self.question), "answer")
        self._faults = {item.id: self._fault(item, own.fault or item.id) for item, own in self.automatic}
        self._refuse_exclusive()
        self._probes = probes(self._faults.values())
        self._asked_with = functools.lru_cache(MOST_DRAWS)(self._made)
        self._whole: tuple[Sequence[Observations], str] | None = None
        """What the reference gave last, and what is broken in it: a class has one reference."""

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The experiments of the first round; none when the handed-out text was left as it was."""
        del answer
        return self._asked_with(draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same experiments on the reference, to see that they work on this machine."""
        return self._asked_with(draw) if self.question.reference else ()

    def second_round(self, evidence: Evidence) -> SecondRound:
        """What only some submissions have to be asked, given what the first round gave."""
        if is_blank(evidence.answer) or evidence.draw is None:
            return SecondRound()
        observed = Observed(self.question.answer, self._probes, evidence.observed)
        return SecondRound(student=observed.second_round(evidence.draw))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; the experiments are read once."""
        found = functools.cache(lambda: self._found(evidence))
        return self.each(evidence, lambda item, _: self._verdict(item, found()))

    def verdict(self, item: Item, options: RepairItem, evidence: Evidence) -> ItemResult | Finding:
        """Whether one fault is repaired; it counts as repaired only on evidence."""
        del options
        return self._verdict(item, self._found(evidence))

    def _found(self, evidence: Evidence) -> dict[str, Verdict] | Finding:
        """The verdicts by fault; a finding where the reference itself is not whole."""
        whole = self._whole
        if whole is None or whole[0] is not evidence.expected:
            whole = self._whole = evidence.expected, self._broken(evidence.expected)
        if broken := whole[1]:
            return review(f"the reference is not whole: {broken}")
        return self._verdicts(evidence.observed, evidence.again)

    def _fault(self, item: Item, fault: str) -> str:
        if fault in PROBES:
            return fault
        close = difflib.get_close_matches(fault, PROBES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(PROBES)}"
        raise RubricError(f"unknown fault {fault!r}; {hint}", place(self.question, item), "fault")

    def _refuse_exclusive(self) -> None:
        for (item, fault), (other, another) in combinations(self._faults.items(), 2):
            if exclusive(fault, another):
                raise RubricError(
                    f"items {item!r} and {other!r}: the faults {fault!r} and "
                    f"{another!r} cannot be told apart in one question; leave one of them out",
                    place(self.question),
                )

    def _made(self, draw: Draw) -> tuple[Scenario, ...]:
        access = Access(self.question.answer)
        return tuple(made.scenario for made in experiments(access, draw, self._probes))

    def _verdicts(
        self, observed: Sequence[Observations], again: Sequence[Observations] = ()
    ) -> dict[str, Verdict]:
        both = Observed(self.question.answer, self._probes, observed, again)
        return verdicts(both, self._faults.values())

    def _broken(self, expected: Sequence[Observations]) -> str:
        """Which faults the experiments find in the reference itself; empty when all is well."""
        if not self.question.reference:
            return ""
        found = self._verdicts(expected)
        findings = {fault: found[fault].finding for fault in self._faults.values()}
        return ", ".join(f"{fault}: {quote(why.staff)}" for fault, why in findings.items() if why is not None)

    def _verdict(self, item: Item, found: dict[str, Verdict] | Finding) -> ItemResult | Finding:
        if isinstance(found, Finding):
            return found
        verdict = found[self._faults[item.id]]
        made = result(self.question, item, verdict.finding)
        if made.status is Status.PASSED:
            code = "repair.repaired.object" if verdict.of_object else "repair.repaired"
            told = Message(code, {"name": self.question.answer} if verdict.of_object else {})
            made = msgspec.structs.replace(made, student=told, code=code)
        staff = "; ".join([made.staff, *(f"note: {note}" for note in verdict.notes)])
        remark = quote("; ".join(verdict.notes), MAX_STAFF)
        return msgspec.structs.replace(made, staff=quote(staff, MAX_STAFF), remark=remark)


KIND = Kind(RepairCheck, form="listing", aliases=("decoder",), instead="debugging")
