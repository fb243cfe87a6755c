"""The kind ``training``: a trainer's losses, what it learns, and whether its checkpoints hold everything.

Losses are compared with the reference's; what was learned is computed here, from the model's logits before
and after; and a run that goes on from a checkpoint is compared with the student's own run without one. A
trainer with another loss that is right from there on loses nothing further on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from autograder.checks.base import Draw, Evidence
from autograder.checks.judging.known import check_worths, known_mistake
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import (
    Finding,
    blank,
    differing,
    failed,
    no_answer,
    observations_at,
    reference_value,
    result,
    review,
    trouble,
)
from autograder.checks.options import check_oracle, item_options, place, question_options
from autograder.checks.planning.drawing import SAMPLE
from autograder.errors import RubricError
from autograder.kinds.transformers.training import losses as told_losses
from autograder.kinds.transformers.training import plan as calls
from autograder.kinds.transformers.training.options import TrainingItem, TrainingQuestion
from autograder.records import Answer, Call, ItemResult, Scenario
from autograder.rubric import Item, Question, Rubric

AREA = "training"
Suspects = tuple[str, ...]
Judged = tuple[Finding | None, Suspects]


class TrainingCheck:
    """One class with ``train``, ``checkpoint`` and ``restore``, asked in three runs."""

    kind: ClassVar[str] = "training"
    question_type = TrainingQuestion
    item_type = TrainingItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        del rubric
        self.question = question
        self.options = question_options(question, TrainingQuestion)
        self.items = item_options(question, TrainingItem)
        check_oracle(question, "the trainer's class", "reference/training_questions.py")
        where = place(question)
        if self.options.stop >= self.options.steps:
            raise RubricError(f"{where}: stop: expected below steps, {self.options.steps}")
        for item in question.items:
            if item.id in self.items:
                self._check(self.items[item.id], item.points, place(question, item))
        try:
            calls.task_of(self.options, SAMPLE)
        except RubricError as error:
            raise RubricError(f"{where}: {error}") from error

    @staticmethod
    def _check(item: TrainingItem, points: Decimal, where: str) -> None:
        check_worths(item.mistake, AREA, points, where)
        if not 0 < item.margin < 1:
            raise RubricError(f"{where}: margin: expected above 0 and below 1, got {item.margin}")

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The three runs."""
        if blank(answer):
            return ()
        task = calls.task_of(self.options, draw)
        return calls.runs(self.question.id, self.question.answer, self.options, task)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """One question to the oracle."""
        task = calls.task_of(self.options, draw)
        asked = Call(
            self.question.answer,
            attribute="expected",
            args=(task.table,),
            default_dtype=self.options.precision,
        )
        return (Scenario(f"{self.question.id}: losses", (asked,)),)

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; see `autograder.checks.base.Check`."""
        return tuple(self._judge(item, evidence) for item in self.question.items)

    def _judge(self, item: Item, evidence: Evidence) -> ItemResult:
        if item.manual:
            return manual(self.question, item, evidence)
        if blank(evidence.answer):
            return result(self.question, item, no_answer())
        options = self.items[item.id]
        measures: Mapping[str, Callable[[TrainingItem, Evidence], Judged]] = {
            "loss": self._loss,
            "updates": self._updates,
            "learns": self._learns,
            "resume": self._resume,
        }
        finding, suspects = measures[options.measure](options, evidence)
        if finding is not None and suspects:
            finding = known_mistake(finding, suspects, AREA, options.mistake)
        return result(self.question, item, finding)

    # ------------------------------------------------------------ what is measured

    def _loss(self, item: TrainingItem, evidence: Evidence) -> Judged:
        """The first loss, which no update has touched."""
        del item
        expected, finding = self._expected(evidence)
        given, trouble_found = self._losses(evidence, calls.PLAIN)
        if finding is not None or trouble_found is not None:
            return finding or trouble_found, ()
        right = expected["right"]["plain"]
        if told_losses.first_difference(given[:1], right[:1]) is None:
            return None, ()
        named = self._named(expected, lambda one: [(given[:1], one("plain")[:1])])
        staff = f"{self.question.answer}: first loss {given[0]!r}, expected {right[0]!r}"
        return failed("training.loss", staff, what=self.question.answer), named

    def _updates(self, item: TrainingItem, evidence: Evidence) -> Judged:
        """Every further loss, with and without dropout; another loss that is followed consistently counts."""
        del item
        expected, finding = self._expected(evidence)
        plain, plain_trouble = self._losses(evidence, calls.PLAIN)
        dropout, dropout_trouble = self._losses(evidence, calls.DROPOUT)
        finding = finding or plain_trouble or dropout_trouble
        if finding is not None:
            return finding, ()
        right = expected["right"]
        places = [
            told_losses.first_difference(given, right[name])
            for name, given in (("plain", plain), ("dropout", dropout))
        ]
        if places == [None, None] or any(
            told_losses.first_difference(plain, one["plain"]) is None
            and told_losses.first_difference(dropout, one["dropout"]) is None
            for one in expected["follow"]
        ):
            return None, ()
        named = self._named(expected, lambda one: [(plain, one("plain")), (dropout, one("dropout"))])
        run = "plain" if places[0] is not None else "dropout"
        step = places[0] if places[0] is not None else places[1]
        staff = f"{self.question.answer}: losses differ from step {step} on ({run})"
        code = "training.updates" if run == "plain" else "training.updates-dropout"
        return failed(code, staff, what=self.question.answer, step=str((step or 0) + 1)), named

    def _learns(self, item: TrainingItem, evidence: Evidence) -> Judged:
        """The loss on the texts, from the logits before and after training."""
        observations = observations_at(evidence.observed, calls.PLAIN)
        what = self.question.answer
        finding = trouble(observations, calls.AFTER + 1, what, what)
        if finding is not None:
            return finding, ()
        if evidence.draw is None:
            return review(f"{what}: the texts are not known: the evidence has no draw"), ()
        task = calls.task_of(self.options, evidence.draw)
        before, after = (
            told_losses.cross_entropy(observations[place].value, task.tokens, task.mask)
            for place in (calls.BEFORE, calls.AFTER)
        )
        if before is None or after is None:
            ours = self._expected(evidence)[1]
            return ours or failed("training.no-logits", f"{what}: no finite logits", what=what), ()
        if after <= float(item.margin) * before:
            return None, ()
        staff = f"{what}: from {before:.6g} to {after:.6g}, allowed {item.margin} of it"
        code = "training.no-change" if after == before else "training.learns"
        numbers = {"before": f"{before:.3f}", "after": f"{after:.3f}"}
        return failed(code, staff, what=what, **numbers), ()

    def _resume(self, item: TrainingItem, evidence: Evidence) -> Judged:
        """The run from a checkpoint on, against the student's own run without one, to the last bit."""
        del item
        what = self.question.answer
        straight, straight_trouble = self._losses(evidence, calls.DROPOUT)
        resumed, resumed_trouble = self._losses(evidence, calls.RESUMED)
        found = straight_trouble or resumed_trouble
        if found is not None:
            # A batch that is all padding has no loss for anybody; the oracle tells none either.
            ours = self._expected(evidence)[1] if found.code == "training.not-finite" else None
            return ours or found, ()
        whole = observations_at(evidence.observed, calls.DROPOUT)
        before, after = (whole[place].value for place in (calls.BEFORE, calls.AFTER))
        if told_losses.same_bits(before, after):
            return failed("training.no-change", f"{what}: training changed nothing", what=what), ()
        own = straight[self.options.stop :]
        step = next((place for place, (a, b) in enumerate(zip(own, resumed, strict=True)) if a != b), None)
        ended = observations_at(evidence.observed, calls.RESUMED)[calls.RESUMED_AFTER].value
        if step is None and told_losses.same_bits(after, ended):
            return None, ()
        expected, finding = self._expected(evidence)
        named = self._named(expected, lambda one: [(resumed, one("resumed"))]) if finding is None else ()
        if step is None:
            staff = f"{what}: equal losses, but another model in the end"
            return failed("training.resume-model", staff, what=what), named
        staff = f"{what}: step {step} after the checkpoint: {resumed[step]!r}, without it {own[step]!r}"
        return failed("training.resume", staff, what=what, step=str(step + 1)), named

    # ------------------------------------------------------------ what was observed

    def _losses(self, evidence: Evidence, run: int) -> tuple[list[float], Finding | None]:
        """The losses of one run; of the interrupted one those after the checkpoint."""
        interrupted = run == calls.RESUMED
        index = calls.RESUMED_LOSSES if interrupted else calls.LOSSES
        steps = self.options.steps - (self.options.stop if interrupted else 0)
        what, observations = self.question.answer, observations_at(evidence.observed, run)
        finding = trouble(observations, (calls.RESUMED_AFTER if interrupted else calls.AFTER) + 1, what, what)
        if finding is not None:
            return [], finding
        given, difference = told_losses.read(observations[index].value, steps)
        return given, None if difference is None else differing(difference, what)

    def _expected(self, evidence: Evidence) -> tuple[dict[str, Any], Finding | None]:
        """What the oracle told, checked; the finding is our own fault."""
        value, finding = reference_value(observations_at(evidence.expected, 0), 0)
        if finding is not None:
            return {}, finding
        right = self._told(value.get("right")) if isinstance(value, Mapping) else {}
        if not {"plain", "dropout"} <= set(right):
            return {}, review(f"{self.question.answer}: the reference is no oracle of losses")
        follow = [self._told(one) for one in _entries(value.get("follow"))]
        mistakes = [
            (pair[0], self._told(pair[1]))
            for pair in _entries(value.get("mistakes"))
            if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        ]
        whole = [one for one in follow if {"plain", "dropout"} <= set(one)]
        return {"right": right, "follow": whole, "mistakes": mistakes}, None

    def _told(self, table: Any) -> dict[str, list[float]]:
        steps = {
            "plain": self.options.steps,
            "dropout": self.options.steps,
            "resumed": self.options.steps - self.options.stop,
        }
        read = {name: told_losses.told(table, name, count) for name, count in steps.items()}
        return {name: losses for name, losses in read.items() if losses is not None}

    @staticmethod
    def _named(
        expected: Mapping[str, Any],
        pairs: Callable[[Callable[[str], list[float]]], list[tuple[list[float], list[float]]]],
    ) -> Suspects:
        """The mistakes whose losses are those that were given."""
        found = []
        for code, losses in expected["mistakes"]:
            compared = pairs(lambda name, losses=losses: losses.get(name, []))  # type: ignore[misc]
            if all(right and told_losses.first_difference(given, right) is None for given, right in compared):
                found.append(code)
        return tuple(found)


def _entries(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
