"""Filtered logits, or the probabilities of what is left, compared with what is right. Pure and total."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.values.arrays import Difference, numbers
from autograder.checks.values.quoting import quote_shape, type_name

REMOVED = -1e9
"""A logit from here down is as good as -inf: its probability is 0 beside any that is kept."""
ROW_SUM = 1e-6
"""How far the sum of a row of probabilities may be from 1."""
RTOL, ATOL = 1e-6, 1e-9


class Kept(Struct, frozen=True, eq=False):
    """What is right.

    Attributes:
        values: (rows, n_vocab), the logits of whatever is kept.
        must: (rows, n_vocab) bool, what is kept in any case.
        may: (rows, n_vocab) bool, what is kept by some who break ties otherwise.
        least: (rows,), how many are kept at least.
    """

    values: np.ndarray
    must: np.ndarray
    may: np.ndarray
    least: np.ndarray


def read_right(value: Any) -> Kept | None:
    """What the reference said; None when it is nothing of the kind."""
    if not isinstance(value, dict):
        return None
    parts = [numbers(value.get(name)) for name in ("values", "must", "may", "least")]
    if any(part is None for part in parts):
        return None
    values, must, may, least = (part.array for part in parts if part is not None)
    if values.ndim != 2 or must.shape != values.shape or may.shape != values.shape:
        return None
    return Kept(values.astype(np.float64), must.astype(bool), may.astype(bool), least)


def read(value: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, Difference | None]:
    """The answer as an array of the right shape, or why it is none."""
    found = numbers(value)
    if found is None or found.kind == "complex":
        came = type_name(value)
        return np.empty(0), Difference("value.form", {"form": came, "place": ""}, came)
    if found.array.shape != shape:
        came = quote_shape(found.array.shape)
        code = "value.dimensions" if found.array.ndim != len(shape) else "value.shape"
        wrong = ", ".join(
            str(axis) for axis, (a, b) in enumerate(zip(found.array.shape, shape, strict=False)) if a != b
        )
        params = {"shape": came, "count": str(found.array.ndim), "axes": wrong}
        return np.empty(0), Difference(code, params, f"shape {came}, expected {quote_shape(shape)}")
    array = found.array.astype(np.float64)
    missing = int(np.isnan(array).sum())
    if missing:
        params = {"count": str(missing), "total": str(array.size)}
        return array, Difference("value.nan", params, f"{missing} NaN")
    return array, None


def differs(array: np.ndarray, right: Kept, returns: str) -> Difference | None:
    """The first way in which an answer without NaN is not right.

    Args:
        array: (rows, n_vocab).
        right: what is right.
        returns: ``"logits"``, ``"probabilities"`` or ``"either"``.
    """
    chances = are_probabilities(array)
    if chances and returns == "logits" and not are_probabilities(right.values):
        return Difference("decoding.probabilities", {}, "probabilities instead of logits")
    if returns == "probabilities" and not chances:
        return Difference("decoding.not-normalised", {}, f"row sums {_sums(array)}")
    as_chances = chances and returns != "logits"
    kept = array > 0 if as_chances else array > REMOVED
    if not kept.any(-1).all():
        return Difference("decoding.row-empty", {}, "a row keeps nothing")
    extra, lost = int((kept & ~right.may).sum()), int((right.must & ~kept).sum())
    few = int((kept.sum(-1) < right.least).sum())
    staff = f"{extra} kept that may not be, {lost} removed that must stay, {few} rows with too few"
    if extra:
        return Difference("decoding.kept-too-many", {"count": str(extra)}, staff)
    if lost or few:
        return Difference("decoding.kept-too-few", {"count": str(max(lost, few))}, staff)
    expected = softmax(right.values, kept) if as_chances else right.values
    wrong = int((~_close(array, expected) & kept).sum())
    if wrong:
        params = {"count": str(wrong), "total": str(int(kept.sum()))}
        return Difference("decoding.values", params, f"{wrong} of {int(kept.sum())} kept values differ")
    return None


def same(array: np.ndarray, other: Any) -> bool:
    """Whether an answer is what some mistake gives."""
    found = numbers(other)
    if found is None or found.kind == "complex" or found.array.shape != array.shape:
        return False
    wrong = found.array.astype(np.float64)
    removed = array <= REMOVED
    if not np.array_equal(removed, wrong <= REMOVED) or np.isnan(wrong).any():
        return False
    return bool((_close(array, wrong) | removed).all())


def are_probabilities(array: np.ndarray) -> bool:
    """Whether every row is a distribution."""
    with np.errstate(all="ignore"):
        return bool((array >= 0).all() and (np.abs(array.sum(-1) - 1) <= ROW_SUM).all())


def softmax(logits: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Probabilities of what is kept, 0 elsewhere; each row keeps something."""
    shown = np.where(kept, logits, -np.inf)
    with np.errstate(all="ignore"):
        weights = np.exp(shown - shown.max(-1, keepdims=True))
        return np.asarray(weights / weights.sum(-1, keepdims=True))


def _close(given: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        near = np.abs(given - right) <= ATOL + RTOL * np.abs(right)
    return np.asarray(np.where(np.isfinite(given) & np.isfinite(right), near, given == right))


def _sums(array: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        return f"from {array.sum(-1).min():.6g} to {array.sum(-1).max():.6g}"
