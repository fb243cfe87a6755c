"""The slips that can be recognised by the numbers they give: code of the vocabulary → what is done.

Each is exact: a class is said to have a slip only when its results are those of attention with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from autograder.kinds.transformers.implementation.formula import (
    LOWEST,
    Slip,
    masked_softmax,
    merged,
    merged_as,
    softmax,
    split_as,
)


def _fill(scores: np.ndarray, visible: np.ndarray | None, *, number: float) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible, scores, number))


def _afterwards(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    weights = softmax(scores)
    return weights if visible is None else np.where(visible, weights, 0.0)


def _ignored(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    del visible
    return softmax(scores)


def _inverted(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible, LOWEST, scores))


def _multiplied(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else scores * visible)


def _added(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else scores + visible)


def _transposed(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible.swapaxes(-1, -2), scores, LOWEST))


def _first_sequence(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible[:1], scores, LOWEST))


def _causal(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    return _fill(scores, seen if visible is None else seen & visible, number=LOWEST)


def _first_head(context: np.ndarray) -> np.ndarray:
    return merged(np.broadcast_to(context[:, :1], context.shape))


def _heads_mean(context: np.ndarray) -> np.ndarray:
    return merged(np.broadcast_to(context.mean(1, keepdims=True), context.shape))


def _over(axis: int) -> Slip:
    return Slip(weigh=lambda scores, visible: softmax(_blocked(scores, visible), axis))


def _blocked(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return scores if visible is None else np.where(visible, scores, LOWEST)


def _restacked(context: np.ndarray) -> np.ndarray:
    """Heads were stacked before the batch, and are unstacked as if the batch came first."""
    return merged(context.swapaxes(0, 1).reshape(context.shape))


def _axes() -> Iterator[tuple[str, Slip]]:
    """Splits and merges that take the axes in another order, each named by what it mixes."""
    apart = {
        "interleaved": ("batch", "length", "feature", "head"),
        "split": ("batch", "head", "length", "feature"),
    }
    split, interleaved = split_as(*apart["split"]), split_as(*apart["interleaved"])
    yield "attention.split", Slip(split=split)
    yield "attention.merge", Slip(merge=merged_as(0, 1, 2, 3))
    yield "attention.split-merge", Slip(split=split, merge=merged_as(0, 1, 2, 3))
    yield "attention.interleaved", Slip(split=interleaved, merge=merged_as(0, 2, 3, 1))
    yield "attention.interleaved-split", Slip(split=interleaved)
    yield "attention.interleaved-merge", Slip(merge=merged_as(0, 2, 3, 1))
    for axes in itertools.permutations(("batch", "length", "head", "feature")):
        if axes not in (("batch", "length", "head", "feature"), *apart.values()):
            code = "attention.split-axes" if axes[0] == "batch" else "attention.split-batch"
            yield code, Slip(split=split_as(*axes))
    for places in itertools.permutations(range(4)):
        if places not in ((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1)):
            code = "attention.merge-axes" if places[0] == 0 else "attention.merge-batch"
            yield code, Slip(merge=merged_as(*places))
    yield "attention.merge-batch", Slip(merge=_restacked)


_UNSTEADY = ("attention.softmax-heads", "attention.softmax-batch", "attention.no-softmax")
"""With these, the weight of a single key is not one."""


def single_key_counts_once(code: str) -> bool:
    """Whether with a slip the weight of a single key is one: the result then tells nothing of the scores."""
    return code not in _UNSTEADY


_VALUES: Mapping[str, Slip] = {
    "attention.no-scaling": Slip(scale=(0.0, 0.0)),
    "attention.scale-width": Slip(scale=(-0.5, -0.5)),
    "attention.scale-inverted": Slip(scale=(0.5, 0.0)),
    "attention.scale-root": Slip(scale=(-1.0, 0.0)),
    "attention.scale-late": Slip(scale=(0.0, 0.0), scaled_late=True),
    "attention.softmax-queries": _over(-2),
    "attention.softmax-heads": _over(1),
    "attention.softmax-batch": _over(0),
    "attention.causal": Slip(weigh=_causal),
    "attention.one-head": Slip(one_head=True),
    "attention.heads-averaged": Slip(
        weigh=lambda scores, visible: masked_softmax(scores, visible).mean(1, keepdims=True)
    ),
    "attention.no-softmax": Slip(weigh=_blocked),
    "attention.first-head": Slip(merge=_first_head),
    "attention.heads-mean": Slip(merge=_heads_mean),
    "attention.key-reshape": Slip(key_reshaped=True),
    "attention.one-sequence": Slip(one_sequence=True),
    "attention.residual": Slip(residual=True),
    "attention.activation": Slip(activation=True),
}

VALUES: tuple[tuple[str, Slip], ...] = (*_VALUES.items(), *_axes())
"""Slips that show without a mask; a code may stand for several."""

MASKS: Mapping[str, Slip] = {
    "attention.mask-ignored": Slip(weigh=_ignored),
    "attention.mask-inverted": Slip(weigh=_inverted),
    "attention.mask-late": Slip(weigh=_afterwards),
    "attention.mask-multiplied": Slip(weigh=_multiplied),
    "attention.mask-high": Slip(weigh=partial(_fill, number=1e20)),
    "attention.mask-weak": Slip(weigh=partial(_fill, number=-1.0)),
    "attention.mask-added": Slip(weigh=_added),
    "attention.mask-transposed": Slip(weigh=_transposed),
    "attention.mask-first": Slip(weigh=_first_sequence),
}
"""Slips that only a mask shows."""

_RIGHT_WAY: tuple[str, str, str] = ("query", "key", "value")
_WIRED: Mapping[tuple[str, str, str], str] = {
    ("key", "query", "value"): "attention.query-key",
    ("query", "value", "key"): "attention.key-value",
    ("query", "query", "query"): "attention.self-only",
}
_WIRED_ONE = {
    (0, "key"): "attention.query-from-key",
    (0, "value"): "attention.query-value",
    (1, "query"): "attention.key-query",
    (1, "value"): "attention.key-from-value",
    (2, "query"): "attention.value-query",
    (2, "key"): "attention.value-key",
}


def _wirings() -> Iterator[tuple[tuple[str, str, str], str]]:
    for wiring in itertools.product(_RIGHT_WAY, _RIGHT_WAY, _RIGHT_WAY):
        if wiring != _RIGHT_WAY:
            wrong = [place for place in range(3) if wiring[place] != _RIGHT_WAY[place]]
            alone = _WIRED_ONE[wrong[0], wiring[wrong[0]]] if len(wrong) == 1 else "attention.arguments"
            yield wiring, _WIRED.get(wiring, alone)


WIRINGS: Mapping[tuple[str, str, str], str] = dict(_wirings())
"""Which argument is projected to the queries, keys and values → code."""
