"""Values of literals in a file, read without running it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def find_literals(tree: ast.Module) -> dict[str, Any]:
    """Return the names that are bound once at the top level, to a literal."""
    literals: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if isinstance(target, ast.Name):
            try:
                literals[target.id] = evaluate_literal(value, literals)
            except ValueError:
                # The name is bound again to another value, so its literal no longer applies.
                literals.pop(target.id, None)
    return literals


def find_imported_literals(tree: ast.Module, modules: Mapping[str, str]) -> dict[str, Any]:
    """Return the names that a file imports from modules of the reference and that are literals there."""
    imported: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "") in modules and not node.level:
            literals = find_literals(ast.parse(modules[str(node.module)]))
            imported |= {
                alias.asname or alias.name: literals[alias.name]
                for alias in node.names
                if alias.name in literals
            }
    return imported


def evaluate_literal(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """Return the value of a literal, which may contain names of literals and sums.

    Raises:
        ValueError: it is no literal.
    """
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        values: list[Any] = []
        for part in node.elts:
            value = evaluate_literal(part.value if isinstance(part, ast.Starred) else part, constants)
            values += value if isinstance(part, ast.Starred) and isinstance(value, list | tuple) else [value]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Dict) and all(node.keys):
        keys = [evaluate_literal(key, constants) for key in node.keys if key is not None]
        return dict(zip(keys, [evaluate_literal(value, constants) for value in node.values], strict=True))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left: Any = evaluate_literal(node.left, constants)
        right: Any = evaluate_literal(node.right, constants)
        if type(left) is type(right) and isinstance(left, str | list | tuple):
            return left + right
    try:
        return ast.literal_eval(node)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from error
