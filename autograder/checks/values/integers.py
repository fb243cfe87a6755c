"""Reads whole numbers as students write them: ``124,439,808``, ``124 439 808``, ``1e6``, ``12.0``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from autograder.algebra.sizes.numerals import read_whole
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote, type_name
from autograder.errors import Unreadable
from autograder.records import Opaque

MAX_BITS = 4096

_CODES: Mapping[str, str] = {
    "not-a-number": "count.text",
    "not-whole": "count.fraction",
    "number-too-large": "count.huge",
    "two-readings": "count.ambiguous",
}
"""Why a text is no whole number → the code of the sentence."""


class Whole(Struct, frozen=True):
    """A whole number that was read."""

    number: int


class NotWhole(Struct, frozen=True):
    """Why something is not a whole number: a code of the vocabulary and what it mentions."""

    code: str
    params: dict[str, str] = {}


def whole(value: Any) -> Whole | NotWhole:
    """Read a whole number from whatever a student gave: an integer, a float, a text, a one-number array."""
    if isinstance(value, bool):
        return NotWhole("count.bool", {"value": str(value)})
    if isinstance(value, int):
        return Whole(value) if value.bit_length() <= MAX_BITS else NotWhole("count.huge")
    if isinstance(value, float):
        return Whole(int(value)) if value.is_integer() else NotWhole("count.fraction", {"value": repr(value)})
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Opaque) and value.type_name == "int":  # too large for the wire
        return NotWhole("count.huge")
    if isinstance(value, Opaque) and value.text:  # a sympy number
        return _from_text(value.text)
    array = None if isinstance(value, list | tuple) else numbers(value)
    if array is not None and array.array.size == 1 and array.kind in ("int", "float", "bool"):
        return whole(array.array.reshape(()).item())
    return NotWhole("count.form", {"form": type_name(value)})


def _from_text(text: str) -> Whole | NotWhole:
    try:
        return Whole(read_whole(text))
    except Unreadable as error:
        params = {} if error.code == "number-too-large" else {"value": quote(text)}
        readings: dict[str, str] = {
            name: told for name, told in error.params.items() if name in ("first", "second")
        }
        return NotWhole(_CODES[error.code], {**params, **readings})
