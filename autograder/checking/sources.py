"""Sources of solutions and files of checks, none of which is run: edits, carried functions, literals."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def apply_edits(source: str, edits: Iterable[Sequence[str]]) -> str:
    """Return a source with each old text replaced by the new one.

    Raises:
        ValueError: an old text does not occur exactly once; names a similar line if there is one.
    """
    for old, new in edits:
        count = source.count(old) if old else 0
        if count != 1:
            near = difflib.get_close_matches(
                old.strip(), [line.strip() for line in source.splitlines()], 1, 0.5
            )
            hint = f"; did you mean {near[0]!r}?" if not count and near else ""
            hint = hint or ("; state more of the text around it" if count else "")
            raise ValueError(f"old: {old!r} stands {count} times in the solution, expected once{hint}")
        source = source.replace(old, new)
    return source


def read_edits(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the edits in a declaration, from ``old=`` and ``new=``, from ``edits=``, or both."""
    edits = [(old, new) for old, new in arguments.get("edits", ())]
    if "old" in arguments:
        edits.insert(0, (arguments["old"], arguments.get("new", "")))
    return tuple(edits)


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
