"""The kind ``training``: a trainer's losses, what it learns, and whether its checkpoints hold everything.

Losses are compared with the reference's; what was learned is computed here, from the model's logits before
and after; and a run that goes on from a checkpoint is compared with the student's own run without one. A
trainer with another loss that is right from there on loses nothing further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta, Struct

from autograder.checks.base import Draw, Evidence
from autograder.checks.itemwise import OracleCheck
from autograder.checks.judging.oracle import MistakeWorth, read_reply
from autograder.checks.judging.results import (
    Finding,
    differing,
    failed,
    first_failure,
    observations_at,
    reference_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import CallOptions, GivenClass, place
from autograder.checks.planning.drawing import SAMPLE, Inputs, plain
from autograder.checks.values.arrays import Mismatch, numbers
from autograder.checks.values.quoting import quote_shape, type_name
from autograder.errors import RubricError
from autograder.records import Answer, Call, Ref, Scenario, Tensor
from autograder.rubric import Item

Count = Annotated[int, Meta(ge=1, le=1000)]


class TrainingQuestion(Struct, frozen=True):
    """Options of a ``training`` question."""

    model: GivenClass
    """The language model of a locked cell; it takes a keyword ``dropout``."""
    batches: GivenClass
    """The batches of a locked cell: the first two arguments are tokens and mask, and a seed is added last."""
    args: tuple[Any, ...] = ()
    """Of the trainer, behind model and batches: plain numbers."""
    steps: Count = 8
    """Of the run without an interruption."""
    stop: Count = 3
    """The step after which the checkpoint is made."""
    further: Count = 3
    """Steps that the first trainer goes on for, after its checkpoint."""
    dropout: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    """Of the runs in which random numbers matter."""
    sizes: dict[str, tuple[int, ...]] = {}
    precision: str = "float64"


class TrainingItem(Struct, frozen=True):
    """Options of an item of a ``training`` question."""

    measure: Literal["loss", "updates", "learns", "resume"]
    """``loss``: the first loss; ``updates``: every further one; ``learns``: the loss falls; ``resume``: going
    on from a checkpoint equals never having stopped, bit for bit."""
    margin: Decimal = Decimal("0.9")
    """Of ``learns``: the loss afterwards is at most this share of the loss before."""
    mistake: tuple[MistakeWorth, ...] = ()


RESUMED, PLAIN, DROPOUT = range(3)
"""The scenarios of the plan, in order."""
BEFORE, LOSSES, AFTER = 3, 5, 7
"""In the last two scenarios: logits of the untrained model, the losses, logits of the trained model."""
RESUMED_LOSSES, RESUMED_AFTER = 10, 12
"""In the first scenario."""


class TrainingTask(Struct, frozen=True, eq=False):
    """What was drawn for one question."""

    table: dict[str, Any]
    """As above; plain values and arrays."""
    tokens: np.ndarray
    """(texts, length) int64."""
    mask: np.ndarray
    """(texts, length); 0 = padding."""


def task_of(options: TrainingQuestion, draw: Draw) -> TrainingTask:
    """Draw texts and seeds.

    Raises:
        RubricError: an array cannot be drawn, or the batches have no tokens and mask of one shape.
    """
    inputs = Inputs(CallOptions(sizes=options.sizes, precision=options.precision), draw)
    model, model_options = inputs.arguments("model", options.model.args, options.model.kwargs)
    batches, more = inputs.arguments("batches", options.batches.args, options.batches.kwargs)
    tokens, mask = (_integers(value) for value in (*batches, None, None)[:2])
    if more or tokens is None or mask is None or tokens.shape != mask.shape or tokens.ndim != 2:
        raise RubricError("batches: args: expected tokens and mask, (texts, length) each, as the first two")
    if min(tokens.shape) < 2 or not (mask[:, 1:] != 0).any():
        raise RubricError("batches: args: at least two texts with two tokens are needed")
    order, weights, other, noise = (int(seed) for seed in inputs.generator("seeds").integers(0, 2**31, 4))
    table = {
        "model": list(model),
        "model_options": model_options,
        "batches": list(batches),
        "trainer": [plain(value) for value in options.args],
        "steps": options.steps,
        "stop": options.stop,
        "further": options.further,
        "dropout": options.dropout,
        "order": order,
        "weights": weights,
        "other_weights": other,
        "noise": noise,
    }
    return TrainingTask(table, tokens, mask != 0)


def runs(title: str, name: str, options: TrainingQuestion, task: TrainingTask) -> tuple[Scenario, ...]:
    """The calls in the student's box.

    Args:
        title: names the question.
        name: the trainer's class.
        options: of the question.
        task: what was drawn.
    """
    calls = _Calls(name, options, task)
    steps = options.steps
    interrupted = (
        *calls.new("first", options.dropout, task.table["weights"]),
        calls.train("first", options.stop, task.table["noise"]),
        Call(Ref("first"), attribute="checkpoint", grad=True, keep="saved"),
        calls.train("first", options.further, None),
        *calls.new("second", options.dropout, task.table["other_weights"]),
        Call(Ref("second"), attribute="restore", args=(Ref("saved"),), grad=True, keep="restored"),
        calls.train("second", steps - options.stop, None),
        *calls.logits("second"),
    )
    return (
        Scenario(f"{title}: interrupted", interrupted),
        Scenario(f"{title}: without dropout", calls.straight(0.0)),
        Scenario(f"{title}: with dropout", calls.straight(options.dropout)),
    )


class _Calls:
    """Short ways to the calls of one task."""

    def __init__(self, name: str, options: TrainingQuestion, task: TrainingTask) -> None:
        self._name = name
        self._options = options
        self._task = task

    def straight(self, dropout: float) -> tuple[Call, ...]:
        table = self._task.table
        return (
            *self.new("only", dropout, table["weights"])[:-1],
            *self.logits("only"),
            self.trainer("only"),
            self.train("only", self._options.steps, table["noise"]),
            *self.logits("only"),
        )

    def new(self, name: str, dropout: float, seed: int) -> tuple[Call, ...]:
        table = self._task.table
        options = {**table["model_options"], "dropout": dropout}
        return (
            self._call(self._options.model.name, table["model"], options, keep=f"{name} model", seed=seed),
            self._call(
                self._options.batches.name, [*table["batches"], table["order"]], {}, keep=f"{name} batches"
            ),
            self.trainer(name),
        )

    def trainer(self, name: str) -> Call:
        args = [Ref(f"{name} model"), Ref(f"{name} batches"), *self._task.table["trainer"]]
        return self._call(self._name, args, {}, keep=name)

    def train(self, name: str, steps: int, seed: int | None) -> Call:
        dtype = self._options.precision
        return Call(Ref(name), attribute="train", args=(steps,), seed=seed, grad=True, default_dtype=dtype)

    def logits(self, name: str) -> tuple[Call, ...]:
        model, (tokens, mask) = Ref(f"{name} model"), self._task.table["batches"][:2]
        return (
            Call(model, attribute="eval", keep=f"{name} model"),
            Call(model, args=(tokens, mask), grad=True, default_dtype=self._options.precision),
        )

    def _call(
        self, target: str, args: list[Any], kwargs: dict[str, Any], *, keep: str, seed: int | None = None
    ) -> Call:
        dtype = self._options.precision
        return Call(
            target, args=tuple(args), kwargs=kwargs, keep=keep, seed=seed, grad=True, default_dtype=dtype
        )


def _integers(value: Any) -> np.ndarray | None:
    numbers = value.array if isinstance(value, Tensor) else value
    return numbers if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iub" else None


RTOL, ATOL = 1e-6, 1e-9
"""How near a loss must come to the reference's; both are computed in double precision."""


