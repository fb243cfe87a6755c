"""What a student may have done wrong in one place of a formula, undone there.

Each `Change` is a formula to stand in the place instead. What is said about it says no more than that:
with another one in this place, the whole would be right. At the end stand the small edits that all
mistakes are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

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
    children,
    rebuilt,
    substitute,
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
"""Functions that are taken for one another."""
_WRAPS = ("sqrt", "ln", "exp", "floor", "ceil", "sigmoid", "tanh", "abs")
"""Functions that are forgotten."""


class Change(Struct, frozen=True):
    """What stands in a place instead of what the student wrote there.

    Attributes:
        code: what was done wrong there.
        made: what stands there instead.
        about: the part of the student's formula that the sentence names.
        kind: as what it names it: ``"part"``, ``"term"``, ``"symbol"``, ``"number"`` or ``"name"``.
    """

    code: str
    made: Node
    about: Node | None = None
    kind: str = ""


def logarithm(node: Node, base: int) -> Node:
    """The logarithm to another base; 0 for the natural one."""
    return Fn("log", (node, Num(base))) if base not in (0, 10) else Fn("lg" if base else "ln", (node,))


def functions(node: Fn) -> Iterator[Change]:  # noqa: C901 - many ways
    """Another function of the same arguments, or the first argument alone."""
    name, arguments = node.name, node.arguments
    first = arguments[0]
    if name in LOGARITHMS:
        for base in (0, 2, 10):
            yield Change("log-base", logarithm(first, base))
    for group in _GROUPS:
        if name in group:
            code = "rounding" if group is ROUNDINGS else "function-replaced"
            for other in group:
                if other != name:
                    yield Change(code, Fn(other, arguments), node, "name" if code != "rounding" else "")
    if len(arguments) > 1 and name not in ("max", "min") and not isinstance(arguments[1], Num):
        yield Change("arguments-swapped", Fn(name, arguments[::-1]), node, "name")
    if name == "exp":
        for base in (2, 10):
            yield Change("power-base", Pow(Num(base), first))
    if len(arguments) == 1:
        yield Change("function-too-much", first, node, "name")
        if name == "sqrt":
            yield Change("function-replaced", Pow(first, Num(2)), node, "name")


def written(node: Node) -> Iterator[Change]:
    """Operations exchanged for others, brackets moved, parts left out."""
    match node:
        case Add(terms):
            yield from _sums(terms)
        case Mul(factors):
            yield from _products(factors)
        case Div(numerator, denominator):
            yield from _quotients(numerator, denominator)
        case Pow(base, exponent):
            yield from _powers(base, exponent)
        case Fn():
            yield from functions(node)
            yield from _within_function(node)
        case Neg(Fn(name, (argument,)) as function):
            yield Change("sign-inside", Fn(name, (Neg(argument),)), function, "part")


def _neutral(node: Node) -> bool:
    """Whether a part is 1 or -1: an operation with it is not taken for another one."""
    return positive(node) == ONE


def _sums(terms: tuple[Node, ...]) -> Iterator[Change]:  # noqa: C901 - many ways
    if not any(map(_neutral, terms)):
        yield Change("sum-for-product", Mul(terms))
        for name in ("max", "min"):
            yield Change("sum-for-extreme", Fn(name, terms))
    for index in range(len(terms) - 1):
        first, second = terms[index], terms[index + 1]
        for code, both in () if _neutral(first) or _neutral(second) else _pairs(first, second):
            yield Change(code, total((*terms[:index], both, *terms[index + 2 :])))
    for cut in range(2, len(terms) - 1):
        yield Change("sum-for-product", Mul((total(terms[:cut]), total(terms[cut:]))))
    for index, term in enumerate(terms):
        others = (*terms[:index], *terms[index + 1 :])
        yield Change("extra-term", total(others), positive(term), "term")
        for place, other in enumerate(others):
            rest = (*others[:place], *others[place + 1 :])
            for inside in _taken_in(other, term):
                yield Change("belongs-inside", total((inside, *rest)), positive(term), "part")
        rest_sum = total(others)
        bare = positive(term)
        if isinstance(bare, Pow):
            base = Neg(bare.base) if isinstance(term, Neg) else bare.base
            raised = Pow(Add((*others[:index], base, *others[index:])), bare.exponent)
            yield Change("power-too-narrow", raised, bare.base, "part")
        match term:
            case Mul(factors):
                for place, factor in enumerate(factors):
                    left = product((*factors[:place], *factors[place + 1 :]))
                    yield Change("brackets", Mul((factor, Add((left, *others)))))
                for cut in range(2, len(factors)):
                    inner = Add((product(factors[cut:]), *others))
                    yield Change("brackets", Mul((product(factors[:cut]), inner)))
            case Div(numerator, denominator):
                yield Change("brackets", Div(Add((*others[:index], numerator, *others[index:])), denominator))
            case Neg(Div(numerator, denominator)):
                inner = Add((*others[:index], Neg(numerator), *others[index:]))
                yield Change("brackets", Div(inner, denominator))
            case Neg(Mul(factors)):
                for place, factor in enumerate(factors):
                    left = product((*factors[:place], *factors[place + 1 :]))
                    yield Change(
                        "brackets", Mul((factor, Add((*others[:index], Neg(left), *others[index:]))))
                    )
            case Neg(operand) if len(others) == 1:
                yield Change("brackets", Neg(Add((operand, rest_sum))))
        if index == 0 and isinstance(term, Neg):
            yield Change("brackets", Neg(Add((term.operand, *others))))


def _pairs(first: Node, second: Node) -> Iterator[tuple[str, Node]]:
    """Two terms side by side."""
    yield "sum-for-product", Mul((first, second))
    yield "sum-for-power", Pow(first, second)
    yield "sum-for-power", Pow(second, first)
    if isinstance(second, Neg):
        yield "difference-for-quotient", Div(first, second.operand)


def _taken_in(host: Node, term: Node) -> Iterator[Node]:
    """One term of a sum brought inside of another."""
    match host:
        case Fn(name, (argument,)):
            yield Fn(name, (Add((argument, term)),))
        case Pow(base, exponent):
            yield Pow(Add((base, term)), exponent)
            yield Pow(base, Add((exponent, term)))
        case Div(numerator, denominator):
            yield Div(numerator, Add((denominator, term)))
        case Mul(factors):
            for place, factor in enumerate(factors):
                for inside in _taken_in(factor, term):
                    yield Mul((*factors[:place], inside, *factors[place + 1 :]))
        case Neg(operand):
            for inside in _taken_in(operand, term):
                yield Neg(inside)
            for inside in _taken_in(operand, Neg(term)):
                yield Neg(inside)


def _products(factors: tuple[Node, ...]) -> Iterator[Change]:  # noqa: C901 - many ways
    yield Change("product-for-sum", Add(factors))
    for cut in range(1, len(factors)):
        first, second = product(factors[:cut]), product(factors[cut:])
        if len(factors) > 2:
            yield Change("product-for-sum", Add((first, second)))
        yield Change("product-for-power", Pow(first, second))
        yield Change("product-for-power", Pow(second, first))
        yield Change("product-for-difference", Add((first, Neg(second))))
    for index, factor in enumerate(factors):
        others = (*factors[:index], *factors[index + 1 :])
        outside = product(others)
        yield Change("extra-factor", outside, factor, "part")
        yield from _outside_in(factor, others)
        if len(others) > 1:
            for place, other in enumerate(others):
                rest = (*others[:place], *others[place + 1 :])
                if not isinstance(factor, Add):
                    for change in _outside_in(factor, (other,)):
                        yield Change(change.code, Mul((*rest, change.made)), change.about, change.kind)
            for place in range(index, len(factors) - 1):
                pair = (factors[:place], factors[place], factors[place + 1], factors[place + 2 :])
                if place == index:
                    for made in (Pow(pair[1], pair[2]), Pow(pair[2], pair[1])):
                        yield Change("product-for-power", Mul((*pair[0], made, *pair[3])))
                    yield Change("product-for-sum", Mul((*pair[0], Add((pair[1], pair[2])), *pair[3])))


def _outside_in(factor: Node, others: tuple[Node, ...]) -> Iterator[Change]:
    """Factors brought inside of a function, power or sum beside them."""
    outside = product(others)
    match factor:
        case Fn(name, (argument,)):
            yield Change("belongs-inside", Fn(name, (Mul((outside, argument)),)), outside, "part")
        case Pow(base, exponent):
            yield Change("belongs-inside", Pow(Mul((outside, base)), exponent), outside, "part")
            yield Change("belongs-inside", Pow(base, Mul((exponent, outside))), outside, "part")
        case Add(terms):
            for place, term in enumerate(terms):
                rest = (*terms[:place], *terms[place + 1 :])
                yield Change("brackets-too-wide", total((Mul((outside, term)), *rest)))
        case Div(numerator, denominator):
            yield Change("belongs-inside", Div(numerator, Mul((denominator, outside))), outside, "part")


def _quotients(numerator: Node, denominator: Node) -> Iterator[Change]:  # noqa: C901 - many ways
    whole = Div(numerator, denominator)
    yield Change("reciprocal", Div(denominator, numerator), whole, "part")
    yield Change("extra-divisor", numerator, denominator, "part")
    yield Change("quotient-for-difference", Add((numerator, Neg(denominator))))
    yield Change("quotient-for-product", Mul((numerator, denominator)))
    match denominator:
        case Add(terms):
            for place, term in enumerate(terms):
                rest = total((*terms[:place], *terms[place + 1 :]))
                yield Change("belongs-outside", Add((Div(numerator, rest), term)), positive(term), "part")
    match numerator:
        case Add(terms):
            for place, term in enumerate(terms):
                others = (*terms[:place], *terms[place + 1 :])
                yield Change("brackets-too-wide", total((Div(term, denominator), *others)))
        case Fn(name, (argument,)):
            yield Change("belongs-inside", Fn(name, (Div(argument, denominator),)), denominator, "part")
        case Pow(base, exponent):
            yield Change("belongs-inside", Pow(Div(base, denominator), exponent), denominator, "part")
            yield Change("belongs-inside", Pow(base, Div(exponent, denominator)), denominator, "part")
        case Mul(factors):
            for place, factor in enumerate(factors):
                others = (*factors[:place], *factors[place + 1 :])
                for change in _quotients(factor, denominator):
                    if change.code == "belongs-inside":
                        yield Change(change.code, product((*others, change.made)), denominator, "part")
    match denominator:
        case Fn(name, (argument,)):
            yield Change("belongs-inside", Fn(name, (Div(numerator, argument),)), numerator, "part")


def _powers(base: Node, exponent: Node) -> Iterator[Change]:
    yield Change("base-and-exponent", Pow(exponent, base))
    yield Change("power-for-product", Mul((base, exponent)))
    if isinstance(base, Num):
        yield Change("power-base", Fn("exp", (exponent,)))
    if not isinstance(positive(exponent), Num):
        yield Change("extra-exponent", base, exponent, "part")
    yield from _spread(base, exponent)
    match exponent:
        case Add(terms):
            for place, term in enumerate(terms):
                rest = total((*terms[:place], *terms[place + 1 :]))
                yield Change("belongs-outside", Add((Pow(base, rest), term)), positive(term), "part")
        case Mul(factors):
            for place, factor in enumerate(factors):
                rest = product((*factors[:place], *factors[place + 1 :]))
                yield Change("belongs-outside", Mul((factor, Pow(base, rest))), factor, "part")


def _spread(base: Node, exponent: Node) -> Iterator[Change]:
    """What stands inside of a power, or of a root, brought outside."""
    match base:
        case Add(terms):
            for place, term in enumerate(terms):
                rest = total((*terms[:place], *terms[place + 1 :]))
                if not _neutral(rest):
                    yield Change("belongs-outside", Add((term, Pow(rest, exponent))), positive(term), "part")
                raised = Pow(positive(term), exponent)
                made = Add((rest, Neg(raised) if isinstance(term, Neg) else raised))
                if not _neutral(term):
                    yield Change("power-too-wide", made, positive(term), "part")
        case Mul(factors):
            for place, factor in enumerate(factors):
                rest = product((*factors[:place], *factors[place + 1 :]))
                yield Change("belongs-outside", Mul((factor, Pow(rest, exponent))), factor, "part")
        case Div(numerator, denominator):
            yield Change("belongs-outside", Div(Pow(numerator, exponent), denominator), denominator, "part")
            yield Change("belongs-outside", Div(numerator, Pow(denominator, exponent)), numerator, "part")


def _within_function(node: Fn) -> Iterator[Change]:
    """Something stands inside of a function that belongs outside of it."""
    if len(node.arguments) != 1:
        if node.name in ("max", "min"):
            for place, argument in enumerate(node.arguments):
                others = (*node.arguments[:place], *node.arguments[place + 1 :])
                left = others[0] if len(others) == 1 else Fn(node.name, others)
                yield Change("extra-argument", left, argument, "part")
        return
    name, argument = node.name, node.arguments[0]
    match argument:
        case Add(terms):
            for place, term in enumerate(terms):
                rest = total((*terms[:place], *terms[place + 1 :]))
                yield Change("belongs-outside", Add((Fn(name, (rest,)), term)), positive(term), "part")
        case Mul(factors):
            for place, factor in enumerate(factors):
                rest = product((*factors[:place], *factors[place + 1 :]))
                yield Change("belongs-outside", Mul((factor, Fn(name, (rest,)))), factor, "part")
        case Div(numerator, denominator):
            made = Div(Fn(name, (numerator,)), denominator)
            yield Change("belongs-outside", made, denominator, "part")
            made = Div(numerator, Fn(name, (denominator,)))
            yield Change("belongs-outside", made, numerator, "part")
        case Neg(operand):
            yield Change("sign-outside", Neg(Fn(name, (operand,))), node, "part")


def values(node: Node, parent: Node | None, names: Mapping[str, None]) -> Iterator[Change]:  # noqa: C901 - many ways
    """Another symbol, a function more, the complement: what a part may have been meant to be."""
    match node:
        case Sym(name):
            for other in names:
                if other != name:
                    yield Change("symbol-replaced", Sym(other), node, "symbol")
            if not isinstance(parent, Pow):  # below an exponent, that one would be wrong
                for raised in (2, 3, 4, Fraction(3, 2)):
                    yield Change("power-too-small", Pow(node, Num(raised)), node, "symbol")
                yield Change("power-too-large", Fn("sqrt", (node,)), node, "symbol")
            for made in (Add((node, ONE)), Add((node, Neg(ONE)))):
                yield Change("off-by-one", made, node, "symbol")
        case Pow(base, Num(power)):
            if power == 2:
                yield from _one_of_two(base, names)
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
        yield Change("function-forgotten", logarithm(node, 2), node, "part")
        yield Change("function-forgotten", logarithm(node, 10), node, "part")
        if not isinstance(node, Sym | Pow) and not (isinstance(node, Fn) and node.name == "exp"):
            yield Change("function-forgotten", Pow(node, Num(2)), node, "part")
        yield Change("part-replaced", Add((ONE, Neg(node))), node, "part")


def _one_of_two(base: Node, names: Mapping[str, None]) -> Iterator[Change]:
    """One of the two factors of a square is another one."""
    if isinstance(base, Sym):
        for other in names:
            yield Change("symbol-replaced", Mul((base, Sym(other))), base, "symbol")
    for wrapped in (*(Fn(wrap, (base,)) for wrap in _WRAPS), logarithm(base, 2), logarithm(base, 10)):
        yield Change("function-forgotten", Mul((base, wrapped)), base, "part")


def positive(node: Node) -> Node:
    """A term without its sign."""
    return node.operand if isinstance(node, Neg) else node


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
