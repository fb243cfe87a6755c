"""Generate random pairs of rational formulas, equal by identities or unequal by a misconception."""

from __future__ import annotations

import random
from fractions import Fraction

from autograder.formulas.nodes import Add, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.formulas.printing.text import to_text
from tests.formulas.exam import VOCABULARY
from tests.formulas.test_compare import value

NAMES = tuple(VOCABULARY.domains)
POINTS = 4
MOST_BITS = 256
"""Limit for values at small points; larger formulas are replaced."""


def formula(draw: random.Random, depth: int) -> Node:
    """Return a random rational formula."""
    kind = draw.random()
    if depth == 0 or kind < 0.25:
        return Sym(draw.choice(NAMES)) if draw.random() < 0.6 else Num(draw.randint(1, 30))
    if kind < 0.5:
        return Add(tuple(formula(draw, depth - 1) for _ in range(draw.randint(2, 3))))
    if kind < 0.8:
        return Mul(tuple(formula(draw, depth - 1) for _ in range(draw.randint(2, 3))))
    if kind < 0.86:
        return Neg(formula(draw, depth - 1))
    if kind < 0.92:
        return Div(formula(draw, depth - 1), formula(draw, depth - 1))
    return Pow(formula(draw, depth - 1), Num(draw.randint(1, 3)))


def rewritten(node: Node, draw: random.Random) -> Node:
    """Return an equal formula: identities applied at random places."""
    match node:
        case Add(terms):
            parts = [rewritten(term, draw) for term in terms]
            draw.shuffle(parts)
            if len(parts) > 2 and draw.random() < 0.3:
                parts = [Add((parts[0], parts[1])), *parts[2:]]
            inner: Node = Add(tuple(parts))
        case Mul(factors):
            parts = [rewritten(factor, draw) for factor in factors]
            draw.shuffle(parts)
            sums = [part for part in parts if isinstance(part, Add)]
            if sums and draw.random() < 0.5:
                rest = list(parts)
                rest.remove(sums[0])
                inner = Add(tuple(Mul((*rest, term)) if rest else term for term in sums[0].terms))
            else:
                inner = Mul(tuple(parts))
        case Neg(operand):
            inner = draw.choice((Neg(rewritten(operand, draw)), Mul((Neg(Num(1)), rewritten(operand, draw)))))
        case Div(above, below):
            top, bottom = rewritten(above, draw), rewritten(below, draw)
            inner = draw.choice((Div(top, bottom), Mul((top, Pow(bottom, Neg(Num(1)))))))
        case Pow(base, Num(exponent)) if isinstance(exponent, int) and exponent > 1 and draw.random() < 0.5:
            inner = Mul(tuple(rewritten(base, draw) for _ in range(exponent)))
        case Pow(base, exponent_node):
            inner = Pow(rewritten(base, draw), exponent_node)
        case _:
            inner = node
    return _disguised(inner, draw) if draw.random() < 0.15 else inner


def _disguised(node: Node, draw: random.Random) -> Node:
    number, name = Num(draw.randint(2, 9)), Sym(draw.choice(NAMES))
    return draw.choice(
        (
            Div(Mul((number, node)), number),
            Add((node, name, Neg(name))),
            Neg(Neg(node)),
            Mul((node, Num(1))),
            Div(Mul((node, name)), name),
            Add((Mul((node, Num(2))), Neg(node))),
        )
    )


def slipped(node: Node, draw: random.Random) -> Node:
    """Return a formula with one misconception."""
    match node:
        case Num(number):
            return Num(number + draw.choice((1, 2, 10)))
        case Sym(name):
            return draw.choice(
                (
                    Sym(draw.choice([other for other in NAMES if other != name])),
                    Pow(node, Num(2)),
                    Num(1),
                )
            )
        case Add(parts) | Mul(parts):
            place = draw.randrange(len(parts))
            changed = (*parts[:place], slipped(parts[place], draw), *parts[place + 1 :])
            return Add(changed) if isinstance(node, Add) else Mul(changed)
        case Neg(operand):
            return draw.choice((operand, Neg(slipped(operand, draw))))
        case Div(above, below):
            return (
                Div(slipped(above, draw), below) if draw.random() < 0.5 else Div(above, slipped(below, draw))
            )
        case Pow(base, Num(exponent)) if draw.random() < 0.5:
            return Pow(base, Num(exponent + 1))
        case Pow(base, exponent_node):
            return Pow(slipped(base, draw), exponent_node)
    raise AssertionError(node)


def witness(first: Node, second: Node, draw: random.Random, *, positive: bool = False) -> bool | None:
    """Return whether the formulas differ at a small point; None if they have no values."""
    defined = False
    for _ in range(POINTS):
        at = {name: Fraction(draw.randint(2, 60)) for name in NAMES}
        try:
            values = value(first, at), value(second, at)
        except ZeroDivisionError:
            continue
        if max(entry.numerator.bit_length() for entry in values) > MOST_BITS:
            return None
        if positive and min(values) <= 0:
            continue
        defined = True
        if values[0] != values[1]:
            return True
    return False if defined else None


def rational_pair(draw: random.Random) -> tuple[Node, Node, bool]:
    """Return two formulas and whether they are equal by construction."""
    while True:
        first = formula(draw, draw.choice((1, 2, 2, 3)))
        equal = draw.random() < 0.5
        second = rewritten(first if equal else slipped(first, draw), draw)
        function = draw.choice(("sqrt", "log")) if draw.random() < 0.08 else ""
        differ = witness(first, second, draw, positive=bool(function))
        if equal and differ:
            raise AssertionError(f"not an identity: {to_text(first)} and {to_text(second)}")
        if differ is None or differ is equal:  # undefined, or the misconception changed nothing
            continue
        if function:
            first, second = Fn(function, (first,)), Fn(function, (second,))
        return first, second, equal
