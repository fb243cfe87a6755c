"""Alpha, its standard error and correlations, each computed in another way as well."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.marking.reliability import FEWEST, compute_correlation, compute_reliability

TABLE = {
    "a": (2, 3, 1, 4, 5, 3, 2, 4, 5, 1, 3, 2),
    "b": (1, 3, 2, 4, 4, 3, 1, 5, 4, 2, 3, 1),
    "c": (3, 2, 2, 5, 4, 2, 2, 3, 5, 1, 4, 2),
    "d": (2, 2, 1, 3, 5, 4, 3, 4, 4, 2, 2, 3),
}
"""Twelve students in four parts."""


def covariance(one: Sequence[float], other: Sequence[float]) -> Fraction:
    """Of two columns, exactly, from all pairs of students: half the mean product of their differences."""
    pairs = list(itertools.combinations(range(len(one)), 2))
    products = (
        (Fraction(one[i]) - Fraction(one[j])) * (Fraction(other[i]) - Fraction(other[j])) for i, j in pairs
    )
    return sum(products, Fraction(0)) / (2 * len(pairs))


def alpha_by_pairs(columns: Sequence[Sequence[float]]) -> Fraction:
    """Alpha as k times the mean covariance of two parts, over that of a part with itself and the others."""
    count = len(columns)
    between = [covariance(one, other) for one, other in itertools.permutations(columns, 2)]
    mean_between = sum(between, Fraction(0)) / len(between)
    mean_within = sum((covariance(one, one) for one in columns), Fraction(0)) / count
    return count * mean_between / (mean_within + (count - 1) * mean_between)


def error_by_entries(columns: Sequence[Sequence[float]]) -> float:
    """The standard error of van Zyl and others, entry by entry, without matrices."""
    count, students = len(columns), len(columns[0])
    spread = [[covariance(one, other) for other in columns] for one in columns]
    places = range(count)
    total = sum((spread[i][j] for i in places for j in places), Fraction(0))
    trace = sum((spread[i][i] for i in places), Fraction(0))
    squared_trace = sum((spread[i][j] * spread[j][i] for i in places for j in places), Fraction(0))
    ends = sum((spread[i][k] * spread[k][j] for i in places for j in places for k in places), Fraction(0))
    inner = total * (squared_trace + trace**2) - 2 * trace * ends
    return math.sqrt(Fraction(2 * count**2) / ((count - 1) ** 2 * total**3) * inner / students)


def test_alpha_is_that_of_mean_covariances() -> None:
    """Of all parts and without each of them; students and the error of measurement are told."""
    found = compute_reliability(TABLE)
    assert found is not None
    columns = list(TABLE.values())
    assert 12 == found.students
    assert float(alpha_by_pairs(columns)) == pytest.approx(found.alpha, abs=1e-12)
    for name in TABLE:
        others = [column for other, column in TABLE.items() if other != name]
        assert float(alpha_by_pairs(others)) == pytest.approx(found.without[name], abs=1e-12)
    sums = [sum(row) for row in zip(*columns, strict=True)]
    spread = math.sqrt(covariance(sums, sums))
    assert spread * math.sqrt(1 - float(alpha_by_pairs(columns))) == pytest.approx(found.measurement)


def test_the_error_is_that_computed_entry_by_entry() -> None:
    """With plain sums of fractions."""
    found = compute_reliability(TABLE)
    assert found is not None
    assert error_by_entries(list(TABLE.values())) == pytest.approx(found.error, abs=1e-12)


def test_the_error_is_how_alpha_varies_between_classes() -> None:
    """Of many classes drawn from one population, alpha spreads as the standard error says."""
    numbers = np.random.default_rng(5)
    root = np.array([[1.0, 0, 0, 0], [0.5, 1.1, 0, 0], [0.7, 0.2, 0.8, 0], [0.4, 0.3, 0.1, 1.4]])
    found = []
    for _ in range(600):
        class_ = numbers.standard_normal((80, 4)) @ root.T
        one = compute_reliability({str(at): list(class_[:, at]) for at in range(4)})
        assert one is not None
        found.append((one.alpha, one.error))
    spread = float(np.std([alpha for alpha, _ in found]))
    assert float(np.mean([error for _, error in found])) == pytest.approx(spread, rel=0.1)


def test_equal_parts_are_perfectly_reliable() -> None:
    """Alpha is one, and nothing is measured in error."""
    points = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    found = compute_reliability({"a": points, "b": points, "c": points})
    assert found is not None
    assert (1.0, 0.0, 0.0) == pytest.approx((found.alpha, found.error, found.measurement), abs=1e-7)


def test_where_nothing_can_be_told() -> None:
    """Few students, one part, sums that never differ; of two parts none can be left out."""
    ten = list(range(FEWEST))
    assert compute_reliability({}) is None
    assert compute_reliability({"a": ten}) is None
    assert compute_reliability({"a": ten[:-1], "b": ten[:-1]}) is None
    assert compute_reliability({"a": ten, "b": [-one for one in ten]}) is None
    assert compute_reliability({"a": [1] * 10, "b": [2] * 10}) is None
    two = compute_reliability({"a": ten, "b": ten})
    assert two is not None
    assert {"a": None, "b": None} == two.without


@given(st.integers(2, 6), st.integers(FEWEST, 20), st.randoms(use_true_random=False))
def test_alpha_of_any_class(parts: int, students: int, numbers: random.Random) -> None:
    """It is that of the mean covariances, or cannot be told by either."""
    columns = [[numbers.randint(0, 8) / 2 for _ in range(students)] for _ in range(parts)]
    found = compute_reliability({str(at): column for at, column in enumerate(columns)})
    sums = [sum(row) for row in zip(*columns, strict=True)]
    if found is None:
        assert 1 == len(set(sums))
    else:
        assert float(alpha_by_pairs(columns)) == pytest.approx(found.alpha, abs=1e-9)


def test_correlation_is_the_cosine_of_what_is_left_of_the_means() -> None:
    """And there is none of few students, or where one side never differs."""
    one, other = TABLE["a"], TABLE["c"]
    wanted = float(covariance(one, other)) / math.sqrt(covariance(one, one) * covariance(other, other))
    assert wanted == pytest.approx(compute_correlation(one, other))
    assert compute_correlation(one[:9], other[:9]) is None
    assert compute_correlation([1] * 12, other) is None
