"""Parse Python source to a syntax tree, in any thread. The source is never run."""

from __future__ import annotations

import ast
import re
import threading
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions of the parser for source that is not valid Python, or nested too deeply."""

# CPython counts the recursion depth of all threads together and fails if two trees are built at the same
# time: "AST constructor recursion depth mismatch". Warning filters are global to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HIGHEST = 30
"""Maximum of combining marks on one letter; Unicode's stream-safe text format allows no more."""


def _towering(source: str) -> bool:
    """Decide whether one letter has too many combining marks.

    The parser normalises identifiers, and sorting very many marks would take long.
    """
    height = 0
    for char in "" if source.isascii() else source:
        height = height + 1 if unicodedata.combining(char) else 0
        if height > _HIGHEST:
            return True
    return False


def parsed(source: str) -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError: the source is not valid Python.
        ValueError: it has a character that no source may have, or too many marks on one letter.
        RecursionError: it is nested too deeply.
        MemoryError: it is nested too deeply.
    """
    if _towering(source):
        raise ValueError("too many marks on one letter")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LaTeX in an ordinary string gives invalid escapes
        return ast.parse(source)


def needed(source: str, name: str, without: Collection[str] = ()) -> str:
    """Extract the part of a module that a definition needs, imports first; comments inside it are kept.

    If a name is defined twice, the last definition counts: in an answer key the solution, not the listing
    before it.

    Args:
        source: of the module.
        name: of the definition.
        without: names to omit together with their definitions, because they are available elsewhere.

    Raises:
        SyntaxError: or another one of `UNREADABLE`: the source is not valid Python.
    """
    tree = parsed(source)
    binding: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for bound in _bound(statement):
            # A definition replaces earlier bindings; an assignment may build on them (`x = x + 1`).
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
    """Return the module's names that a node uses; local names of functions are not among them."""
    if isinstance(node, ast.Name):
        return {node.id}
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set().union(*map(_global_names, ast.iter_child_nodes(node)))
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    around = (one for one in ast.iter_child_nodes(node) if one not in body)
    inside = set[str]().union(*map(_global_names, body)) - _locals(node.args, body)
    return inside.union(*map(_global_names, around))


def _locals(arguments: ast.arguments, body: Iterable[ast.AST]) -> set[str]:
    """Return the names that a function binds, without those bound by functions inside it."""
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
    """Decide whether a module defines or assigns a name at its top level; False if it is not valid Python."""
    try:
        return any(name in _bound(statement) for statement in parsed(source).body)
    except UNREADABLE:
        return False


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((one.asname or one.name).split(".")[0] for one in statement.names)
    elif isinstance(statement, _Definition):
        yield statement.name
    else:
        nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from (node.id for node in nodes if isinstance(node.ctx, ast.Store))


def lines_of(source: str) -> list[str]:
    """Split a module into lines with their ends, as Python counts them.

    ``str.splitlines`` would split at further characters, such as form feeds.
    """
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", source)


def first_line(statement: ast.stmt) -> int:
    """Return the line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


_Scope = _Definition | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Deferred = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.GeneratorExp
"""Nodes with code that runs later than their statement."""
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def bound_names(*nodes: ast.AST) -> set[str]:
    """Return the names that code assigns or defines in its own scope, imports excluded."""
    found: set[str] = set()
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Definition):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, _Scope):
            waiting += ast.iter_child_nodes(node)
    return found


class NameUse(NamedTuple):
    """The global names that a module uses, and when it uses them."""

    called: frozenset[str] = frozenset()
    """Read by the module's functions when they are called."""
    first: frozenset[str] = frozenset()
    """Read, perhaps by a function, before the module itself has bound them."""
    bound: frozenset[str] = frozenset()
    """Bound by the module in any case."""


def name_use(tree: ast.Module) -> NameUse:
    """Return the global names that a module uses.

    Raises:
        RecursionError: the module is nested too deeply.
    """
    reads, bound = set[str](), set[str]()
    _collect_reads(tree.body, reads, bound)
    return NameUse(frozenset(_read_when_called(tree)), frozenset(reads), frozenset(bound))


def _collect_reads(statements: Iterable[ast.stmt], reads: set[str], bound: set[str]) -> None:
    """Add to ``reads`` the names read while not in ``bound``, and to ``bound`` those certainly bound."""
    for statement in statements:
        inner: list[Iterable[ast.stmt]] = []
        maybe: set[str] = set()
        if isinstance(statement, ast.For | ast.AsyncFor):
            reads |= _names_read(statement.iter) - bound
            bound |= bound_names(statement.target)
            inner = [statement.body, statement.orelse]
        elif isinstance(statement, ast.If | ast.While):
            reads |= _names_read(statement.test) - bound
            inner = [statement.body, statement.orelse]
        elif isinstance(statement, ast.Try | ast.TryStar):
            maybe = {one.name for one in statement.handlers if one.name}
            kinds = (one.type for one in statement.handlers if one.type)
            reads |= set[str]().union(*map(_names_read, kinds)) - bound
            handlers = (one.body for one in statement.handlers)
            inner = [statement.body, *handlers, statement.orelse, statement.finalbody]
        elif isinstance(statement, ast.With | ast.AsyncWith):
            reads |= set[str]().union(*map(_names_read, statement.items)) - bound
            bound |= bound_names(*statement.items)
            _collect_reads(statement.body, reads, bound)
        else:
            reads |= _names_read(statement) - bound
            bound |= bound_names(statement)
        for block in inner:  # a block may not run, so its bindings count only within it
            _collect_reads(block, reads, bound | maybe)


def _read_when_called(node: ast.AST) -> set[str]:
    if isinstance(node, _Deferred):
        return _names_read(node)
    return set().union(*map(_read_when_called, ast.iter_child_nodes(node)))


def _names_read(node: ast.AST) -> set[str]:
    """Return the global names that code reads, those read by its functions included."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    found = set[str]().union(*map(_names_read, ast.iter_child_nodes(node)))
    # `x += 1` stores x in the tree, but reads it as well.
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return found | {node.target.id}
    if isinstance(node, ast.Global):
        return {*node.names}
    if isinstance(node, _Comprehension):
        targets = bound_names(*(one.target for one in node.generators))
        # The first iterable is evaluated outside of the comprehension's scope, so its targets do not hide it.
        return (found - targets) | _names_read(node.generators[0].iter)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        around = (one for one in ast.iter_child_nodes(node) if one not in body)
        inside = set[str]().union(*map(_names_read, body)) - _locals(node.args, body)
        return inside.union(*map(_names_read, around))
    return found
