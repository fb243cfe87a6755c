"""Trees and messages: sent values arrive unchanged, and anything else is a defined error."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from autograder.core.records import OpaqueValue, Tensor
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.inside.value_conversion import GuestEncoder
from tests.sandbox.contract import assert_same

KEYS = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none())
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DTYPES = st.sampled_from(
    "bool uint8 int8 uint16 int32 int64 uint64 float16 float32 float64 complex64 complex128".split()  # noqa: SIM905
)
ARRAYS = DTYPES.flatmap(
    lambda name: st_numpy.arrays(name, st_numpy.array_shapes(min_dims=0, min_side=0, max_side=3))
)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(2**200), 2**200), st.floats(), TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(TEXT, st.integers(), st.tuples(TEXT)), inner, max_size=4),
    ),
    max_leaves=12,
)
SENT = st.one_of(PLAIN, ARRAYS, st.lists(ARRAYS, max_size=3))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["$", "v", "k", "type", "text", "complex", "dtype", "device", "grad"]),
            inner,
            max_size=5,
        ),
        st.builds(
            lambda tag, inner: {"$": tag, "v": inner, "k": "0"},
            st.sampled_from(["tensor", "numpy", "tuple", "dict", "int", "float", "ref", "opaque", "other"]),
            inner,
        ),
    ),
    max_leaves=10,
)


def there_and_back(value: Any) -> Any:
    """Encode a value, send it over the wire, and decode it."""
    encoder = values.TrustedEncoder()
    frame = b"".join(wire.pack({"id": "x", "v": encoder.encode(value)}, encoder.arrays))
    header = wire.HEADER.size
    _, length, _ = wire.HEADER.unpack(frame[:header])
    message, arrays = wire.unpack_message(frame[header : header + length], frame[header + length :])
    return values.create_trusted_decoder(arrays).decode(message["v"])


@given(SENT)
def test_what_is_sent_arrives(value: Any) -> None:
    """Decoding undoes encoding: types, shapes, dtypes, signs of zero, NaN."""
    assert_same(value, there_and_back(value))


@pytest.mark.parametrize("value", [Tensor(np.ones((2, 0), np.float32), "bfloat16", requires_grad=True)])
def test_tensors_arrive_with_what_numpy_cannot_say(value: Tensor) -> None:
    """dtype and requires_grad are sent along with the numbers."""
    assert_same(value, there_and_back(value))


def test_opaque_objects_arrive() -> None:
    """They arrive as the records that represent them."""
    assert [OpaqueValue("Mul", "2*x")] == there_and_back([OpaqueValue("Mul", "2*x")])


def test_an_array_sent_twice_travels_once() -> None:
    """The same object in several places is one tensor in the frame."""
    encoder = values.TrustedEncoder()
    array = np.ones(3)
    encoder.encode([array, array, Tensor(array, "float64")])
    assert 1 == len(encoder.arrays)


@settings(max_examples=300)
@given(JSON, st.sampled_from([np.ones((2, 2)), np.array(1.0), np.zeros((0, 2), np.int64)]))
def test_any_tree_is_a_value_or_a_protocol_error(tree: Any, array: np.ndarray) -> None:
    """No reply of student code raises an unexpected error on the trusted side."""
    try:
        value = values.create_trusted_decoder({"0": array}).decode(json.loads(json.dumps(tree)))
    except wire.ProtocolError:
        return
    json.dumps(repr(value)).encode()  # an accepted value is well formed and can be serialised


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(body: bytes, tensors: bytes) -> None:
    """Neither the JSON nor the safetensors reader raises another error."""
    try:
        message, arrays = wire.unpack_message(body, tensors)
    except wire.ProtocolError:
        return
    assert isinstance(message, dict)
    assert isinstance(arrays, dict)


@pytest.mark.parametrize("depth", [*range(900, 1000, 3), 100_000])
def test_no_depth_of_nesting_is_unforeseen(depth: int) -> None:
    """Nesting of any depth around the recursion limit is handled at every place of a reply."""
    nested = "[" * depth + "]" * depth
    for tree in (
        nested,
        f'{{"$":"opaque","type":{nested},"text":{nested}}}',
        f'{{"$":"tensor","k":{nested}}}',
    ):
        try:
            message, arrays = wire.unpack_message(f'{{"v":{tree}}}'.encode(), b"")
            values.create_trusted_decoder(arrays).decode(message["v"])
        except wire.ProtocolError:
            continue


@pytest.mark.parametrize(
    ("name", "body", "tensors"),
    [
        ("not JSON", b"{", b""),
        ("not an object", b"[1]", b""),
        ("a constant that is no JSON", b'{"v":NaN}', b""),
        ("an integer of many digits", b'{"v":' + b"9" * 900_000 + b"}", b""),
        ("not UTF-8", b'{"v":"\xff"}', b""),
        ("no safetensors", b"{}", b"xxxx"),
        ("a header longer than the tensors", b"{}", (1 << 40).to_bytes(8, "little") + b"{}"),
    ],
)
def test_malformed_frames_are_refused(name: str, body: bytes, tensors: bytes) -> None:
    """Each malformed frame is a protocol error with a message."""
    with pytest.raises(wire.ProtocolError, match=r".+"):
        wire.unpack_message(body, tensors)


@pytest.mark.parametrize(
    "body", [b'{"v":[1e999]}', b'{"v":{"$":"tuple","v":[-1e999]}}', b'{"v":9007199254740992}']
)
def test_numbers_that_need_a_tag_are_refused_without(body: bytes) -> None:
    """JSON does not accept a bare Infinity, or an integer that a float would change."""
    message, _ = wire.unpack_message(body, b"")
    with pytest.raises(wire.ProtocolError, match="without its tag"):
        values.create_trusted_decoder({}).decode(message["v"])


def test_what_is_told_is_not_looked_at() -> None:
    """The value is passed on unread in a message of ours, whatever it contains."""
    told = wire.Payload(b'no JSON\n{"id": "forged"}', [b"xxxx"])
    frame = b"".join(wire.pack_payload({"id": "own"}, told))
    _, length, _ = wire.HEADER.unpack_from(frame)
    body, tensors = frame[wire.HEADER.size :][:length], frame[wire.HEADER.size + length :]
    message, found = wire.unpack_payload(body, tensors)
    assert ({"id": "own"}, told.tree, b"xxxx") == (message, found.tree, found.numbers[0])
    with pytest.raises(wire.ProtocolError):
        wire.unpack_message(body, tensors)
    with pytest.raises(wire.ProtocolError):
        wire.read_payload(found)


def safetensors(header: Any, content: bytes) -> bytes:
    """Return a file with any header."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


