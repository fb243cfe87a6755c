"""Visible checks: calls that a question prints for students, tried on their answers."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autograder.messages.catalogue import format_sentence

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Tolerances, wide enough for float32."""
MOST_SHOWN = 300
"""Most characters of a value or an error."""


class VisibleCheckResult(NamedTuple):
    """Result of one visible check."""

    good: bool | None
    """None if it could not be tried."""
    text: str


class _NotImported(Exception):
    """The library needed for the arguments is not imported by the notebook; carries its name."""


def run_visible_checks(
    name: str, value: Any, entry: Mapping[str, Any], language: str
) -> list[VisibleCheckResult]:
    """Return the result of every visible check of a question.

    Args:
        name: name of the function or class.
        value: the function or class itself.
        entry: entry of the question in the specification.
        language: language of the lines.
    """
    results = []
    for visible in entry.get("visible", ()):
        if visible.get("parameters"):
            results.append(_check_parameters(name, value, visible["parameters"], language))
        if any(key in visible for key in ("type", "shape", "value")):
            results.append(_check_call(name, value, visible, str(entry["library"]), language))
    return results


def format_call(name: str, visible: Mapping[str, Any], library: str) -> str:
    """Return the call as a student may paste it into a cell."""
    constructor = visible.get("construct")
    construct = f"({_format_arguments(constructor, library)})" if constructor is not None else ""
    method = f".{visible['method']}" if visible.get("method") else ""
    return f"{name}{construct}{method}({_format_arguments(visible, library)})"


