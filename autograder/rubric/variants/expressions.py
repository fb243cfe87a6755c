"""Drawn values in rubrics and notebooks: arithmetic, conditions, and placeholders in texts.

Only the operations listed here are supported (``d_model // n_heads``), so an expression can refer to drawn
values only; Python's own evaluation is never used. A placeholder in a text is written ``⟦d_model //
n_heads⟧``. The brackets are U+27E6 and U+27E7: Python, TOML, Markdown and LaTeX do not use them, so no text
is mistaken for a placeholder.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from autograder.core.errors import RubricError, extend_place
from autograder.core.tables import suggest_name

Value = int | str
"""A value that can be drawn: a whole number or a word."""

MOST_EXPONENT = 64
"""Largest exponent; it bounds the cost of a power."""
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
OPEN, CLOSE = "⟦", "⟧"
_PLACEHOLDER = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")


class ExpressionError(ValueError):
    """An invalid expression; the message gives the text and the expectation."""


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression.

    Raises:
        ExpressionError: the text is not an expression.
    """
    try:
        # Only parsed, never compiled or evaluated.
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError(f"{text!r} is not an expression") from error


def evaluate_expression(tree: ast.expr, values: Mapping[str, Value]) -> Value:
    """Return the value of a name, or of whole numbers with ``+ - * // % **`` and brackets.

    Raises:
        ExpressionError: a name is not known (with a suggestion), or the expression is not supported.
    """
    if isinstance(tree, ast.Name):
        if tree.id not in values:
            raise ExpressionError(f"{tree.id!r} is not drawn; {suggest_name(tree.id, values)}")
        return values[tree.id]
    return _evaluate_number(tree, values)


def is_satisfied(tree: ast.expr, values: Mapping[str, Value]) -> bool:
    """Return whether a condition holds: comparisons of values, joined by ``and``, ``or`` and ``not``.

    Raises:
        ExpressionError: it is not a condition, or a name is not known.
    """
    if isinstance(tree, ast.BoolOp):
        joined = all if isinstance(tree.op, ast.And) else any
        # A list, not a generator: every part is checked for errors, even if the first one decides.
        return joined([is_satisfied(part, values) for part in tree.values])
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return not is_satisfied(tree.operand, values)
    if not isinstance(tree, ast.Compare):
        raise ExpressionError(f"{ast.unparse(tree)!r} is no condition; expected e.g. d_model % n_heads == 0")
    sides = [_evaluate_side(side, values) for side in (tree.left, *tree.comparators)]
    compared = []
    for sign, left, right in zip(tree.ops, sides, sides[1:], strict=False):
        comparison = _COMPARISONS.get(type(sign))
        if comparison is None or type(left) is not type(right):
            raise ExpressionError(
                f"{ast.unparse(tree)!r}: expected == != < <= > >= between values of one kind"
            )
        compared.append(comparison(left, right))
    return all(compared)


def _evaluate_side(tree: ast.expr, values: Mapping[str, Value]) -> Value:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return tree.value
    return evaluate_expression(tree, values)


def _evaluate_number(tree: ast.expr, values: Mapping[str, Value]) -> int:
    # Not isinstance: True and False are integers as well.
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_evaluate_number(tree.operand, values)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        left, right = _evaluate_number(tree.left, values), _evaluate_number(tree.right, values)
        if isinstance(tree.op, ast.Pow) and not 0 <= right <= MOST_EXPONENT:
            raise ExpressionError(f"{ast.unparse(tree)!r}: an exponent from 0 to {MOST_EXPONENT} is expected")
        try:
            return _OPERATORS[type(tree.op)](left, right)
        except ZeroDivisionError as error:
            raise ExpressionError(f"{ast.unparse(tree)!r} divides by zero") from error
    if isinstance(tree, ast.Name):
        drawn = evaluate_expression(tree, values)
        if isinstance(drawn, int):
            return drawn
        raise ExpressionError(f"{tree.id!r} is a word, {drawn!r}; only numbers can be computed with")
    raise ExpressionError(f"{ast.unparse(tree)!r}: expected whole numbers, drawn names and + - * // % **")


def has_placeholder(tree: Any) -> bool:
    """Return whether a text, or any text inside a table or list, contains a placeholder or half of one."""
    if isinstance(tree, str):
        return OPEN in tree or CLOSE in tree
    if isinstance(tree, Mapping):
        return any(has_placeholder(entry) for entry in (*tree, *tree.values()))
    return isinstance(tree, list | tuple) and any(has_placeholder(entry) for entry in tree)


def fill_text(text: str, values: Mapping[str, Value], place: str) -> str:
    """Return the text with every placeholder replaced by its value.

    Raises:
        RubricError: a placeholder names a value that is not drawn (with a suggestion), or is not closed;
            names the place.
    """
    filled = _PLACEHOLDER.sub(lambda match: str(_evaluate_placeholder(match[1], values, place)), text)
    if OPEN in filled or CLOSE in filled:
        raise RubricError(f"a placeholder is not closed or not opened: {_quote_around(filled)!r}", place)
    return filled


def fill_table(tree: Any, values: Mapping[str, Value], place: str) -> Any:
    """Replace placeholders in every text of a table. A text that is only a placeholder becomes the value.

    Raises:
        RubricError: as for `fill_text`; or a key contains a placeholder.
    """
    if isinstance(tree, str):
        whole = _PLACEHOLDER.fullmatch(tree)
        return _evaluate_placeholder(whole[1], values, place) if whole else fill_text(tree, values, place)
    if isinstance(tree, Mapping):
        for key in tree:
            if has_placeholder(key):
                raise RubricError(f"{key!r}: a key cannot be drawn", place)
        return {
            key: fill_table(entry, values, extend_place(place, f": {key}", key))
            for key, entry in tree.items()
        }
    if isinstance(tree, list):
        return [
            fill_table(entry, values, extend_place(place, "", number)) for number, entry in enumerate(tree)
        ]
    return tree


def _evaluate_placeholder(expression: str, values: Mapping[str, Value], place: str) -> Value:
    try:
        return evaluate_expression(parse_expression(expression), values)
    except ExpressionError as error:
        raise RubricError(f"{OPEN}{expression}{CLOSE}: {error}", place) from error


def _quote_around(text: str) -> str:
    position = min(index for index in (text.find(OPEN), text.find(CLOSE)) if index >= 0)
    return text[max(0, position - 20) : position + 20]
