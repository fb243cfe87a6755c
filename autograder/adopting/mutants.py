"""Small mistakes planted in an answer key, one at a time: a test that passes them all says little.

Each mutant is the cell's text with one place changed; which ones are made depends on the text alone.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping

from msgspec import Struct

from autograder.syntax import UNREADABLE, parsed

_COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_DROPPED = ast.Expr | ast.AugAssign | ast.If | ast.For | ast.While | ast.Raise
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_SAID = frozenset({"print", "display", "warn", "input"})
"""Calls whose texts are for people."""
_EITHER_WAY = frozenset(
    {"max", "min", "maximum", "minimum", "multiply", "add", "isclose", "allclose", "transpose", "swapaxes"}
)
"""Functions whose first two arguments may be swapped."""


class Mutant(Struct, frozen=True):
    """An answer key with one mistake."""

    source: str
    """The whole cell."""
    line: int
    """Of the cell, from 1."""
    before: str
    """The line as it is in the key."""
    after: str
    """As it is in the mutant."""
    mistake: str
    """What was done, in a few words."""


class _Change(Struct, frozen=True):
    """One place, by offsets in the UTF-8 of the source, and what stands there instead."""

    start: int
    end: int
    text: str
    mistake: str


def mutants(source: str, most: int) -> tuple[Mutant, ...]:
    """The mutants of a cell, mistakes of all sorts in turn.

    Args:
        source: of the answer key's cell; one that is no Python has none.
        most: how many there are at the most.
    """
    try:
        tree = parsed(source)
    except UNREADABLE:
        return ()
    sorts: dict[str, list[_Change]] = {}
    for change in _Places(source).changes(tree):
        sorts.setdefault(change.mistake, []).append(change)
    found: dict[str, Mutant] = {}
    plain = ast.dump(tree)
    for change in filter(None, itertools.chain(*itertools.zip_longest(*map(_spread, sorts.values())))):
        made = _applied(source, change)
        if made is not None and len(found) < most and made.source not in found and _differs(made, plain):
            found[made.source] = made
    return tuple(sorted(found.values(), key=lambda one: (one.line, one.mistake, one.after)))


def _spread(changes: list[_Change]) -> list[_Change]:
    """In an order whose beginning is taken from everywhere: halves, then quarters."""
    if len(changes) < 3:
        return changes
    middle = len(changes) // 2
    halves = itertools.zip_longest(_spread(changes[:middle]), _spread(changes[middle + 1 :]))
    return [changes[middle], *(one for pair in halves for one in pair if one is not None)]


def _differs(made: Mutant, plain: str) -> bool:
    try:
        return ast.dump(parsed(made.source)) != plain
    except UNREADABLE:
        return False


def _applied(source: str, change: _Change) -> Mutant | None:
    data = source.encode()
    changed = (data[: change.start] + change.text.encode() + data[change.end :]).decode()
    line = data[: change.start].count(b"\n")
    before, after = source.split("\n")[line].strip(), changed.split("\n")[line].strip()
    return Mutant(changed, line + 1, before, after, change.mistake) if before != after else None


class _Places:
    """Where a source can be changed."""

    def __init__(self, source: str) -> None:
        self._starts = [0, *itertools.accumulate(len(line) + 1 for line in source.encode().split(b"\n"))]

    def changes(self, node: ast.AST, *, inside: bool = False) -> Iterator[_Change]:
        """Those of a node and of all below it; texts for people are left alone."""
        if isinstance(node, ast.Raise):
            if inside:
                yield self._whole(node, "pass", "a statement is dropped")
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _SAID:
            return
        yield from self._of_node(node, inside=inside)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.JoinedStr | ast.arguments) or _is_annotation(node, child):
                continue
            yield from self.changes(child, inside=inside or isinstance(node, _FUNCTION))

    def _of_node(self, node: ast.AST, *, inside: bool) -> Iterator[_Change]:
        if isinstance(node, ast.Compare):
            yield from self._compared(node)
        elif isinstance(node, ast.BinOp):
            yield from self._computed(node)
        elif isinstance(node, ast.BoolOp):
            other = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield self._whole(node, f"({ast.unparse(other)})", "and for or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield self._whole(node, f"({ast.unparse(node.operand)})", "a sign or a not is missing")
        elif isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Call):
            yield from self._called(node)
        elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
            yield self._whole(node, "return None", "nothing is returned")
        if inside and isinstance(node, _DROPPED):
            yield self._whole(node, "pass", "a statement is dropped")

    def _compared(self, node: ast.Compare) -> Iterator[_Change]:
        for at, operator in enumerate(node.ops):
            if other := _COMPARED.get(type(operator)):
                changed = ast.Compare(
                    node.left, [*node.ops[:at], other(), *node.ops[at + 1 :]], node.comparators
                )
                yield self._whole(node, f"({ast.unparse(changed)})", "another comparison")

    def _computed(self, node: ast.BinOp) -> Iterator[_Change]:
        if other := _COMPUTED.get(type(node.op)):
            changed = ast.BinOp(node.left, other(), node.right)
            yield self._whole(node, f"({ast.unparse(changed)})", "another operator")
        if isinstance(node.op, ast.MatMult):
            swapped = ast.BinOp(node.right, node.op, node.left)
            yield self._whole(node, f"({ast.unparse(swapped)})", "operands are swapped")

    def _constant(self, node: ast.Constant) -> Iterator[_Change]:
        value = node.value
        if isinstance(value, bool):
            yield self._whole(node, str(not value), "another constant")
        elif isinstance(value, int):
            yield self._whole(node, str(value + 1), "off by one")
        elif isinstance(value, float):
            yield self._whole(node, repr(value * 2 if value else 1.0), "another constant")
        elif isinstance(value, str) and value:
            yield self._whole(node, repr(value + "x"), "another constant")

    def _called(self, node: ast.Call) -> Iterator[_Change]:
        name = ast.unparse(node.func).rpartition(".")[2]
        starred = any(isinstance(one, ast.Starred) for one in node.args)
        if len(node.args) > 1 and not starred and name not in _EITHER_WAY:
            first, second, *others = node.args
            swapped = ast.Call(node.func, [second, first, *others], node.keywords)
            yield self._whole(node, ast.unparse(swapped), "arguments are swapped")
        for keyword in node.keywords:
            kept = [one for one in node.keywords if one is not keyword]
            if keyword.arg:
                changed = ast.unparse(ast.Call(node.func, node.args, kept))
                yield self._whole(node, changed, "an argument is missing")

    def _whole(self, node: ast.expr | ast.stmt, text: str, mistake: str) -> _Change:
        return _Change(self._start(node), self._end(node), text, mistake)

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    if isinstance(node, _FUNCTION):
        return child is node.returns or child in node.decorator_list
    return isinstance(node, ast.AnnAssign | ast.arg) and child is node.annotation
