"""Which weights of a changed model have a part in its output, known by the output's slopes in them.

A slope is exactly zero where a weight has no part. It is zero as well where a hidden feature is at zero for
all inputs at hand, and stirred weights make many such features.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from autograder.checks.kinds.repair.experiment import (
    PARAMETERS,
    TORCH,
    WEIGHTS,
    Ask,
    Count,
    Step,
    written,
)
from autograder.records import Call, Ref

SLOPES = Ref("slopes")
IDLE = Ref("idle")
OWN = Ref("own")
OTHER = Ref("other")
ALL_WEIGHTS = Count("weights", Call(WEIGHTS, "numel"))
STIRRED_ANEW = 2
"""How many more sets of weights are asked before one counts as idle."""
HUGE = 1e6


def counted(asks: Sequence[Ask], seed: int, columns: int) -> list[Step]:
    """Count, as ``weights`` and ``used``, the model's weights and those with a part in some columns."""
    return [
        ALL_WEIGHTS,
        *_gradients(asks, seed, columns),
        Call(SLOPES, "count_nonzero", keep="nonzero"),
        Count("used", Call(Ref("nonzero"), "item")),
    ]


def enlarge(usual: Sequence[Ask], special: Ask, seed: int, columns: int) -> list[Call]:
    """Make huge what has a part in the output for special inputs alone; to follow `counted`.

    A hidden feature that only special inputs wake would drown everything else. So a weight must be idle for
    the usual ones not only as the model stands, but also after all weights were stirred anew: where a feature
    wakes depends on the weights, and which embeddings are read does not.
    """
    anew = [call for number in range(STIRRED_ANEW) for call in _idle_anew(usual, seed, number, columns)]
    return [
        Call(SLOPES, "eq", args=(0,), keep=IDLE.name),
        *anew,
        *written(),
        *_gradients([special], seed, columns),
        Call(SLOPES, "ne", args=(0,), keep=OWN.name),
        Call(OWN, "mul", args=(IDLE,), keep=OWN.name),
        Call(OWN, "type_as", args=(WEIGHTS,), keep=OWN.name),
        Call(WEIGHTS, "addcmul_", args=(WEIGHTS, OWN), kwargs={"value": HUGE}, keep=WEIGHTS.name),
        *written(),
    ]


def _idle_anew(asks: Sequence[Ask], seed: int, number: int, columns: int) -> list[Call]:
    """Of the idle weights, keep those that are idle in a model with other weights, too."""
    noise, zero = Ref("noise"), Ref("zero")
    return [
        Call(TORCH, "randn_like", args=(WEIGHTS,), keep=noise.name, seed=seed + 1 + number),
        Call(WEIGHTS, "add", args=(noise,), keep=OTHER.name),
        *written(OTHER),
        *_gradients(asks, seed, columns),
        Call(SLOPES, "eq", args=(0,), keep=zero.name),
        Call(IDLE, "mul", args=(zero,), keep=IDLE.name),
    ]


def _gradients(asks: Sequence[Ask], seed: int, columns: int) -> list[Call]:
    """Keep, as `SLOPES`, how much every weight moves the sum of the outputs' first columns.

    In the order of `WEIGHTS`, and exactly zero for a weight that has no part in it. Only after a `Change`.
    """
    parameters, calls = Ref(PARAMETERS.keep), []
    for index, ask in enumerate(asks):
        one = f"sum {index}" if index else "sum"
        calls += [
            msgspec.structs.replace(ask.call(seed), keep="output", grad=True),
            Call(Ref("output"), "narrow", args=(2, 0, columns), keep="columns", grad=True),
            Call(Ref("columns"), "sum", keep=one, grad=True),
        ]
        if index:
            calls.append(Call(Ref("sum"), "add", args=(Ref(one),), keep="sum", grad=True))
    wanted = {"allow_unused": True, "materialize_grads": True}
    return [
        *calls,
        PARAMETERS,
        Call(TORCH, "autograd.grad", args=(Ref("sum"), parameters), kwargs=wanted, keep="each", grad=True),
        Call(TORCH, "_utils._flatten_dense_tensors", args=(Ref("each"),), keep=SLOPES.name),
    ]
