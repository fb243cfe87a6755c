"""Hidden arrays show what they are drawn for, whatever is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Inputs
from autograder.errors import RubricError

SEEDS = st.binary(min_size=4, max_size=8)
ROWS = st.tuples(st.integers(2, 4), st.integers(1, 3))


def drawn(seed: bytes, **form: Any) -> np.ndarray:
    """One array."""
    inputs = Inputs(CallOptions(library="numpy"), Draw(seed))
    array: np.ndarray = inputs.arguments("case", (form,), {})[0][0]
    return array


def rows(array: np.ndarray) -> list[tuple[Any, ...]]:
    """All rows of the last axis."""
    return [tuple(row) for row in array.reshape(-1, array.shape[-1]).tolist()]


@given(SEEDS, ROWS, st.integers(2, 9))
def test_padding_begins_at_another_place_in_each_row(
    seed: bytes, shape: tuple[int, int], length: int
) -> None:
    """Rows keep one entry at least and never all, and as many different counts as there can be."""
    mask = drawn(seed, draw="padding_mask", shape=[*shape, length])
    kept = mask.sum(-1)
    assert (mask == (np.arange(length) < kept[..., None])).all()
    assert (kept.min() >= 1, kept.max() < length) == (True, True)
    assert len(set(kept.ravel().tolist())) == min(kept.size, length - 1)


@given(SEEDS, ROWS, st.integers(2, 9))
def test_masks_that_differ_see_what_the_other_does_not(
    seed: bytes, shape: tuple[int, int], length: int
) -> None:
    """No row is contained in another one, and there are as many as there can be."""
    mask = drawn(seed, draw="mask", shape=[*shape, length])
    different = set(rows(mask))
    assert len(different) == min(mask.size // length, length)
    for one in different:
        for other in different - {one}:
            assert any(mine and not theirs for mine, theirs in zip(one, other, strict=True))
    assert all(any(row) and not all(row) for row in different)


@given(SEEDS, st.integers(1, 4), st.integers(1, 9))
def test_a_cycle_counts_on(seed: bytes, low: int, count: int) -> None:
    """Each number is followed by the next one, the last by the first, and rows begin differently."""
    texts = drawn(seed, draw="cycle", shape=[3, 12], low=low, high=low + count)
    assert (texts[:, 1:] - low == (texts[:, :-1] - low + 1) % count).all()
    assert len(set(texts[:, 0].tolist())) == min(3, count)


@given(SEEDS)
def test_single_entries_are_open(seed: bytes) -> None:
    """A row of one entry keeps it: nothing could be computed otherwise."""
    assert all(drawn(seed, draw=kind, shape=[3, 1]).all() for kind in ("mask", "padding_mask"))


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("mask", []), ("padding_mask", []), ("cycle", []), ("causal_mask", []), ("causal_mask", [3])],
)
def test_a_shape_without_the_axes_that_are_needed_is_refused(kind: str, shape: list[int]) -> None:
    """It is an error in the rubric, and said to be one; an axis of length 0 gives an empty array."""
    with pytest.raises(RubricError, match=f"{kind} needs"):
        drawn(b"seed", draw=kind, shape=shape, low=0, high=3)
    assert (2, 0) == drawn(b"seed", draw=kind, shape=[2, 0], low=0, high=3).shape
