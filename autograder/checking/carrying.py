"""Extraction of functions of earlier questions, which replace a student's wrong ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def extract_source(solution: str, names: Sequence[str], withheld: Sequence[str]) -> str:
    """Return the statements of a solution that define some names, with everything that these need.

    Args:
        solution: its source.
        names: functions or classes of earlier questions.
        withheld: names that the question itself asks for.

    Raises:
        ValueError: a name is not defined there, is asked for by the question itself, or needs one that is;
            or something is imported from the reference, which is unavailable where the source will run.
    """
    body = ast.parse(solution).body
    binding: dict[str, list[int]] = {}
    for index, statement in enumerate(body):
        for name in _list_bound(statement):
            binding.setdefault(name, []).append(index)
    needed: set[int] = set()
    waiting, seen = list(names), set(names)
    while waiting:
        name = waiting.pop()
        # Checked for every name on the way, because indirect needs would be given away as well.
        if name in withheld:
            raise ValueError(
                f"carry: {name!r} is asked for here, or what it needs is: it would be given away"
            )
        if name in names and name not in binding:
            raise ValueError(f"carry: the solution does not define {name!r}")
        for index in binding.get(name, ()):
            needed.add(index)
            used = {node.id for node in ast.walk(body[index]) if isinstance(node, ast.Name)} - seen
            seen |= used
            waiting += used
    kept = [body[index] for index in sorted(needed)]
    for statement in kept:
        for node in ast.walk(statement):
            if isinstance(node, ast.ImportFrom) and (
                node.level or (node.module or "").startswith("reference")
            ):
                raise ValueError(f"carry: {ast.unparse(node)!r} is not there where the student's code runs")
    return ast.unparse(ast.Module(kept, []))


def _list_bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
