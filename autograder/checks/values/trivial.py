"""Values that take no work: zeros and ones. No tolerance should accept them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from autograder.checks.options import Rules
from autograder.checks.values.arrays import compare_values
from autograder.records import Tensor

NOISE = Rules(rtol=1e-9, atol=1e-12, dtype="any")
"""What differs by less is the same result with other rounding errors."""
_FILLED: Mapping[str, float] = {"zeros": 0, "ones": 1}


def accepted_results(right: Any, rules: Rules) -> Iterator[str]:
    """Return in words which values without any work are accepted, though they are wrong.

    Args:
        right: the right value.
        rules: how values are compared with it.
    """
    for name, number in _FILLED.items():
        filled = _fill(right, number)
        is_accepted = compare_values(filled, right, rules) is None
        if is_accepted and compare_values(filled, right, NOISE) is not None:
            yield name


def _fill(value: Any, number: float) -> Any:
    """A value of the same form with one number in the place of all others; truth values and texts stay."""
    if isinstance(value, Tensor) and isinstance(value.array, np.ndarray):
        return replace(value, array=_fill(value.array, number))
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind == "b" else np.full_like(value, number)
    if isinstance(value, np.generic | int | float | complex):
        kept = isinstance(value, bool | np.bool_ | np.flexible)
        return value if kept else np.full_like(np.asarray(value), number)[()]
    if isinstance(value, Mapping):
        return {key: _fill(part, number) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_fill(part, number) for part in value])
    return value
