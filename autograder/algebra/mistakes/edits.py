"""Small changes to formulas: one part replaced, two symbols swapped, a factor more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.algebra.nodes import (
    Add,
    Div,
    Mul,
    Node,
    Num,
    Pow,
    Sym,
    children,
    rebuilt,
    substitute,
)


def one_place(node: Node, name: str, made: Node) -> Iterator[Node]:
    """The formula with one occurrence of a symbol replaced, for each occurrence."""
    if isinstance(node, Sym):
        if node.name == name:
            yield made
        return
    if isinstance(node, Pow) and isinstance(node.exponent, Num) and node.exponent.value == 2:
        node = Mul((node.base, node.base))
    below = children(node)
    for index, child in enumerate(below):
        for other in one_place(child, name, made):
            yield rebuilt(node, (*below[:index], other, *below[index + 1 :]))


def times(part: Node, name: str, power: int) -> Node:
    """A term times a power of a symbol."""
    factor: Node = Sym(name) if abs(power) == 1 else Pow(Sym(name), Num(abs(power)))
    return Mul((part, factor)) if power > 0 else Div(part, factor)


def swapped(node: Node, first: str, second: str) -> Node:
    """Two symbols in each other's place."""
    between = Sym("")
    moved = substitute(node, first, between)
    return substitute(substitute(moved, second, Sym(first)), "", Sym(second))


def product(factors: Sequence[Node]) -> Node:
    """The product; a single factor alone."""
    return factors[0] if len(factors) == 1 else Mul(tuple(factors))


def total(terms: Sequence[Node]) -> Node:
    """The sum; a single term alone."""
    return terms[0] if len(terms) == 1 else Add(tuple(terms))
