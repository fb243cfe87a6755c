"""Values on the trusted side: encoding for a box, and decoding of its replies.

Replies become plain records of bounded size and are refused if they have another shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.core.errors import SandboxFault
from autograder.core.limits import BYTES_OF_DESCRIPTION, BYTES_OF_TEXT, BYTES_OF_VALUE
from autograder.core.records import (
    Call,
    CellOutput,
    CellRun,
    Observation,
    OpaqueValue,
    Tensor,
)
from autograder.sandbox.exchange import wire

MAX_TEXT = 20_000
"""Number of characters that are kept of an expression's text."""
MAX_OUTPUTS = 2000
MAX_VALUES = 1_010_000
"""Number of values in one reply: five for each part that a value may have, which is the cost of a tensor with
one number; the rest is for additional information."""
_MOST_WORDS = 8
_OF_CELL = frozenset(("id", "outputs", "error", "truncated", "met", "seconds"))
_OF_OUTPUT = frozenset(("kind", "name", "data"))
_OF_CALL = frozenset(("id", "n", "observed"))
_OF_END = frozenset(("id", "observed", "asks"))
_OF_ANSWER = frozenset(("v", "error", "message", "met"))


class TrustedEncoder(wire.Encoder):
    """Adds the records of tensors and of objects without a plain form; a repeated array travels once."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[int, dict[str, Any]] = {}

    def encode_array(self, value: np.ndarray, tag: dict[str, Any]) -> dict[str, Any]:
        """Reuse the array if the same object was sent before; its positions are then marked as shared."""
        before = self._sent.get(id(value))
        # Complex arrays travel as pairs of floats, which this tag does not say: they are sent again.
        if before is not None and value.dtype.kind != "c":
            before["shared"] = True
            return {**tag, "k": before["k"], "shared": True}
        tree = self._sent[id(value)] = super().encode_array(value, tag)
        return tree

    def encode_other(self, value: Any, depth: int) -> dict[str, Any]:  # noqa: ARG002
        """Encode tensors and opaque values; any other type is an error in the plan."""
        if isinstance(value, Tensor):
            tag = {"$": "tensor", "dtype": value.dtype, "device": value.device, "grad": value.requires_grad}
            return self.encode_array(value.array, tag)
        if isinstance(value, OpaqueValue):
            return {"$": "opaque", "type": value.type_name, "text": value.text}
        raise SandboxFault(f"a {type(value).__name__} cannot be sent into a box")


def encode_call(call: Call, encoder: TrustedEncoder) -> dict[str, Any]:
    """Encode one call as a tree without its empty fields; the encoder collects its arrays."""
    args = encoder.encode(list(call.args)) if call.args else None
    words = {"target": call.target, "args": args, "read": call.read}
    return {name: word for name, word in words.items() if word}


def truncate_text(value: object, most: int) -> str:
    """Return a text from a reply, well formed and of bounded length; empty if the value is not a text."""
    return wire.replace_surrogates(value[:most]) if isinstance(value, str) else ""


def _build_tensor(array: np.ndarray, tree: Mapping[str, Any]) -> Any:
    if tree["$"] == "numpy":
        return array
    dtype, device = truncate_text(tree.get("dtype"), 20), truncate_text(tree.get("device"), 20)
    return Tensor(array, dtype=dtype, device=device, requires_grad=tree.get("grad") is True)


def _build_opaque(tag: str, tree: Mapping[str, Any]) -> Any:
    # Handles and values in parts are for the other box: this side only needs to pass over them.
    if tag in ("opaque", "ref", "form"):
        return OpaqueValue(truncate_text(tree.get("type"), 80), truncate_text(tree.get("text"), MAX_TEXT))
    raise wire.ProtocolError(f"unknown tag {tag!r}")


def create_trusted_decoder(arrays: Mapping[str, np.ndarray]) -> wire.Decoder:
    """Create a decoder that builds only plain values and records, whatever the tree contains."""
    return wire.Decoder(arrays, _build_tensor, _build_opaque)


def decode_exception(answer: Mapping[str, Any]) -> Observation:
    """Decode the exception that an answer reports.

    Raises:
        KeyError: it reports none.
    """
    error = truncate_text(answer["error"], 80) or "Exception"
    return Observation(ok=False, error=error, message=truncate_text(answer.get("message"), 600))


def estimate_memory(body: wire.Buffer, tensors: wire.Buffer) -> int:
    """Estimate the bytes of memory that reading a reply takes, before anything is built from it.

    Raises:
        ProtocolError: it has more values than any answer may have.
    """
    number = wire.count_values(body)
    if number > MAX_VALUES:
        raise wire.ProtocolError("the reply has too many parts")
    # The described length is the box's claim, so it is bounded by the bytes that arrived.
    described = min(wire.read_description_length(tensors), len(tensors))
    return (
        len(tensors) + BYTES_OF_DESCRIPTION * described + BYTES_OF_TEXT * len(body) + BYTES_OF_VALUE * number
    )


def _check_keys(table: object, allowed: frozenset[str]) -> None:
    """Refuse keys that are never read: they would only cost time."""
    if not isinstance(table, dict) or not table.keys() <= allowed:
        raise wire.ProtocolError("the reply has a key that nothing reads")


def parse_endpoint_reply(reply: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Return the answer of one of our own endpoints, and the number of the box that it asks (0: no question).

    Raises:
        ProtocolError: the reply has another shape.
    """
    answer: Mapping[str, Any] = reply["observed"]
    _check_keys(reply, _OF_END)
    _check_keys(answer, _OF_ANSWER)
    asks = reply.get("asks")
    # Exact types, because True is an int as well; it means box 1.
    return answer, asks if type(asks) is int and asks > 0 else int(asks is True)


