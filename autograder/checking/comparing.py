"""Assertions for checks. Only plain data is compared: numbers, texts, containers, arrays and tensors."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograder.checking.objects import get_objects
from autograder.checking.outcomes import Unclear, Wrong, observe_value

_NUMBERS = (bool, int, float, complex, np.generic)
_PLAIN = (*_NUMBERS, str, bytes, type(None))
_MOST_SHOWN = 200


def assert_close(actual: Any, expected: Any, *, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Fail unless the numbers are equal up to rounding: ``|actual - expected| <= atol + rtol * |expected|``.

    If `expected` is a tensor or an array, so must be the value; a number may also be an array or tensor
    without dimensions, and a list a tuple or an array. Shapes must agree. NaN equals nothing.

    Args:
        actual: the student's value.
        expected: numbers, arrays, tensors, or lists, tuples and dictionaries of them.
        rtol: relative tolerance; the default suits float32.
        atol: absolute tolerance.

    Raises:
        Wrong: they differ.
        Unclear: `expected` is no plain data.
    """
    actual = fetch_plain(actual)
    observe_value(actual, expected)
    _compare_close(actual, expected, rtol, atol, "")


def assert_equal(actual: Any, expected: Any) -> None:
    """Fail unless the values are equal, as ``==`` defines it for plain data; a bool equals no number.

    Numbers in arrays and tensors without dimensions count as numbers, also inside lists and dictionaries.

    Raises:
        Wrong: they differ.
        Unclear: `expected` is no plain data.
    """
    actual = fetch_plain(actual)
    observe_value(actual, expected)
    expected_plain, actual_plain = _as_plain(expected), _as_plain(actual)
    if expected_plain is _NOT_PLAIN:
        raise Unclear(f"the check compares with a {type(expected).__name__}, which is no plain data")
    if actual_plain is _NOT_PLAIN:
        raise Wrong(f"{_describe(actual)}, expected {show_value(expected)}")
    if not _is_equal(actual_plain, expected_plain):
        raise Wrong(f"{show_value(actual)}, expected {show_value(expected)}")


@contextmanager
def raises(*kinds: type[BaseException]) -> Iterator[None]:
    """Fail unless the student's code raises one of these exceptions in the block.

    Raises:
        Wrong: it raises nothing, or something else.
    """
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except Wrong:
        raise
    except Exception as error:
        if not get_objects().is_raised_by_student(error):
            raise
        observe_value(type(error).__name__, names)
        if not isinstance(error, kinds):
            raise Wrong(f"raised {type(error).__name__}: {error}; expected {names}") from error
    else:
        observe_value("nothing was raised", names)
        raise Wrong(f"raised nothing; expected {names}")


def tiered(value: float, tiers: Mapping[float, float], *, lower_is_better: bool = False) -> None:
    """Give a share of the check's points for each threshold that a number reaches.

    Args:
        value: the student's number.
        tiers: threshold → share of the points; the best must be 1, as in ``{0.9: 1, 0.8: 0.5}``.
        lower_is_better: thresholds are upper bounds, as for a loss.

    Raises:
        Wrong: the best threshold is not reached; earns the share of the best one that is.
    """
    value = fetch_plain(value)
    observe_value(value)
    number = _as_plain(value)
    if max(tiers.values(), default=0) != 1:
        raise Unclear(f"tiered: the best share must be 1, got {dict(tiers)}")
    if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
        raise Wrong(f"{show_value(value)} is no number")
    reached = [
        share for bound, share in tiers.items() if (number <= bound if lower_is_better else number >= bound)
    ]
    share = max(reached, default=0.0)
    if share < 1:
        raise Wrong(f"{number:g} reaches a share of {share:g} of the points", share=float(share))


def call(function: Any, /, **arguments: Any) -> Any:
    """Call the student's function by name if its signature has all the names, otherwise by position.

    The random number generators are seeded before, so that equal calls draw the same numbers.

    Args:
        function: of the student, or an object that can be called.
        arguments: by the names in the question, in its order.

    Raises:
        Wrong: it cannot be called.
    """
    if not callable(function):
        raise Wrong(f"expected a function, got a {get_objects().get_class_name(function)}")
    return get_objects().call_by_name(function, arguments, 0)