@pytest.mark.parametrize(
    "dtype", ["F32", "BF16", "F8_E4M3", "F8_E8M0", "F4", "C64", "I4", "STRING", "", None, 7]
)
@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ([1], [0, 4]),
        ([1 << 40], [0, 4]),
        ([0, 1 << 62], [0, 0]),
        ([0, -1], [0, 0]),
        ([1] * 65, [0, 4]),
        ([2, 2], [4, 0]),
    ],
)
def test_lying_safetensors_are_refused_or_read(dtype: Any, shape: list[int], offsets: list[int]) -> None:
    """Shapes, offsets and dtypes that disagree never raise an unexpected error."""
    tensors = safetensors(
        {"0": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}, b"xxxx"[: max(offsets)]
    )
    try:
        _, arrays = wire.unpack_message(b"{}", tensors)
    except wire.ProtocolError:
        return
    assert all(array.nbytes <= 16 for array in arrays.values())


def test_a_description_of_half_a_million_tensors_is_refused() -> None:
    """Reading one would take seconds, during which no other submission is graded."""
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    tensors = safetensors({str(number): entry for number in range(500_000)}, b"")
    with pytest.raises(wire.ProtocolError, match="too long"):
        wire.unpack_message(b"{}", tensors)


def test_a_reply_of_nothing_but_brackets_is_refused_before_it_is_built() -> None:
    """Five million empty lists would take a second and half a gigabyte."""
    body = b'{"v":[' + b"[]," * 5_000_000 + b"[]]}"
    with pytest.raises(wire.ProtocolError, match="too many parts"):
        wire.unpack_message(body, b"")


def test_numbers_that_json_cannot_hold_are_tagged() -> None:
    """Infinity, NaN and large integers are always tagged; integers above the cap are opaque."""
    encoder = wire.Encoder()
    assert [{"$": "float", "v": "inf"}, {"$": "int", "v": hex(2**53)}] == encoder.encode([math.inf, 2**53])
    assert {"$": "opaque", "type": "int", "text": ""} == encoder.encode(1 << wire.MAX_INTEGER_BITS)


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "é\ud83d", "\ud83d\ude00"])
def test_text_is_made_well_formed(text: str) -> None:
    """Lone surrogates are replaced, pairs are joined, and UTF-8 can be written."""
    assert wire.replace_surrogates(text).encode()


@pytest.mark.parametrize("make", [list, tuple, dict])
def test_what_is_nested_too_deeply_is_not_sent(make: type) -> None:
    """A value of the largest depth is sent.

    One level more is refused, long before Python's recursion limit.
    """

    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = {"a": value} if make is dict else make([value])
        return value

    assert wire.Encoder().encode(nested(wire.MAX_DEPTH))
    with pytest.raises(wire.ProtocolError, match="nested deeper"):
        wire.Encoder().encode(nested(wire.MAX_DEPTH + 1))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda pandas: pandas.Series({"wte": 5, "wpe": 7}), {"wte": 5, "wpe": 7}),
        (lambda pandas: pandas.Series([1.5, 2]), [1.5, 2.0]),
        (lambda pandas: pandas.DataFrame({"a": [1, 2], "b": "x"}), [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]),
        (lambda pandas: pandas.DataFrame({"a": [1]}, index=["wte"]), {"wte": {"a": 1}}),
        (lambda pandas: pandas.DataFrame([("a", 1), ("b", 2)]), [("a", 1), ("b", 2)]),
        (lambda pandas: pandas.Series([1, 2], index=["wte", "wte"]), OpaqueValue("Series")),
        (lambda pandas: pandas.DataFrame([[1, 2]], columns=["a", "a"]), OpaqueValue("DataFrame")),
    ],
    ids=["series", "without names", "frame", "frame with names", "rows", "name twice", "column twice"],
)
def test_series_and_frames_are_sent_as_what_they_hold(made: Any, expected: object) -> None:
    """Students keep tables in them; columns with the same name are not lost silently."""
    encoder = GuestEncoder()
    tree = encoder.encode(made(pytest.importorskip("pandas")))
    assert_same(values.create_trusted_decoder(encoder.arrays).decode(tree), expected)
