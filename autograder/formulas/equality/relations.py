"""Compare equations and inequalities.

A relation may be turned round, multiplied by a positive formula, or solved for another symbol. Such a step
proves that two relations are the same; values for which only one of them holds prove that they are not.
Anything else is `Undecided`. Values at which both sides are equal are tried as well: ``x < 5`` and ``x <= 5``
differ only at 5, and two equations only at solutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from autograder.formulas.equality.rounding import is_whole
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Add, Neg, Node, Num, Pow, Relation, Sym, collect_symbols, walk_tree
from autograder.formulas.values.evaluate import Irrational, Rational, TooLarge, Undefined, evaluate_exactly
from autograder.formulas.values.points import Points, is_in_domain

MAX_MONOMIAL = 8
"""Largest power of a symbol by which a relation may have been multiplied."""
SMALL = (1, 2, 3)
"""Small values at which two inequalities may differ, for example where both sides are equal."""
# Every combination of `SMALL` for five symbols.
MAX_SMALL = 243
SECRET = 16
"""Number of secret points inside the symbols' domains."""
AROUND = 3
"""Number of small points, and of secret ones, from which boundaries are searched along each symbol."""
MAX_WORK = 10_000
"""Number of nodes that are evaluated to find a difference: a few milliseconds."""

Assumption = tuple[str, Node]
"""A symbol and the formula that replaces it."""

_SMALL_SHARES: Mapping[str, tuple[Rational, ...]] = {
    "probability": (Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)),
    "unit": (0, Fraction(1, 2), 1),
}
"""The small values for the domains that reach from 0 to 1."""
_TURNED: Mapping[str, str] = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "="}
_POWERS: Mapping[Fraction, int] = {
    Fraction(2) ** power: power for power in range(-MAX_MONOMIAL, MAX_MONOMIAL + 1)
}


def reverse_sign(relation: Relation) -> Relation:
    """Return the same sides with the sign reversed: ``a > b`` for ``a < b``."""
    return Relation(relation.left, relation.right, _TURNED[relation.sign])


def with_sign(relation: Relation, sign: str) -> Relation:
    """Return the same sides with another sign, ``"<"`` or ``"≤"``, keeping the direction."""
    return Relation(*_order_sides(relation), sign)


def is_strict(relation: Relation) -> bool:
    """Return whether the two sides must differ."""
    return relation.sign in ("<", ">")


def subtract_sides(relation: Relation) -> Node:
    """Return smaller side - larger side: not positive if the inequality holds, zero if the equation does."""
    smaller, larger = _order_sides(relation)
    return Add((smaller, Neg(larger)))


def solve_for_symbol(relation: Relation) -> Assumption | None:
    """Return an equation as ``symbol = formula`` if one side is a symbol that the other side lacks."""
    if relation.sign != "=":
        return None
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if isinstance(side, Sym) and side.name not in collect_symbols(other):
            return side.name, other
    return None


