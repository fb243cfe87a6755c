"""Operations of a formula read as other ones: a sum for a product, brackets lost, a fraction upside down."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.algebra.mistakes.edits import product, total
from autograder.algebra.nodes import Add, Div, Fn, Mul, Node, Num, Pow, children, rebuilt


def misread(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """Each operation of the formula as it is written read as another one: code, formula, place."""
    for code, changed in _here(node):
        yield code, changed, node
    below = children(node)
    for index, child in enumerate(below):
        for code, changed, at in misread(child):
            yield code, rebuilt(node, (*below[:index], changed, *below[index + 1 :])), at


def _here(node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case Mul(factors):
            yield from _product_as(factors)
        case Add(terms):
            yield from _sum_as(terms)
        case Pow(base, Num() as exponent):
            yield "product-for-power", Mul((base, exponent))
            yield "sum-for-power", Add((base, exponent))
        case Pow(base, exponent):
            yield "product-for-power", Mul((base, exponent))
            yield "base-and-exponent", Pow(exponent, base)
        case Div(numerator, denominator):
            yield "product-for-quotient", Mul((numerator, denominator))
            yield "reciprocal", Div(denominator, numerator)
        case Fn(_, arguments):
            yield "function-forgotten", arguments[0]


def _product_as(factors: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    yield "sum-for-product", Add(factors)
    for cut in range(1, len(factors)):
        yield "sum-for-product", Add((product(factors[:cut]), product(factors[cut:])))
    for index, factor in enumerate(factors):
        others = (*factors[:index], *factors[index + 1 :])
        if isinstance(factor, Add):
            yield from _brackets(others, factor.terms)
            yield "quotient-for-product", Div(product(others), factor)
        elif len(factors) > 2:
            yield "sum-for-product", Add((product(others), factor))


def _sum_as(terms: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    yield "product-for-sum", Mul(terms)
    for cut in range(1, len(terms)):
        yield "product-for-sum", Mul((total(terms[:cut]), total(terms[cut:])))
    for index in range(len(terms) - 1):
        both = Mul((terms[index], terms[index + 1]))
        yield "product-for-sum", total((*terms[:index], both, *terms[index + 2 :]))


def _brackets(others: tuple[Node, ...], terms: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    """A factor reaches only the first or only the last term of the brackets beside it."""
    outside = product(others)
    yield "brackets", total((Mul((outside, terms[0])), *terms[1:]))
    yield "brackets", total((*terms[:-1], Mul((outside, terms[-1]))))
