"""Arrays on the wire: in the safetensors format, without copies, with a validated header."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from safetensors.numpy import load, save

from autograder.sandbox.exchange import wire
from autograder.sandbox.inside.value_conversion import build_own_array

DTYPES = ["bool", "float16", "float32", "float64"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
ARRAYS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    st.sampled_from(DTYPES).flatmap(
        lambda name: st_numpy.arrays(name, st_numpy.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    max_size=5,
)


def written(arrays: dict[str, np.ndarray]) -> bytearray:
    """Return the bytes that are sent."""
    return bytearray(b"".join(wire.pack_arrays(arrays)))


def described(description: Any, numbers: bytes = b"") -> bytes:
    """Return bytes with any header."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def assert_equal(expected: dict[str, np.ndarray], actual: dict[str, np.ndarray]) -> None:
    """Compare keys, dtypes, shapes and every bit."""
    assert expected.keys() == actual.keys()
    for key, array in expected.items():
        assert (array.dtype, array.shape) == (actual[key].dtype, actual[key].shape)
        assert array.tobytes() == actual[key].tobytes()


@given(ARRAYS)
def test_what_is_written_is_read(arrays: dict[str, np.ndarray]) -> None:
    """Arrays of all dtypes and shapes are read back, and each one is aligned."""
    read = wire.read_arrays(written(arrays))
    assert_equal(arrays, read)
    assert all(array.flags.aligned for array in read.values())


@given(ARRAYS.filter(bool))
def test_the_format_is_that_of_the_library(arrays: dict[str, np.ndarray]) -> None:
    """The safetensors library reads our files, and we read its files."""
    assert_equal(arrays, load(bytes(written(arrays))))
    assert_equal(arrays, wire.read_arrays(save(arrays)))


def test_numbers_are_neither_copied_on_the_way_out_nor_on_the_way_in() -> None:
    """Writing uses the array's own memory; reading returns a writable view."""
    array = np.arange(6, dtype=np.float32)
    _, numbers = wire.pack_arrays({"a": array})
    assert np.shares_memory(array, np.frombuffer(numbers, np.float32))
    buffer = written({"a": array})
    read = wire.read_arrays(buffer)["a"]
    assert np.shares_memory(read, np.frombuffer(buffer, np.uint8))
    assert read.flags.writeable


def test_numbers_of_another_byte_order_are_turned() -> None:
    """Student code may return big-endian arrays."""
    array = np.array([1.0, 2.0], ">f4")
    assert [1.0, 2.0] == wire.read_arrays(written({"a": array}))["a"].tolist()


def test_a_truth_value_is_true_or_false() -> None:
    """A Boolean byte other than 0 and 1 is refused, because it would equal neither."""
    data = described({"a": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}, b"\x00\x01\x07")
    assert b"\x00\x01\x01" == wire.read_arrays(data)["a"].tobytes()


def test_an_array_that_lies_unevenly_is_read_all_the_same() -> None:
    """Only forged messages contain unaligned arrays."""
    entries = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F64", "shape": [], "data_offsets": [1, 9]},
    }
    data = described(entries, b"\x05" + np.float64(2.5).tobytes())
    read = wire.read_arrays(data)
    assert 2.5 == read["b"]
    assert read["b"].flags.aligned


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("description", "numbers"),
    [
        (b"{", b""),
        (b"[" * 100_000, b""),
        ([], b""),
        ({"a": 7}, b""),
        ({"a": {}}, b""),
        ({"a": ONE}, b""),
        ({"a": ONE}, bytes(3)),
        ({"a": ONE}, bytes(5)),
        ({"a": ONE, "b": ONE}, bytes(4)),
        ({"a": ONE, "b": ONE}, bytes(8)),
        ({"a": {**ONE, "data_offsets": [4, 8]}}, bytes(8)),
        ({"a": {**ONE, "data_offsets": [4, 0]}}, bytes(4)),
        ({"a": {**ONE, "data_offsets": [0, 4, 4]}}, bytes(4)),
        ({"a": {**ONE, "data_offsets": [False, 4]}}, bytes(4)),
        ({"a": {**ONE, "shape": [2]}}, bytes(4)),
        ({"a": {**ONE, "shape": [-1, -1]}}, bytes(4)),
        ({"a": {**ONE, "shape": [1.0]}}, bytes(4)),
        ({"a": {**ONE, "shape": [True]}}, bytes(4)),
        ({"a": {**ONE, "shape": [1] * 65}}, bytes(4)),
        ({"a": {**ONE, "shape": [1 << 63, 0], "data_offsets": [0, 0]}}, b""),
        ({"a": {**ONE, "dtype": "BF16"}}, bytes(4)),
        ({"a": {**ONE, "dtype": ["F32"]}}, bytes(4)),
        ({"__metadata__": {"format": "np"}}, b""),
    ],
)
def test_a_description_that_lies_is_refused(description: Any, numbers: bytes) -> None:
    """Gaps, overlaps, mismatched sizes and unknown dtypes are refused."""
    with pytest.raises(ValueError, match=r".+"):
        wire.read_arrays(described(description, numbers))


@pytest.mark.parametrize("data", [b"x", bytes(7), (9).to_bytes(8, "little") + b"{}", b"\xff" * 16])
def test_a_length_that_lies_is_refused(data: bytes) -> None:
    """A file shorter than its length field, shorter than the header, or with an endless header is refused."""
    with pytest.raises(ValueError, match=r".+"):
        wire.read_arrays(data)


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_any_bytes_are_arrays_or_refused(text: bytes, numbers: bytes) -> None:
    """Any bytes are read or refused, without another error."""
    try:
        assert all(isinstance(one, np.ndarray) for one in wire.read_arrays(described(text, numbers)).values())
    except ValueError:
        return


@pytest.mark.parametrize("offset", range(0, 20, 4))
@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float64", "int16"])
def test_arrays_come_at_any_place_of_a_message(dtype: str, offset: int) -> None:
    """Arrays may start at any offset of a message; torch must not crash on it."""
    numbers = np.arange(3).astype(dtype)
    message = bytearray(offset) + bytearray(numbers.tobytes())
    array = np.frombuffer(message, dtype, 3, offset)
    tensor: torch.Tensor = build_own_array(array, {"$": "tensor", "dtype": dtype})
    assert [0, 1, 2] == (tensor.clone() + 0).tolist()
