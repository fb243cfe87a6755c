"""Inequalities, compared.

An inequality may be turned round, multiplied through with what is positive, and solved for another
symbol. That two of them are the same is proven by such a step, that they are not by values of which only
one of them holds; anything else is `Undecided`. Such values are looked for where both sides are equal, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Add, Mul, Neg, Node, Num, Pow, Relation, Sym, symbols, walk
from autograder.formulas.values.evaluate import Irrational, Rational, TooLarge, Undefined, exact
from autograder.formulas.values.points import Points, is_in_domain

MAX_MONOMIAL = 8
"""Largest power of a symbol that an inequality is multiplied through with."""
SMALL = (1, 2, 3)
"""Small values at which two inequalities may be seen to differ, e.g. where both sides are equal."""
MAX_SMALL = 243
SECRET = 16
"""Secret values inside the symbols' domains."""
MAX_BOUNDARY = 72
"""Points on boundaries and beside them: those of a small and a secret point, for three symbols."""
AROUND = 3
"""Small points, and secret ones, from which boundaries are looked for along each symbol."""
MAX_WORK = 10_000
"""Parts of formulas that are evaluated to see a difference: a few milliseconds."""

_SMALL_SHARES: Mapping[str, tuple[Rational, ...]] = {
    "probability": (Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)),
    "unit": (0, Fraction(1, 2), 1),
}
"""The same for the domains that reach from 0 to 1."""
_TURNED: Mapping[str, str] = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "="}
_POWERS: Mapping[Fraction, int] = {
    Fraction(2) ** power: power for power in range(-MAX_MONOMIAL, MAX_MONOMIAL + 1)
}


def turned(relation: Relation) -> Relation:
    """The same sides with the sign the other way round: ``a > b`` for ``a < b``."""
    return Relation(relation.left, relation.right, _TURNED[relation.sign])


def with_sign(relation: Relation, sign: str) -> Relation:
    """The same sides with another sign, ``"<"`` or ``"≤"``, in the direction they have."""
    return Relation(*_ascending(relation), sign)


