"""Inputs that a student's counterexample returned, checked before anything of ours computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks.judging.results import Finding, failed
from autograder.checks.values.quoting import type_name
from autograder.kinds.transformers.audit.options import Input
from autograder.records import Tensor

MAX_ENTRIES = 4096
"""Numbers in one input."""
LARGEST = 100.0
"""Of numbers. Above, scores may reach what listings write for minus infinity, or overflow."""
LARGEST_SIZE = 1024
NUDGE = 1e-9
"""Relative change of numbers that shows whether the definition hangs on rounding there."""

Inputs = Mapping[str, Tensor | int]


def read_inputs(value: Any, wanted: Sequence[Input], number: str) -> tuple[Inputs, Finding | None]:
    """The inputs by name, or why they are no evidence.

    Args:
        value: what the counterexample returned: a dictionary, or a tuple or list in order.
        wanted: the inputs of the listing.
        number: of the finding, for sentences.
    """
    names = ", ".join(one.name for one in wanted)
    if isinstance(value, list | tuple) and len(value) <= len(wanted):
        value = {one.name: part for one, part in zip(wanted, value, strict=False)}
    if not isinstance(value, dict) or not set(value) <= {one.name for one in wanted}:
        got = type_name(value)
        return {}, failed("audit.inputs", f"finding {number}: {got}", number=number, names=names, got=got)
    made: dict[str, Tensor | int] = {}
    for one in wanted:
        given = value.get(one.name)
        if given is None and one.optional:
            continue
        array = _array(given)
        trouble = _trouble(array, one)
        if array is None or trouble:
            staff = f"finding {number}: {one.name}: {trouble}: {type_name(given)}"
            params = {"number": number, "name": one.name, "got": type_name(given)}
            return {}, failed(f"audit.input.{trouble}", staff, **params, axes=str(one.axes))
        made[one.name] = _as_wanted(array, one)
    return made, None


def nudged(inputs: Inputs) -> Inputs | None:
    """The inputs with all numbers moved by a billionth; None where there are no numbers."""
    moved: dict[str, Tensor | int] = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor) and value.dtype == "float64":
            signs = 1.0 - 2.0 * (np.arange(value.array.size).reshape(value.array.shape) % 2)
            moved[name] = Tensor(value.array * (1.0 + NUDGE * signs), "float64")
    return {**inputs, **moved} if moved else None


def _array(value: Any) -> np.ndarray | None:
    array = value.array if isinstance(value, Tensor) else value
    if isinstance(array, bool | int | float | list | tuple):
        try:
            array = np.asarray(array)
        except (ValueError, TypeError, OverflowError):
            return None
    return array if isinstance(array, np.ndarray) and array.dtype.kind in "biuf" else None


def _trouble(array: np.ndarray | None, wanted: Input) -> str:
    """What is wrong with one input, as the end of a code; empty for nothing."""
    if array is None:
        return "type"
    if array.ndim > wanted.axes if wanted.type == "mask" else array.ndim != wanted.axes:
        return "axes"
    if not 1 <= array.size <= MAX_ENTRIES:
        return "entries"
    if not np.isfinite(array).all():
        return "finite"
    if wanted.type == "numbers":
        return "" if array.dtype.kind != "b" and np.abs(array.astype("f8")).max() <= LARGEST else "large"
    if wanted.type == "mask":
        return "" if np.isin(array, (0, 1)).all() else "mask"
    if array.dtype.kind not in "iu":
        return "type"
    least, most = (1, LARGEST_SIZE) if wanted.type == "size" else (-(1 << 31), 1 << 31)
    return "" if least <= int(array.min()) and int(array.max()) <= most else "range"


def _as_wanted(array: np.ndarray, wanted: Input) -> Tensor | int:
    if wanted.type == "size":
        return int(array)
    dtype = {"numbers": "float64", "integers": "int64", "mask": "bool"}[wanted.type]
    return Tensor(np.ascontiguousarray(array.astype(dtype)).reshape(array.shape), dtype)
