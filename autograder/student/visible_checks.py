"""Visible checks: calls that a question prints for students, tried on their answers."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autograder.messages.catalogue import sentence

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
    found = []
    for visible in entry.get("visible", ()):
        if visible.get("parameters"):
            found.append(_parameters(name, value, visible["parameters"], language))
        if any(key in visible for key in ("type", "shape", "value")):
            found.append(_call(name, value, visible, str(entry["library"]), language))
    return found


def shown_call(name: str, visible: Mapping[str, Any], library: str) -> str:
    """Return the call as a student may paste it into a cell."""
    made = visible.get("construct")
    construct = f"({_shown_arguments(made, library)})" if made is not None else ""
    method = f".{visible['method']}" if visible.get("method") else ""
    return f"{name}{construct}{method}({_shown_arguments(visible, library)})"


def _call(
    name: str, value: Any, visible: Mapping[str, Any], library: str, language: str
) -> VisibleCheckResult:
    """Make one call and compare its result."""
    call = shown_call(name, visible, library)
    try:
        result = _result(value, visible, library)
    except _NotImported as error:
        return VisibleCheckResult(
            good=None, text=sentence("student.call-library", language, call=call, found=str(error))
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a student's code may raise anything
        return VisibleCheckResult(
            good=False, text=sentence("student.call-raises", language, call=call, found=_error(error))
        )
    try:
        problem = _difference(result, visible)
    except Exception as error:  # noqa: BLE001 - a result that cannot even be looked at
        return VisibleCheckResult(
            good=False, text=sentence("student.call-raises", language, call=call, found=_error(error))
        )
    if problem is None:
        key = "call-good" if "value" in visible else "call-form"
        return VisibleCheckResult(good=True, text=sentence(f"student.{key}", language, call=call))
    key, found, expected = problem
    return VisibleCheckResult(
        good=False, text=sentence(f"student.{key}", language, call=call, found=found, expected=expected)
    )


def _result(value: Any, visible: Mapping[str, Any], library: str) -> Any:
    """Return the result of one call."""
    made = visible.get("construct")
    if made is not None:
        value = value(*_arguments(made, library), **_named(made, library))
    if visible.get("method"):
        value = getattr(value, visible["method"])
    return value(*_arguments(visible, library), **_named(visible, library))


def _difference(result: Any, visible: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the sentence about a wrong result, the actual and the expected value; None if it is right."""
    expected = visible.get("type")
    # Types are compared by name, so that the expected class need not be imported here.
    names = [kind.__name__ for kind in type(result).__mro__]
    if expected is not None and expected not in names:
        return "call-type", names[0], str(expected)
    if "shape" in visible:
        shape = tuple(visible["shape"])
        given = tuple(int(size) for size in result.shape) if hasattr(result, "shape") else None
        if given != shape:
            return "call-shape", str(given), str(shape)
    if "value" in visible:
        plain = result.tolist() if hasattr(result, "tolist") else result
        if not _same(plain, visible["value"]):
            return "call-value", _short(repr(plain)), _short(_shown(visible["value"], ""))
    return None


def _same(given: Any, expected: Any) -> bool:
    """Decide whether two plain values are equal, numbers within the tolerances."""
    if isinstance(expected, (list, tuple)):
        several = isinstance(given, (list, tuple)) and len(given) == len(expected)
        return several and all(map(_same, given, expected))
    if isinstance(expected, Mapping):
        keys = isinstance(given, Mapping) and set(given) == set(expected)
        return keys and all(_same(given[key], expected[key]) for key in expected)
    if isinstance(expected, (bool, str)) or expected is None or isinstance(given, (bool, str)):
        return type(given) is type(expected) and bool(given == expected)
    if isinstance(given, (int, float)):
        # NaN is the expected value if the rubric says so.
        same = math.isnan(given) and math.isnan(expected)
        return same or math.isclose(given, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return False


def _parameters(name: str, value: Any, expected: Sequence[str], language: str) -> VisibleCheckResult:
    """Check the parameters of a function; further ones must be optional."""
    try:
        taken = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        # Built-in functions and some wrappers have no signature.
        taken = []
    names = [parameter.name for parameter in taken]
    further = taken[len(expected) :]
    optional = all(
        one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in further
    )
    found, asked = f"({', '.join(names)})", f"({', '.join(expected)})"
    if names[: len(expected)] == list(expected) and optional:
        return VisibleCheckResult(
            good=True, text=sentence("student.parameters-good", language, name=name, found=found)
        )
    return VisibleCheckResult(
        good=False,
        text=sentence("student.parameters-differ", language, name=name, found=found, expected=asked),
    )


def _arguments(stated: Mapping[str, Any], library: str) -> list[Any]:
    """Return the positional arguments of a call."""
    return [_made(one, library) for one in stated.get("args", ())]


def _named(stated: Mapping[str, Any], library: str) -> dict[str, Any]:
    """Return the keyword arguments of a call."""
    return {key: _made(one, library) for key, one in stated.get("kwargs", {}).items()}


def _made(stated: Any, library: str) -> Any:
    """Return an argument; arrays with the library that the notebook itself imported."""
    if not (isinstance(stated, Mapping) and "array" in stated):
        return stated
    # Importing the library here could take seconds and differ from the notebook's own import.
    module = sys.modules.get(library)
    if module is None:
        raise _NotImported(library)
    make = module.tensor if library == "torch" else module.array
    dtype = {"dtype": getattr(module, stated["dtype"])} if stated.get("dtype") else {}
    return make(stated["array"], **dtype)


def _shown_arguments(stated: Mapping[str, Any], library: str) -> str:
    """Return the arguments of a call as code."""
    named = (f"{key}={_shown(one, library)}" for key, one in stated.get("kwargs", {}).items())
    return ", ".join((*(_shown(one, library) for one in stated.get("args", ())), *named))


def _shown(stated: Any, library: str) -> str:
    """Return an argument as code."""
    if isinstance(stated, Mapping) and "array" in stated:
        make = "torch.tensor" if library == "torch" else "numpy.array"
        module = library if library == "torch" else "numpy"
        dtype = f", dtype={module}.{stated['dtype']}" if stated.get("dtype") else ""
        return f"{make}({_shown(stated['array'], library)}{dtype})"
    if isinstance(stated, list):
        return f"[{', '.join(_shown(one, library) for one in stated)}]"
    if isinstance(stated, float) and not math.isfinite(stated):
        return f"float('{stated}')"
    return repr(stated)


def _error(error: BaseException) -> str:
    """Return type and text of an error."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - exceptions of students may raise from any method
        text = ""
    return _short(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _short(text: str) -> str:
    """Return a text, shortened."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
