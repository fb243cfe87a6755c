"""Properties of attention that are not properties of every class: learning, empty rows, dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, trouble
from autograder.checks.planning.drawing import Inputs
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote
from autograder.kinds.general.behaviour.properties import outputs, same
from autograder.kinds.general.behaviour.subject import MODEL
from autograder.kinds.transformers.implementation.formula import ROLES, attention
from autograder.kinds.transformers.implementation.formula import Inputs as Arguments
from autograder.kinds.transformers.implementation.layer import Layer, hidden_numbers
from autograder.kinds.transformers.implementation.mapping import projections
from autograder.kinds.transformers.implementation.options import Contract
from autograder.kinds.transformers.implementation.recognition import Recognised, filled, read_as
from autograder.records import Call, Ref, Tensor

SEEDS = 4
"""Passes with another seed each, where dropout must show or must not."""


AFTER_BACKWARD = 2
"""Calls that read the gradients; see `Layer.gradients`."""
DOUBLE = 1e-9
"""Error of a result in double precision."""
SINGLE = 1e-3
"""What is further off than this is not a matter of precision."""


class OwnProbe(Protocol):
    """How one property is asked and judged."""

    def calls(self, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
        """The calls of the scenario, in order."""

    def verdict(
        self, observations: Observations, layer: Layer, inputs: Inputs, recognised: Recognised, count: int
    ) -> Finding | None:
        """None when the property holds. ``count`` is how many calls there were."""


class Gradients:
    """Runs forward and backward, and reads the gradient of every parameter."""

    def __init__(self, roles: Sequence[str], contract: Contract | None) -> None:
        self._roles = roles
        self._contract = contract

    def calls(self, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
        """Forward, a scalar of it that no normalisation makes constant, backward, all gradients in order."""
        calls = [
            *layer.prologue(inputs, weights=True),
            layer.call(((), _tokens(inputs, "gradients")), grad=True, keep="result"),
            # Of several parts the first one; of a plain result the first sequence, which does as well.
            Call(Ref("result"), attribute="__getitem__", args=(0,), grad=True, keep="result"),
        ]
        calls += [Call(Ref("result"), attribute=step, grad=True, keep="result") for step in ("sin", "sum")]
        return (
            *calls,
            Call(Ref("result"), attribute="backward", grad=True),
            *layer.gradients(),
        )

    def verdict(
        self, observations: Observations, layer: Layer, inputs: Inputs, recognised: Recognised, count: int
    ) -> Finding | None:
        """Every projection needs a gradient that is finite and not zero."""
        what = layer.what(observations)
        finding = trouble(observations, count, layer.name, what)
        if finding is not None and not self._only_backward_raised(observations, count):
            return finding
        what = layer.name
        if finding is not None:  # such as a result without a graph: nothing gets a gradient
            names = quote(", ".join(self._asked(recognised)))
            return failed("property.no-gradient", f"backward: {finding.staff}", what=what, names=names)
        told = observations[-1].value
        gradients = told if isinstance(told, list | tuple) else []
        named = [
            (one.name, _array(gradients[place] if place < len(gradients) else None, one.shape))
            for place, one in enumerate(recognised.parameters)
            if one.filled
        ]
        without = self._without(named, recognised, inputs.sizes["n_heads"])
        if not without:
            return None
        names = quote(", ".join(without))
        return failed("property.no-gradient", f"{what}: no gradient: {names}", what=what, names=names)

    @staticmethod
    def _only_backward_raised(observations: Observations, count: int) -> bool:
        """Whether the pass gave a result, and going back through it stopped with an exception."""
        backward = count - AFTER_BACKWARD - 1
        return (
            len(observations) > backward
            and all(one.ok for one in observations[:backward])
            and bool(observations[backward].error)
            and observations[backward].ending is None
        )

    def _asked(self, recognised: Recognised) -> list[str]:
        """The names of what has to learn, as the class lists them."""
        names = [one.name for one in recognised.parameters if one.filled and len(one.shape) > 1]
        if self._contract is None:
            return names or ["–"]
        stated = [f"{getattr(self._contract, role)}.weight" for role in self._roles]
        return [name for name in names if name in stated] or names or ["–"]

    def _without(
        self, named: Sequence[tuple[str, np.ndarray]], recognised: Recognised, n_heads: int
    ) -> list[str]:
        if recognised.assignment is not None:
            units = read_as(recognised, named, self._contract, n_heads)
            chosen = [units[recognised.assignment[role].unit] for role in ROLES if role in self._roles]
            return [unit.name for unit in chosen if not _moving(unit.forms[0])]
        matrices = [(name, array) for name, array in named if array.ndim > 1]
        if not matrices:
            return ["–"]
        return [name for name, array in matrices if not _moving(array)]


class BlockedRows:
    """A query that may see nothing has a finite result, and the others have what they had."""

    def calls(self, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
        """With everything visible, with the first query of each sequence blocked, and with other inputs."""
        tokens, other = _tokens(inputs, "blocked rows"), _tokens(inputs, "blocked rows: other")
        queries, keys = tokens["query"].array.shape[1], tokens["key"].array.shape[1]
        seen = np.ones((1, 1, queries, keys), bool)
        blocked = seen.copy()
        blocked[..., 0, :] = False
        asked = ((tokens, seen), (tokens, blocked), (other, seen))
        return (
            *layer.prologue(inputs, weights=True),
            *(layer.call(((), {**given, "mask": Tensor(mask, "bool")})) for given, mask in asked),
        )

    def verdict(
        self, observations: Observations, layer: Layer, inputs: Inputs, recognised: Recognised, count: int
    ) -> Finding | None:
        """Finite, and nothing else changed, though other inputs do change it."""
        del recognised
        what = layer.name
        finding = trouble(observations, count, what, layer.what(observations))
        if finding is not None:
            return finding
        seen, blocked, other = (layer.result(one.value) for one in observations[count - 3 : count])
        before, after = outputs([seen, other]), outputs([blocked])
        if before is None or before[0].shape != _tokens(inputs, "blocked rows")["query"].array.shape:
            return failed("property.no-numbers", f"{what}: no finite numbers of the query's shape", what=what)
        if after is None:
            return failed("attention.blocked-row", f"{what}: not finite when a row is blocked", what=what)
        if after[0].shape != before[0].shape or not same(before[0][:, 1:], after[0][:, 1:]):
            return failed("attention.blocked-others", f"{what}: other rows changed", what=what)
        if same(before[0], before[1]):
            return failed("property.no-influence", f"{what}: inputs do not matter", what=what)
        return None


class Precision:
    """In double precision the results are those of double precision."""

    def __init__(self, contract: Contract | None) -> None:
        self._contract = contract

    def calls(self, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
        """One pass."""
        layer, inputs = layer.in_precision("float64"), inputs.in_precision("float64")
        return (*layer.prologue(inputs, weights=True), layer.call(((), _tokens(inputs, "precision"))))

    def verdict(
        self, observations: Observations, layer: Layer, inputs: Inputs, recognised: Recognised, count: int
    ) -> Finding | None:
        """The result of the assignment that explains the class, but for the rounding of double precision."""
        what = layer.name
        finding = trouble(observations, count, what, layer.what(observations))
        if finding is not None:
            return finding
        if recognised.assignment is None:
            return failed("attention.unexplained", f"{what}: no assignment to compare with", what=what)
        result = outputs([layer.result(observations[count - 1].value)])
        inputs = inputs.in_precision("float64")
        named = filled(recognised.parameters, hidden_numbers(inputs).array)
        n_heads = inputs.sizes["n_heads"]
        units = read_as(recognised, named or (), self._contract, n_heads)
        weights = projections(units, recognised.assignment, n_heads)
        tokens = {role: one.array for role, one in _tokens(inputs, "precision").items()}
        right = attention(weights, n_heads, Arguments(**tokens))
        if result is None or result[0].shape != right.shape:
            return failed("property.no-numbers", f"{what}: no finite numbers", what=what)
        error = float(np.abs(result[0] - right).max())
        if error <= DOUBLE:
            return None
        if error > SINGLE:
            code = recognised.explanation.code if recognised.explanation else "attention.unexplained"
            return failed(code, f"{what}: wrong in any precision: off by {error:.1e}", what=what)
        return failed("attention.precision", f"{what}: off by {error:.1e} in double precision", what=what)


class Dropout:
    """Equal passes with other seeds: different in training, the same in evaluation."""

    def __init__(self, *, training: bool) -> None:
        self._training = training

    def calls(self, layer: Layer, inputs: Inputs) -> tuple[Call, ...]:
        """The same pass with several seeds, then another one.

        In training there is a single key: its weight is one unless dropped, whatever its score is.
        """
        tokens = _tokens(inputs, "dropout", keys=1 if self._training else 4)
        other = _tokens(inputs, "dropout: other", keys=1 if self._training else 4)
        mode = (Call(Ref(MODEL), attribute="train", keep=MODEL),) if self._training else ()
        return (
            *layer.prologue(inputs, weights=True),
            *mode,
            *(layer.call(((), tokens), seed=seed) for seed in range(1, SEEDS + 1)),
            layer.call(((), other), seed=1),
        )

    def verdict(
        self, observations: Observations, layer: Layer, inputs: Inputs, recognised: Recognised, count: int
    ) -> Finding | None:
        """The passes must differ, or be equal and not equal to the other one."""
        del inputs, recognised
        what = layer.name
        finding = trouble(observations, count, what, layer.what(observations))
        if finding is not None:
            return finding
        results = outputs([layer.result(one.value) for one in observations[count - SEEDS - 1 : count]])
        if results is None:
            return failed("property.no-numbers", f"{what}: no finite numbers", what=what)
        *equal, other = results
        steady = all(same(equal[0], one) for one in equal[1:])
        if self._training:
            return failed("attention.no-dropout", f"{what}: nothing dropped", what=what) if steady else None
        if not steady:
            return failed("attention.dropout-evaluation", f"{what}: eval differs", what=what)
        if same(equal[0], other):
            return failed("property.no-influence", f"{what}: inputs do not matter", what=what)
        return None


def _tokens(inputs: Inputs, purpose: str, *, keys: int = 4) -> dict[str, Tensor]:
    shapes = {"query": (2, 4, "d_model"), "key": (2, keys, "d_model"), "value": (2, keys, "d_model")}
    forms = {role: {"draw": "normal", "shape": shape} for role, shape in shapes.items()}
    return inputs.arguments(purpose, (), forms)[1]


def _array(value: object, shape: tuple[int, ...]) -> np.ndarray:
    """A gradient as an array of its parameter's shape; zeros when there is none."""
    found = numbers(value)
    if found is None or found.array.shape != shape or found.kind == "complex":
        return np.zeros(shape)
    return found.array.astype(np.float64)


def _moving(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and np.any(array != 0))
