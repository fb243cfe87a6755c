"""Immutable trees of formulas. A tree preserves the way a formula was written.

``gc=False``: a tree has no cycles, so the garbage collector need not track it; this halves the cost of
building one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct


class Num(Struct, frozen=True, gc=False):
    """A number written out, exact; never negative."""

    value: int | Fraction


class Const(Struct, frozen=True, gc=False):
    """``pi`` or ``e``."""

    name: str


class Sym(Struct, frozen=True, gc=False):
    """A declared symbol, by its declared name."""

    name: str


class Neg(Struct, frozen=True, gc=False):
    """A minus sign."""

    operand: Node


class Add(Struct, frozen=True, gc=False):
    """A sum of two or more terms; a difference has a `Neg` term."""

    terms: tuple[Node, ...]


class Mul(Struct, frozen=True, gc=False):
    """A product of two or more factors."""

    factors: tuple[Node, ...]


class Div(Struct, frozen=True, gc=False):
    """A quotient."""

    numerator: Node
    denominator: Node


class Pow(Struct, frozen=True, gc=False):
    """A power."""

    base: Node
    exponent: Node


class Fn(Struct, frozen=True, gc=False):
    """A function of `FUNCTIONS` applied to one or more arguments."""

    name: str
    arguments: tuple[Node, ...]


Node = Num | Const | Sym | Neg | Add | Mul | Div | Pow | Fn


class Relation(Struct, frozen=True, gc=False):
    """An equation or an inequality."""

    left: Node
    right: Node
    sign: str = "="
    """``"="``, ``"<"``, ``"≤"``, ``">"`` or ``"≥"``."""


class Tuple(Struct, frozen=True, gc=False):
    """A list of formulas in order, e.g. a shape."""

    elements: tuple[Node, ...]


Tree = Node | Relation | Tuple

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "sqrt": (1, 1),
    "exp": (1, 1),
    "log": (1, 2),
    "ln": (1, 1),
    "lg": (1, 1),
    "max": (1, 16),
    "min": (1, 16),
    "factorial": (1, 1),
    "binomial": (2, 2),
    "ceil": (1, 1),
    "floor": (1, 1),
    "abs": (1, 1),
    "sigmoid": (1, 1),
    "tanh": (1, 1),
    "sin": (1, 1),
    "cos": (1, 1),
}
"""Name → least and largest number of arguments.

``log`` is natural unless a base is its second argument; ``lg`` has base 10."""


_PARTS: Mapping[type, Callable[[Any], tuple[Node, ...]]] = {
    Num: lambda _: (),
    Const: lambda _: (),
    Sym: lambda _: (),
    Neg: lambda node: (node.operand,),
    Add: lambda node: node.terms,
    Mul: lambda node: node.factors,
    Div: lambda node: (node.numerator, node.denominator),
    Pow: lambda node: (node.base, node.exponent),
    Fn: lambda node: node.arguments,
    Relation: lambda node: (node.left, node.right),
    Tuple: lambda node: node.elements,
}
"""Type → its parts. A lookup by type is five times as fast as matching one pattern after the other."""


def get_children(tree: Tree) -> tuple[Node, ...]:
    """Return the parts directly below the root of a tree, in the order they were written."""
    return _PARTS[type(tree)](tree)


def walk_tree(tree: Tree) -> Iterator[Tree]:
    """Yield the tree and all its parts, each part before the parts below it, in the order written."""
    pending = [tree]
    # An explicit stack instead of recursion: generators would be nested once per level.
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(_PARTS[type(node)](node)))


def collect_symbols(tree: Tree) -> frozenset[str]:
    """Return the names of the symbols that occur in a tree."""
    names: set[str] = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Sym):
            names.add(node.name)
        # A short cut for the most frequent nodes: this function runs for every answer.
        elif isinstance(node, Mul):
            pending.extend(node.factors)
        elif not isinstance(node, Num):
            pending.extend(get_children(node))
    return frozenset(names)


def substitute_symbol(node: Node, name: str, replacement: Node) -> Node:
    """Replace a symbol by a formula."""
    if isinstance(node, Sym):
        return replacement if node.name == name else node
    # Constants and numbers are shared: trees are immutable.
    if isinstance(node, (Num, Const)):
        return node
    return rebuild_node(node, [substitute_symbol(part, name, replacement) for part in get_children(node)])


def rebuild_node(node: Node, parts: Sequence[Node]) -> Node:
    """Return a node of the same kind with other parts."""
    if isinstance(node, (Num, Const, Sym)):
        return node
    if isinstance(node, Fn):
        return Fn(node.name, tuple(parts))
    # Sums and products have one field with all parts; the other nodes have one field per part.
    return type(node)(tuple(parts)) if isinstance(node, (Add, Mul)) else type(node)(*parts)
