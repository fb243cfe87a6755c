"""Outcomes that are equal up to rounding, found quickly: each gets the number of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks.options import Rules
from autograder.checks.values.arrays import numbers
from autograder.kinds.general.debugging.use import ProbeOutcome

UNKNOWN = -1
"""The class of an outcome that is not known."""
NEW = -2
"""The class of an outcome that no listing has."""
NAN = "not a number"
"""The error of a relation about which nothing can be said."""
UNSURE = "not sure"
"""The error of a relation that leaves its fault to a person."""
MAX_DEPTH = 32
MAX_BITS = 10_000
"""Of longer integers the hexadecimal digits are compared, since Python does not print the others."""


class Classes:
    """The classes of the outcomes of one probe.

    Attributes:
        ends: whether one of the listings ended its box.
    """

    def __init__(self, rules: Rules) -> None:
        """Begin without any.

        Args:
            rules: the tolerance.
        """
        self._rules = rules
        self._known: dict[str, tuple[list[int], list[np.ndarray]]] = {}
        self._stacked: dict[str, np.ndarray] = {}
        self._count = 0
        self.ends = False

    def add(self, outcome: ProbeOutcome | None) -> int:
        """The class of a listing's outcome, a new one where it is like none before."""
        self.ends |= outcome is not None and outcome.error.startswith("ended")
        found = self.find(outcome)
        if found == NEW and outcome is not None:
            form, array = described(outcome)
            places, arrays = self._known.setdefault(form, ([], []))
            places.append(self._count)
            arrays.append(array)
            self._stacked.pop(form, None)
            found, self._count = self._count, self._count + 1
        return found

    def find(self, outcome: ProbeOutcome | None) -> int:
        """The class of any outcome; `NEW` where it is like that of no listing."""
        if outcome is None:
            return UNKNOWN
        form, array = described(outcome)
        places, arrays = self._known.get(form, ([], []))
        if not places:
            return NEW
        if form not in self._stacked:
            self._stacked[form] = np.stack(arrays)
        at = np.flatnonzero(_close(array, self._stacked[form], self._rules).all(axis=1))
        return places[int(at[0])] if at.size else NEW


def related(
    outcome: ProbeOutcome | None,
    pairs: Sequence[tuple[int, int]],
    rules: Rules,
    sure: Sequence[int] = (),
) -> ProbeOutcome | None:
    """Of an outcome, whether the two of each pair are alike; of an error, which call raised it.

    Where there is NaN nothing can be said to be alike.

    Args:
        outcome: what a probe gave; None where that is not known.
        pairs: places among its values; without any it stays as it is.
        rules: the tolerance.
        sure: places of what has to be true; where it is not, a person decides.
    """
    if outcome is None or not pairs:
        return outcome
    if outcome.error:
        how = "ended" if outcome.error.startswith("ended") else "raised"
        return ProbeOutcome(error=f"{how} in call {len(outcome.values) + 1}")
    alike = []
    for pair in pairs:
        # The text keeps a number from being read as an array of one.
        (form, array), (other_form, other) = (
            described(ProbeOutcome((outcome.values[at], ""))) for at in pair
        )
        if np.isnan(array).any() or np.isnan(other).any():
            return ProbeOutcome(error=NAN)
        alike.append(form == other_form and bool(_close(other, array, rules).all()))
    if not all(described(ProbeOutcome((outcome.values[at],)))[1].all() for at in sure):
        return ProbeOutcome(error=UNSURE)
    return ProbeOutcome(tuple(alike))


def _close(array: np.ndarray, others: np.ndarray, rules: Rules) -> np.ndarray:
    """Number by number, whether they are equal up to rounding."""
    with np.errstate(all="ignore"):
        same: np.ndarray = np.isclose(array, others, rtol=rules.rtol, atol=rules.atol, equal_nan=True)
    return same


def described(outcome: ProbeOutcome) -> tuple[str, np.ndarray]:
    """The form of an outcome, texts and errors included, and all of its numbers in a row.

    Whether a number is whole is no part of the form: 1 and 1.0 are the same.
    """
    forms: list[str] = []
    arrays: list[np.ndarray] = []
    _describe(list(outcome.values), forms, arrays, 0)
    forms.append(outcome.error)
    return "\x00".join(forms), np.concatenate([np.zeros(0), *arrays])


def _describe(value: Any, forms: list[str], arrays: list[np.ndarray], depth: int) -> None:
    if depth > MAX_DEPTH:
        forms.append("…")
        return
    found = numbers(value) if not isinstance(value, list | tuple) or value else None
    if found is not None:
        forms.append(f"{'bool' if found.kind == 'bool' else 'number'} {found.array.shape}")
        array = found.array.ravel()
        if found.kind == "complex":
            arrays.append(array.imag.astype(np.float64))
            array = array.real
        arrays.append(array.astype(np.float64))
    elif isinstance(value, list | tuple):
        forms.append(f"list {len(value)}")
        for one in value:
            _describe(one, forms, arrays, depth + 1)
    elif isinstance(value, Mapping):
        forms.append(f"dict {len(value)}")
        for name in sorted(value, key=str):
            forms.append(str(name))
            _describe(value[name], forms, arrays, depth + 1)
    else:
        # Numbers that no array holds, such as integers without end, are compared by their text.
        forms.append(value if isinstance(value, str) else f"<{type(value).__name__}> {_text(value)}")


def _text(value: Any) -> str:
    """A text for what is neither number, text nor a nest of them; Python prints no endless integer."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return hex(value)
    return repr(value) if value is None or isinstance(value, int) else ""
