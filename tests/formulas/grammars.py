"""Generate random pairs of formulas or relations that are equal or differ by a misconception.

The pairs have maxima and minima, probabilities, or relations. Equal ones are made by rewriting. Unequal ones
have one misconception, and their values differ; the values are computed without the code under test.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import ge, gt, le, lt

from autograder.formulas.nodes import Add, Div, Fn, Mul, Neg, Node, Num, Pow, Relation, Sym

Pair = tuple[Node, Node, bool]
Rational = int | Fraction
NAMES = ("n", "d_model", "n_heads", "d_ff")
SHARES = ("p", "q")
LOOKS = 100
"""Number of points at which a misconception may make a difference."""
NEAR = 1e-9
"""Relative tolerance for equal floats; misconceptions differ by more than `FAR`."""
FAR = 1e-5


def coefficient(draw: random.Random) -> int:
    """Return a small number, or one as large as a vocabulary."""
    kind = draw.random()
    if kind < 0.8:
        return draw.randint(1, 4 if kind < 0.5 else 64)
    return draw.choice((128, 1000, 1024, 4096, 50257, 10**6, draw.randint(100, 10**5)))


def monomial(draw: random.Random) -> Node:
    """Return a number times up to three symbols."""
    factors: list[Node] = [Sym(draw.choice(NAMES)) for _ in range(draw.choice((1, 1, 2, 2, 3)))]
    number = coefficient(draw)
    if number > 1:
        factors.insert(0, Num(number))
    return product(factors)


def polynomial(draw: random.Random) -> Node:
    """Return one to four monomials, one of them sometimes subtracted."""
    kind = draw.random()
    if kind < 0.6:
        return monomial(draw)
    if kind < 0.7:
        return Num(coefficient(draw))
    terms = [monomial(draw) for _ in range(draw.choice((2, 2, 3)))]
    if draw.random() < 0.25:
        terms[-1] = Neg(terms[-1])
    if draw.random() < 0.2:
        terms.append(Num(coefficient(draw)))
    return Add(tuple(terms))


def lattice(draw: random.Random, depth: int = 0) -> Node:
    """Return a maximum or minimum of 2 to 5 arguments, some of them nested."""
    name = draw.choice(("max", "min"))
    arguments = tuple(
        lattice(draw, depth + 1) if depth < 2 and draw.random() < 0.15 else polynomial(draw)
        for _ in range(draw.randint(2, 5) if depth == 0 else draw.randint(2, 3))
    )
    node = Fn(name, arguments)
    if depth and draw.random() < 0.4:
        return Mul((monomial(draw), node)) if draw.random() < 0.5 else Add((polynomial(draw), node))
    return node


def value(node: Node, at: Mapping[str, Rational]) -> Rational:
    """Return the exact value of a formula of polynomials, maxima and minima."""
    match node:
        case Num(number):
            return number
        case Sym(name):
            return at[name]
        case Neg(operand):
            return -value(operand, at)
        case Add(terms):
            return sum(value(term, at) for term in terms)
        case Mul(factors):
            return math.prod(value(factor, at) for factor in factors)
        case Div(above, below):
            return Fraction(value(above, at)) / value(below, at)
        case Fn("max", arguments):
            return max(value(argument, at) for argument in arguments)
        case Fn("min", arguments):
            return min(value(argument, at) for argument in arguments)
    raise AssertionError(node)


def lattice_pair(draw: random.Random) -> Pair:
    """Return two formulas with maxima and minima, and whether they are equal."""
    while True:
        first, equal = lattice(draw), draw.random() < 0.5
        second = rearranged(first, draw) if equal else slipped(first, draw)
        differ = any(value(first, at) != value(second, at) for at in _whole_points(draw))
        if equal and differ:
            raise AssertionError(f"not an identity: {first} and {second}")
        if differ is not equal:  # otherwise the misconception changes no sampled value
            return first, second, equal


def _whole_points(draw: random.Random) -> list[dict[str, Rational]]:
    """Return points of whole numbers, with a random scale for each symbol."""
    return [
        {name: int(10 ** draw.uniform(0, draw.choice((1, 2, 3, 5, 8)))) for name in NAMES}
        for _ in range(LOOKS)
    ]


def rearranged(node: Node, draw: random.Random) -> Node:
    """Return an equal formula: rules of maxima and minima, applied at random places."""
    match node:
        case Fn(name, arguments):
            return _lattice_rearranged(name, [rearranged(argument, draw) for argument in arguments], draw)
        case Mul(factors):
            parts = [rearranged(factor, draw) for factor in factors]
            draw.shuffle(parts)
            inner = next((part for part in parts if isinstance(part, Fn)), None)
            if inner is not None and draw.random() < 0.6:  # every factor is positive
                other_factors = [part for part in parts if part is not inner]
                return Fn(inner.name, tuple(Mul((*other_factors, argument)) for argument in inner.arguments))
            return Mul(tuple(parts))
        case Add(terms):
            parts = [rearranged(term, draw) for term in terms]
            draw.shuffle(parts)
            return Add(tuple(parts))
        case Neg(operand):
            return Neg(rearranged(operand, draw))
    return node


def _lattice_rearranged(name: str, parts: list[Node], draw: random.Random) -> Node:
    other = "min" if name == "max" else "max"
    draw.shuffle(parts)
    kind = draw.random()
    if kind < 0.12 and len(parts) > 2:
        return Fn(name, (Fn(name, tuple(parts[:2])), *parts[2:]))
    if kind < 0.2:
        return Fn(name, (*parts, draw.choice(parts)))
    if kind < 0.28:  # an argument that never decides
        more = monomial(draw)
        return Fn(name, (*parts, Add((parts[0], more if name == "min" else Neg(more)))))
    if kind < 0.36:
        return Neg(Fn(other, tuple(Neg(part) for part in parts)))
    if kind < 0.44:
        symbol = Sym(draw.choice(NAMES))
        return Div(Fn(name, tuple(Mul((symbol, part)) for part in parts)), symbol)
    if kind < 0.52:
        shift = polynomial(draw)
        return Add((Fn(name, tuple(Add((shift, part)) for part in parts)), Neg(shift)))
    if kind < 0.6 and len(parts) == 2:
        return Add((*parts, Neg(Fn(other, tuple(parts)))))
    if kind < 0.66:  # absorbed
        parts[0] = Fn(name, (parts[0], Fn(other, (parts[0], polynomial(draw)))))
    return Fn(name, tuple(parts))


def slipped(node: Node, draw: random.Random) -> Node:
    """Return a formula with one argument omitted, added or changed, or with the other function."""
    match node:
        case Fn(name, arguments):
            kind, parts = draw.random(), list(arguments)
            if kind < 0.35:
                del parts[draw.randrange(len(parts))]
                return parts[0] if len(parts) == 1 else Fn(name, tuple(parts))
            if kind < 0.45:
                return Fn("min" if name == "max" else "max", arguments)
            if kind < 0.55:
                return Fn(name, (*arguments, polynomial(draw)))
            place = draw.randrange(len(parts))
            parts[place] = slipped(parts[place], draw)
            return Fn(name, tuple(parts))
        case Add(inner) | Mul(inner):
            place = draw.randrange(len(inner))
            changed = (*inner[:place], slipped(inner[place], draw), *inner[place + 1 :])
            return Add(changed) if isinstance(node, Add) else Mul(changed)
        case Neg(operand):
            return Neg(slipped(operand, draw))
        case Num(number):
            return Num(number + draw.choice((1, 1, 2, 10)))
        case Sym(name):
            other_symbols = [Sym(other) for other in NAMES if other != name]
            return draw.choice((*other_symbols, Mul((node, node)), Num(1)))
    raise AssertionError(node)


def share_pair(draw: random.Random) -> Pair:
    """Return two formulas of probabilities with logarithms, powers and roots."""
    while True:
        first, equal = _shares(draw), draw.random() < 0.5
        second = _shares_rewritten(first, draw) if equal else _shares_slipped(first, draw)
        points = [_share_point(draw) for _ in range(8)]
        apart = max(_apart(first, second, at) for at in points)
        if equal and apart > NEAR:
            raise AssertionError(f"not an identity: {first} and {second}")
        if equal or apart > FAR:
            return first, second, equal


def _share_point(draw: random.Random) -> dict[str, float]:
    return {"p": draw.uniform(0.1, 0.9), "q": draw.uniform(0.1, 0.9), "n": draw.randint(1, 6)}


def _apart(first: Node, second: Node, at: Mapping[str, float]) -> float:
    one, other = measured(first, at), measured(second, at)
    return abs(one - other) / max(1.0, abs(one), abs(other))


def measured(node: Node, at: Mapping[str, float]) -> float:
    """Return the value as a float."""
    match node:
        case Num(number):
            return float(number)
        case Sym(name):
            return at[name]
        case Neg(operand):
            return -measured(operand, at)
        case Add(terms):
            return sum(measured(term, at) for term in terms)
        case Mul(factors):
            return math.prod(measured(factor, at) for factor in factors)
        case Div(above, below):
            return measured(above, at) / measured(below, at)
        case Pow(base, exponent):
            return float(measured(base, at) ** measured(exponent, at))
        case Fn("ln", (argument,)):
            return math.log(measured(argument, at))
        case Fn("sqrt", (argument,)):
            return math.sqrt(measured(argument, at))
    raise AssertionError(node)


def _share(draw: random.Random) -> Node:
    """Return a probability or its complement, between zero and 1."""
    symbol = Sym(draw.choice(SHARES))
    left = Add((Num(1), Neg(symbol)))
    powers = Pow(symbol, Sym("n")), Add((Num(1), Neg(Pow(symbol, Sym("n")))))
    return draw.choice((symbol, symbol, left, left, *powers))


def _shares(draw: random.Random) -> Node:
    """Return a sum of one to three products such as ``-p*ln(1-p)`` or ``n/(1-q)``."""
    return total([_share_term(draw) for _ in range(draw.choice((1, 2, 2, 3)))])


def _share_term(draw: random.Random) -> Node:
    share = _share(draw)
    inner: Node = draw.choice(
        (share, Mul((share, _share(draw))), Div(share, _share(draw)), Pow(share, Num(2)))
    )
    kind = draw.random()
    if kind < 0.45:
        inner = Fn("ln", (inner,))
    elif kind < 0.6:
        inner = Fn("sqrt", (inner,))
    elif kind < 0.75:
        inner = Div(Num(draw.randint(1, 9)), inner)
    term = Mul((_share(draw), inner)) if draw.random() < 0.6 else inner
    return Neg(term) if draw.random() < 0.4 else term


def _shares_rewritten(node: Node, draw: random.Random) -> Node:
    if isinstance(node, Fn):
        return _function_rewritten(node.name, node.arguments[0], draw)
    match node:
        case Add(inner) | Mul(inner):
            parts = [_shares_rewritten(part, draw) for part in inner]
            draw.shuffle(parts)
            return Add(tuple(parts)) if isinstance(node, Add) else Mul(tuple(parts))
        case Neg(operand):
            return draw.choice((Neg, _times_minus_one))(_shares_rewritten(operand, draw))
        case Div(above, below):
            top, bottom = _shares_rewritten(above, draw), _shares_rewritten(below, draw)
            return draw.choice((Div(top, bottom), Mul((top, Pow(bottom, Neg(Num(1)))))))
        case Pow(base, Num(2)) if draw.random() < 0.5:
            return Mul((base, base))
    return node


def _function_rewritten(name: str, argument: Node, draw: random.Random) -> Node:
    """Rewrite a logarithm or a root by its rules."""
    if name == "sqrt":
        inner = _shares_rewritten(argument, draw)
        return draw.choice((Fn("sqrt", (inner,)), Pow(inner, Div(Num(1), Num(2)))))
    kind = draw.random()
    if kind < 0.6 and isinstance(argument, Mul | Div):
        parts = argument.factors if isinstance(argument, Mul) else (argument.numerator, argument.denominator)
        logarithms = [_function_rewritten("ln", part, draw) for part in parts]
        if isinstance(argument, Div):
            logarithms[1] = Neg(logarithms[1])
        return Add(tuple(logarithms))
    if kind < 0.6 and isinstance(argument, Pow):
        return Mul((argument.exponent, Fn("ln", (_shares_rewritten(argument.base, draw),))))
    inner = _shares_rewritten(argument, draw)
    return Neg(Fn("ln", (Div(Num(1), inner),))) if kind > 0.9 else Fn("ln", (inner,))


def _times_minus_one(node: Node) -> Node:
    return Mul((Neg(Num(1)), node))


def _shares_slipped(node: Node, draw: random.Random) -> Node:
    match node:
        case Add(inner) | Mul(inner):
            place = draw.randrange(len(inner))
            changed = (*inner[:place], _shares_slipped(inner[place], draw), *inner[place + 1 :])
            return Add(changed) if isinstance(node, Add) else Mul(changed)
        case Neg(operand):
            return draw.choice((operand, Neg(_shares_slipped(operand, draw))))
        case Fn(name, (argument,)):
            other = "sqrt" if name == "ln" else "ln"
            return draw.choice(
                (Fn(other, (argument,)), Fn(name, (_shares_slipped(argument, draw),)), argument)
            )
        case Div(above, below):
            return draw.choice((Mul((above, below)), Div(above, _shares_slipped(below, draw))))
        case Pow(base, exponent):
            return draw.choice((base, Pow(_shares_slipped(base, draw), exponent)))
        case Sym("n"):
            return Add((node, Num(1)))
        case Sym(name):
            return draw.choice((Add((Num(1), Neg(node))), Sym("q" if name == "p" else "p")))
        case Num(number):
            return Num(number + 1)
    raise AssertionError(node)


Related = tuple[Relation, Relation, bool]
_TURNED: Mapping[str, str] = {"=": "=", "<": ">", ">": "<", "≤": "≥", "≥": "≤"}
_COMPARED: Mapping[str, Callable[[Rational, Rational], bool]] = {"<": lt, ">": gt, "≤": le, "≥": ge}


def related_pair(draw: random.Random) -> Related:
    """Return two equations or inequalities between a symbol and a sum of others."""
    while True:
        name = draw.choice(NAMES)
        other_names = [other for other in NAMES if other != name]
        parts = [_related_term(other_names, draw) for _ in range(draw.choice((1, 2)))]
        first = Relation(Sym(name), total(parts), draw.choice(("=", "=", "<", "≤", ">", "≥")))
        equal = draw.random() < 0.5
        second = first if equal else _related_misconception(first, draw)
        if second == first and not equal:
            continue
        second = _related_rearranged(second, draw)
        if equal or first.sign == "=" or _told_apart(first, second, draw):
            return first, second, equal


def _related_term(names: Sequence[str], draw: random.Random) -> Node:
    factors: list[Node] = [Sym(draw.choice(names)) for _ in range(draw.choice((1, 1, 2)))]
    return product([Num(draw.randint(2, 9)), *factors] if draw.random() < 0.5 else factors)


def _related_misconception(relation: Relation, draw: random.Random) -> Relation:
    """Return the relation with another sum, or an inequality with another sign."""
    if relation.sign != "=" and draw.random() < 0.4:
        strict = {"<": "≤", "≤": "<", ">": "≥", "≥": ">"}
        return Relation(relation.left, relation.right, draw.choice((strict, _TURNED))[relation.sign])
    return Relation(relation.left, Add((relation.right, Num(draw.randint(1, 9)))), relation.sign)


def _related_rearranged(relation: Relation, draw: random.Random) -> Relation:
    left, right, sign = relation.left, relation.right, relation.sign
    if draw.random() < 0.5:
        factor: Node = draw.choice((Num(draw.randint(2, 9)), Sym(draw.choice(NAMES))))
        left, right = Mul((factor, left)), Mul((factor, right))
    if draw.random() < 0.3:
        more = Sym(draw.choice(NAMES))
        left, right = Add((left, more)), Add((right, more))
    if draw.random() < 0.3:
        left, right = Add((left, Neg(right))), Num(0)
    return Relation(right, left, _TURNED[sign]) if draw.random() < 0.5 else Relation(left, right, sign)


def _told_apart(first: Relation, second: Relation, draw: random.Random) -> bool:
    """Return whether only one of two inequalities holds at some point, including points of equal sides."""
    points: list[dict[str, Rational]] = [{name: draw.randint(1, 12) for name in NAMES} for _ in range(LOOKS)]
    if isinstance(first.left, Sym):
        points += [{**at, first.left.name: value(first.right, at)} for at in points]
    return any(_holds(first, at) is not _holds(second, at) for at in points)


def _holds(relation: Relation, at: Mapping[str, Rational]) -> bool:
    return _COMPARED[relation.sign](value(relation.left, at), value(relation.right, at))


def product(factors: Sequence[Node]) -> Node:
    """Return the product of one or more factors."""
    return factors[0] if len(factors) == 1 else Mul(tuple(factors))


def total(terms: Sequence[Node]) -> Node:
    """Return the sum of one or more terms."""
    return terms[0] if len(terms) == 1 else Add(tuple(terms))