def allow_changes(value: Any) -> Any:
    """Let the student's code change a value of the check in place, including its contents; return the value.

    The student's sandbox gets copies of all other tensors, arrays and containers, so that no answer changes
    the value that it is compared with. Parameters, modules, optimizers and random number generators need no
    permission.
    """
    get_objects().allow_changes(value)
    return value


class StudentObject:
    """A placeholder for an object of the student's that is no plain data."""

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name


def fetch_plain(value: Any) -> Any:
    """Return the plain data of a value, without asking the student's classes about their objects."""
    if get_objects().is_handle(value):
        contents = get_objects().get_contents(value)
        return (
            StudentObject(get_objects().get_class_name(value)) if contents is None else fetch_plain(contents)
        )
    # Exact types: a subclass of the student's could report other contents than it has.
    if type(value) in (list, tuple) and any(map(_may_hide_handles, value)):
        return type(value)(map(fetch_plain, value))
    if type(value) is dict and any(map(_may_hide_handles, value.values())):
        return {key: fetch_plain(part) for key, part in value.items()}
    return value


def _may_hide_handles(value: Any) -> bool:
    return type(value) in (list, tuple, dict) or get_objects().is_handle(value)


# ---------------------------------------------------------------- numbers


def _compare_close(actual: Any, expected: Any, rtol: float, atol: float, where: str) -> None:
    if isinstance(expected, Mapping):
        _compare_mappings(actual, expected, rtol, atol, where)
        return
    # Lists of numbers are compared as an array below; others part by part, so that the message names the
    # part.
    if isinstance(expected, list | tuple) and _as_numbers(expected) is None:
        items = actual if isinstance(actual, list | tuple) else None
        if items is None or len(items) != len(expected):
            raise Wrong(f"{where}{_describe(actual)}, expected {len(expected)} parts")
        for index, (item, wanted) in enumerate(zip(items, expected, strict=True)):
            _compare_close(item, wanted, rtol, atol, f"{where}[{index}]: ")
        return
    wanted_numbers = _as_numbers(expected)
    if wanted_numbers is None:
        if expected is None or isinstance(expected, str):
            assert_equal(actual, expected)
            return
        raise Unclear(f"the check compares with a {type(expected).__name__}, which is no number")
    if not _has_form(actual, expected):
        raise Wrong(f"{where}{_describe(actual)}, expected {_describe(expected)}")
    numbers = _as_numbers(actual)
    if numbers is None:
        raise Wrong(f"{where}{_describe(actual)} contains something that is no number")
    _compare_arrays(numbers, wanted_numbers, rtol, atol, where)


def _compare_mappings(actual: Any, expected: Mapping[Any, Any], rtol: float, atol: float, where: str) -> None:
    if not isinstance(actual, Mapping):
        raise Wrong(f"{where}{_describe(actual)}, expected a dictionary")
    if set(actual) != set(expected):
        raise Wrong(f"{where}keys {show_value(list(actual))}, expected {show_value(list(expected))}")
    for key, wanted in expected.items():
        _compare_close(actual[key], wanted, rtol, atol, f"{where}[{key!r}]: ")


def _compare_arrays(numbers: np.ndarray, expected: np.ndarray, rtol: float, atol: float, where: str) -> None:
    if numbers.shape != expected.shape:
        raise Wrong(f"{where}shape {numbers.shape}, expected {expected.shape}")
    with np.errstate(all="ignore"):
        differs = ~np.isclose(numbers, expected, rtol=rtol, atol=atol)
    if differs.any():
        first = tuple(int(place) for place in np.argwhere(differs)[0]) if differs.ndim else ()
        count = f"{int(differs.sum())} of {differs.size} numbers differ" if differs.ndim else "differs"
        position = f" at {first}" if first else ""
        raise Wrong(f"{where}{count}; {numbers[first]:.6g} instead of {expected[first]:.6g}{position}")


