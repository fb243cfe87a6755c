"""What the definition and the variants of a listing gave on a student's inputs: is that evidence?

The rule, as docs/rubric.md states it: the definition must give finite numbers of at most a million, which
move by at most a millionth of their scale when numbers among the inputs move by a billionth. A variant
violates it where it raises, gives another shape or something that is not finite, or differs by more than a
ten-thousandth of that scale. The scale is the largest number of the definition, and at least 1. Only
entries count that the definition speaks of: padding is no answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from autograder.records import Message, Tensor

MOST = 1e6
STEADY = 1e-6
VIOLATED = 1e-4


class Defined(Struct, frozen=True, eq=False):
    """The definition's numbers on some inputs.

    Attributes:
        output: all of them.
        counted: which entries count; the shape of ``output``.
        scale: the largest number that counts, at least 1.
    """

    output: np.ndarray
    counted: np.ndarray
    scale: float


def defined(value: Any, moved: Any) -> Defined | Message:
    """The definition's outcome, or why the inputs are no evidence.

    Args:
        value: of the definition.
        moved: of the definition on inputs that are moved a little; None where nothing can be.

    Raises:
        ValueError: the reference gave something that is no outcome.
    """
    for one in (value, moved):
        if isinstance(one, dict) and isinstance(one.get("refused"), dict):
            if "en" not in one["refused"] or not all(
                isinstance(text, str) for text in one["refused"].values()
            ):
                raise ValueError("the reference refuses inputs without saying why")
            texts = {
                name: text.replace("{", "{{").replace("}", "}}") for name, text in one["refused"].items()
            }
            return Message("audit.refused", text=texts)
    output, counted = _arrays(value)
    if not counted.any():
        return Message("audit.nothing")
    largest = float(np.abs(output[counted]).max())
    if not largest <= MOST:
        return Message("audit.wild")
    found = Defined(output, counted, max(1.0, largest))
    if moved is not None and _distance(found, _arrays(moved)[0]) > STEADY:
        return Message("audit.unsteady")
    return found


def violates(found: Defined, value: Any) -> bool:
    """Whether what a variant gave is not what the definition says.

    Raises:
        ValueError: the reference gave something that is no outcome.
    """
    if isinstance(value, dict) and isinstance(value.get("raised"), str):
        return True
    return _distance(found, _arrays(value)[0]) > VIOLATED


def _distance(found: Defined, output: np.ndarray) -> float:
    """The largest difference that counts, in units of the scale; infinite where nothing can be compared."""
    if output.shape != found.output.shape:
        return float("inf")
    difference = np.abs(output[found.counted] - found.output[found.counted]).max() / found.scale
    return float(difference) if np.isfinite(difference) else float("inf")


def _arrays(value: Any) -> tuple[np.ndarray, np.ndarray]:
    output, counted = (value.get(name) if isinstance(value, dict) else None for name in ("output", "counted"))
    arrays = [one.array if isinstance(one, Tensor) else one for one in (output, counted)]
    first, second = arrays
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)) or first.dtype.kind != "f":
        raise ValueError("the reference gave no outcome")
    if first.shape != second.shape or second.dtype.kind != "b":
        raise ValueError("the reference's outcome does not say which entries count")
    return first, second
