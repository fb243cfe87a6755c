"""Frames on a pipe: a header with capped lengths, JSON, and safetensors for arrays. Never pickle.

    frame = magic "AG" | u32 length of the JSON | u64 length of the tensors | JSON | safetensors

The JSON is an object with the request's id; values inside it are a tagged tree. A payload from another box
follows in its own line below the object, so that it can be forwarded unread: an object is written in one
line, and the reader takes everything after it as the tree. Both sides use this module, the trusted one and
the guest, so it imports nothing of ours and no torch. Everything that arrives on the trusted side was
written by student code: lengths, depth and node counts are capped before anything is built from it, and
every other defect is a `ProtocolError`.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

Buffer = bytes | bytearray | memoryview
MAGIC = b"AG"
# Both lengths come first, so that a frame that is too long is refused before memory is reserved.
HEADER = struct.Struct("<2sIQ")
MAX_DEPTH = 32
MAX_NODES = 200_000
MAX_TEXT = (4 << 20) - (1 << 16)
"""Bytes of JSON that a box may send for one value; a frame has 4 MB for it and the surrounding message."""
MAX_INTEGER_BITS = 65_536
MAX_CONTAINERS = 2_000_000
"""Lists and objects in a reply, counted by brackets (including those in texts): more would take memory and
seconds to build before they could be refused."""
MOST_ALIKE = 8
"""Keys of one dictionary with the same hash. Python does not salt the hashes of numbers and tuples, so an
attacker can choose keys that all collide; each is then compared with all before it."""
# Larger integers travel as hexadecimal text: they are not exact as doubles.
MAX_EXACT_FLOAT = 2**53
_CHUNK = 1 << 20
_AHEAD = 1 << 16
"""Bytes that are read for a header: most frames are complete then."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A JSON text; the quote at the end is optional, so that the search never starts over."""
_KEYS = frozenset(("$", "v", "k", "dtype", "device", "grad", "complex", "shared", "type", "text"))
"""Keys that an object in a tree may have."""


def _refuse_constant(name: str) -> NoReturn:
    raise ProtocolError(f"the constant {name} is not JSON")


# By default Python also reads NaN and Infinity, which are not JSON.
_JSON_IN = json.JSONDecoder(parse_constant=_refuse_constant)
_JSON_OUT = json.JSONEncoder(separators=(",", ":"), allow_nan=False)

JUDGE, REMOTE = "@judge", "@remote"
"""The two endpoints of a test in boxes: the judge's, which runs it, and the student's, which it reaches."""
LIMITED_BOX = 1000
"""The number of the box in which forbidden functions fail; fresh ones of it follow, others begin at 2."""

ArrayMaker = Callable[[np.ndarray, Mapping[str, Any]], Any]
OtherMaker = Callable[[str, Mapping[str, Any]], Any]


class ProtocolError(Exception):
    """The other side broke the protocol."""


class DeadlineError(Exception):
    """The deadline passed before the frame was complete."""


class ClosedError(Exception):
    """The other side closed the pipe."""


class OversizeError(ProtocolError):
    """The frame is larger than allowed."""


