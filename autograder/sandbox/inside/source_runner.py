"""Runs the source of a test in a namespace, and reports its outcome. Runs in boxes."""

from __future__ import annotations

import ast
import contextlib
import decimal
import doctest as doctests
import io
import numbers
import sys
import traceback
from typing import Any

import numpy as np

MOST_TEXT = 4000
_TEST = "<test>"


def run_test(
    code: str, namespace: dict[str, Any], *, doctest: bool, refusals: type[BaseException] | tuple[()] = ()
) -> dict[str, Any]:
    """Run a test; return the plain parts of a `autograder.core.records.CellOutcome`.

    Args:
        code: source code of the test.
        namespace: the names that it sees.
        doctest: whether it is an interactive session.
        refusals: exceptions that say why it cannot be judged.
    """
    printed = io.StringIO()
    result: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            result["value"] = _to_plain_value((run_doctest if doctest else run_code)(code, namespace))
        except refusals as error:
            result["refused"] = str(error)
        except BaseException as error:  # noqa: BLE001 - whatever a test raises is its outcome
            result["error"], result["message"] = type(error).__name__[:80], describe_exception(error)
    return result | {"printed": printed.getvalue()[:MOST_TEXT]}


class _DoctestRunner(doctests.DocTestRunner):
    """Lets exceptions pass that are no failures of an example, such as the refusal of a test."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        if not issubclass(exc_info[0], Exception):
            raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


def run_code(code: str, namespace: dict[str, Any]) -> Any:
    """Run a test; return the value of its last expression, None if a notebook would show none."""
    tree = ast.parse(code, _TEST)
    end = tree.body[-1] if tree.body else None
    last = end if isinstance(end, ast.Expr) and _is_shown(end, code) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, _TEST, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), _TEST, "eval"), namespace) if last is not None else None


def _is_shown(end: ast.Expr, code: str) -> bool:
    """Return whether a last expression can be credit: not after a semicolon, and not a plain remark."""
    if isinstance(end.value, ast.Constant) and isinstance(end.value.value, str):
        try:
            # A text that holds a number can be credit; any other text is a remark.
            float(end.value.value)
        except ValueError:
            return False
    lines = code.encode().splitlines()[(end.end_lineno or 1) - 1 :]  # the offsets of the tree are in bytes
    behind = b"\n".join([lines[0][end.end_col_offset or 0 :], *lines[1:]])
    return not behind.lstrip().startswith(b";")


def run_doctest(code: str, namespace: dict[str, Any]) -> None:
    """Run an interactive session.

    Raises:
        AssertionError: the output differs from the expected one.
    """
    report = io.StringIO()
    session = doctests.DocTestParser().get_doctest(code, namespace, "test", None, 0)
    # doctest works on a copy of the names by default.
    session.globs = namespace
    runner = _DoctestRunner(verbose=False, optionflags=doctests.NORMALIZE_WHITESPACE | doctests.ELLIPSIS)
    runner.run(session, out=report.write, clear_globs=False)
    if runner.failures:
        raise AssertionError(report.getvalue()[-MOST_TEXT:])


def describe_exception(error: BaseException) -> str:
    """Return the text of an exception, and the line of the test at which it came out."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _TEST]
    try:
        text = str(error)[:MOST_TEXT]
    except BaseException:  # noqa: BLE001 - inside, it may be the student's class
        text = ""
    return f"line {lines[-1]}: {text}" if lines else text


def _to_plain_value(value: Any) -> float | str | bool | None:
    """Return a number of any class as float, 0-dimensional arrays included; otherwise the class's name."""
    value = _unwrap_scalar(value)
    if value is None or type(value) is bool:
        return value
    if issubclass(type(value), numbers.Real | decimal.Decimal):
        try:
            return float(value)
        except (ArithmeticError, TypeError, ValueError):
            return "number"
    return type(value).__name__[:80]


def _unwrap_scalar(value: Any) -> Any:
    """Return the value in a 0-dimensional array or tensor; other values unchanged."""
    torch = sys.modules.get("torch")
    is_array = issubclass(type(value), np.ndarray | np.generic)
    is_tensor = torch is not None and issubclass(type(value), torch.Tensor)
    return value.item() if (is_array or is_tensor) and value.ndim == 0 else value
