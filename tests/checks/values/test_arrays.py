"""When two values are equal, and what is said when they are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from autograder.checks.options import Rules
from autograder.checks.values.arrays import compare_values
from autograder.records import Opaque, Ref, Tensor

NAN, INF = float("nan"), float("inf")


def tensor(numbers: object, dtype: str = "float32", device: str = "cpu") -> Tensor:
    """A tensor with the numbers in numpy's nearest dtype."""
    return Tensor(np.array(numbers, "float32" if dtype == "bfloat16" else dtype), dtype, device)


@pytest.mark.parametrize(
    ("actual", "expected", "rules"),
    [
        (1, 1, {}),
        (1.0, 1, {}),
        (1 + 1e-9, 1.0, {}),
        ([1, 2], [1.0, 2.0], {}),
        ((1, 2), [1, 2], {}),
        (np.array([1.0, 2.0]), [1, 2], {}),
        (tensor([1, 2]), tensor([1, 2], "float64"), {}),
        (tensor([1, 2], "bfloat16"), tensor([1, 2], "float32"), {}),
        (tensor([1, 2], "int64"), tensor([1.0, 2.0]), {"dtype": "any"}),
        ([INF, -INF], [INF, -INF], {}),
        ([NAN, 1.0], [NAN, 1.0], {"nan": "equal"}),
        (0.24, 0.245, {"atol": 0.01}),
        (1.0, 1.1, {"rtol": 0.095}),
        (1j, 1j, {}),
        (1 << 70, 1 << 70, {}),
        ("text", "text", {}),
        (None, None, {}),
        (True, True, {}),
        ({"a": [1, 2], "b": tensor(1.0)}, {"b": tensor(1.0), "a": [1, 2]}, {}),
        ([tensor([1.0]), "x"], (tensor([1.0]), "x"), {}),
        ([], [], {}),
    ],
)
def test_equal_values(actual: object, expected: object, rules: dict[str, object]) -> None:
    """Equal by the stated rules gives no difference."""
    assert compare_values(actual, expected, Rules(**rules)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("actual", "expected", "rules", "code"),
    [
        (2, 1, {}, "value.number"),
        (1.1, 1.0, {"rtol": 0.095}, "value.number"),  # of what is right, not of what came
        ([1, 3], [1, 2], {}, "value.differs"),
        ([[1, 2]], [1, 2], {}, "value.dimensions"),
        (np.zeros((2, 3)), np.zeros((3, 2)), {}, "value.axes"),
        (np.zeros((2, 3)), np.zeros((2, 4)), {}, "value.shape"),
        (tensor([1, 2], "int64"), tensor([1.0, 2.0]), {}, "value.dtype"),
        (tensor([1, 2]), tensor([1, 2], "float64"), {"dtype": "exact"}, "value.dtype"),
        (tensor([1, 2], "bfloat16"), tensor([1, 2]), {"dtype": "exact"}, "value.dtype"),
        (True, 1, {}, "value.dtype"),
        (1, True, {}, "value.dtype"),
        (tensor([True], "bool"), tensor([1.0]), {}, "value.dtype"),
        (tensor([1.0], device="cuda:0"), tensor([1.0]), {"device": "cpu"}, "value.device"),
        ([NAN, 1.0], [NAN, 1.0], {}, "value.nan"),
        ([NAN, 1.0], [1.0, 1.0], {"nan": "equal"}, "value.nan"),
        ([1.0, 1.0], [NAN, 1.0], {"nan": "equal"}, "value.differs"),
        ([INF, 1.0], [-INF, 1.0], {}, "value.differs"),
        (1e308, INF, {}, "value.number"),
        ("other", "text", {}, "value.text"),
        (1, "1", {}, "value.form"),
        ("1", 1, {}, "value.form"),
        (None, 1, {}, "value.form"),
        (1, None, {}, "value.form"),
        (Opaque("Linear"), 1, {}, "value.form"),
        (1 << 5000, 1, {}, "value.form"),
        ([1, [2, 3]], [1, 2], {}, "value.form"),
        ({"a": 1}, {"b": 1}, {}, "value.entry"),
        ({"a": 1, "c": 2}, {"a": 1}, {}, "value.extra"),
        ([1], {"a": 1}, {}, "value.form"),
        (["x"], ["x", "y"], {}, "value.length"),
        (5, ["x", "y"], {}, "value.form"),
        (1, Ref("model"), {}, "incomparable"),
        (Tensor("garbage", "float32"), tensor([1.0]), {}, "value.form"),  # type: ignore[arg-type]
        (np.array(["a"]), tensor([1.0]), {}, "value.form"),
        (Tensor(np.array([1j]), "float32"), tensor([1.0]), {}, "value.dtype"),
    ],
)
def test_different_values(actual: object, expected: object, rules: dict[str, object], code: str) -> None:
    """The first difference is named: form, shape, dtype, device, NaN, numbers."""
    difference = compare_values(actual, expected, Rules(**rules))  # type: ignore[arg-type]
    assert difference is not None
    assert code == difference.code


def test_the_student_is_told_how_many_differ_and_staff_where() -> None:
    """The student's words carry no expected number; staff see the first one."""
    difference = compare_values([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], Rules())
    assert difference is not None
    assert {"count": "1", "total": "3"} == difference.params
    assert "2.5" in difference.staff


def test_a_place_inside_is_told_to_staff() -> None:
    """A difference inside a nest says where it is."""
    difference = compare_values({"a": [1, "x"]}, {"a": [2, "x"]}, Rules())
    assert difference is not None
    assert difference.staff.startswith("at ['a'][0]")


def test_deep_nests_end() -> None:
    """A nest deeper than the wire allows is different, not a RecursionError."""
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    difference = compare_values(deep, deep, Rules())
    assert difference is not None
    assert "value.form" == difference.code


ARRAYS = numpy_strategies.arrays(
    st.sampled_from(["float64", "float32", "int64", "bool", "complex128", "uint8", "float16"]),
    numpy_strategies.array_shapes(min_dims=0, max_side=3, min_side=0),
)


@given(ARRAYS)
def test_every_array_equals_itself(array: np.ndarray) -> None:
    """With NaN counted as equal, every array equals itself by the strictest rules."""
    assert compare_values(array, array, Rules(rtol=0, atol=0, dtype="exact", nan="equal")) is None


@given(ARRAYS, ARRAYS)
def test_comparing_arrays_is_total_and_agrees_with_numpy(first: np.ndarray, second: np.ndarray) -> None:
    """For any two arrays the verdict is numpy's own, where shapes agree."""
    rules = Rules(dtype="any", nan="equal")
    same = compare_values(first, second, rules) is None
    if first.shape != second.shape:
        assert not same
    elif first.dtype.kind in "biu" and second.dtype.kind in "biu":
        assert bool(np.array_equal(first, second)) == same
    else:
        wide = np.complex128
        with np.errstate(all="ignore"):
            close = np.allclose(
                first.astype(wide), second.astype(wide), rules.rtol, rules.atol, equal_nan=True
            )
        if not (np.isinf(first.astype(wide)).any() or np.isinf(second.astype(wide)).any()):
            assert bool(close) == same
