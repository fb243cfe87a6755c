"""The slips that can be recognised by the numbers they give: code of the vocabulary → what is done.

Each is exact: a class is said to have a slip only when its results are those of attention with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from autograder.checks.kinds.implementation.formula import LOWEST, Slip, masked_softmax, merged, softmax


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


def _transposed(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible.swapaxes(-1, -2), scores, LOWEST))


def _first_sequence(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible[:1], scores, LOWEST))


def _causal(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    return _fill(scores, seen if visible is None else seen & visible, number=LOWEST)


def _first_head(context: np.ndarray) -> np.ndarray:
    return merged(np.broadcast_to(context[:, :1], context.shape))


def _over(axis: int) -> Slip:
    return Slip(weigh=lambda scores, visible: softmax(_blocked(scores, visible), axis))


def _blocked(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return scores if visible is None else np.where(visible, scores, LOWEST)


VALUES: Mapping[str, Slip] = {
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
    "attention.split": Slip(split=lambda x, n_heads: x.reshape(x.shape[0], n_heads, x.shape[1], -1)),
    "attention.merge": Slip(merge=lambda context: context.reshape(context.shape[0], context.shape[2], -1)),
    "attention.one-sequence": Slip(one_sequence=True),
    "attention.residual": Slip(residual=True),
    "attention.activation": Slip(activation=True),
}
"""Slips that show without a mask."""

MASKS: Mapping[str, Slip] = {
    "attention.mask-ignored": Slip(weigh=_ignored),
    "attention.mask-inverted": Slip(weigh=_inverted),
    "attention.mask-late": Slip(weigh=_afterwards),
    "attention.mask-multiplied": Slip(weigh=_multiplied),
    "attention.mask-high": Slip(weigh=partial(_fill, number=1e20)),
    "attention.mask-weak": Slip(weigh=partial(_fill, number=-1.0)),
    "attention.mask-transposed": Slip(weigh=_transposed),
    "attention.mask-first": Slip(weigh=_first_sequence),
}
"""Slips that only a mask shows."""

WIRINGS: Mapping[tuple[str, str, str], str] = {
    ("value", "key", "value"): "attention.query-value",
    ("key", "query", "value"): "attention.query-key",
    ("query", "value", "key"): "attention.key-value",
    ("query", "key", "key"): "attention.value-key",
}
"""Which argument takes the place of which → code."""