def _check_call(
    name: str, value: Any, visible: Mapping[str, Any], library: str, language: str
) -> VisibleCheckResult:
    """Make one call and compare its result."""
    call = format_call(name, visible, library)
    try:
        result = _compute_result(value, visible, library)
    except _NotImported as error:
        return VisibleCheckResult(
            good=None, text=format_sentence("student.call-library", language, call=call, found=str(error))
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a student's code may raise anything
        return VisibleCheckResult(
            good=False,
            text=format_sentence("student.call-raises", language, call=call, found=_describe_error(error)),
        )
    try:
        problem = _find_difference(result, visible)
    except Exception as error:  # noqa: BLE001 - a result that cannot even be looked at
        return VisibleCheckResult(
            good=False,
            text=format_sentence("student.call-raises", language, call=call, found=_describe_error(error)),
        )
    if problem is None:
        key = "call-good" if "value" in visible else "call-form"
        return VisibleCheckResult(good=True, text=format_sentence(f"student.{key}", language, call=call))
    key, actual, expected = problem
    return VisibleCheckResult(
        good=False,
        text=format_sentence(f"student.{key}", language, call=call, found=actual, expected=expected),
    )


def _compute_result(value: Any, visible: Mapping[str, Any], library: str) -> Any:
    """Return the result of one call."""
    constructor = visible.get("construct")
    if constructor is not None:
        value = value(*_build_arguments(constructor, library), **_build_keywords(constructor, library))
    if visible.get("method"):
        value = getattr(value, visible["method"])
    return value(*_build_arguments(visible, library), **_build_keywords(visible, library))


def _find_difference(result: Any, visible: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the sentence about a wrong result, the actual and the expected value; None if it is right."""
    expected = visible.get("type")
    # Types are compared by name, so that the expected class need not be imported here.
    names = [kind.__name__ for kind in type(result).__mro__]
    if expected is not None and expected not in names:
        return "call-type", names[0], str(expected)
    if "shape" in visible:
        shape = tuple(visible["shape"])
        actual_shape = tuple(int(size) for size in result.shape) if hasattr(result, "shape") else None
        if actual_shape != shape:
            return "call-shape", str(actual_shape), str(shape)
    if "value" in visible:
        plain = result.tolist() if hasattr(result, "tolist") else result
        if not _is_same(plain, visible["value"]):
            return (
                "call-value",
                _truncate_text(repr(plain)),
                _truncate_text(_format_argument(visible["value"], "")),
            )
    return None


def _is_same(actual: Any, expected: Any) -> bool:
    """Decide whether two plain values are equal, numbers within the tolerances."""
    if isinstance(expected, (list, tuple)):
        several = isinstance(actual, (list, tuple)) and len(actual) == len(expected)
        return several and all(map(_is_same, actual, expected))
    if isinstance(expected, Mapping):
        keys = isinstance(actual, Mapping) and set(actual) == set(expected)
        return keys and all(_is_same(actual[key], expected[key]) for key in expected)
    if isinstance(expected, (bool, str)) or expected is None or isinstance(actual, (bool, str)):
        return type(actual) is type(expected) and bool(actual == expected)
    if isinstance(actual, (int, float)):
        # NaN is the expected value if the rubric says so.
        is_close = math.isnan(actual) and math.isnan(expected)
        return is_close or math.isclose(actual, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return False


def _check_parameters(name: str, value: Any, expected: Sequence[str], language: str) -> VisibleCheckResult:
    """Check the parameters of a function; further ones must be optional."""
    try:
        taken = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        # Built-in functions and some wrappers have no signature.
        taken = []
    names = [parameter.name for parameter in taken]
    further = taken[len(expected) :]
    optional = all(
        extra.default is not extra.empty or extra.kind in (extra.VAR_POSITIONAL, extra.VAR_KEYWORD)
        for extra in further
    )
    actual, wanted = f"({', '.join(names)})", f"({', '.join(expected)})"
    if names[: len(expected)] == list(expected) and optional:
        return VisibleCheckResult(
            good=True, text=format_sentence("student.parameters-good", language, name=name, found=actual)
        )
    return VisibleCheckResult(
        good=False,
        text=format_sentence("student.parameters-differ", language, name=name, found=actual, expected=wanted),
    )


def _build_arguments(call: Mapping[str, Any], library: str) -> list[Any]:
    """Return the positional arguments of a call."""
    return [_build_argument(argument, library) for argument in call.get("args", ())]


def _build_keywords(call: Mapping[str, Any], library: str) -> dict[str, Any]:
    """Return the keyword arguments of a call."""
    return {key: _build_argument(argument, library) for key, argument in call.get("kwargs", {}).items()}


def _build_argument(argument: Any, library: str) -> Any:
    """Return an argument; arrays with the library that the notebook itself imported."""
    if not (isinstance(argument, Mapping) and "array" in argument):
        return argument
    # Importing the library here could take seconds and differ from the notebook's own import.
    module = sys.modules.get(library)
    if module is None:
        raise _NotImported(library)
    make = module.tensor if library == "torch" else module.array
    dtype = {"dtype": getattr(module, argument["dtype"])} if argument.get("dtype") else {}
    return make(argument["array"], **dtype)


def _format_arguments(call: Mapping[str, Any], library: str) -> str:
    """Return the arguments of a call as code."""
    named = (
        f"{key}={_format_argument(argument, library)}" for key, argument in call.get("kwargs", {}).items()
    )
    return ", ".join((*(_format_argument(argument, library) for argument in call.get("args", ())), *named))


def _format_argument(argument: Any, library: str) -> str:
    """Return an argument as code."""
    if isinstance(argument, Mapping) and "array" in argument:
        make = "torch.tensor" if library == "torch" else "numpy.array"
        module = library if library == "torch" else "numpy"
        dtype = f", dtype={module}.{argument['dtype']}" if argument.get("dtype") else ""
        return f"{make}({_format_argument(argument['array'], library)}{dtype})"
    if isinstance(argument, list):
        return f"[{', '.join(_format_argument(element, library) for element in argument)}]"
    if isinstance(argument, float) and not math.isfinite(argument):
        return f"float('{argument}')"
    return repr(argument)


def _describe_error(error: BaseException) -> str:
    """Return type and text of an error."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - exceptions of students may raise from any method
        text = ""
    return _truncate_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _truncate_text(text: str) -> str:
    """Return a text, shortened."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
