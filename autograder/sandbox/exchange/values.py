"""Values on the trusted side: what is sent into a box, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.errors import SandboxFault
from autograder.records import Call, Observation, Opaque, Ref, Tensor
from autograder.sandbox.exchange import wire

MAX_KINDS = 8
MAX_TEXT = 20_000
"""Characters that are kept of an expression's text."""


class TrustedEncoder(wire.Encoder):
    """Adds the records that stand for tensors and handles; one array sent often travels once."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[int, dict[str, Any]] = {}

    def array(self, value: np.ndarray, tag: dict[str, Any]) -> dict[str, Any]:
        """Reuse the array when the same object was sent before; then its places are marked as shared."""
        before = self._sent.get(id(value))
        if before is not None and value.dtype.kind != "c":
            before["shared"] = True
            return {**tag, "k": before["k"], "shared": True}
        tree = self._sent[id(value)] = super().array(value, tag)
        return tree

    def other(self, value: Any, depth: int) -> dict[str, Any]:
        """Tensors and handles; anything else is a fault of the plan."""
        del depth
        if isinstance(value, Tensor):
            tag = {"$": "tensor", "dtype": value.dtype, "device": value.device, "grad": value.requires_grad}
            return self.array(value.array, tag)
        if isinstance(value, Ref):
            return {"$": "ref", "v": value.name}
        if isinstance(value, Opaque):
            return {"$": "opaque", "type": value.type_name, "text": value.text}
        raise SandboxFault(f"a {type(value).__name__} cannot be sent into a box")


def call_tree(call: Call, encoder: TrustedEncoder) -> dict[str, Any]:
    """One call as a tree; its arrays are collected by the encoder."""
    return {
        "target": {"$": "ref", "v": call.target.name} if isinstance(call.target, Ref) else call.target,
        "attribute": call.attribute,
        "args": encoder.encode(list(call.args)),
        "kwargs": encoder.encode(dict(call.kwargs)),
        "read": call.read,
        "keep": call.keep,
        "seed": call.seed,
        "grad": call.grad,
        "default_dtype": call.default_dtype,
    }


def bounded_text(told: object, most: int) -> str:
    """A text out of a reply, well formed and of bounded length; empty where something else stands."""
    return wire.well_formed(told[:most]) if isinstance(told, str) else ""


def _tensor(array: np.ndarray, tree: Mapping[str, Any]) -> Any:
    if tree["$"] == "numpy":
        return array
    dtype, device = bounded_text(tree.get("dtype"), 20), bounded_text(tree.get("device"), 20)
    return Tensor(array, dtype=dtype, device=device, requires_grad=tree.get("grad") is True)


def _opaque(tag: str, tree: Mapping[str, Any]) -> Any:
    if tag == "ref":
        return Ref(bounded_text(tree.get("v"), 80))
    if tag == "opaque":
        return Opaque(bounded_text(tree.get("type"), 80), bounded_text(tree.get("text"), MAX_TEXT))
    raise wire.ProtocolError(f"unknown tag {tag!r}")


class SingleUseArrays(dict[str, np.ndarray]):
    """The arrays of a reply. Each stands at one place: else a large one could be judged many times."""

    def get(self, key: str, default: Any = None) -> Any:
        """The array, which is then not there any more."""
        return self.pop(key, default)


def trusted_decoder(arrays: Mapping[str, np.ndarray]) -> wire.Decoder:
    """Builds plain values and records, whatever the tree says."""
    return wire.Decoder(arrays, _tensor, _opaque)


def encode_observation(observation: Observation, encoder: TrustedEncoder) -> dict[str, Any]:
    """The form in which observations travel and are stored; not for observations of an ending."""
    if observation.ok:
        return {"v": encoder.encode(observation.value)}
    return {"error": observation.error, "kinds": list(observation.kinds), "message": observation.message}


def decode_observation(answer: Mapping[str, Any], decoder: wire.Decoder) -> Observation:
    """One observation from its tree.

    Raises:
        wire.ProtocolError: the tree is malformed.
        KeyError: neither a value nor an error is there.
    """
    if "v" in answer:
        return Observation(ok=True, value=decoder.decode(answer["v"]))
    error = bounded_text(answer["error"], 80) or "Exception"
    kinds = answer.get("kinds")
    named = tuple(bounded_text(kind, 80) for kind in kinds[:MAX_KINDS]) if isinstance(kinds, list) else ()
    return Observation(ok=False, error=error, message=bounded_text(answer.get("message"), 600), kinds=named)
