"""Integer arithmetic over drawn values, as rubrics and notebooks write it: ``d_model // n_heads``.

Only what is listed here is read, so an expression can name nothing but values; Python's own evaluation is
never used.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from autograder.tables import hint

Value = int | str
"""What can be drawn: a whole number or a word."""

MOST_EXPONENT = 64
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


class ExpressionError(ValueError):
    """An expression is not one; the message says what stands there and what may."""


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression.

    Raises:
        ExpressionError: it is not one.
    """
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError(f"{text!r} is not an expression") from error


def value(tree: ast.expr, values: Mapping[str, Value]) -> Value:
    """The value of a name, or of whole numbers with ``+ - * // % **`` and brackets.

    Raises:
        ExpressionError: a name is not known (with a suggestion), or something else stands there.
    """
    if isinstance(tree, ast.Name):
        if tree.id not in values:
            raise ExpressionError(f"{tree.id!r} is not drawn; {hint(tree.id, values)}")
        return values[tree.id]
    return _number(tree, values)


def holds(tree: ast.expr, values: Mapping[str, Value]) -> bool:
    """Whether a condition holds: comparisons of values, joined by ``and``, ``or`` and ``not``.

    Raises:
        ExpressionError: it is no condition, or a name is not known.
    """
    if isinstance(tree, ast.BoolOp):
        joined = all if isinstance(tree.op, ast.And) else any
        return joined([holds(part, values) for part in tree.values])
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return not holds(tree.operand, values)
    if not isinstance(tree, ast.Compare):
        raise ExpressionError(f"{ast.unparse(tree)!r} is no condition; expected e.g. d_model % n_heads == 0")
    sides = [_side(side, values) for side in (tree.left, *tree.comparators)]
    compared = []
    for sign, left, right in zip(tree.ops, sides, sides[1:], strict=False):
        comparison = _COMPARISONS.get(type(sign))
        if comparison is None or type(left) is not type(right):
            raise ExpressionError(
                f"{ast.unparse(tree)!r}: expected == != < <= > >= between values of one kind"
            )
        compared.append(comparison(left, right))
    return all(compared)


def _side(tree: ast.expr, values: Mapping[str, Value]) -> Value:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return tree.value
    return value(tree, values)


def _number(tree: ast.expr, values: Mapping[str, Value]) -> int:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_number(tree.operand, values)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        left, right = _number(tree.left, values), _number(tree.right, values)
        if isinstance(tree.op, ast.Pow) and not 0 <= right <= MOST_EXPONENT:
            raise ExpressionError(f"{ast.unparse(tree)!r}: an exponent from 0 to {MOST_EXPONENT} is expected")
        try:
            return _OPERATORS[type(tree.op)](left, right)
        except ZeroDivisionError as error:
            raise ExpressionError(f"{ast.unparse(tree)!r} divides by zero") from error
    if isinstance(tree, ast.Name):
        found = value(tree, values)
        if isinstance(found, int):
            return found
        raise ExpressionError(f"{tree.id!r} is a word, {found!r}; only numbers can be computed with")
    raise ExpressionError(f"{ast.unparse(tree)!r}: expected whole numbers, drawn names and + - * // % **")
