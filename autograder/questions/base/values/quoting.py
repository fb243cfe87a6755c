"""Short one-line descriptions of values that student code made, at bounded cost."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograder.core.records import OpaqueValue, Tensor

MAX_TEXT = 120
MAX_BITS = 400
"""Integers above this are described by their size: printing them takes quadratic time."""
MAX_AXES = 12


def quote_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text on one line, without control characters, shortened in its middle."""
    head = text if len(text) <= limit else f"{text[: limit * 2 // 3]} … {text[-limit // 4 :]}"
    if head.isascii() and head.isprintable():
        return head.strip()
    return "".join(_to_visible(character) for character in head).strip()


def quote_integer(number: int) -> str:
    """Return an integer with thousands separators, or its length."""
    if number.bit_length() > MAX_BITS:
        return f"(≈ 2^{number.bit_length()})"
    return f"{number:,}"


def quote_shape(shape: Iterable[Any]) -> str:
    """Return a shape as Python writes it, shortened after some axes."""
    sizes = [
        quote_integer(size).replace(",", "") if isinstance(size, int) else quote_text(str(size))
        for size in shape
    ]
    if len(sizes) > MAX_AXES:
        sizes = [*sizes[:MAX_AXES], "…"]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def describe_type(value: Any) -> str:
    """Return the type of a value, with the shape of arrays."""
    if isinstance(value, Tensor):
        return f"Tensor {quote_shape(getattr(value.array, 'shape', ()))}"
    if isinstance(value, np.ndarray):
        return f"ndarray {quote_shape(value.shape)}"
    if isinstance(value, OpaqueValue):
        return quote_text(str(value.type_name), 60)
    return type(value).__name__


def _to_visible(character: str) -> str:
    """Return the character, or a replacement if it would not show or would reorder the line."""
    if character.isspace():
        return " "
    # Control, format, surrogate, private and unassigned characters.
    return "�" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn") else character
