"""Numbers in any form that student code returns: Python numbers, arrays, tensors, texts."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from autograder.core.records import OpaqueValue, Tensor
from autograder.formulas.errors import Unreadable
from autograder.questions.numbers.quantities import read_whole

MAX_WHOLE_BITS = 4096


def read_scalar(value: Any) -> int | float | None:
    """Return a number, or the only one of an array or tensor; None for anything else, including booleans."""
    array = value.array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "iuf" and array.size == 1:
        array = array.reshape(()).item()
    return array if isinstance(array, int | float) and not isinstance(array, bool) else None


def read_integer(value: Any) -> int | None:
    """Read an integer from a student's value: a number, a text, or an array of one number."""
    text = value.text if isinstance(value, OpaqueValue) else value  # a sympy number has a text
    if isinstance(text, str):
        with contextlib.suppress(Unreadable):
            return read_whole(text)
    number = read_scalar(value)
    if isinstance(number, float):
        return int(number) if number.is_integer() else None
    return number if number is not None and number.bit_length() <= MAX_WHOLE_BITS else None
