"""Compares what student code returned with what is right: numbers, arrays, and nests of them.

Pure numpy, and total: whatever came over the wire gives None (equal) or a `Mismatch`, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.options import Rules
from autograder.checks.values.quoting import quote, quote_shape, type_name
from autograder.formulas import Unreadable
from autograder.formulas.sizes.numerals import read_whole
from autograder.records import Opaque, Tensor

MAX_DEPTH = 16
MAX_BITS = 1000
"""Integers above this do not fit a float."""

INCOMPARABLE = "incomparable"
"""The code of a difference that says nothing about the answer: what is right has no plain form."""

_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


class Mismatch(Struct, frozen=True):
    """How an answer differs. ``code`` is a key of the vocabulary; params never tell what is right."""

    code: str
    params: dict[str, str] = {}
    staff: str = ""
    """What was expected and what came, for staff."""


class Numbers(Struct, frozen=True, eq=False):
    """Something numeric as an array, with the dtype and device its owner knows (empty: Python's own)."""

    array: np.ndarray
    dtype: str = ""
    device: str = ""

    @property
    def kind(self) -> str:
        """``bool``, ``int``, ``float`` or ``complex``: of the numbers, whatever the dtype claims."""
        return _KINDS[self.array.dtype.kind]


def numbers(value: Any) -> Numbers | None:
    """A number, a nest of lists of numbers, an array or a tensor as an array; None for all else."""
    if isinstance(value, Tensor):
        if isinstance(value.array, np.ndarray) and value.array.dtype.kind in _KINDS:
            return Numbers(value.array, str(value.dtype), str(value.device))
        return None
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return Numbers(array, array.dtype.name) if array.dtype.kind in _KINDS else None
    if isinstance(value, bool | int | float | complex | list | tuple) and _numeric(value, 0):
        try:
            array = np.asarray(value)
        except (ValueError, OverflowError):
            return None
        if array.dtype.kind == "O" and array.size and all(isinstance(one, int) for one in array.flat):
            array = array.astype(np.float64)
        return Numbers(array) if array.dtype.kind in _KINDS else None
    return None


def compare_values(actual: Any, expected: Any, rules: Rules, place: str = "") -> Mismatch | None:
    """Compare two values of any form.

    Args:
        actual: what student code returned.
        expected: what is right.
        rules: tolerance, and how dtype, NaN and device count.
        place: where inside the value we are, e.g. ``"[0]['weights']"``.

    Returns:
        None when they agree, otherwise the first difference.
    """
    if place.count("[") > MAX_DEPTH:
        return Mismatch("value.form", {"place": place, "form": "…"}, "nested too deeply")
    if isinstance(expected, Mapping):
        return _compare_entries(actual, expected, rules, place)
    if expected is None or isinstance(expected, str):
        same = actual == expected if isinstance(actual, str) or actual is None else False
        return None if same else _another(actual, expected, place)
    right = numbers(expected)
    if right is None:
        if isinstance(expected, list | tuple):
            return _compare_parts(actual, expected, rules, place)
        return Mismatch(INCOMPARABLE, {}, f"the expected value is {type_name(expected)}")
    given = numbers(actual)
    if given is None:
        return _another(actual, expected, place)
    difference = compare_arrays(given, right, rules)
    if difference is not None and place:
        return Mismatch(difference.code, difference.params, f"at {place}: {difference.staff}")
    return difference


def compare_arrays(actual: Numbers, expected: Numbers, rules: Rules) -> Mismatch | None:
    """Compare two arrays: shape, then dtype, device, NaN and infinity, then the numbers themselves.

    Returns:
        None when they agree, otherwise the first difference in that order.
    """
    if actual.array.shape != expected.array.shape:
        return _shape_difference(actual.array.shape, expected.array.shape)
    if not _same_type(actual, expected, rules):
        came = actual.dtype or actual.kind
        staff = f"dtype {came}, expected {expected.dtype or expected.kind} ({rules.dtype})"
        return Mismatch("value.dtype", {"dtype": quote(came)}, staff)
    if rules.device and actual.device and actual.device.split(":")[0] != rules.device.split(":")[0]:
        return Mismatch(
            "value.device", {"device": quote(actual.device), "wanted": rules.device}, f"on {actual.device}"
        )
    return _compare_numbers(actual, expected, rules)


def _compare_numbers(actual: Numbers, expected: Numbers, rules: Rules) -> Mismatch | None:
    if actual.kind in ("bool", "int") and expected.kind in ("bool", "int"):
        return _unequal(actual.array != expected.array, actual, expected)
    wide = np.complex128 if "complex" in (actual.kind, expected.kind) else np.float64
    with np.errstate(all="ignore"):
        given, right = actual.array.astype(wide), expected.array.astype(wide)
        missing = np.isnan(given)
        excused = missing & np.isnan(right) if rules.nan == "equal" else np.zeros_like(missing)
        count = int(np.count_nonzero(missing & ~excused))
        if count:
            params = {"count": str(count), "total": str(given.size)}
            return Mismatch("value.nan", params, f"{count} of {given.size} are NaN")
        close = np.abs(given - right) <= rules.atol + rules.rtol * np.abs(right)
    finite = np.isfinite(given) & np.isfinite(right)
    return _unequal(~(np.where(finite, close, given == right) | excused), actual, expected)


def _unequal(wrong: np.ndarray, actual: Numbers, expected: Numbers) -> Mismatch | None:
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    first = tuple(int(index) for index in np.argwhere(wrong)[0])
    staff = (
        f"{count} of {wrong.size} differ, first at {list(first)}: "
        f"{actual.array[first]!r}, expected {expected.array[first]!r}"
    )
    if wrong.size == 1:
        return Mismatch("value.number", {}, staff)
    return Mismatch("value.differs", {"count": str(count), "total": str(wrong.size)}, staff)


def _same_type(actual: Numbers, expected: Numbers, rules: Rules) -> bool:
    if rules.dtype == "any":
        return True
    if not actual.dtype or not expected.dtype:
        return (actual.kind == "bool") == (expected.kind == "bool")
    if rules.dtype == "exact":
        return actual.dtype == expected.dtype
    return actual.kind == expected.kind


def _shape_difference(actual: tuple[int, ...], expected: tuple[int, ...]) -> Mismatch:
    staff = f"shape {quote_shape(actual)}, expected {quote_shape(expected)}"
    shape = quote_shape(actual)
    if len(actual) != len(expected):
        return Mismatch("value.dimensions", {"shape": shape, "count": str(len(actual))}, staff)
    if sorted(actual) == sorted(expected):
        return Mismatch("value.axes", {"shape": shape}, staff)
    wrong = [axis for axis, (a, b) in enumerate(zip(actual, expected, strict=True)) if a != b]
    return Mismatch("value.shape", {"shape": shape, "axes": ", ".join(map(str, wrong))}, staff)


def _compare_entries(actual: Any, expected: Mapping[Any, Any], rules: Rules, place: str) -> Mismatch | None:
    if not isinstance(actual, Mapping):
        return _another(actual, expected, place)
    for key, right in expected.items():
        inside = f"{place}[{quote(repr(key))}]"
        if key not in actual:
            return Mismatch("value.entry", {"entry": inside}, f"no entry {inside}")
        difference = compare_values(actual[key], right, rules, inside)
        if difference is not None:
            return difference
    extra = [key for key in actual if key not in expected]
    if extra:
        more = quote(", ".join(type_name(key) if not isinstance(key, str) else key for key in extra[:5]))
        return Mismatch("value.extra", {"entries": more}, f"unexpected entries: {more}")
    return None


def _compare_parts(
    actual: Any, expected: list[Any] | tuple[Any, ...], rules: Rules, place: str
) -> Mismatch | None:
    if not isinstance(actual, list | tuple):
        return _another(actual, expected, place)
    if len(actual) != len(expected):
        staff = f"{len(actual)} parts, expected {len(expected)}"
        return Mismatch("value.length", {"count": str(len(actual))}, staff)
    for index, (given, right) in enumerate(zip(actual, expected, strict=True)):
        difference = compare_values(given, right, rules, f"{place}[{index}]")
        if difference is not None:
            return difference
    return None


def _another(actual: Any, expected: Any, place: str) -> Mismatch:
    """A value of another form; texts and None that differ count as well."""
    if isinstance(actual, str) and isinstance(expected, str):
        return Mismatch("value.text", {}, f"{quote(actual)!r}, expected {quote(expected)!r}")
    came = type_name(actual)
    staff = f"{came}{' at ' + place if place else ''}, expected {type_name(expected)}"
    return Mismatch("value.form", {"form": came, "place": place}, staff)


def _numeric(value: Any, depth: int) -> bool:
    """Whether a nest holds numbers only, none of them too large for an array."""
    if isinstance(value, list | tuple):
        return depth < MAX_DEPTH and all(_numeric(entry, depth + 1) for entry in value)
    if isinstance(value, int):
        return value.bit_length() <= MAX_BITS
    return isinstance(value, float | complex)


MAX_WHOLE_BITS = 4096

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
        return Whole(value) if value.bit_length() <= MAX_WHOLE_BITS else NotWhole("count.huge")
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