class Encoder:
    """Turns values into a tagged tree and collects their arrays separately.

    Subclasses add types by overriding `encode_other`; it returns a dict with a ``"$"`` tag.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.nodes = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the tagged tree of one value.

        Raises:
            ProtocolError: it is nested too deeply or has too many parts.
        """
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise ProtocolError(f"the value is nested deeper than {MAX_DEPTH} or has over {MAX_NODES} parts")
        # Exact types only: a subclass may override what is read here.
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return self._encode_integer(value)
        if kind is float:
            return value if math.isfinite(value) else {"$": "float", "v": repr(value)}
        if kind is list:
            return [self.encode(part, depth + 1) for part in value]
        if kind is tuple:
            return {"$": "tuple", "v": [self.encode(part, depth + 1) for part in value]}
        if kind is dict:
            pairs = [
                [self.encode(key, depth + 1), self.encode(part, depth + 1)] for key, part in value.items()
            ]
            return {"$": "dict", "v": pairs}
        if kind is np.ndarray:
            return self.encode_array(value, {"$": "numpy"})
        return self.encode_other(value, depth)

    def encode_array(self, value: np.ndarray, tag: dict[str, Any]) -> dict[str, Any]:
        """Collect an array; ``tag`` says how the other side rebuilds its value from it."""
        # The format has no complex numbers: they travel as pairs of floats.
        if value.dtype.kind == "c" and value.dtype.itemsize <= 16:
            parts = np.float32 if value.dtype.itemsize == 8 else np.float64
            pairs = np.ascontiguousarray(value).view(parts)
            value, tag = pairs.reshape(*value.shape, 2), {**tag, "complex": True}
        # Objects, texts and long doubles have no representation in the format either.
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            return self.encode_other(value, 0)
        key = str(len(self.arrays))
        self.arrays[key] = np.asarray(value, order="C")  # ascontiguousarray would make 0-d arrays 1-d
        return {**tag, "k": key}

    def encode_other(self, value: Any, depth: int) -> dict[str, Any]:  # noqa: ARG002
        """Encode a type that is not plain; the base class keeps only the name of the type."""
        return {"$": "opaque", "type": type(value).__name__[:80], "text": ""}

    def _encode_integer(self, value: int) -> Any:
        if abs(value) < MAX_EXACT_FLOAT:
            return value
        if value.bit_length() > MAX_INTEGER_BITS:
            return {"$": "opaque", "type": "int", "text": ""}
        return {"$": "int", "v": hex(value)}


class SingleUseArrays(dict[str, np.ndarray]):
    """The arrays of a reply. Each may be used once: otherwise a large one could be judged many times."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the array and remove it."""
        return self.pop(key, default)


class Decoder:
    """Builds values from a tagged tree and its arrays, counting depth and nodes."""

    def __init__(self, arrays: Mapping[str, np.ndarray], array: ArrayMaker, other: OtherMaker) -> None:
        self._arrays = arrays
        self._array = array
        self._other = other
        self.nodes = 0

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the value of one tree.

        Raises:
            ProtocolError: it is too deep, too large, or has an unknown tag or a missing array.
        """
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise ProtocolError("the reply is nested too deeply or has too many parts")
        kind = type(tree)  # most frequent kinds first
        if kind is str:
            return tree if tree.isascii() else replace_surrogates(tree)
        if kind is dict:
            return self._decode_tagged(tree, depth)
        if kind is list:
            depth += 1
            return [self.decode(part, depth) for part in tree]
        if tree is None or kind is bool:
            return tree
        if kind is int:
            if -MAX_EXACT_FLOAT < tree < MAX_EXACT_FLOAT:
                return tree
            raise ProtocolError("a large integer came without its tag")
        if kind is not float:
            raise ProtocolError(f"a {kind.__name__} cannot stand in a tree")
        if not math.isfinite(tree):
            raise ProtocolError("a float that is not finite came without its tag")
        return tree

    def _decode_tagged(self, tree: Mapping[str, Any], depth: int) -> Any:
        tag, inner = tree.get("$"), tree.get("v")
        if not tree.keys() <= _KEYS:
            raise ProtocolError("an object in a tree has a key that nothing reads")
        if tag in ("tensor", "numpy"):
            key = tree.get("k")
            array = self._arrays.get(key) if isinstance(key, str) else None
            if array is None:
                raise ProtocolError("an array is missing")
            if tree.get("complex"):
                array = _to_complex(array)
            return self._array(array, tree)
        if tag == "tuple" and isinstance(inner, list):
            return tuple(self.decode(part, depth + 1) for part in inner)
        if tag == "dict" and isinstance(inner, list):
            return self._decode_dictionary(inner, depth)
        # Four bits per digit, and room for a sign and "0x".
        if tag == "int" and isinstance(inner, str) and len(inner) <= MAX_INTEGER_BITS // 4 + 3:
            return _parse_integer(inner)
        if tag == "float" and inner in ("nan", "inf", "-inf"):
            return float(inner)
        if tag == "form":
            tree = {**tree, "v": self.decode(inner, depth + 1)}
        return self._other(str(tag)[:80], tree)

    def _decode_dictionary(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        depth += 1
        entries = [self._decode_pair(pair, depth) for pair in pairs]
        try:
            if len(entries) > MOST_ALIKE:
                alike = Counter(hash(key) for key, _ in entries)
                if max(alike.values()) > MOST_ALIKE:
                    raise ProtocolError(f"more than {MOST_ALIKE} keys of a dictionary have the same hash")
            return dict(entries)
        except TypeError as error:  # a tuple that contains a list is not hashable
            raise ProtocolError(str(error)) from None

    def _decode_pair(self, pair: Any, depth: int) -> tuple[Any, Any]:
        if type(pair) is not list or len(pair) != 2:
            raise ProtocolError("a dictionary entry is not a pair")
        key = self.decode(pair[0], depth)
        if type(key) is not str and not isinstance(key, int | float | tuple | None):
            raise ProtocolError(f"a {type(key).__name__} cannot be a dictionary key")
        return key, self.decode(pair[1], depth)


def _parse_integer(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise ProtocolError("an integer is not in hexadecimal") from None


def _to_complex(array: np.ndarray) -> np.ndarray:
    if array.ndim < 1 or array.shape[-1] != 2 or array.dtype not in (np.float32, np.float64):
        raise ProtocolError("a complex array does not come as pairs of floats")
    wide = np.complex64 if array.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(array).view(wide)[..., 0]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, so that the text can be written as UTF-8 anywhere."""
    if text.isascii():
        return text
    # In UTF-16 both halves of a pair become one character, and only lone ones are replaced.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def pack(message: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> list[Buffer]:
    """Return one frame in parts, including the arrays' own memory: they must not change until it is sent."""
    return _build_frame(_JSON_OUT.encode(message).encode(), pack_arrays(arrays or {}))


