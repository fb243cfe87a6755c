"""Python source as a syntax tree, in whichever thread. Nothing is ever run."""

from __future__ import annotations

import ast
import threading
import unicodedata
import warnings
from collections.abc import Collection, Iterator

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is no Python, or is too deep."""

# CPython counts the depth of the trees of all threads together, and fails when two are built at the same
# time: "AST constructor recursion depth mismatch". The filter of warnings belongs to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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
            earlier = [] if isinstance(statement, _DEFINITIONS) else binding.get(bound, [])
            binding[bound] = [*earlier, statement]
    wanted: set[int] = {id(one) for one in binding.pop("*", ())}
    for left_out in without:
        binding.pop(left_out, None)
    left = [name]
    while left:
        for statement in binding.pop(left.pop(), ()):
            wanted.add(id(statement))
            left += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    lines = source.splitlines()
    chosen = [one for one in tree.body if id(one) in wanted]
    parts = ["\n".join(lines[first_line(one) - 1 : one.end_lineno]) for one in chosen]
    return "\n\n\n".join(parts).replace("\n\n\nimport ", "\nimport ").replace("\n\n\nfrom ", "\nfrom ") + "\n"


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
    elif isinstance(statement, _DEFINITIONS):
        yield statement.name
    else:
        nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from (node.id for node in nodes if isinstance(node.ctx, ast.Store))


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
