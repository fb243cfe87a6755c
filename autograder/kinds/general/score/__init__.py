"""The kind ``score``: what a student's model, predictions or checkpoint is worth on hidden data.

The student's box is asked about hidden examples and gives plain outputs. What is right for the examples, and
the metric, stay with the reference: it measures the outputs in a box of its own, in a third round. The points
follow from the measure by steps. What the notebook says of itself, such as a list of losses, counts nowhere.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations, SecondRound, Trial
from autograder.checks.itemwise import ItemwiseCheck, Verdict
from autograder.checks.judging.results import (
    Finding,
    failed,
    first_failure,
    observations_at,
    reference_value,
    result,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.values.arrays import numbers
from autograder.kinds.general.score import outputs
from autograder.kinds.general.score.files import UnreadableTensors, read_tensors, reading
from autograder.kinds.general.score.hidden import (
    RESAMPLES,
    Hidden,
    NotHidden,
    batches,
    call,
    read_hidden,
    resampled,
)
from autograder.kinds.general.score.options import ScoreItem, ScoreQuestion, check_items, check_question
from autograder.kinds.general.score.outputs import Entries
from autograder.kinds.general.score.trials import planted
from autograder.kinds.general.score.verdicts import Measurement, verdict_on
from autograder.kinds.general.score.words import reported_number
from autograder.records import Answer, Call, ItemResult, Scenario
from autograder.rubric import Item

ASKED, REPORTED = range(2)
"""The scenarios of the plan: what is measured, and what the notebook itself arrives at."""


class GivenOutputs(Struct, frozen=True, eq=False):
    """What came from the student's side, checked."""

    entries: Entries | Mapping[str, np.ndarray]
    """One for each example; of a checkpoint its tensors."""
    changed: Entries | None = None
    """The same about the changed examples."""


