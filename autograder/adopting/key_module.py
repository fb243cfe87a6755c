"""What a notebook's answer key defines, as a module for the reference folder."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autograder.syntax import UNREADABLE, parsed

HEAD = (
    '"""Made by `autograder strengthen` from the answer key: what the proposed questions compare with."""\n'
)
OF_VARIABLE = "key_"
"""Begins the function that gives a variable's value."""
_MAGIC = ("%", "!", "?")


def key_module(cells: Iterable[str], asked: Iterable[str]) -> str:
    """The text of a module with what is asked for and whatever that needs, in the notebook's order.

    Args:
        cells: the key's code cells without its tests; those that are no Python are left out.
        asked: functions and classes; ``key_<name>`` is a function that gives the value of a variable.
    """
    names = list(asked)
    variables = [name.removeprefix(OF_VARIABLE) for name in names if name.startswith(OF_VARIABLE)]
    statements = [node for source in cells for node in _statements(source)]
    needed, kept = {*names, *variables}, set[int]()
    while True:
        found = {at for at, node in enumerate(statements) if _bound(node) & needed}
        if found == kept:
            break
        kept = found
        needed |= {name for at in kept for name in _read(statements[at])}
    lines = [ast.unparse(statements[at]) for at in sorted(kept)]
    lines += [f"def {OF_VARIABLE}{name}():\n    return {name}" for name in variables]
    return HEAD + "\n" + "\n\n".join(lines) + "\n"


def defined(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """The functions that a cell defines, and all names that it binds."""
    nodes = list(_statements(source))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return frozenset(functions), frozenset(name for node in nodes for name in _bound(node, changed=False))


def _statements(source: str) -> Iterator[ast.stmt]:
    lines = ("" if line.lstrip().startswith(_MAGIC) else line for line in source.split("\n"))
    try:
        yield from parsed("\n".join(lines)).body
    except UNREADABLE:
        return


def _bound(node: ast.stmt, *, changed: bool = True) -> set[str]:
    """The names that a statement at the top binds; or changes, as ``x[0] = 1`` and ``x.append(1)`` do."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        if changed and isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store):
            found |= _root(one)
    if changed and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found |= _root(node.value.func)
    return found


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _read(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
