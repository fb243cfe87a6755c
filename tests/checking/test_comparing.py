"""Test that assertions compare only plain data."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

from autograder.checking import Unclear, Wrong, assert_close, assert_equal, raises, tiered


class EqualsAll:
    """An object that equals anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


CLOSE: dict[str, tuple[Any, Any]] = {
    "numbers": (1.00001, 1),
    "a 0-d tensor and a number": (torch.tensor(2.0), 2),
    "a list of 0-d tensors and numbers": ([torch.tensor(1.0), torch.tensor(2.0)], [1.0, 2.0]),
    "tensors of two precisions": (torch.ones(2, dtype=torch.float64), torch.ones(2)),
    "half precision": (torch.ones(2, dtype=torch.bfloat16), torch.ones(2)),
    "a tensor that follows from parameters": (torch.ones(2, requires_grad=True) * 2, torch.full((2,), 2.0)),
    "an array for a list": (np.array([1.0, 2.0]), [1, 2]),
    "a tuple for a list": ((1, 2), [1, 2]),
    "dictionaries": ({"a": np.ones(2)}, {"a": np.ones(2)}),
    "parts of several shapes": ((np.ones(2), np.ones(3)), (np.ones(2), np.ones(3))),
    "infinity": (float("inf"), float("inf")),
    "empty": ([], []),
}
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "other numbers": (1.1, 1),
    "another shape": (torch.ones(2, 1), torch.ones(2)),
    "a list for a tensor": ([1.0, 1.0], torch.ones(2)),
    "NaN": (float("nan"), float("nan")),
    "None": (None, 1.0),
    "text": ("1", 1),
    "an object that equals everything": (EqualsAll(), 1),
    "such an object in a list": ([1, EqualsAll()], [1, 2]),
    "a missing key": ({"a": 1}, {"a": 1, "b": 2}),
    "another length": ([1, 2], [1, 2, 3]),
    "a part of a tuple": ((np.ones(2), np.zeros(3)), (np.ones(2), np.ones(3))),
}


@pytest.mark.parametrize(("actual", "expected"), CLOSE.values(), ids=CLOSE)
def test_assert_close_accepts(actual: Any, expected: Any) -> None:
    assert_close(actual, expected)


@pytest.mark.parametrize(("actual", "expected"), DIFFERENT.values(), ids=DIFFERENT)
def test_assert_close_rejects(actual: Any, expected: Any) -> None:
    with pytest.raises(Wrong):
        assert_close(actual, expected)


EQUAL: dict[str, tuple[Any, Any]] = {
    "texts": ("a", "a"),
    "whole and other numbers": (2, 2.0),
    "numpy's numbers inside": ([np.int64(1), {"a": np.float64(2)}], [1, {"a": 2}]),
    "a 0-d tensor": (torch.tensor(3), 3),
    "arrays": (np.array([1, 2]), np.array([1, 2])),
    "sets": ({1, 2}, {2, 1}),
    "None": (None, None),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
}
UNEQUAL: dict[str, tuple[Any, Any]] = {
    "a bool and a number": (True, 1),
    "a tuple and a list": ((1,), [1]),
    "an object that equals everything": (EqualsAll(), 1),
    "such an object inside": ({"a": [EqualsAll()]}, {"a": [1]}),
    "an array and a list": (np.array([1]), [1]),
}


@pytest.mark.parametrize(("actual", "expected"), EQUAL.values(), ids=EQUAL)
def test_assert_equal_accepts(actual: Any, expected: Any) -> None:
    assert_equal(actual, expected)


@pytest.mark.parametrize(("actual", "expected"), UNEQUAL.values(), ids=UNEQUAL)
def test_assert_equal_rejects(actual: Any, expected: Any) -> None:
    with pytest.raises(Wrong):
        assert_equal(actual, expected)


@pytest.mark.parametrize("compare", [assert_close, assert_equal])
def test_an_expected_value_that_is_no_data_is_our_mistake(compare: Any) -> None:
    with pytest.raises(Unclear):
        compare(1, object())


@pytest.mark.parametrize(
    ("value", "share"), [(0.95, None), (0.85, 0.5), (0.1, 0.0), (float("nan"), 0.0), ("0.95", 0.0)]
)
def test_tiered_gives_the_best_share_that_is_reached(value: Any, share: float | None) -> None:
    if share is None:
        tiered(value, {0.9: 1, 0.8: 0.5})
        return
    with pytest.raises(Wrong) as raised:
        tiered(value, {0.9: 1, 0.8: 0.5})
    assert share == raised.value.share


def test_tiered_knows_losses() -> None:
    tiered(0.1, {0.2: 1, 0.4: 0.5}, lower_is_better=True)


def test_raises_needs_an_exception() -> None:
    with pytest.raises(Wrong, match="raised nothing; expected ValueError"), raises(ValueError):
        pass


def test_raises_lets_out_an_exception_of_the_check() -> None:
    """An exception in the check itself makes the check unclear."""
    with pytest.raises(ValueError, match="ours"), raises(ValueError):
        raise ValueError("ours")
