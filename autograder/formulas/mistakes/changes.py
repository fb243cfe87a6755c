"""Mistakes that a student may have made in one part of a formula, each with its correction.

Each `Change` is a formula that replaces the part. Its message says no more than that: with another formula in
this place, the whole would be correct. The small edits that all mistakes consist of are at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain

from msgspec import Struct

from autograder.formulas.nodes import (
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    get_children,
    rebuild_node,
    substitute_symbol,
)

ONE = Num(1)

ROUNDINGS = ("floor", "ceil")
LOGARITHMS = ("ln", "log", "lg")
_GROUPS = (
    ROUNDINGS,
    ("max", "min"),
    ("sin", "cos"),
    ("sigmoid", "tanh"),
    ("sqrt", "ln", "exp"),
    ("abs", "sqrt"),
)
"""Functions that are confused with one another."""
_WRAPS = ("sqrt", "ln", "exp", "floor", "ceil", "sigmoid", "tanh", "abs")
"""Functions that are often forgotten."""


class Change(Struct, frozen=True):
    """A replacement for a part of the student's formula.

    Attributes:
        code: the kind of mistake that the replacement corrects.
        made: the replacement.
        about: the part of the student's formula that the message names.
        kind: how the message names it: ``"part"``, ``"term"``, ``"symbol"``, ``"number"`` or ``"name"``.
    """

    code: str
    changed_node: Node
    about: Node | None = None
    kind: str = ""


def make_logarithm(node: Node, base: int) -> Node:
    """Return the logarithm to a base; base 0 means the natural logarithm."""
    return Fn("log", (node, Num(base))) if base not in (0, 10) else Fn("lg" if base else "ln", (node,))


def generate_function_changes(node: Fn) -> Iterator[Change]:
    """Yield other functions of the same arguments, and the first argument alone."""
    name, arguments = node.name, node.arguments
    first = arguments[0]
    if name in LOGARITHMS:
        # The bases in use: natural, binary and decimal.
        for base in (0, 2, 10):
            yield Change("log-base", make_logarithm(first, base))
    for group in _GROUPS:
        if name in group:
            code = "rounding" if group is ROUNDINGS else "function-replaced"
            for other in group:
                if other != name:
                    yield Change(code, Fn(other, arguments), node, "name" if code != "rounding" else "")
    if len(arguments) == 1:
        yield Change("function-too-much", first, node, "name")
        if name == "sqrt":
            yield Change("function-replaced", Pow(first, Num(2)), node, "name")


def generate_structure_changes(node: Node) -> Iterator[Change]:
    """Yield exchanged operations, moved brackets and omitted parts."""
    match node:
        case Add(terms):
            yield from _generate_sum_changes(terms)
        case Mul(factors):
            yield from _generate_product_changes(factors)
        case Div(numerator, denominator):
            yield from _generate_quotient_changes(numerator, denominator)
        case Pow(base, exponent):
            yield Change("base-and-exponent", Pow(exponent, base))
            yield Change("power-for-product", Mul((base, exponent)))
        case Fn():
            yield from generate_function_changes(node)


def _is_unit(node: Node) -> bool:
    """Return whether a part is 1 or -1: an operation with it is not taken for another one."""
    return strip_sign(node) == ONE


def _generate_sum_changes(terms: tuple[Node, ...]) -> Iterator[Change]:
    """Yield changes of a sum."""
    if not any(map(_is_unit, terms)):
        yield Change("sum-for-product", Mul(terms))
    for index in range(len(terms) - 1):
        first, second = terms[index], terms[index + 1]
        if not (_is_unit(first) or _is_unit(second)):
            both = Mul((first, second))
            yield Change("sum-for-product", make_sum((*terms[:index], both, *terms[index + 2 :])))
            for power in (Pow(first, second), Pow(second, first)):
                yield Change("sum-for-power", make_sum((*terms[:index], power, *terms[index + 2 :])))
    # At least two terms on either side.
    for cut in range(2, len(terms) - 1):
        yield Change("sum-for-product", Mul((make_sum(terms[:cut]), make_sum(terms[cut:]))))
    for index, term in enumerate(terms):
        before, after = terms[:index], terms[index + 1 :]
        yield Change("extra-term", make_sum((*before, *after)), strip_sign(term), "term")
        for position, other in enumerate(other_terms := (*before, *after)):
            remaining = (*other_terms[:position], *other_terms[position + 1 :])
            for inside in _move_term_inside(other, term):
                yield Change("belongs-inside", make_sum((inside, *remaining)), strip_sign(term), "part")
    for bracketed in generate_bracketings(Add(terms)):
        yield Change("brackets", bracketed)


def generate_bracketings(node: Add) -> Iterator[Node]:
    """Yield the sum with a factor or the divisor of one term applied to all terms."""
    for index, term in enumerate(node.terms):
        before, after = node.terms[:index], node.terms[index + 1 :]
        signed = Neg if isinstance(term, Neg) else lambda inner: inner
        match strip_sign(term):
            case Mul(factors):
                for position, factor in enumerate(factors):
                    remaining = make_product((*factors[:position], *factors[position + 1 :]))
                    yield Mul((factor, Add((*before, signed(remaining), *after))))
                # Several factors may have been applied to one term, not only one.
                for cut in range(2, len(factors)):
                    inner = Add((*before, signed(make_product(factors[cut:])), *after))
                    yield Mul((make_product(factors[:cut]), inner))
            case Div(numerator, denominator):
                yield Div(Add((*before, signed(numerator), *after)), denominator)
        if isinstance(term, Neg) and not before:
            yield Neg(Add((term.operand, *after)))


def _move_term_inside(host: Node, term: Node) -> Iterator[Node]:
    """Yield formulas in which one term of a sum is moved inside another."""
    match host:
        case Fn(name, (argument,)):
            yield Fn(name, (Add((argument, term)),))
        case Pow(base, exponent):
            yield Pow(Add((base, term)), exponent)
            yield Pow(base, Add((exponent, term)))
        case Div(numerator, denominator):
            yield Div(numerator, Add((denominator, term)))
        case Mul(factors):
            for position, factor in enumerate(factors):
                for inside in _move_term_inside(factor, term):
                    yield Mul((*factors[:position], inside, *factors[position + 1 :]))
        case Neg(operand):
            for inside in (*_move_term_inside(operand, term), *_move_term_inside(operand, Neg(term))):
                yield Neg(inside)


def _generate_product_changes(factors: tuple[Node, ...]) -> Iterator[Change]:
    """Yield changes of a product."""
    yield Change("product-for-sum", Add(factors))
    for cut in range(1, len(factors)):
        first, second = make_product(factors[:cut]), make_product(factors[cut:])
        if len(factors) > 2:
            yield Change("product-for-sum", Add((first, second)))
        yield Change("product-for-power", Pow(first, second))
        yield Change("product-for-power", Pow(second, first))
    for index, factor in enumerate(factors):
        other_factors = (*factors[:index], *factors[index + 1 :])
        yield Change("extra-factor", make_product(other_factors), factor, "part")
        terms = factor.terms if isinstance(factor, Add) else ()
        for position, term in enumerate(terms):
            remaining = (*terms[:position], *terms[position + 1 :])
            yield Change(
                "brackets-too-wide", make_sum((Mul((make_product(other_factors), term)), *remaining))
            )
        for inside in _move_factor_inside(factor, make_product(other_factors)):
            yield Change("belongs-inside", inside, make_product(other_factors), "part")
        for position, other in enumerate(other_factors) if len(other_factors) > 1 else ():
            remaining = (*other_factors[:position], *other_factors[position + 1 :])
            for inside in _move_factor_inside(factor, other):
                yield Change("belongs-inside", Mul((*remaining, inside)), other, "part")
    for index in range(len(factors) - 1) if len(factors) > 2 else ():
        before, first, second, after = factors[:index], *factors[index : index + 2], factors[index + 2 :]
        yield Change("product-for-power", Mul((*before, Pow(first, second), *after)))
        yield Change("product-for-power", Mul((*before, Pow(second, first), *after)))
        yield Change("product-for-sum", Mul((*before, Add((first, second)), *after)))


def _move_factor_inside(host: Node, outside: Node) -> Iterator[Node]:
    """Yield formulas in which a factor is moved inside an adjacent function, power or fraction."""
    match host:
        case Fn(name, (argument,)):
            yield Fn(name, (Mul((outside, argument)),))
        case Pow(base, exponent):
            yield Pow(Mul((outside, base)), exponent)
            yield Pow(base, Mul((exponent, outside)))
        case Div(numerator, denominator):
            yield Div(numerator, Mul((denominator, outside)))


def _generate_quotient_changes(numerator: Node, denominator: Node) -> Iterator[Change]:
    """Yield changes of a quotient."""
    yield Change("reciprocal", Div(denominator, numerator), Div(numerator, denominator), "part")
    yield Change("extra-divisor", numerator, denominator, "part")
    for inside in _move_divisor_inside(numerator, denominator):
        yield Change("belongs-inside", inside, denominator, "part")
    if isinstance(denominator, Fn) and len(denominator.arguments) == 1:
        moved = Fn(denominator.name, (Div(numerator, denominator.arguments[0]),))
        yield Change("belongs-inside", moved, numerator, "part")


def _move_divisor_inside(host: Node, divisor: Node) -> Iterator[Node]:
    """Yield formulas in which a divisor is moved inside the formula that it divides."""
    match host:
        case Fn(name, (argument,)):
            yield Fn(name, (Div(argument, divisor),))
        case Pow(base, exponent):
            yield Pow(Div(base, divisor), exponent)
            yield Pow(base, Div(exponent, divisor))
        case Mul(factors):
            for position, factor in enumerate(factors):
                for inside in _move_divisor_inside(factor, divisor):
                    yield Mul((*factors[:position], inside, *factors[position + 1 :]))


def generate_value_changes(node: Node, parent: Node | None, names: Mapping[str, None]) -> Iterator[Change]:  # noqa: C901 - many ways
    """Yield other values that a part may have been meant to have.

    These are another symbol, another power, a function applied to it, or the complement.
    """
    match node:
        case Sym(name):
            for other in names:
                if other != name:
                    yield Change("symbol-replaced", Sym(other), node, "symbol")
            if not isinstance(parent, Pow):  # otherwise the exponent would be the mistake
                for raised in (2, 3, 4, Fraction(3, 2)):
                    yield Change("power-too-small", Pow(node, Num(raised)), node, "symbol")
                yield Change("power-too-large", Fn("sqrt", (node,)), node, "symbol")
            for shifted in (Add((node, ONE)), Add((node, Neg(ONE)))):
                yield Change("off-by-one", shifted, node, "symbol")
        case Pow(base, Num(power)):
            if power == 2:
                yield from _generate_square_changes(base, names)
            for tried in (1, 2, 3, 4, Fraction(1, 2), Fraction(3, 2)):
                if tried != power:
                    code = "power-too-large" if tried < power else "power-too-small"
                    if isinstance(base, Sym):
                        yield Change(code, Pow(base, Num(tried)), base, "symbol")
                    else:
                        yield Change("power-of-part", Pow(base, Num(tried)), base, "part")
        case Num():
            for other in names:
                yield Change("part-replaced", Sym(other), node, "part")
    if not isinstance(node, Num):
        for wrap in _WRAPS:
            code = "rounding-forgotten" if wrap in ROUNDINGS else "function-forgotten"
            yield Change(code, Fn(wrap, (node,)), node, "part")
        yield Change("function-forgotten", make_logarithm(node, 2), node, "part")
        yield Change("function-forgotten", make_logarithm(node, 10), node, "part")
        if not isinstance(node, Sym | Pow) and not (isinstance(node, Fn) and node.name == "exp"):
            yield Change("function-forgotten", Pow(node, Num(2)), node, "part")
        yield Change("part-replaced", Add((ONE, Neg(node))), node, "part")


def _generate_square_changes(base: Node, names: Mapping[str, None]) -> Iterator[Change]:
    """Yield squares in which one of the two factors is another one."""
    if isinstance(base, Sym):
        for other in names:
            yield Change("symbol-replaced", Mul((base, Sym(other))), base, "symbol")
    for wrapped in (
        *(Fn(wrap, (base,)) for wrap in _WRAPS),
        make_logarithm(base, 2),
        make_logarithm(base, 10),
    ):
        yield Change("function-forgotten", Mul((base, wrapped)), base, "part")


def strip_sign(node: Node) -> Node:
    """Return a term without its sign."""
    return node.operand if isinstance(node, Neg) else node


def generate_variants(
    node: Node, names: Mapping[str, None], parent: Node | None = None
) -> Iterator[tuple[str, Node]]:
    """Yield the code of each change with the formula after that change in one place."""
    for change in chain(generate_structure_changes(node), generate_value_changes(node, parent, names)):
        yield change.code, change.changed_node
    # The change is made inside one child, and the tree is rebuilt around it.
    operands = get_children(node)
    for index, child in enumerate(operands):
        for code, changed in generate_variants(child, names, node):
            yield code, rebuild_node(node, (*operands[:index], changed, *operands[index + 1 :]))


def swap_symbols(node: Node, first: str, second: str) -> Node:
    """Exchange two symbols."""
    # A placeholder that no formula contains keeps the two substitutions apart.
    placeholder = Sym("")
    moved = substitute_symbol(node, first, placeholder)
    return substitute_symbol(substitute_symbol(moved, second, Sym(first)), "", Sym(second))


def make_product(factors: Sequence[Node]) -> Node:
    """Return the product; a single factor alone."""
    return factors[0] if len(factors) == 1 else Mul(tuple(factors))


def make_sum(terms: Sequence[Node]) -> Node:
    """Return the sum; a single term alone."""
    return terms[0] if len(terms) == 1 else Add(tuple(terms))