def _as_numbers(value: Any) -> np.ndarray | None:
    """Return the numbers of a value as float64, int or complex; None if it has others or is ragged.

    Raises:
        Unclear: it is of a subclass of arrays or tensors, which defines its own comparison.
    """
    _refuse_subclass(value)
    if is_tensor(value):
        # numpy cannot read a tensor that needs a gradient, or one whose conjugation is only noted.
        value = value.detach().cpu().resolve_conj()
        if value.is_floating_point():
            value = value.double()  # numpy has no bfloat16
        array = value.numpy()
    elif isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, list | tuple):
        parts = [_as_numbers(part) for part in value]
        if any(part is None for part in parts) or len({part.shape for part in parts if part is not None}) > 1:
            return None
        array = np.array(parts, dtype=None if parts else np.float64)
    elif isinstance(value, _NUMBERS):
        array = np.asarray(value)
    else:
        return None
    if array.dtype.kind not in "biufc":
        return None
    numbers: np.ndarray = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return numbers


def _refuse_subclass(value: Any) -> None:
    torch, kind = sys.modules.get("torch"), type(value)
    plain = (np.ndarray,) if torch is None else (np.ndarray, torch.Tensor, torch.nn.Parameter)
    if issubclass(kind, plain) and kind not in plain:
        raise Unclear(f"a {kind.__name__} is compared, which decides itself what that gives")


def _has_form(actual: Any, expected: Any) -> bool:
    """Return whether a value may be compared with the expected one, regardless of its numbers."""
    if is_tensor(expected) and expected.ndim:
        return is_tensor(actual)
    if isinstance(expected, np.ndarray) and expected.ndim:
        return isinstance(actual, np.ndarray)
    if isinstance(expected, list | tuple):
        return isinstance(actual, list | tuple | np.ndarray) or is_tensor(actual)
    return isinstance(actual, (*_NUMBERS, np.ndarray)) or is_tensor(actual)


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.Tensor)


# ---------------------------------------------------------------- plain data

_NOT_PLAIN: Any = object()


def _as_plain(value: Any) -> Any:
    """Return plain Python data of a value: items of 0-d arrays, other arrays unchanged."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    _refuse_subclass(value)
    if is_tensor(value):
        return value.item() if value.ndim == 0 else _as_plain(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        return value.item() if value.ndim == 0 else value
    if kind in (list, tuple):
        parts = [_as_plain(part) for part in value]
        return _NOT_PLAIN if any(part is _NOT_PLAIN for part in parts) else kind(parts)
    if kind in (set, frozenset):
        return value if all(type(part) in _PLAIN or type(part) is tuple for part in value) else _NOT_PLAIN
    if isinstance(value, dict):
        mapping = {key: _as_plain(part) for key, part in value.items()}
        return _NOT_PLAIN if any(part is _NOT_PLAIN for part in mapping.values()) else mapping
    return _NOT_PLAIN


def _is_equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        both = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        return both and first.shape == second.shape and bool((first == second).all())
    if isinstance(first, list | tuple):
        return (
            type(first) is type(second) and len(first) == len(second) and all(map(_is_equal, first, second))
        )
    if isinstance(first, dict):
        return (
            isinstance(second, dict)
            and first.keys() == second.keys()
            and all(_is_equal(first[key], second[key]) for key in first)
        )
    # In Python True == 1, but an answer of the wrong type is no right answer.
    if isinstance(first, bool) is not isinstance(second, bool):
        return False
    return bool(first == second)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two observed values are the same up to rounding, which identifies a mutant."""
    numbers, other_numbers = _as_numbers(first), _as_numbers(second)
    if numbers is not None and other_numbers is not None:
        if numbers.shape != other_numbers.shape:
            return False
        with np.errstate(all="ignore"):
            return bool(np.isclose(numbers, other_numbers, rtol=1e-4, atol=1e-6, equal_nan=True).all())
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(is_same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(is_same, first, second))
    plain, other = _as_plain(first), _as_plain(second)
    return plain is not _NOT_PLAIN and other is not _NOT_PLAIN and _is_equal(plain, other)


# ---------------------------------------------------------------- messages


def _describe(value: Any) -> str:
    if is_tensor(value) or isinstance(value, np.ndarray):
        return f"{'a tensor' if is_tensor(value) else 'an array'} of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {value.class_name if isinstance(value, StudentObject) else type(value).__name__}"


def show_value(value: Any) -> str:
    """Return the text of a value for staff; for an object of the student's only its class."""
    if _as_plain(value) is _NOT_PLAIN:
        return _describe(value)
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
