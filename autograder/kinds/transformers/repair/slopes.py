"""Which weights of a changed model have a part in its output, known by the output's slopes in them.

A slope is exactly zero where a weight has no part. It is zero as well where a hidden feature is at zero for
all inputs at hand, and stirred weights make many such features.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.kinds.transformers.repair.experiment import (
    PARAMETERS,
    TORCH,
    WEIGHTS,
    Ask,
    Count,
    Slopes,
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
ROUNDING = 1e-10
"""Share of slopes below which their sum is nothing."""

Output = Callable[[Ask, str], list[Call]]
"""The calls that keep the output of a forward pass under a name."""


def counted(ask: Ask, columns: int) -> list[Count | Slopes]:
    """Count, as ``weights`` and ``used``, the model's weights and those with a part in some columns.

    Args:
        ask: the forward pass.
        columns: how many of the output's columns; 0 for all.
    """

    def calls(output: Output) -> list[Call | Count]:
        return [
            *_gradients(output, ask, columns),
            Call(SLOPES, "count_nonzero", keep="nonzero"),
            Count("used", Call(Ref("nonzero"), "item")),
        ]

    return [ALL_WEIGHTS, Slopes(calls)]


def counted_of(own: Ref, ask: Ask, columns: int, label: str, *, texts: int = 0) -> Slopes:
    """Count how many weights of a mask have a part in some columns, of some texts or (0) of all."""

    def calls(output: Output) -> list[Call | Count]:
        return [
            *_gradients(output, ask, columns, texts),
            Call(SLOPES, "mul", args=(own,), keep="masked"),
            Call(Ref("masked"), "count_nonzero", keep="nonzero"),
            Count(label, Call(Ref("nonzero"), "item")),
        ]

    return Slopes(calls)


def balanced(label: str) -> list[Call | Count]:
    """After `counted_of`: 1 if the slopes sum up to nothing, as those of what is normalised do, else 0."""
    masked, total, sizes, limit = Ref("masked"), Ref("total"), Ref("sizes"), Ref("limit")
    less, number = Ref("less"), Ref("number")
    return [
        Call(masked, "sum", keep=total.name),
        Call(total, "abs", keep=total.name),
        Call(masked, "abs", keep=sizes.name),
        Call(sizes, "sum", keep=sizes.name),
        Call(sizes, "mul", args=(ROUNDING,), keep=limit.name),
        Call(total, "lt", args=(limit,), keep=less.name),
        Call(less, "int", keep=number.name),
        Count(label, Call(number, "item")),
    ]


def found_own(usual: Ask, special: Ask, columns: int, own: Ref, *, first: bool = True) -> Slopes:
    """Keep, as a mask under the name of `own`, what has a part in the output for special inputs alone.

    A hidden feature that only special inputs wake would drown everything else when made huge. So a weight
    must be idle for the usual ones not only as the model stands, but also after all weights were stirred
    anew: where a feature wakes depends on the weights, and which embeddings are read does not.

    Args:
        usual: the usual inputs.
        special: the special ones.
        columns: of the output, 0 for all.
        own: where the mask is kept.
        first: whether it has to be found first what is idle for the usual inputs.
    """

    def calls(output: Output) -> list[Call | Count]:
        idle = _idle(output, usual, columns) if first else []
        return [
            *idle,
            *_gradients(output, special, columns),
            Call(SLOPES, "ne", args=(0,), keep=own.name),
            Call(own, "mul", args=(IDLE,), keep=own.name),
            Call(own, "type_as", args=(WEIGHTS,), keep=own.name),
        ]

    return Slopes(calls)


def multiplied(own: Ref, factor: float, *, sign: bool = False) -> list[Call]:
    """Write the model's weights with those of a mask multiplied.

    Args:
        own: the mask.
        factor: what they are multiplied by.
        sign: multiply their absolute values.
    """
    base, changed = Ref("base"), Ref("changed")
    if not sign:
        size = Call(WEIGHTS, "addcmul", args=(WEIGHTS, own), kwargs={"value": factor - 1}, keep=changed.name)
        return [size, written(changed)]
    return [
        Call(WEIGHTS, "addcmul", args=(WEIGHTS, own), kwargs={"value": -1}, keep=base.name),
        Call(WEIGHTS, "abs", keep="size"),
        Call(base, "addcmul", args=(Ref("size"), own), kwargs={"value": factor}, keep=changed.name),
        written(changed),
    ]


def _idle(output: Output, ask: Ask, columns: int) -> list[Call]:
    """Keep, as `IDLE`, the weights without a part for these inputs, whatever the weights are."""
    noise, zero = Ref("noise"), Ref("zero")
    calls = [*_gradients(output, ask, columns), Call(SLOPES, "eq", args=(0,), keep=IDLE.name)]
    for number in range(STIRRED_ANEW):
        calls += [
            Call(TORCH, "randn_like", args=(WEIGHTS,), keep=noise.name, seed=1 + number),
            Call(WEIGHTS, "add", args=(noise,), keep=OTHER.name),
            written(OTHER),
            *_gradients(output, ask, columns),
            Call(SLOPES, "eq", args=(0,), keep=zero.name),
            Call(IDLE, "mul", args=(zero,), keep=IDLE.name),
        ]
    return [*calls, written()]


def _gradients(output: Output, ask: Ask, columns: int, texts: int = 0) -> list[Call]:
    """Keep, as `SLOPES`, how much every weight moves the sum of the squares of the output's first columns.

    In the order of `WEIGHTS`, and exactly zero for a weight that has no part in it. Only after a `Change`.
    """
    calls = output(ask, "output")
    if columns:
        calls.append(Call(Ref("output"), "narrow", args=(2, 0, columns), keep="output", grad=True))
    if texts:
        calls.append(Call(Ref("output"), "narrow", args=(0, 0, texts), keep="output", grad=True))
    wanted = {"allow_unused": True, "materialize_grads": True}
    return [
        *calls,
        Call(Ref("output"), "square", keep="squares", grad=True),
        Call(Ref("squares"), "sum", keep="sum", grad=True),
        Call(
            TORCH,
            "autograd.grad",
            args=(Ref("sum"), PARAMETERS),
            kwargs=wanted,
            keep="each",
            grad=True,
        ),
        Call(TORCH, "_utils._flatten_dense_tensors", args=(Ref("each"),), keep=SLOPES.name),
    ]
