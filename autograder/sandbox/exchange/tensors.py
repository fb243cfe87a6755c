"""Arrays in the safetensors format, written and read without a copy.

    u64 length of the description | description (JSON) | the numbers, array after array, little-endian

The library of that name builds whole files in memory and copies each array twice on either side, which is
most of the cost of a large tensor on a pipe. Here `parts` returns the arrays' own memory for writing, and
`read_arrays` returns views into the buffer that was received. The format is compatible: this module and the
library read each other's output. Input may be hostile: every claim of the description is checked against the
bytes before anything is built.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Buffer = bytes | bytearray | memoryview

MAX_DESCRIPTION = 256 << 10
"""Bytes that describe the tensors of a frame, some 3,500; half a million would take seconds to read."""
_ENTRY = frozenset(("dtype", "shape", "data_offsets"))
MAX_DIMENSIONS = 64
MAX_SIZE = 1 << 62
_LENGTH_BYTES = 8
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4", "I32": "<i4",
    "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


class MisdescribedError(ValueError):
    """The bytes are not tensors in this format, or do not match their description."""


def parts(arrays: Mapping[str, np.ndarray]) -> list[Buffer]:
    """Return the buffers to write, in order; none for no arrays. The arrays must not change until written.

    Args:
        arrays: C-contiguous, of booleans, integers or floats of at most 8 bytes.
    """
    if not arrays:
        return []
    description, numbers, end = {}, [], 0
    # Wide numbers first, so that each array begins at a multiple of its item size.
    for key, original in sorted(arrays.items(), key=lambda item: -item[1].itemsize):
        array = original.astype(original.dtype.newbyteorder("<"), copy=False)
        begin, end = end, end + array.nbytes
        name = _NAMES[array.dtype]
        description[key] = {"dtype": name, "shape": array.shape, "data_offsets": (begin, end)}
        if array.nbytes:
            numbers.append(array.reshape(-1).view(np.uint8).data)
    text = json.dumps(description, separators=(",", ":")).encode()
    # Padded so that the numbers after it begin at a multiple of 8 bytes.
    text += b" " * (-len(text) % _LENGTH_BYTES)
    return [len(text).to_bytes(_LENGTH_BYTES, "little") + text, *numbers]


def read_arrays(buffer: Buffer) -> dict[str, np.ndarray]:
    """Return the arrays by key, as views into the buffer if they are aligned.

    Raises:
        ValueError: the bytes do not match their description in any way (`MisdescribedError`, or not JSON).
    """
    if not buffer:
        return {}
    length = read_description_length(buffer)
    if length > MAX_DESCRIPTION:
        raise MisdescribedError("the description of the tensors is too long")
    first = _LENGTH_BYTES + length
    if first > len(buffer):
        raise MisdescribedError("the description of the tensors is longer than the tensors")
    try:
        description = json.loads(bytes(buffer[_LENGTH_BYTES:first]))
    except RecursionError:
        raise MisdescribedError("the description of the tensors is nested too deeply") from None
    if not isinstance(description, dict):
        raise MisdescribedError("the description of the tensors is not an object")
    # The arrays must follow one another without gaps or overlaps: each byte belongs to exactly one of them.
    arrays, end = {}, 0
    for key, entry in sorted(description.items(), key=_get_offsets):
        dtype, shape, begin, last = _parse_entry(entry)
        if begin != end or last - begin != dtype.itemsize * math.prod(shape):
            raise MisdescribedError("a tensor does not lie where its description says")
        end = last
        # The lengths differ, which is refused below.
        if end > len(buffer) - first:
            break
        arrays[key] = _build_array(buffer, dtype, shape, first + begin)
    if end != len(buffer) - first:
        raise MisdescribedError("the tensors are not as long as their description says")
    return arrays


def read_description_length(buffer: Buffer) -> int:
    """Return the number of bytes that the description claims to have."""
    return int.from_bytes(buffer[:_LENGTH_BYTES], "little")


def _get_offsets(item: tuple[str, Any]) -> tuple[int, int]:
    _, _, begin, end = _parse_entry(item[1])
    return begin, end


def _parse_entry(entry: object) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Return the dtype, the shape and the two offsets of one tensor."""
    if not isinstance(entry, dict):
        raise MisdescribedError("a tensor is not described by an object")
    if entry.keys() != _ENTRY:
        raise MisdescribedError("a tensor is described by other words than its dtype, shape and place")
    name = entry["dtype"]
    if not isinstance(name, str) or name not in _DTYPES:
        raise MisdescribedError("a tensor has an unknown dtype")
    shape, offsets = _parse_sizes(entry["shape"]), _parse_sizes(entry["data_offsets"])
    if len(offsets) != 2:
        raise MisdescribedError("a tensor has no place")
    return np.dtype(_DTYPES[name]), shape, *offsets


def _parse_sizes(sizes: object) -> tuple[int, ...]:
    if not isinstance(sizes, list) or len(sizes) > MAX_DIMENSIONS:
        raise MisdescribedError("a tensor has no shape or no place")
    if not all(type(size) is int and 0 <= size <= MAX_SIZE for size in sizes):
        raise MisdescribedError("a tensor has an impossible size")
    return tuple(sizes)


def _build_array(buffer: Buffer, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> np.ndarray:
    count = math.prod(shape)
    array: np.ndarray = np.frombuffer(buffer, np.uint8 if dtype.kind == "b" else dtype, count, begin)
    if dtype.kind == "b":  # other bytes than 0 and 1 would make invalid truth values
        array = array != 0
    array = array.reshape(shape)
    # Code that gets the array may rely on aligned numbers.
    return array if array.flags.aligned else array.copy()
