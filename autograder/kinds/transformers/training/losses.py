"""Losses that were told, and losses computed here from logits. Pure and total."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks.values.arrays import Difference, numbers
from autograder.checks.values.quoting import quote_shape, type_name

RTOL, ATOL = 1e-6, 1e-9
"""How near a loss must come to the reference's; both are computed in double precision."""


def read(value: Any, steps: int) -> tuple[list[float], Difference | None]:
    """So many finite losses, or why they are none."""
    found = numbers(value)
    if found is None or found.kind not in ("float", "int"):
        form = type_name(value) if found is None else found.kind
        return [], Difference("training.no-losses", {"form": form}, f"no losses: {form}")
    array = found.array.astype(np.float64)
    if array.ndim > 1 and array.size == len(array):
        array = array.reshape(-1)
    if array.shape != (steps,):
        form, count = quote_shape(array.shape), str(steps)
        return [], Difference("training.count", {"shape": form, "count": count}, f"shape {form} for {count}")
    if not np.isfinite(array).all():
        return [], Difference("training.not-finite", {}, f"losses {array.tolist()[:20]}")
    return array.tolist(), None


def first_difference(given: Sequence[float], right: Sequence[float]) -> int | None:
    """The first step whose loss is another one; None when all agree."""
    pairs = enumerate(zip(given, right, strict=True))
    return next((step for step, (a, b) in pairs if not abs(a - b) <= ATOL + RTOL * abs(b)), None)


def told(table: Any, name: str, steps: int) -> list[float] | None:
    """Losses that the reference told; None when there are none under this name."""
    value = table.get(name) if isinstance(table, Mapping) else None
    losses, difference = read(value, steps)
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
