"""Results that take no work: zeros, ones, and an input unchanged. No tolerance should accept them.

Rows of a softmax over 5,000 numbers differ from zeros by less than ``atol = 1e-2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from autograder.checks.options import Rules
from autograder.checks.values.arrays import compare_values
from autograder.records import Tensor

NOISE = Rules(rtol=1e-9, atol=1e-12, dtype="any")
"""What differs by less is the same result with other rounding errors."""
_FILLED: Mapping[str, float] = {"zeros": 0, "ones": 1}
_INPUT = "an input unchanged"

Case = tuple[Any, Sequence[Any]]
"""The right result of a call, and its arguments."""


def accepted_results(cases: Iterable[Case], rules: Rules) -> Iterator[str]:
    """Return which results without any work are taken for right in every case, in words.

    Results that are right, such as zeros where zeros are asked for, do not count.

    Args:
        cases: of one item.
        rules: how its results are compared.
    """
    known = list(cases)
    for name, number in _FILLED.items():
        if _are_accepted([(right, [_fill(right, number)]) for right, _ in known], rules):
            yield name
    if _are_accepted(known, rules):
        yield _INPUT


def _are_accepted(planted: Sequence[Case], rules: Rules) -> bool:
    """Whether one of the planted results is accepted in every case, and is wrong in one.

    Args:
        planted: right results, and what is planted in the place of each.
        rules: how results are compared.
    """
    is_wrong = False
    for right, results in planted:
        accepted = [one for one in results if compare_values(one, right, rules) is None]
        if not accepted:
            return False
        is_wrong = is_wrong or all(compare_values(one, right, NOISE) is not None for one in accepted)
    return is_wrong


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
