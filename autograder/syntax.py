"""Python source as a syntax tree, in whichever thread. Nothing is ever run."""

from __future__ import annotations

import ast
import re
import threading
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is no Python, or is too deep."""

# CPython counts the depth of the trees of all threads together, and fails when two are built at the same
# time: "AST constructor recursion depth mismatch". The filter of warnings belongs to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HIGHEST = 30
"""Marks on one letter; Unicode's stream-safe form has no more."""


def _towering(source: str) -> bool:
    """Whether one letter has so many marks that the parser, which puts them in order, would take long."""
    height = 0
    for char in "" if source.isascii() else source:
        height = height + 1 if unicodedata.combining(char) else 0
        if height > _HIGHEST:
            return True
    return False


def parsed(source: str) -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it has a character that no source may have, or a tower of marks on one letter.
        RecursionError: it is too deep.
        MemoryError: likewise.
    """
    if _towering(source):
        raise ValueError("too many marks on one letter")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LaTeX in an ordinary string: an invalid escape is not our concern
        return ast.parse(source)


def needed(source: str, name: str, without: Collection[str] = ()) -> str:
    """The part of a module that a definition needs, its imports first; comments within it stay.

    What is defined twice is what it was last: in an answer key the solution, not the listing before it.

    Args:
        source: of the module.
        name: of the definition.
        without: names whose definitions are left out, because they are found elsewhere.

    Raises:
        SyntaxError: or another one of `UNREADABLE`: the source is no Python.
    """
    tree = parsed(source)
    binding: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for bound in _bound(statement):
            earlier = [] if isinstance(statement, _Definition) else binding.get(bound, [])
            binding[bound] = [*earlier, statement]
    wanted: set[int] = {id(one) for one in binding.pop("*", ())}
    for left_out in without:
        binding.pop(left_out, None)
    left = [name]
    while left:
        for statement in binding.pop(left.pop(), ()):
            wanted.add(id(statement))
            left += sorted(_global_names(statement))
    lines = lines_of(source)
    chosen, imported = [], set[str]()
    for one in tree.body:
        if id(one) in wanted and ast.dump(one) not in imported:
            chosen.append(one)
            imported |= {ast.dump(one)} if isinstance(one, ast.Import | ast.ImportFrom) else set()
    parts = ["".join(lines[first_line(one) - 1 : one.end_lineno]).rstrip("\r\n") for one in chosen]
    return "\n\n\n".join(parts).replace("\n\n\nimport ", "\nimport ").replace("\n\n\nfrom ", "\nfrom ") + "\n"


def _global_names(node: ast.AST) -> set[str]:
    """The names of the module that something uses: those that are local to a function are not among them."""
    if isinstance(node, ast.Name):
        return {node.id}
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set().union(*map(_global_names, ast.iter_child_nodes(node)))
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    around = (one for one in ast.iter_child_nodes(node) if one not in body)
    inside = set[str]().union(*map(_global_names, body)) - _locals(node.args, body)
    return inside.union(*map(_global_names, around))


def _locals(arguments: ast.arguments, body: Iterable[ast.AST]) -> set[str]:
    """The names that a function binds; what functions within it bind is theirs."""
    found = {one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg)}
    outside: set[str] = set()
    waiting = [*body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Global):
            outside |= {*node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.stmt):
            found |= {*_bound(node)} if isinstance(node, ast.Import | ast.ImportFrom | _Definition) else set()
        if not isinstance(node, ast.Lambda | _Definition):
            waiting += ast.iter_child_nodes(node)
    return found - outside


def defines(source: str, name: str) -> bool:
    """Whether a module defines or assigns a name at its top; False where it is no Python."""
    try:
        return any(name in _bound(statement) for statement in parsed(source).body)
    except UNREADABLE:
        return False


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((one.asname or one.name).split(".")[0] for one in statement.names)
    elif isinstance(statement, _Definition):
        yield statement.name
    else:
        nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from (node.id for node in nodes if isinstance(node.ctx, ast.Store))


def lines_of(source: str) -> list[str]:
    """The lines of a module as Python counts them, with their ends; a text has further kinds of line ends."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", source)


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