def is_same_relation(
    first: Relation, second: Relation, points: Points, equal: Callable[[Node, Node], bool]
) -> bool:
    """Decide whether two relations hold for the same values of the symbols.

    Args:
        first: a relation.
        second: another relation.
        points: the domains of the symbols, and the sampled points.
        equal: compares formulas.

    Raises:
        Undecided: neither could be proven.
    """
    if "=" in (first.sign, second.sign):
        return first.sign == second.sign and _is_same_equation(first, second, points, equal)
    left, right = subtract_sides(first), subtract_sides(second)
    strict = is_strict(first)
    if strict is is_strict(second):
        if _is_multiple(left, right, points):
            return True
    elif is_whole(left, points.domains) and is_whole(right, points.domains):  # a < b and a + 1 <= b
        unit = Num(1)
        if _is_multiple(
            Add((left, unit)) if strict else left, right if strict else Add((right, unit)), points
        ):
            return True
    names = collect_symbols(left) | collect_symbols(right)
    candidates = (*_generate_points(points, names), *_generate_boundary_points(first, second, names, points))
    for point in islice(candidates, MAX_WORK // sum(1 for side in (left, right) for _ in walk_tree(side))):
        verdicts = _is_satisfied(first, point), _is_satisfied(second, point)
        if None not in verdicts and verdicts[0] is not verdicts[1]:
            return False
    # The multiple test needs rational values; formulas with maxima, for example, are left to the comparer.
    if strict is is_strict(second) and equal(left, right):
        return True
    raise Undecided("two inequalities that may be the same")


def _is_same_equation(
    first: Relation, second: Relation, points: Points, equal: Callable[[Node, Node], bool]
) -> bool:
    """Decide whether two equations have the same solutions; see `is_same_relation`."""
    left, right = subtract_sides(first), subtract_sides(second)
    if _is_multiple(left, right, points, signed=False):
        return True
    for relation, other in ((first, right), (second, left)):
        for name in sorted(collect_symbols(subtract_sides(relation))):
            root = _find_root(relation, name, points.exact)
            # Multiplying by a symbol that may be zero adds solutions, but none that anyone intends.
            if root and _evaluate_or_none(other, {**points.exact, name: root}):
                return False
        if _evaluate_or_none(other, points.exact) == 0:  # ``0 = 0`` is no relation
            return False
    if equal(left, right) or equal(left, Neg(right)):
        return True
    raise Undecided("two equations that may have the same solutions")


def _is_multiple(first: Node, second: Node, points: Points, *, signed: bool = True) -> bool:
    """Return whether the quotient of two formulas is a number times powers of positive symbols.

    This is inferred from the growth of the quotient when one symbol is doubled.

    Args:
        first: a formula.
        second: another formula.
        points: the domains of the symbols, and the sampled points.
        signed: whether the number must be positive.
    """
    try:
        above, below = evaluate_exactly(first, points.exact), evaluate_exactly(second, points.exact)
        if above == 0 or below == 0 or (signed and (above > 0) is not (below > 0)):
            return False
        ratio = Fraction(above) / Fraction(below)
        for name in collect_symbols(first) | collect_symbols(second):
            doubled = {**points.exact, name: 2 * points.exact[name]}
            above, below = evaluate_exactly(first, doubled), evaluate_exactly(second, doubled)
            power = _POWERS.get(Fraction(above) / Fraction(below) / ratio) if below else None
            # A symbol that may be negative would reverse an inequality, so no power of it may be a factor.
            if power is None or (power and points.domains[name] == "real"):
                return False
    except (Irrational, TooLarge, Undefined):
        return False
    return True


def _generate_boundary_points(
    first: Relation, second: Relation, names: Collection[str], points: Points
) -> Iterator[Mapping[str, Rational]]:
    """Yield points of the symbols' domains on, between and near the boundaries of two inequalities."""
    # A large power costs as much as so many factors.
    powers = [
        part.exponent for relation in (first, second) for part in walk_tree(relation) if isinstance(part, Pow)
    ]
    if sum(int(power.value) for power in powers if isinstance(power, Num)) > MAX_WORK // AROUND:
        return
    ordered = sorted(names)
    for index in range(AROUND):
        small = {
            name: _SMALL_SHARES.get(points.domains[name], SMALL)[(index + position) % len(SMALL)]
            for position, name in enumerate(ordered)
        }
        for base, name in product((small, points.get_point_inside(index)), ordered):
            roots = [
                root for relation in (first, second) if (root := _find_root(relation, name, base)) is not None
            ]
            for value in _generate_near_roots(roots):
                if is_in_domain(value, points.domains[name]):
                    yield {**base, name: value}


def _find_root(relation: Relation, name: str, point: Mapping[str, Rational]) -> Rational | None:
    """Return the value of a symbol at which both sides are equal; None if they are not linear in it."""
    difference = subtract_sides(relation)
    values = [_evaluate_or_none(difference, {**point, name: value}) for value in (1, 2, 3)]
    if None in values:
        return None
    low, middle, high = (Fraction(value) for value in values if value is not None)
    # Three equally spaced values determine a line, or show that there is none.
    if middle - low != high - middle or middle == low:
        return None
    return 1 - low / (middle - low)


def _generate_near_roots(roots: Collection[Rational]) -> Iterator[Rational]:
    """Yield values on boundaries, half way between two of them, and near them."""
    yield from roots
    if len(roots) == 2:
        yield Fraction(sum(map(Fraction, roots)), 2)
    for root in roots:
        yield from (-root, math.floor(root), math.ceil(root), root - 1, root + 1)


def _order_sides(relation: Relation) -> tuple[Node, Node]:
    """Return the two sides, the smaller one first."""
    if relation.sign in (">", "≥"):
        return relation.right, relation.left
    return relation.left, relation.right


def _generate_points(points: Points, names: frozenset[str]) -> Iterator[Mapping[str, Rational]]:
    """Yield points at which two inequalities may differ: secret ones, then small ones."""
    if not any(points.domains[name] in ("probability", "unit") for name in names):
        yield points.exact
    for number in range(SECRET):
        yield points.get_point_inside(number)
    ordered = sorted(names)
    small = [_SMALL_SHARES.get(points.domains[name], SMALL) for name in ordered]
    for values in islice(product(*small), MAX_SMALL):
        yield dict(zip(ordered, values, strict=True))


def _evaluate_or_none(node: Node, point: Mapping[str, Rational]) -> Rational | None:
    """Return the exact value of a formula; None if there is none or it is not known."""
    try:
        return evaluate_exactly(node, point)
    except (Irrational, TooLarge, Undefined):
        return None


def _is_satisfied(relation: Relation, point: Mapping[str, Rational]) -> bool | None:
    """Return whether an inequality holds at a point; None if that is not known."""
    value = _evaluate_or_none(subtract_sides(relation), point)
    return None if value is None else value < 0 or (value == 0 and not is_strict(relation))