def read_losses(value: Any, steps: int) -> tuple[list[float], Mismatch | None]:
    """So many finite losses, or why they are none."""
    found = numbers(value)
    if found is None or found.kind not in ("float", "int"):
        form = type_name(value) if found is None else found.kind
        return [], Mismatch("training.no-losses", {"form": form}, f"no losses: {form}")
    array = found.array.astype(np.float64)
    if array.ndim > 1 and array.size == len(array):
        array = array.reshape(-1)
    if array.shape != (steps,):
        form, count = quote_shape(array.shape), str(steps)
        return [], Mismatch("training.count", {"shape": form, "count": count}, f"shape {form} for {count}")
    if not np.isfinite(array).all():
        return [], Mismatch("training.not-finite", {}, f"losses {array.tolist()[:20]}")
    return array.tolist(), None


def first_difference(given: Sequence[float], right: Sequence[float]) -> int | None:
    """The first step whose loss is another one; None when all agree."""
    pairs = enumerate(zip(given, right, strict=True))
    return next((step for step, (a, b) in pairs if not abs(a - b) <= ATOL + RTOL * abs(b)), None)


def reported_losses(table: Any, name: str, steps: int) -> list[float] | None:
    """Losses that the reference told; None when there are none under this name."""
    value = table.get(name) if isinstance(table, Mapping) else None
    losses, difference = read_losses(value, steps)
    return losses if value is not None and difference is None else None


