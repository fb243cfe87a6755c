r"""Closed forms of sums and products over an index: ``\sum_{l=1}^{L} 4 d^2`` is ``L * 4 d^2``.

The body of a sum may be a polynomial in the index, up to the third degree; power sums are Faulhaber's. The
body of a product must not contain the index, or be the index alone. Trees have no node for either, so
everything that reads trees sees ordinary arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from autograder.formulas.nodes import Add, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, collect_symbols

_MAX_DEGREE = 3
_ONE = Num(1)
_SMALL = (_ONE, Num(2), Num(3))


def sum_closed(index: str, lower: Node, upper: Node, body: Node) -> Node | None:
    """Return the sum of a body over all integers of a range as a formula without the index.

    The formula also holds for an empty range that ends one before its start.

    Args:
        index: the name of the index, which neither bound contains.
        lower: the first value.
        upper: the last value.
        body: the terms.

    Returns:
        None if the body is no polynomial in the index of degree 3 or less.
    """
    coefficients = _collect_coefficients(body, index)
    if coefficients is None:
        return None
    terms: list[Node] = []
    for degree, coefficient in sorted(coefficients.items()):
        if degree == 0:
            total = _count_values(lower, upper)
        else:
            total = _sum_powers(degree, upper)
            if lower not in (Num(0), _ONE):  # below 1 the power sums are zero: S(0) = S(-1) = 0
                total = Add((total, Neg(_sum_powers(degree, _make_sum(lower, Fraction(-1))))))
        terms.append(_multiply_pair(total, coefficient))
    return _join_terms(terms)


def multiply_closed(index: str, lower: Node, upper: Node, body: Node) -> Node | None:
    """Return the product of a body over all integers of a range as a formula without the index.

    Returns:
        None if the body contains the index otherwise than alone, from 1.
    """
    if index not in collect_symbols(body):
        return Pow(body, _count_values(lower, upper))
    if body == Sym(index) and lower == _ONE:
        return Fn("factorial", (upper,))
    return None


def _count_values(lower: Node, upper: Node) -> Node:
    """Return the number of integers from one bound to another, both included: ``upper - lower + 1``."""
    if isinstance(lower, Num):
        return _make_sum(upper, 1 - Fraction(lower.value))
    return _make_sum(Add((upper, Neg(lower))), Fraction(1))


def _make_sum(node: Node, number: Fraction) -> Node:
    """Return a formula plus a number; numbers among its terms are added up: ``L - 1 + 1`` is ``L``."""
    rest: list[Node] = []
    for term in node.terms if isinstance(node, Add) else (node,):
        if isinstance(term, Num):
            number += term.value
        elif isinstance(term, Neg) and isinstance(term.operand, Num):
            number -= term.operand.value
        else:
            rest.append(term)
    if number or not rest:
        size = abs(number)
        constant = Num(int(size) if size.denominator == 1 else size)
        rest.append(Neg(constant) if number < 0 else constant)
    return rest[0] if len(rest) == 1 else Add(tuple(rest))


def _sum_powers(degree: int, last: Node) -> Node:
    """Return 1 + 2^degree + … + last^degree."""
    following = _make_sum(last, Fraction(1))
    triangle = Div(Mul((last, following)), Num(2))
    if degree == 1:
        return triangle
    if degree == 2:
        return Div(Mul((last, following, Add((Mul((Num(2), last)), _ONE)))), Num(6))
    return Pow(triangle, Num(2))


def _collect_coefficients(node: Node, index: str) -> Mapping[int, Node] | None:
    """Return degree → coefficient of a polynomial in the index, up to the third degree."""
    if index not in collect_symbols(node):
        return {0: node}
    if isinstance(node, Sym):
        return {1: _ONE}
    if isinstance(node, Neg):
        inner = _collect_coefficients(node.operand, index)
        return None if inner is None else {degree: Neg(part) for degree, part in inner.items()}
    if isinstance(node, Add):
        return _add_terms(node, index)
    if isinstance(node, Mul):
        return _multiply_factors(node.factors, index)
    if isinstance(node, Div) and index not in collect_symbols(node.denominator):
        above = _collect_coefficients(node.numerator, index)
        return (
            None if above is None else {degree: Div(part, node.denominator) for degree, part in above.items()}
        )
    if isinstance(node, Pow) and node.exponent in _SMALL:
        return _multiply_factors((node.base,) * (1 + _SMALL.index(node.exponent)), index)
    return None


def _add_terms(node: Add, index: str) -> Mapping[int, Node] | None:
    collected: dict[int, list[Node]] = {}
    for term in node.terms:
        inner = _collect_coefficients(term, index)
        if inner is None:
            return None
        for degree, part in inner.items():
            collected.setdefault(degree, []).append(part)
    return {degree: _join_terms(parts) for degree, parts in collected.items()}


def _multiply_factors(factors: Sequence[Node], index: str) -> Mapping[int, Node] | None:
    product: Mapping[int, Node] = {0: _ONE}
    for factor in factors:
        inner = _collect_coefficients(factor, index)
        if inner is None or max(product) + max(inner) > _MAX_DEGREE:
            return None
        collected: dict[int, list[Node]] = {}
        for degree, part in product.items():
            for more, other in inner.items():
                collected.setdefault(degree + more, []).append(_multiply_pair(part, other))
        product = {degree: _join_terms(parts) for degree, parts in collected.items()}
    return product


def _join_terms(terms: Sequence[Node]) -> Node:
    return terms[0] if len(terms) == 1 else Add(tuple(terms))


def _multiply_pair(first: Node, second: Node) -> Node:
    if first == _ONE:
        return second
    return first if second == _ONE else Mul((first, second))