class Payload(NamedTuple):
    """A payload from one box to another, in transit: the JSON of a tagged tree, and its arrays."""

    tree: Buffer
    numbers: Sequence[Buffer]


def make_payload(tree: Any, arrays: Mapping[str, np.ndarray]) -> Payload:
    """Encode a payload for transit; the arrays must not change until it is sent.

    Raises:
        ProtocolError: it cannot be written.
    """
    try:
        return Payload(_JSON_OUT.encode(tree).encode(), pack_arrays(arrays))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"it cannot be written: {error}") from None


def read_payload(payload: Payload) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the tagged tree and its arrays.

    Raises:
        ProtocolError: not JSON, or not safetensors.
    """
    return _parse_body(
        payload.tree, payload.numbers[0] if len(payload.numbers) == 1 else b"".join(payload.numbers)
    )


def pack_payload(message: Mapping[str, Any], payload: Payload) -> list[Buffer]:
    """Return one frame with a payload, as `pack`."""
    return _build_frame(b"%s\n%s" % (_JSON_OUT.encode(message).encode(), payload.tree), payload.numbers)


def unpack_payload(body: Buffer, tensors: Buffer) -> tuple[dict[str, Any], Payload]:
    """Return the message and its payload, which is not inspected; it is empty if there is only a message.

    Raises:
        ProtocolError: the message is not JSON, or not an object.
    """
    head, _, tree = bytes(body).partition(b"\n")
    return unpack_message(head, b"")[0], Payload(tree, [tensors])


def _build_frame(body: Buffer, numbers: Sequence[Buffer]) -> list[Buffer]:
    length = sum(len(part) for part in numbers)
    # The first buffer is usually the short description of the arrays: joining it saves a write.
    return [b"".join((HEADER.pack(MAGIC, len(body), length), body, *numbers[:1])), *numbers[1:]]


def unpack_message(body: Buffer, tensors: Buffer) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the message and its arrays; values in the message are still tagged trees, arrays are views.

    Raises:
        ProtocolError: not JSON, not an object, or not safetensors.
    """
    message, arrays = _parse_body(body, tensors)
    if not isinstance(message, dict):
        raise ProtocolError("the message is not an object")
    return message, arrays


def _parse_body(body: Buffer, tensors: Buffer) -> tuple[Any, dict[str, np.ndarray]]:
    text = bytes(body)
    # Counted before parsing: the parser would build all of them first.
    if text.count(b"[") + text.count(b"{") > MAX_CONTAINERS:
        raise ProtocolError("the message has too many parts")
    try:
        # Lone surrogates are accepted here, and replaced when the tree is decoded.
        return _JSON_IN.decode(text.decode("utf-8", "surrogatepass")), read_arrays(tensors)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{type(error).__name__}: {str(error)[:200]}") from None


