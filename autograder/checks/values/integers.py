"""Reads whole numbers as students write them: ``124,439,808``, ``124 439 808``, ``1e6``, ``12.0``."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote, type_name
from autograder.records import Opaque

MAX_TEXT = 100
MAX_EXPONENT = 60
MAX_BITS = 4096

_SPACES = re.compile(r"[\s\u00a0\u2009\u202f]+")
_LATEX_SPACES = re.compile(r"\\[,;:! ]|~")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}([,._'’ ])[0-9]{3}(?:\1[0-9]{3})*", re.ASCII)
_DECIMAL = re.compile(r"[0-9_]{1,60}(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


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
    """A number with optional sign and separators; a dot before three digits separates thousands."""
    unreadable = NotWhole("count.text", {"value": quote(text)})
    if len(text) > MAX_TEXT:
        return unreadable
    cleaned = _LATEX_SPACES.sub(" ", text.replace("{,}", ",").replace("{.}", "."))
    cleaned = _SPACES.sub(" ", cleaned.strip().strip("$").strip())
    sign, digits = (-1, cleaned[1:].strip()) if cleaned[:1] in ("-", "−") else (1, cleaned.removeprefix("+"))
    grouped = _GROUPED.fullmatch(digits)
    if grouped:
        return Whole(sign * int(digits.replace(grouped[1], "")))
    if not _DECIMAL.fullmatch(digits) or "__" in digits or digits.endswith("_"):
        return unreadable
    try:
        number = Decimal(digits.replace("_", ""))
    except InvalidOperation:
        return unreadable
    if number.is_zero():
        return Whole(0)
    if number.adjusted() > MAX_EXPONENT:
        return NotWhole("count.huge")
    if number.adjusted() < 0 or number % 1:
        return NotWhole("count.fraction", {"value": quote(text)})
    return Whole(sign * int(number))
