"""Multi-head attention in numpy: what is right, and what comes of well-known slips.

Source: Vaswani et al., Attention Is All You Need (2017), section 3.2. Shapes: ``d`` is the width, ``h`` the
number of heads. Everything is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

LOWEST = float(np.finfo(np.float64).min)
ROLES = ("query", "key", "value", "output")
"""The four projections."""


class Projection(Struct, frozen=True, eq=False):
    """``x @ matrix + bias``; matrix (d, d), bias (d,)."""

    matrix: np.ndarray
    bias: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(…, d) → (…, d)."""
        projected: np.ndarray = x @ self.matrix
        return projected if self.bias is None else projected + self.bias


class Inputs(Struct, frozen=True, eq=False):
    """The arguments of one forward pass.

    ``query`` (batch, queries, d), ``key`` and ``value`` (batch, keys, d); ``visible`` broadcasts to
    (batch, h, queries, keys), or there is no mask.
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    visible: np.ndarray | None = None


Weights = Mapping[str, Projection | None]
"""Role → projection; None passes its input on as it is."""

Softmax = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""Scores, what is visible → weights."""


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Exponentials that sum to one along an axis."""
    raised = np.exp(scores - scores.max(axis, keepdims=True))
    return np.asarray(raised / raised.sum(axis, keepdims=True))


def masked_softmax(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    """The weights of each query; even where nothing is visible."""
    return softmax(scores if visible is None else np.where(visible, scores, LOWEST))


def split(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(batch, length, d) → (batch, h, length, d_head)."""
    return x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2)


def merged(context: np.ndarray) -> np.ndarray:
    """(batch, h, length, d_head) → (batch, length, d)."""
    return context.swapaxes(1, 2).reshape(context.shape[0], context.shape[2], -1)


def split_as(*axes: str) -> Callable[[np.ndarray, int], np.ndarray]:
    """A split that reads the numbers as if their axes stood in this order.

    The right one is ``batch, length, head, feature``.
    """

    def split_there(x: np.ndarray, n_heads: int) -> np.ndarray:
        batch, length, d_model = x.shape
        sizes = {"batch": batch, "length": length, "head": n_heads, "feature": d_model // n_heads}
        wanted = ("batch", "head", "length", "feature")
        return x.reshape([sizes[axis] for axis in axes]).transpose([axes.index(axis) for axis in wanted])

    return split_there


def merged_as(*axes: int) -> Callable[[np.ndarray], np.ndarray]:
    """A merge that puts the axes (batch, head, length, feature) in this order; 0, 2, 1, 3 is right."""

    def merged_there(context: np.ndarray) -> np.ndarray:
        return context.transpose(axes).reshape(context.shape[0], context.shape[2], -1)

    return merged_there


class Slip(Struct, frozen=True, eq=False):
    """What is done otherwise; the defaults are right."""

    scale: tuple[float, float] = (-0.5, 0.0)
    """The scores' factor: the powers of d_head and of h."""
    weigh: Softmax = masked_softmax
    inputs: tuple[str, str, str] = ("query", "key", "value")
    """Which argument is projected to the queries, keys and values."""
    scaled_late: bool = False
    """The weights are divided by the square root of d_head, not the scores."""
    one_head: bool = False
    split: Callable[[np.ndarray, int], np.ndarray] = split
    merge: Callable[[np.ndarray], np.ndarray] = merged
    key_reshaped: bool = False
    """The keys' last two axes are exchanged by a reshape, which keeps the order of the numbers."""
    one_sequence: bool = False
    """All sequences see the keys of the first one."""
    activation: bool = False
    residual: bool = False


RIGHT = Slip()


def attention(weights: Weights, n_heads: int, given: Inputs, slip: Slip = RIGHT) -> np.ndarray:
    """The result of a forward pass, (batch, queries, d).

    Raises:
        ValueError: the shapes of the arguments do not fit one another.
    """
    together, output = slip.merge(context(weights, n_heads, given, slip)), weights["output"]
    result = together if output is None else output(together)
    return result + given.query if slip.residual else result


def context(weights: Weights, n_heads: int, given: Inputs, slip: Slip = RIGHT) -> np.ndarray:
    """What the heads give, (batch, h, queries, d_head), before they are merged.

    Raises:
        ValueError: the shapes of the arguments do not fit one another.
    """
    projected = []
    for role, source in zip(ROLES, slip.inputs, strict=False):
        argument = getattr(given, source)
        projection = weights[role]
        x = argument if projection is None else projection(argument)
        projected.append(
            slip.split(np.maximum(x, 0.0) if slip.activation else x, 1 if slip.one_head else n_heads)
        )
    q, k, v = projected  # (batch, h, length, d_head)
    k = k[:1] if slip.one_sequence else k
    d_head = given.query.shape[-1] // n_heads
    turned = k.reshape(*k.shape[:2], k.shape[3], k.shape[2]) if slip.key_reshaped else k.swapaxes(-1, -2)
    scores = q @ turned * d_head ** slip.scale[0] * n_heads ** slip.scale[1]
    if slip.scaled_late:
        v = v / np.sqrt(d_head)
    return np.asarray(slip.weigh(scores, given.visible) @ v)


def heeds_mask(weights: Weights, n_heads: int, given: Inputs, slip: Slip) -> bool:
    """Whether with a slip no head takes anything from a key that is blocked for its query.

    This is asked of the mask that was given, and of two that block the first or the last key for everyone, so
    that it does not depend on what was drawn.

    Raises:
        ValueError: as `context`.
    """
    if given.visible is None:
        return False
    keys = np.arange(given.key.shape[1])
    masks = (given.visible, (keys != 0)[None, None, None], (keys != keys[-1])[None, None, None])
    return all(_inert(weights, n_heads, replace(given, visible=mask), slip) for mask in masks)


def _inert(weights: Weights, n_heads: int, given: Inputs, slip: Slip) -> bool:
    """Each key and value is changed in turn: who may not see it, and other sequences, keep what they had."""
    before = context(weights, n_heads, given, slip)
    if not np.isfinite(before).all():
        return False
    batch, keys = given.key.shape[:2]
    visible = np.broadcast_to(np.asarray(given.visible), (*before.shape[:3], keys))
    for sequence, place in np.ndindex(batch, keys):
        key, value = given.key.copy(), given.value.copy()
        key[sequence, place] += 1.0
        value[sequence, place] -= 1.0
        after = context(weights, n_heads, replace(given, key=key, value=value), slip)
        kept = np.ones(before.shape[:3], bool)
        kept[sequence] = ~visible[sequence, ..., place]
        if not np.allclose(before[kept], after[kept]):
            return False
    return True
