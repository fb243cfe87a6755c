"""Reliability of a class's points. Pure; sums are exact up to floating point."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

FEWEST = 10
"""With fewer students, no reliability or correlation is reported."""


class Reliability(Struct, frozen=True):
    """Internal consistency of the parts of an assignment."""

    students: int
    """Number of students with known points in every part."""
    alpha: float
    """Cronbach's alpha."""
    error: float
    """Standard error of alpha."""
    measurement: float
    """Standard error of measurement of a student's points, in points."""
    without: Mapping[str, float | None]
    """Alpha without each part; None if only one other part remains, or their sums do not vary."""


def compute_reliability(parts: Mapping[str, Sequence[float]]) -> Reliability | None:
    """Compute Cronbach's alpha (1951), also without each part.

    With k parts of covariances V and n students, alpha is k / (k - 1) · (1 - tr V / 1ᵀV1). Its standard error
    is that of van Zyl, Neudecker and Nel (2000), which does not assume equal covariances: √(2 k² / ((k - 1)²
    (1ᵀV1)³) · (1ᵀV1 (tr V² + tr² V) - 2 tr V · 1ᵀV²1) / n). The standard error of measurement is s √(1 -
    alpha), with s the standard deviation of the sums.

    Args:
        parts: by name, the points of all students, in the same order.

    Returns:
        None with fewer than `FEWEST` students or two parts, or if the sums do not vary.
    """
    names = list(parts)
    if len(names) < 2 or len(parts[names[0]]) < FEWEST:
        return None
    table = np.array([parts[name] for name in names], dtype=float)
    spread = np.cov(table)
    alpha = _compute_alpha(spread)
    if alpha is None:
        return None
    without = {
        name: _compute_alpha(np.delete(np.delete(spread, index, 0), index, 1)) if len(names) > 2 else None
        for index, name in enumerate(names)
    }
    students = table.shape[1]
    return Reliability(
        students,
        alpha,
        _compute_error(spread, students),
        math.sqrt(max(0.0, float(spread.sum())) * max(0.0, 1 - alpha)),
        without,
    )


def _compute_alpha(spread: np.ndarray) -> float | None:
    """Return alpha of a covariance matrix; None if the sums do not vary."""
    count, total = len(spread), float(spread.sum())
    # Relative tolerance: rounding leaves a tiny variance even if all sums are equal.
    if total <= 1e-12 * max(1.0, float(np.trace(spread))):
        return None
    return count / (count - 1) * (1 - float(np.trace(spread)) / total)


def _compute_error(spread: np.ndarray, students: int) -> float:
    count, total, trace = len(spread), float(spread.sum()), float(np.trace(spread))
    squares, rows = float((spread * spread).sum()), spread.sum(axis=1)
    inner = total * (squares + trace * trace) - 2 * trace * float(rows @ rows)
    # Rounding may make the variance slightly negative.
    return math.sqrt(max(0.0, 2 * count**2 / ((count - 1) ** 2 * total**3) * inner / students))


def compute_correlation(part_points: Sequence[float], other_points: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None with fewer than `FEWEST` students, or if either side is constant."""
    if len(part_points) < FEWEST or len(set(part_points)) == 1 or len(set(other_points)) == 1:
        return None
    return statistics.correlation(part_points, other_points)