def decode_payload(payload: wire.Payload) -> Any:
    """Decode the value in a box's payload on this side.

    Raises:
        ProtocolError: it cannot be decoded.
    """
    tree, arrays = wire.read_payload(payload)
    return create_trusted_decoder(wire.SingleUseArrays(arrays)).decode(tree)


def read_observation(reply: Mapping[str, Any], arrays: Mapping[str, np.ndarray], number: int) -> Observation:
    """Return the answer to a call.

    Args:
        reply: the guest's reply.
        arrays: the arrays of the reply.
        number: index of the call.

    Raises:
        ProtocolError: the reply answers another call.
    """
    answer: Mapping[str, Any] = reply["observed"]
    _check_keys(reply, _OF_CALL)
    _check_keys(answer, _OF_ANSWER)
    if reply.get("n") != number:
        raise wire.ProtocolError("the reply does not fit the call")
    if "v" not in answer:
        return decode_exception(answer)
    return Observation(
        ok=True, value=create_trusted_decoder(wire.SingleUseArrays(arrays)).decode(answer["v"])
    )


def read_reported_limits(answer: object) -> tuple[str, ...]:
    """Return the limits that an answer says it met, as a few short words; none if the field is malformed."""
    words = answer.get("met") if isinstance(answer, dict) else None
    return tuple(truncate_text(word, 20) for word in words[:_MOST_WORDS]) if isinstance(words, list) else ()


def parse_seconds(value: object) -> float:
    """Return the duration that a reply claims; 0 if it is not believable."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e6 else 0.0


def read_cell_run(reply: Mapping[str, Any], printed: bytes) -> CellRun:
    """Decode the result of a cell.

    Args:
        reply: the guest's reply.
        printed: bytes that arrived on the raw output pipe in the meantime.
    """
    outputs = []
    _check_keys(reply, _OF_CELL)
    for output in reply["outputs"][:MAX_OUTPUTS]:
        _check_keys(output, _OF_OUTPUT)
        data = {
            truncate_text(mime, 80): wire.replace_surrogates(text) for mime, text in output["data"].items()
        }
        outputs.append(CellOutput(kind=truncate_text(output["kind"], 20), data=data))
    if printed:
        # Printed without the shell, by C code or a forked process.
        outputs.append(CellOutput(kind="stream", data={"text/plain": printed.decode(errors="replace")}))
    return CellRun(
        outputs=tuple(outputs),
        error=truncate_text(reply["error"], 80),
        seconds=parse_seconds(reply["seconds"]),
        truncated=reply["truncated"] is True,
    )
