"""Which tests can be judged outside of the student's box, and why the others cannot."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from autograder.adopting.found import FoundTest
from autograder.checks.judging.judgeable import judgeable
from autograder.syntax import UNREADABLE, parsed

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def with_reasons(
    tests: Iterable[FoundTest], before: Iterable[str], data: Collection[str] = ()
) -> tuple[FoundTest, ...]:
    """Tests that know whether they are judged outside.

    Args:
        tests: of one question.
        before: the code cells of the notebook that are no tests and stand before them.
        data: files and folders beside the notebook.
    """
    names = {name for source in before for name in _defined(source)}
    return tuple(
        one if one.outside else replace(one, outside=judgeable(one.code, names, data) or "") for one in tests
    )


def _defined(source: str) -> Collection[str]:
    """Names that a cell binds for the notebook. What is imported is the same in the judge's box."""
    try:
        tree = parsed(source)
    except UNREADABLE:
        return ()
    found: set[str] = set()
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            found |= {node.name} if not isinstance(node, ast.Lambda) else set()
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return found
