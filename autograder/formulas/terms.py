"""Expand a formula into the terms of a sum. The number is bounded; like terms are not collected."""

from __future__ import annotations

from collections.abc import Callable

from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow

MAX_TERMS = 24


def expand_terms(node: Node) -> tuple[Node, ...]:
    """Return the terms of a formula; only the formula itself if it is not a sum or has too many."""
    expanded = _expand_node(node)
    return (node,) if expanded is None else expanded


def _expand_node(node: Node) -> tuple[Node, ...] | None:
    match node:
        case Add(parts):
            return _join_terms([_expand_node(part) for part in parts])
        case Neg(operand):
            return _map_terms(_expand_node(operand), Neg)
        case Div(numerator, denominator):
            return _map_terms(_expand_node(numerator), lambda term: Div(term, denominator))
        case Pow(base, Num(2)) if isinstance(base, Add):
            return _expand_product((base, base))
        case Mul(factors):
            return _expand_product(factors)
    return (node,)


def _join_terms(parts: list[tuple[Node, ...] | None]) -> tuple[Node, ...] | None:
    joined: list[Node] = []
    for part in parts:
        if part is None or len(joined) + len(part) > MAX_TERMS:
            return None
        joined.extend(part)
    return tuple(joined)


def _map_terms(parts: tuple[Node, ...] | None, wrap: Callable[[Node], Node]) -> tuple[Node, ...] | None:
    return None if parts is None else tuple(wrap(part) for part in parts)


def _expand_product(factors: tuple[Node, ...]) -> tuple[Node, ...] | None:
    products: list[tuple[Node, ...]] = [()]
    for factor in factors:
        parts = _expand_node(factor)
        if parts is None or len(products) * len(parts) > MAX_TERMS:
            return None
        # The product of the numbers of terms is bounded before it is formed.
        products = [(*product, part) for product in products for part in parts]
    return tuple(Mul(product) for product in products)
