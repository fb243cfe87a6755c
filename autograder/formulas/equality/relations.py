"""Equations and inequalities, compared.

A relation may be turned round, multiplied through with what is positive, and solved for another symbol. That
two of them are the same is proven by such a step, that they are not by values of which only one holds;
anything else is `Undecided`. Such values are looked for where both sides are equal, too: ``x < 5`` and
``x <= 5`` differ at 5 alone, and two equations at solutions alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from autograder.formulas.equality.rounding import is_whole
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Add, Neg, Node, Num, Pow, Relation, Sym, symbols, walk
from autograder.formulas.values.evaluate import Irrational, Rational, TooLarge, Undefined, exact
from autograder.formulas.values.points import Points, is_in_domain

MAX_MONOMIAL = 8
"""Largest power of a symbol that a relation is multiplied through with."""
SMALL = (1, 2, 3)
"""Small values at which two inequalities may be seen to differ, e.g. where both sides are equal."""
MAX_SMALL = 243
SECRET = 16
"""Secret values inside the symbols' domains."""
AROUND = 3
"""Small points, and secret ones, from which boundaries are looked for along each symbol."""
MAX_WORK = 10_000
"""Parts of formulas that are evaluated to see a difference: a few milliseconds."""

Assumption = tuple[str, Node]
"""A symbol and the formula that stands for it."""

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


def is_strict(relation: Relation) -> bool:
    """Whether the two sides must differ."""
    return relation.sign in ("<", ">")


def excess(relation: Relation) -> Node:
    """What is below zero (or not above) where an inequality holds, and zero where an equation does."""
    smaller, larger = _ascending(relation)
    return Add((smaller, Neg(larger)))


def solved(relation: Relation) -> Assumption | None:
    """The equation as ``symbol = formula`` where one side is a symbol that the other does not contain."""
    if relation.sign != "=":
        return None
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if isinstance(side, Sym) and side.name not in symbols(other):
            return side.name, other
    return None


def same_relation(
    first: Relation, second: Relation, points: Points, equal: Callable[[Node, Node], bool]
) -> bool:
    """Whether two relations hold for the same values of the symbols.

    Args:
        first: a relation.
        second: another.
        points: the symbols' domains, and what is drawn.
        equal: compares formulas.

    Raises:
        Undecided: neither could be proven.
    """
    if "=" in (first.sign, second.sign):
        return first.sign == second.sign and _same_equation(first, second, points, equal)
    left, right = excess(first), excess(second)
    strict = is_strict(first)
    if strict is is_strict(second):
        if _is_multiple(left, right, points):
            return True
    elif is_whole(left, points.domains) and is_whole(right, points.domains):  # a < b and a + 1 <= b
        one = Num(1)
        if _is_multiple(Add((left, one)) if strict else left, right if strict else Add((right, one)), points):
            return True
    names = symbols(left) | symbols(right)
    places = (*_values(points, names), *_boundary(first, second, names, points))
    for at in islice(places, MAX_WORK // sum(1 for side in (left, right) for _ in walk(side))):
        verdicts = _holds(first, at), _holds(second, at)
        if None not in verdicts and verdicts[0] is not verdicts[1]:
            return False
    if strict is is_strict(second) and equal(left, right):  # with maxima, say
        return True
    raise Undecided("two inequalities that may be the same")


def _same_equation(
    first: Relation, second: Relation, points: Points, equal: Callable[[Node, Node], bool]
) -> bool:
    left, right = excess(first), excess(second)
    if _is_multiple(left, right, points, signed=False):
        return True
    for at in points.exact:
        for relation, other in ((first, right), (second, left)):
            for name in sorted(symbols(excess(relation))):
                root = _root(relation, name, at)
                # Multiplying by a symbol that may be zero adds solutions, but not such that people mean.
                if root and _value(other, {**at, name: root}):
                    return False
            if _value(other, at) == 0:  # ``0 = 0`` is no relation
                return False
    if equal(left, right) or equal(left, Neg(right)):
        return True
    raise Undecided("two equations that may have the same solutions")


def _is_multiple(first: Node, second: Node, points: Points, *, signed: bool = True) -> bool:
    """Whether the quotient of two formulas is a number times powers of positive symbols.

    That it is such a product is seen from how it grows when one symbol is doubled.

    Args:
        first: a formula.
        second: another.
        points: the symbols' domains, and what is drawn.
        signed: whether the number must be positive.
    """
    try:
        for at in points.exact:
            above, below = exact(first, at), exact(second, at)
            if above == 0 or below == 0 or (signed and (above > 0) is not (below > 0)):
                return False
            ratio = Fraction(above) / Fraction(below)
            for name in symbols(first) | symbols(second):
                doubled = {**at, name: 2 * at[name]}
                above, below = exact(first, doubled), exact(second, doubled)
                power = _POWERS.get(Fraction(above) / Fraction(below) / ratio) if below else None
                if power is None or (power and points.domains[name] == "real"):
                    return False
    except (Irrational, TooLarge, Undefined):
        return False
    return True


def _boundary(
    first: Relation, second: Relation, names: Collection[str], points: Points
) -> Iterator[Mapping[str, Rational]]:
    """Points of the symbols' domains on the boundaries of two inequalities, between them and beside them."""
    # A large power costs as much as so many factors.
    powers = [part.exponent for one in (first, second) for part in walk(one) if isinstance(part, Pow)]
    if sum(int(power.value) for power in powers if isinstance(power, Num)) > MAX_WORK // AROUND:
        return
    ordered = sorted(names)
    for number in range(AROUND):
        small = {
            name: _SMALL_SHARES.get(points.domains[name], SMALL)[(number + place) % len(SMALL)]
            for place, name in enumerate(ordered)
        }
        for base, name in product((small, points.inside(number)), ordered):
            roots = [root for one in (first, second) if (root := _root(one, name, base)) is not None]
            for value in _beside(roots):
                if is_in_domain(value, points.domains[name]):
                    yield {**base, name: value}


def _root(relation: Relation, name: str, at: Mapping[str, Rational]) -> Rational | None:
    """The value of a symbol at which both sides are equal; None where they are not linear in it."""
    difference = excess(relation)
    values = [_value(difference, {**at, name: value}) for value in (1, 2, 3)]
    if None in values:
        return None
    low, middle, high = (Fraction(value) for value in values if value is not None)
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


def _value(node: Node, at: Mapping[str, Rational]) -> Rational | None:
    """The exact value of a formula; None where it has none that is known."""
    try:
        return exact(node, at)
    except (Irrational, TooLarge, Undefined):
        return None


def _holds(relation: Relation, at: Mapping[str, Rational]) -> bool | None:
    """Whether an inequality holds at a point; None where that is not known."""
    value = _value(excess(relation), at)
    return None if value is None else value < 0 or (value == 0 and not is_strict(relation))
