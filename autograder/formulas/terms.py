"""Expand a formula into the terms of a sum. The number is bounded; like terms are not collected."""

from __future__ import annotations

from collections.abc import Callable

from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow

MAX_TERMS = 24


def terms(node: Node) -> tuple[Node, ...]:
    """Return the terms of a formula; only the formula itself if it is not a sum or has too many."""
    expanded = _expanded(node)
    return (node,) if expanded is None else expanded


def _expanded(node: Node) -> tuple[Node, ...] | None:
    match node:
        case Add(parts):
            return _joined([_expanded(part) for part in parts])
        case Neg(operand):
            return _mapped(_expanded(operand), Neg)
        case Div(numerator, denominator):
            return _mapped(_expanded(numerator), lambda term: Div(term, denominator))
        case Pow(base, Num(2)) if isinstance(base, Add):
            return _product((base, base))
        case Mul(factors):
            return _product(factors)
    return (node,)


def _joined(parts: list[tuple[Node, ...] | None]) -> tuple[Node, ...] | None:
    joined: list[Node] = []
    for part in parts:
        if part is None or len(joined) + len(part) > MAX_TERMS:
            return None
        joined.extend(part)
    return tuple(joined)


def _mapped(parts: tuple[Node, ...] | None, wrap: Callable[[Node], Node]) -> tuple[Node, ...] | None:
    return None if parts is None else tuple(wrap(part) for part in parts)


def _product(factors: tuple[Node, ...]) -> tuple[Node, ...] | None:
    products: list[tuple[Node, ...]] = [()]
    for factor in factors:
        parts = _expanded(factor)
        if parts is None or len(products) * len(parts) > MAX_TERMS:
            return None
        # The product of the numbers of terms is bounded before it is formed.
        products = [(*product, part) for product in products for part in parts]
    return tuple(Mul(product) for product in products)