def same_inequality(first: Relation, second: Relation, points: Points) -> bool:
    """Whether two relations, at least one of them an inequality, hold for the same values.

    Raises:
        Undecided: neither could be proven.
    """
    if "=" in (first.sign, second.sign):
        return first.sign == second.sign
    left, right = excess(first), excess(second)
    strict = is_strict(first)
    if strict is is_strict(second):
        if _same_sign(left, right, points):
            return True
    elif _whole(left, points) and _whole(right, points):  # a < b and a + 1 <= b, for whole numbers
        one = Num(1)
        if _same_sign(Add((left, one)) if strict else left, right if strict else Add((right, one)), points):
            return True
    size = sum(1 for side in (left, right) for _ in walk(side))
    for at in islice(_values(points, symbols(left) | symbols(right)), MAX_WORK // size):
        verdicts = _holds(first, at), _holds(second, at)
        if None not in verdicts and verdicts[0] is not verdicts[1]:
            return False
    if differ_at_boundary(first, second, points):
        return False
    raise Undecided("two inequalities that may be the same")


def differ_at_boundary(first: Relation, second: Relation, points: Points) -> bool:
    """Whether only one of two relations holds at a point where both sides of one are equal, or beside it.

    ``x < 5`` and ``x <= 5`` differ at 5 alone, ``x + y = 1`` and ``x + y = 2`` at solutions alone; no such
    point is met by chance. So relations are solved for each symbol in which they are linear. Of equations
    only solutions of the second count that do not solve the first: squaring adds solutions, and so does
    multiplying by a symbol that may be zero.
    """
    names = symbols(first) | symbols(second)
    parts = [part for relation in (first, second) for part in walk(relation)]
    # A large power costs as much as so many factors.
    powers = (part.exponent for part in parts if isinstance(part, Pow))
    size = len(parts) + sum(int(power.value) for power in powers if isinstance(power, Num))
    if size > MAX_WORK // AROUND:
        return False
    is_equation = second.sign == "="
    for at in islice(_boundary(first, second, names, points), min(MAX_BOUNDARY, MAX_WORK // size)):
        verdicts = _holds(first, at), _holds(second, at)
        if None in verdicts or verdicts[0] is verdicts[1]:
            continue
        if not is_equation or (verdicts[1] and all(at[name] for name in names)):
            return True
    return False


def _boundary(
    first: Relation, second: Relation, names: Collection[str], points: Points
) -> Iterator[Mapping[str, Rational]]:
    """Points of the symbols' domains on the boundaries of two relations, between them and beside them."""
    is_linear = False
    secret = [points.inside(number) for number in range(AROUND)]
    ordered = sorted(names)
    for number in range(AROUND):
        small = {
            name: _SMALL_SHARES.get(points.domains[name], SMALL)[(number + place) % len(SMALL)]
            for place, name in enumerate(ordered)
        }
        for base in (small, secret[number]):
            for name in ordered:
                found = [_root(relation, name, base) for relation in (first, second)]
                roots = [root for root in found if root is not None]
                is_linear = is_linear or bool(roots)
                for value in _beside(roots):
                    if is_in_domain(value, points.domains[name]):
                        yield {**base, name: value}
            if not is_linear:  # in no symbol, so large powers need not be looked at again
                return


def _root(relation: Relation, name: str, at: Mapping[str, Rational]) -> Rational | None:
    """The value of a symbol at which both sides are equal; None where they are not linear in it."""
    difference = excess(relation)
    try:
        low, middle, high = (Fraction(exact(difference, {**at, name: value})) for value in (1, 2, 3))
    except (Irrational, TooLarge, Undefined):
        return None
    if middle - low != high - middle or middle == low:
        return None
    return 1 - low / (middle - low)


def _beside(roots: Collection[Rational]) -> Iterator[Rational]:
    """Values on boundaries, half way between two of them, and close to them."""
    yield from roots
    if len(roots) == 2:
        yield Fraction(sum(map(Fraction, roots)), 2)
    for root in roots:
        yield from (-root, math.floor(root), math.ceil(root), root - 1, root + 1)


def _ascending(relation: Relation) -> tuple[Node, Node]:
    if relation.sign in (">", "≥"):
        return relation.right, relation.left
    return relation.left, relation.right


def is_strict(relation: Relation) -> bool:
    """Whether the two sides must differ."""
    return relation.sign in ("<", ">")


def excess(relation: Relation) -> Node:
    """What is below zero (or not above) where the inequality holds."""
    smaller, larger = _ascending(relation)
    return Add((smaller, Neg(larger)))


def _same_sign(first: Node, second: Node, points: Points) -> bool:
    """Whether the quotient of two formulas is a positive number times powers of positive symbols.

    That it is such a product is seen from how it grows when one symbol is doubled.
    """
    try:
        for at in points.exact:
            above, below = exact(first, at), exact(second, at)
            if above == 0 or below == 0 or (above > 0) is not (below > 0):
                return False
            ratio = Fraction(above) / Fraction(below)
            for name in symbols(first) | symbols(second):
                doubled = {**at, name: 2 * at[name]}
                above, below = exact(first, doubled), exact(second, doubled)
                if below == 0:
                    return False
                power = _POWERS.get(Fraction(above) / Fraction(below) / ratio)
                if power is None or (power and points.domains[name] == "real"):
                    return False
    except (Irrational, TooLarge, Undefined):
        return False
    return True


def _whole(node: Node, points: Points) -> bool:
    """Whether a formula surely has whole values: a polynomial with whole coefficients in whole symbols."""
    match node:
        case Sym(name):
            return points.domains[name] == "positive integer"
        case Num(value):
            return isinstance(value, int)
        case Neg(operand):
            return _whole(operand, points)
        case Add(parts) | Mul(parts):
            return all(_whole(part, points) for part in parts)
        case Pow(base, Num(int())):
            return _whole(base, points)
    return False


def _values(points: Points, names: frozenset[str]) -> Iterator[Mapping[str, Rational]]:
    """Values at which two inequalities may differ: secret ones, and small ones."""
    if not any(points.domains[name] in ("probability", "unit") for name in names):
        yield from points.exact
    for number in range(SECRET):
        yield points.inside(number)
    ordered = sorted(names)
    small = [_SMALL_SHARES.get(points.domains[name], SMALL) for name in ordered]
    for values in islice(product(*small), MAX_SMALL):
        yield dict(zip(ordered, values, strict=True))


def _holds(relation: Relation, at: Mapping[str, Rational]) -> bool | None:
    """Whether a relation holds at a point; None where that is not known."""
    try:
        value = exact(excess(relation), at)
    except (Irrational, TooLarge, Undefined):
        return None
    if relation.sign == "=":
        return value == 0
    return value < 0 or (value == 0 and not is_strict(relation))
