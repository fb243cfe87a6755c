"""Parse Python source to a syntax tree, in any thread. The source is never run."""

from __future__ import annotations

import ast
import re
import threading
import unicodedata
import warnings
from collections.abc import Iterable
from typing import NamedTuple

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions of the parser for source that is not valid Python, or nested too deeply."""

# CPython counts the recursion depth of all threads together and fails if two trees are built at the same
# time: "AST constructor recursion depth mismatch". Warning filters are global to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HIGHEST = 30
"""Maximum of combining marks on one letter; Unicode's stream-safe text format allows no more."""


def _has_mark_towers(source: str) -> bool:
    """Decide whether one letter has too many combining marks.

    The parser normalises identifiers, and sorting very many marks would take long.
    """
    height = 0
    for char in "" if source.isascii() else source:
        height = height + 1 if unicodedata.combining(char) else 0
        if height > _HIGHEST:
            return True
    return False


def parse_module(source: str) -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError: the source is not valid Python.
        ValueError: it has a character that no source may have, or too many marks on one letter.
        RecursionError: it is nested too deeply.
        MemoryError: it is nested too deeply.
    """
    if _has_mark_towers(source):
        raise ValueError("too many marks on one letter")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LaTeX in an ordinary string gives invalid escapes
        return ast.parse(source)


def _collect_locals(arguments: ast.arguments, body: Iterable[ast.AST]) -> set[str]:
    """Return the names that a function binds, without those bound by functions inside it."""
    names = {argument.arg for argument in ast.walk(arguments) if isinstance(argument, ast.arg)}
    outside: set[str] = set()
    pending = [*body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global):
            outside |= {*node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, _Definition):
            names.add(node.name)
        if not isinstance(node, ast.Lambda | _Definition):
            pending += ast.iter_child_nodes(node)
    return names - outside


def split_lines(source: str) -> list[str]:
    """Split a module into lines with their ends, as Python counts them.

    ``str.splitlines`` would split at further characters, such as form feeds.
    """
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", source)


def find_first_line(statement: ast.stmt) -> int:
    """Return the line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


_Scope = _Definition | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Deferred = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.GeneratorExp
"""Nodes with code that runs later than their statement."""
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def collect_bound_names(*nodes: ast.AST) -> set[str]:
    """Return the names that code assigns or defines in its own scope, imports excluded."""
    names: set[str] = set()
    pending = [*nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, _Definition):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, _Scope):
            pending += ast.iter_child_nodes(node)
    return names


class NameUse(NamedTuple):
    """The global names that a module uses, and when it uses them."""

    called: frozenset[str] = frozenset()
    """Read by the module's functions when they are called."""
    first: frozenset[str] = frozenset()
    """Read, perhaps by a function, before the module itself has bound them."""
    bound: frozenset[str] = frozenset()
    """Bound by the module in any case."""


def find_name_use(tree: ast.Module) -> NameUse:
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
            reads |= _collect_read_names(statement.iter) - bound
            bound |= collect_bound_names(statement.target)
            inner = [statement.body, statement.orelse]
        elif isinstance(statement, ast.If | ast.While):
            reads |= _collect_read_names(statement.test) - bound
            inner = [statement.body, statement.orelse]
        elif isinstance(statement, ast.Try | ast.TryStar):
            maybe = {part.name for part in statement.handlers if part.name}
            kinds = (part.type for part in statement.handlers if part.type)
            reads |= set[str]().union(*map(_collect_read_names, kinds)) - bound
            handlers = (part.body for part in statement.handlers)
            inner = [statement.body, *handlers, statement.orelse, statement.finalbody]
        elif isinstance(statement, ast.With | ast.AsyncWith):
            reads |= set[str]().union(*map(_collect_read_names, statement.items)) - bound
            bound |= collect_bound_names(*statement.items)
            _collect_reads(statement.body, reads, bound)
        else:
            reads |= _collect_read_names(statement) - bound
            bound |= collect_bound_names(statement)
        for block in inner:  # a block may not run, so its bindings count only within it
            _collect_reads(block, reads, bound | maybe)


def _read_when_called(node: ast.AST) -> set[str]:
    if isinstance(node, _Deferred):
        return _collect_read_names(node)
    return set().union(*map(_read_when_called, ast.iter_child_nodes(node)))


def _collect_read_names(node: ast.AST) -> set[str]:
    """Return the global names that code reads, those read by its functions included."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    names = set[str]().union(*map(_collect_read_names, ast.iter_child_nodes(node)))
    # `x += 1` stores x in the tree, but reads it as well.
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return names | {node.target.id}
    if isinstance(node, ast.Global):
        return {*node.names}
    if isinstance(node, _Comprehension):
        targets = collect_bound_names(*(part.target for part in node.generators))
        # The first iterable is evaluated outside of the comprehension's scope, so its targets do not hide it.
        return (names - targets) | _collect_read_names(node.generators[0].iter)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        around = (part for part in ast.iter_child_nodes(node) if part not in body)
        inside = set[str]().union(*map(_collect_read_names, body)) - _collect_locals(node.args, body)
        return inside.union(*map(_collect_read_names, around))
    return names