class ScoreCheck(ItemwiseCheck[ScoreQuestion, ScoreItem]):
    """One model, variable or file, measured in three rounds."""

    kind: ClassVar[str] = "score"
    question_type = ScoreQuestion
    item_type = ScoreItem

    def prepare(self) -> None:
        """Refuse what cannot be measured, and steps that do not rise."""
        check_question(self.question, self.options)
        check_items(self.question, self.automatic)

    @property
    def what(self) -> str:
        """What is measured, in a student's words."""
        method = self.options.method
        return self.options.reads or (f"{self.question.answer}.{method}" if method else self.question.answer)

    def is_unanswered(self, answer: Answer) -> bool:
        """A file may be there although nothing was written into the cell."""
        return self.options.asks != "file" and super().is_unanswered(answer)

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """Whether there is something to measure; predictions and files whole."""
        del answer, draw
        name, options = self.question.answer, self.options
        subject = {
            "call": Call(name, read=True, keep="subject"),
            "variable": Call(name, read=True),
            "file": reading(options.reads),
        }[options.asks]
        scenarios = [Scenario(f"{self.question.id}: {self.what}", (subject,))]
        if options.reported:
            scenarios.append(Scenario(f"{self.question.id}: reported", (Call(options.reported, read=True),)))
        return tuple(scenarios)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The hidden examples, without what is right for them."""
        asked = Call(self.question.answer, attribute="hidden", args=(_seed(draw),))
        return (Scenario(f"{self.question.id}: hidden examples", (asked,)),)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """The calls about all batches, where something is there to be called."""
        hidden = self._hidden(evidence)
        if self.options.asks != "call" or isinstance(hidden, Finding) or self._missing(evidence) is not None:
            return SecondRound()
        name, options = self.question.answer, self.options
        mode = () if options.mode == "as-is" else (Call(name, attribute=options.mode, keep="subject"),)
        asked = (
            call(name, options, hidden, batch) for batch in batches(hidden, options.batch, evidence.drawn)
        )
        return SecondRound(student=(Scenario(f"{self.question.id}: hidden examples", (*mode, *asked)),))

    def third_round(self, evidence: Evidence) -> tuple[Scenario, ...]:
        """What came is measured, where nothing is wrong with it."""
        hidden, given = self._hidden(evidence), self._given(evidence)
        if isinstance(hidden, Finding) or isinstance(given, Finding):
            return ()
        counts, seed = resampled(hidden, evidence.drawn), _seed(evidence.drawn)
        measured = [(given.entries, counts)]
        if given.changed is not None:
            measured.append((given.changed, counts[:1]))
        calls = tuple(
            Call(self.question.answer, attribute="measure", args=(seed, entries, weights))
            for entries, weights in measured
        )
        return (Scenario(f"{self.question.id}: measure", calls),)

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; what was given is read once for all of them."""
        given = functools.cache(lambda: self._given(evidence))
        return self.each(evidence, lambda item, options: self._earned(item, options, evidence, given()))

    def verdict(self, item: Item, options: ScoreItem, evidence: Evidence) -> Verdict:
        """What the measure earns."""
        return self._earned(item, options, evidence, self._given(evidence))

    def trials(self, key: Answer) -> tuple[Trial, ...]:
        """Outputs of every wrong form; see `autograder.checks.base.HasTrials`."""
        return planted(self.question, [item.id for item, _ in self.automatic], self.options, key)

    # ------------------------------------------------------------ what came

    def _hidden(self, evidence: Evidence) -> Hidden | Finding:
        value, finding = reference_value(observations_at(evidence.expected, 0), 0)
        if finding is not None:
            return finding
        try:
            return read_hidden(value, self.options)
        except NotHidden as fault:
            return review(f"the reference: {fault}")

    def _missing(self, evidence: Evidence) -> Finding | None:
        """Why there is nothing to measure."""
        asked = observations_at(evidence.observed, ASKED)
        finding = outputs.file_failure(asked, self.options.reads) if self.options.reads else None
        return finding or first_failure(asked, 1, self.question.answer, self.what)

    def _given(self, evidence: Evidence) -> GivenOutputs | Finding:
        """What came from the student's side, or what is wrong with it."""
        missing = self._missing(evidence)
        if missing is not None:
            return missing
        hidden = self._hidden(evidence)
        if isinstance(hidden, Finding):
            return hidden
        value = observations_at(evidence.observed, ASKED)[0].value
        if self.options.form == "tensors":
            return self._checkpoint(value, hidden)
        if self.options.asks == "call":
            return self._called(observations_at(evidence.again, 0), hidden, evidence.drawn)
        entries = outputs.read_entries(value, hidden.count, self.options, self.what)
        return entries if isinstance(entries, Finding) else self._varied(GivenOutputs(entries))

    def _checkpoint(self, value: Any, hidden: Hidden) -> GivenOutputs | Finding:
        name = self.options.reads
        try:
            found = read_tensors(value)
        except UnreadableTensors as why:
            return failed("score.safetensors", f"{name}: {why}", name=name)
        return outputs.check_tensors(found, hidden.tensors, name) or GivenOutputs(found)

    def _called(self, observations: Observations, hidden: Hidden, draw: Draw) -> GivenOutputs | Finding:
        """The answers to all batches, put together."""
        asked, first = batches(hidden, self.options.batch, draw), int(self.options.mode != "as-is")
        finding = first_failure(observations, first + len(asked), self.question.answer, self.what)
        if finding is not None:
            return finding
        parts = []
        for batch, observation in zip(asked, observations[first:], strict=False):
            entries = outputs.read_entries(observation.value, len(batch.rows), self.options, self.what)
            if isinstance(entries, Finding):
                return entries
            parts.append((batch, entries))
        once = [(one.rows, entries) for one, entries in parts if not (one.again or one.changed)]
        changed = [(one.rows, entries) for one, entries in parts if one.changed]
        whole = outputs.together(once, hidden.count)
        other = outputs.together(changed, hidden.count) if changed else None
        if whole is None or (changed and other is None):
            return failed("value.form", f"{self.what}: shapes differ", what=self.what, form="…", place="")
        again = [(one.rows, entries) for one, entries in parts if one.again]
        wrong, total = outputs.otherwise(whole, again)
        if wrong > total // outputs.FEW:
            params = {"what": self.what, "wrong": str(wrong), "count": str(total)}
            return failed("score.batch", f"{self.what}: {wrong} of {total} differ in other company", **params)
        return self._varied(GivenOutputs(whole, other))

    def _varied(self, given: GivenOutputs) -> GivenOutputs | Finding:
        """What was given, unless it says the same about every example."""
        if isinstance(given.entries, Mapping) or not outputs.is_constant(given.entries):
            return given
        return failed("score.constant", f"{self.what}: all outputs are equal", what=self.what)

    # ------------------------------------------------------------ what it is worth

    def _earned(
        self, item: Item, options: ScoreItem, evidence: Evidence, given: GivenOutputs | Finding
    ) -> ItemResult | Finding:
        """What one item makes of the measure."""
        measure = given if isinstance(given, Finding) else self._measure(given, options.metric, evidence)
        if isinstance(measure, Finding):
            return measure
        found = verdict_on(measure, options, self.what)
        if isinstance(found, Finding):
            return found
        right = result(self.question, item, None)
        return msgspec.structs.replace(right, student=found, staff=measure.staff)

    def _measure(self, given: GivenOutputs, metric: str, evidence: Evidence) -> Measurement | Finding:
        """What the reference says of what was given."""
        hidden = self._hidden(evidence)
        if isinstance(hidden, Finding):
            return hidden
        told, changed = observations_at(evidence.tried, 0), None
        values = _numbers(told, 0, metric, 1 + RESAMPLES)
        if isinstance(values, Finding):
            return values
        if given.changed is not None:
            other = _numbers(told, 1, metric, 1)
            if isinstance(other, Finding):
                return other
            changed = float(other[0])
        return Measurement(
            values=values,
            changed=changed,
            count=hidden.count,
            floor=hidden.floor.get(metric),
            distribution=self.options.gives in ("probabilities", "log-probabilities"),
            reported=self._reported(evidence),
        )

    def _reported(self, evidence: Evidence) -> float | None:
        """The number that the notebook itself arrives at."""
        if self.options.reported:
            asked = observations_at(evidence.observed, REPORTED)
            found = reported_number(asked[0].value) if asked and asked[0].ok else None
            if found is not None:
                return found
        return reported_number(evidence.printed, after=self.options.printed) if self.options.printed else None


def _seed(draw: Draw) -> int:
    return int(draw.generator("hidden examples").integers(0, 2**31))


def _numbers(told: Observations, place: int, metric: str, count: int) -> np.ndarray | Finding:
    """So many measures out of a reply of the reference."""
    value, finding = reference_value(told, place)
    if finding is not None:
        return finding
    found = numbers(value.get(metric) if isinstance(value, Mapping) and metric else value)
    if found is None or found.array.shape != (count,) or found.kind not in ("int", "float"):
        return review(f"the reference: measure: expected {count} numbers, one for each row of weights")
    array = found.array.astype(np.float64)
    return review("the reference: measure: NaN") if np.isnan(array[0]) else array


KIND = Kind(ScoreCheck)
