"""The three runs of a trainer: interrupted by a checkpoint, without dropout, and with it.

The interrupted one comes first: when it goes on, code that remembers other runs has none to remember yet.

The same task, as one table, is what the reference's oracle gets: ``model`` and ``model_options`` (arguments
of the model), ``batches`` (tokens, mask, …), ``trainer`` (its further arguments), ``steps``, ``stop``,
``further``, ``dropout``, and the seeds ``order``, ``weights``, ``other_weights`` and ``noise``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Inputs, plain
from autograder.errors import RubricError
from autograder.kinds.transformers.training.options import TrainingQuestion
from autograder.records import Call, Ref, Scenario, Tensor

RESUMED, PLAIN, DROPOUT = range(3)
"""The scenarios of the plan, in order."""
BEFORE, LOSSES, AFTER = 3, 5, 7
"""In the last two scenarios: logits of the untrained model, the losses, logits of the trained model."""
RESUMED_LOSSES, RESUMED_AFTER = 10, 12
"""In the first scenario."""


class Task(Struct, frozen=True, eq=False):
    """What was drawn for one question."""

    table: dict[str, Any]
    """As above; plain values and arrays."""
    tokens: np.ndarray
    """(texts, length) int64."""
    mask: np.ndarray
    """(texts, length); 0 = padding."""


def task_of(options: TrainingQuestion, draw: Draw) -> Task:
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
    return Task(table, tokens, mask != 0)


def runs(title: str, name: str, options: TrainingQuestion, task: Task) -> tuple[Scenario, ...]:
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

    def __init__(self, name: str, options: TrainingQuestion, task: Task) -> None:
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