def count_values(body: Buffer) -> int:
    """Return an upper bound of the number of values in a JSON text, counted without building them."""
    most = _count_separators(body)
    return most if most <= _FEW else _count_separators(_STRING.sub(b"", body))


_FEW = 4096
"""Number of separators that is small enough to skip the exact count: some of them may be inside texts."""


def _count_separators(text: Buffer) -> int:
    plain = text if isinstance(text, bytes | bytearray) else bytes(text)
    return 1 + plain.count(b",") + plain.count(b"[") + plain.count(b"{")


Waiter = Callable[[float], bool]
"""Waits at most the given seconds; True if the pipe has something to read."""


class FrameReader:
    """Reads frames from a pipe. Bytes that arrived beyond one frame are kept for the next."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ahead = b""

    @property
    def ahead(self) -> bool:
        """Whether bytes have arrived that no frame was read for."""
        return bool(self._ahead)

    def read_frame(
        self, *, max_json: int, max_tensors: int, deadline: float = math.inf, wait: Waiter | None = None
    ) -> tuple[Buffer, Buffer]:
        """Read the two parts of the next frame within a deadline on the monotonic clock.

        Raises:
            DeadlineError: not complete in time.
            OversizeError: longer than allowed.
            ProtocolError: it does not begin like a frame.
            ClosedError: the other side closed the pipe.
        """
        while len(self._ahead) < HEADER.size:
            if _wait_readable(deadline, wait):
                self._ahead += _require_bytes(os.read(self._descriptor, _AHEAD))
        magic, json_length, tensor_length = HEADER.unpack_from(self._ahead)
        if magic != MAGIC:
            raise ProtocolError("the bytes do not begin like a frame")
        # Checked before memory is reserved for the frame.
        if json_length > max_json or tensor_length > max_tensors:
            raise OversizeError(f"a reply of {json_length + tensor_length:,} bytes is over the limit")
        self._ahead = self._ahead[HEADER.size :]
        body = self._read_exactly(json_length, deadline, wait)
        return body, self._read_exactly(tensor_length, deadline, wait)

    def _read_exactly(self, length: int, deadline: float, wait: Waiter | None) -> bytearray:
        buffer = bytearray(length)
        filled = min(length, len(self._ahead))
        buffer[:filled], self._ahead = self._ahead[:filled], self._ahead[filled:]
        view = memoryview(buffer)
        while filled < length:
            if _wait_readable(deadline, wait):
                # In chunks, so that the deadline is checked in between.
                count = os.readv(self._descriptor, [view[filled : filled + _CHUNK]])
                filled += len(_require_bytes(view[:count]))
        return buffer


def _wait_readable(deadline: float, wait: Waiter | None) -> bool:
    """Return whether there is something to read now; without a waiter, the read itself blocks."""
    if wait is None:
        return True
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineError
    return wait(left)


def _require_bytes(read: Buffer) -> Buffer:
    if not read:
        raise ClosedError
    return read


def write_frame(descriptor: int, frame: Sequence[Buffer], *, deadline: float = math.inf) -> None:
    """Write a frame within a deadline; the descriptor is non-blocking if a deadline is given.

    Raises:
        DeadlineError: the other side did not read in time.
        BrokenPipeError: the other side is gone.
    """
    for part in frame:
        view = memoryview(part)
        while view:
            try:
                view = view[os.write(descriptor, view[:_CHUNK]) :]
            except BlockingIOError:
                left = deadline - time.monotonic()
                poller = select.poll()
                poller.register(descriptor, select.POLLOUT)
                if left <= 0 or not poller.poll(None if left == math.inf else left * 1000):
                    raise DeadlineError from None


# ---------------------------------------------------------------- arrays
# In the safetensors format, written and read without a copy:
#
#     u64 length of the description | description (JSON) | the numbers, array after array, little-endian
#
# The library of that name builds whole files in memory and copies each array twice on either side, which is
# most of the cost of a large tensor on a pipe. Here `pack_arrays` returns the arrays' own memory for writing,
# and `read_arrays` returns views into the buffer that was received. The format is compatible: we and the
# library read each other's output. Input may be hostile: every claim of the description is checked against
# the bytes before anything is built.


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


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> list[Buffer]:
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
