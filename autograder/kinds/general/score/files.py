"""Files that lie beside the notebook when it has run: handed in, or written by it. Nothing is unpickled.

What a box reads of a file is what its student handed in, whatever was done to the reading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.kinds.general.score.options import TENSORS
from autograder.records import Call
from autograder.sandbox.exchange import tensors

_LENGTH_BYTES = 8
_WIDENED = "BF16"
_INSTEAD = "U16"
"""As wide, and known to numpy."""


class UnreadableTensors(Exception):
    """The bytes are not in the format."""


def reading(name: str) -> Call:
    """What reads a file in its box: the numbers of a table, or the bytes of a checkpoint.

    Args:
        name: of the file; its ending says what it is.
    """
    if name.endswith(TENSORS):
        return Call("@numpy", attribute="fromfile", args=(name, "uint8"))
    if name.endswith(".npy"):
        return Call("@numpy", attribute="load", args=(name,), kwargs={"allow_pickle": False})
    comma = {"delimiter": ","} if name.endswith(".csv") else {}  # spreadsheets write a mark of the byte order
    return Call("@numpy", attribute="loadtxt", args=(name,), kwargs={"encoding": "utf-8-sig"} | comma)


def read_tensors(value: Any) -> dict[str, np.ndarray]:
    """The tensors of a file in the safetensors format, by name; bfloat16 is widened to float32.

    Args:
        value: the bytes, as they came from a box.

    Raises:
        UnreadableTensors: they are something else, or are cut off.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 1:
        raise UnreadableTensors("no bytes")
    data = value.tobytes()
    length = tensors.described(data)
    start = _LENGTH_BYTES + length
    if not 0 < length <= tensors.MAX_DESCRIPTION or start > len(data):
        raise UnreadableTensors("the description is missing, too long or cut off")
    try:
        description = json.loads(data[_LENGTH_BYTES:start])
        if not isinstance(description, dict):
            raise UnreadableTensors("the description is not an object")
        description.pop("__metadata__", None)
        wide = [
            name
            for name, one in description.items()
            if isinstance(one, Mapping) and one.get("dtype") == _WIDENED
        ]
        for name in wide:
            description[name]["dtype"] = _INSTEAD
        text = json.dumps(description).encode()
        text += b" " * (-len(text) % _LENGTH_BYTES)
        found = tensors.read(len(text).to_bytes(_LENGTH_BYTES, "little") + text + data[start:])
    except (ValueError, RecursionError) as error:
        raise UnreadableTensors(str(error)) from error
    return found | {name: _widened(found[name]) for name in wide}


def _widened(halves: np.ndarray) -> np.ndarray:
    """The upper halves of single precision numbers as such numbers."""
    return (halves.astype(np.uint32) << 16).view(np.float32)