def cross_entropy(logits: Any, tokens: np.ndarray, mask: np.ndarray) -> float | None:
    """The mean loss of predicting every token that is not padding from those before it, in nats.

    Args:
        logits: (texts, length, n_vocab), as they came from a box.
        tokens: (texts, length) int64.
        mask: (texts, length) bool.

    Returns:
        None when the logits are not finite numbers of this shape.
    """
    found = numbers(logits)
    if found is None or found.kind != "float" or found.array.shape[:-1] != tokens.shape:
        return None
    scores = found.array[:, :-1].astype(np.float64)
    if scores.shape[-1] <= int(tokens.max()) or int(tokens.min()) < 0 or not np.isfinite(scores).all():
        return None
    shifted = scores - scores.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    chosen = np.take_along_axis(logs, tokens[:, 1:, None], -1)[..., 0]
    value = -float(chosen[mask[:, 1:]].mean())
    return value if math.isfinite(value) else None


def same_bits(first: Any, second: Any) -> bool:
    """Whether two arrays of numbers are equal to the last bit."""
    one, other = numbers(first), numbers(second)
    return one is not None and other is not None and np.array_equal(one.array, other.array)


Suspects = tuple[str, ...]


class TrainingCheck(OracleCheck[TrainingQuestion, TrainingItem]):
    """One class with ``train``, ``checkpoint`` and ``restore``, asked in three runs."""

    kind: ClassVar[str] = "training"
    question_type = TrainingQuestion
    item_type = TrainingItem
    called: ClassVar[str] = "the trainer's class"
    example: ClassVar[str] = "reference/training_questions.py"

    def prepare(self) -> None:
        """Refuse a checkpoint behind the last step, margins that are none, and texts that cannot be drawn."""
        super().prepare()
        where = place(self.question)
        if self.options.stop >= self.options.steps:
            raise RubricError(f"expected below steps, {self.options.steps}", where, "stop")
        for item, options in self.automatic:
            if not 0 < options.margin < 1:
                at = place(self.question, item)
                raise RubricError(f"expected above 0 and below 1, got {options.margin}", at, "margin")
        try:
            task_of(self.options, SAMPLE)
        except RubricError as error:
            raise RubricError(f"{error}", where) from error

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The three runs."""
        del answer
        return runs(self.question.id, self.question.answer, self.options, task_of(self.options, draw))

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """One question to the oracle."""
        asked = Call(
            self.question.answer,
            attribute="expected",
            args=(task_of(self.options, draw).table,),
            default_dtype=self.options.precision,
        )
        return (Scenario(f"{self.question.id}: losses", (asked,)),)

    def verdict(self, item: Item, options: TrainingItem, evidence: Evidence) -> Finding | None:
        """What is wrong with what an item measures."""
        del item
        if options.measure == "learns":
            return self._learns(options, evidence)
        measure = {"loss": self._loss, "updates": self._updates, "resume": self._resume}[options.measure]
        finding, found = measure(evidence)
        return self.known(finding, [found] if found else (), options)

    # ------------------------------------------------------------ what is measured

    def _loss(self, evidence: Evidence) -> tuple[Finding | None, Suspects]:
        """The first loss, which no update has touched."""
        expected, finding = self._expected(evidence)
        given, trouble_found = self._losses(evidence, PLAIN)
        if finding is not None or trouble_found is not None:
            return finding or trouble_found, ()
        right = expected["right"]["plain"]
        if first_difference(given[:1], right[:1]) is None:
            return None, ()
        named = self._named(expected, lambda one: [(given[:1], one("plain")[:1])])
        staff = f"{self.question.answer}: first loss {given[0]!r}, expected {right[0]!r}"
        return failed("training.loss", staff, what=self.question.answer), named

    def _updates(self, evidence: Evidence) -> tuple[Finding | None, Suspects]:
        """Every further loss, with and without dropout; another loss that is followed consistently counts."""
        expected, finding = self._expected(evidence)
        plain, plain_trouble = self._losses(evidence, PLAIN)
        dropout, dropout_trouble = self._losses(evidence, DROPOUT)
        finding = finding or plain_trouble or dropout_trouble
        if finding is not None:
            return finding, ()
        right = expected["right"]
        places = [
            first_difference(given, right[name]) for name, given in (("plain", plain), ("dropout", dropout))
        ]
        if places == [None, None] or any(
            first_difference(plain, one["plain"]) is None
            and first_difference(dropout, one["dropout"]) is None
            for one in expected["follow"]
        ):
            return None, ()
        named = self._named(expected, lambda one: [(plain, one("plain")), (dropout, one("dropout"))])
        run = "plain" if places[0] is not None else "dropout"
        step = places[0] if places[0] is not None else places[1]
        staff = f"{self.question.answer}: losses differ from step {step} on ({run})"
        code = "training.updates" if run == "plain" else "training.updates-dropout"
        return failed(code, staff, what=self.question.answer, step=str((step or 0) + 1)), named

    def _learns(self, options: TrainingItem, evidence: Evidence) -> Finding | None:
        """The loss on the texts, from the logits before and after training."""
        observations = observations_at(evidence.observed, PLAIN)
        what = self.question.answer
        finding = first_failure(observations, AFTER + 1, what, what)
        if finding is not None:
            return finding
        task = task_of(self.options, evidence.drawn)
        before, after = (
            cross_entropy(observations[place].value, task.tokens, task.mask) for place in (BEFORE, AFTER)
        )
        if before is None or after is None:
            ours = self._expected(evidence)[1]
            return ours or failed("training.no-logits", f"{what}: no finite logits", what=what)
        if after <= float(options.margin) * before:
            return None
        staff = f"{what}: from {before:.6g} to {after:.6g}, allowed {options.margin} of it"
        code = "training.no-change" if after == before else "training.learns"
        told_numbers = {"before": f"{before:.3f}", "after": f"{after:.3f}"}
        return failed(code, staff, what=what, **told_numbers)

    def _resume(self, evidence: Evidence) -> tuple[Finding | None, Suspects]:
        """The run from a checkpoint on, against the student's own run without one, to the last bit."""
        what = self.question.answer
        straight, straight_trouble = self._losses(evidence, DROPOUT)
        resumed, resumed_trouble = self._losses(evidence, RESUMED)
        found = straight_trouble or resumed_trouble
        if found is not None:
            # A batch that is all padding has no loss for anybody; the oracle tells none either.
            ours = self._expected(evidence)[1] if found.code == "training.not-finite" else None
            return ours or found, ()
        whole = observations_at(evidence.observed, DROPOUT)
        before, after = (whole[place].value for place in (BEFORE, AFTER))
        if same_bits(before, after):
            return failed("training.no-change", f"{what}: training changed nothing", what=what), ()
        own = straight[self.options.stop :]
        step = next((place for place, (a, b) in enumerate(zip(own, resumed, strict=True)) if a != b), None)
        ended = observations_at(evidence.observed, RESUMED)[RESUMED_AFTER].value
        if step is None and same_bits(after, ended):
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
        interrupted = run == RESUMED
        index = RESUMED_LOSSES if interrupted else LOSSES
        steps = self.options.steps - (self.options.stop if interrupted else 0)
        what, observations = self.question.answer, observations_at(evidence.observed, run)
        finding = first_failure(observations, (RESUMED_AFTER if interrupted else AFTER) + 1, what, what)
        if finding is not None:
            return [], finding
        given, difference = read_losses(observations[index].value, steps)
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
        mistakes = [(wrong.code, self._told(wrong.value)) for wrong in read_reply(value).wrong]
        whole = [one for one in follow if {"plain", "dropout"} <= set(one)]
        return {"right": right, "follow": whole, "mistakes": mistakes}, None

    def _told(self, table: Any) -> dict[str, list[float]]:
        steps = {
            "plain": self.options.steps,
            "dropout": self.options.steps,
            "resumed": self.options.steps - self.options.stop,
        }
        read = {name: reported_losses(table, name, count) for name, count in steps.items()}
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
            if all(right and first_difference(given, right) is None for given, right in compared):
                found.append(code)
        return tuple(found)


def _entries(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


KIND = Kind(TrainingCheck, form="code")
