"""Compare formulas with ``max``, ``min`` and roots of squares case by case.

At a given point one argument of every maximum decides its value, so two formulas without maxima remain to be
compared. If their values differ at a point of the domain, the formulas are different. They are equal if they
agree at every sampled point and every argument was seen to decide somewhere; arguments that can never decide
are removed first. Everything else is `Undecided`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from autograder.formulas.equality.rounding import rounds
from autograder.formulas.errors import Undecided
from autograder.formulas.forms.signs import is_never_negative
from autograder.formulas.nodes import (
    Add,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Relation,
    children,
    rebuilt,
    symbols,
    walk,
)
from autograder.formulas.values.balls import certainly_largest, differ_somewhere, work_of
from autograder.formulas.values.evaluate import (
    Irrational,
    Rational,
    TooLarge,
    Undefined,
    constant_value,
    exact,
)
from autograder.formulas.values.points import Point, Points

LOOKED_AT = 200
"""Number of sampled points: of the domain, to find a difference, and of the real numbers, to see each
argument decide."""
MAX_WORK = 40_000
"""Limit on the cost of all these points, in units of `estimate_work`: about twenty milliseconds."""

Equal = Callable[[Node, Node], bool]
"""Compares two formulas without maxima."""
Decision = tuple[tuple[int, ...], int]
"""The path to a maximum in a formula, and the index of the argument that decides."""


def has_cases(node: Node) -> bool:
    """Return whether a maximum, a minimum, an absolute value or the root of a square occurs."""
    return any(_is_case(part) for part in walk(node))


def has_maxima(node: Node) -> bool:
    """Return whether a maximum or a minimum occurs."""
    return any(map(_is_maximum, walk(node)))


def _is_case(node: object) -> bool:
    return _is_maximum(node) or _is_size(node) or _rooted(node) is not None


def _is_maximum(node: object) -> bool:
    """Return whether a node is a maximum or a minimum of several arguments."""
    return isinstance(node, Fn) and node.name in ("max", "min") and len(node.arguments) > 1


def _is_size(node: object) -> bool:
    """Return whether a node is an absolute value."""
    return isinstance(node, Fn) and node.name == "abs"


def _rooted(node: object) -> tuple[Node, Fraction] | None:
    """Return base and total power of a root of an even power, such as ``sqrt(x^2)``; otherwise None."""
    if isinstance(node, Fn) and node.name == "sqrt":
        base, power = node.arguments[0], Fraction(1, 2)
    elif isinstance(node, Pow) and isinstance(outer := _number(node.exponent), Fraction):
        base, power = node.base, outer
    else:
        return None
    if isinstance(base, Mul) and len(base.factors) == 2 and base.factors[0] == base.factors[1]:
        base = Pow(base.factors[0], Num(2))
    # An even root of an even power is a power of the absolute value: (x^2)^(1/2) = |x|.
    inner = _number(base.exponent) if isinstance(base, Pow) else None
    if not isinstance(base, Pow) or not isinstance(inner, int) or inner % 2 or power.denominator % 2:
        return None
    return (base.base, power * inner) if symbols(base.base) else None


def _number(node: Node) -> Rational | None:
    """Return the value of a rational constant; None for any other formula."""
    try:
        return constant_value(node)
    except (TooLarge, Undefined):
        return None


def unfolded(node: Node) -> Node:
    """Replace absolute values by maxima: ``max(x, -x)`` for ``|x|`` and ``sqrt(x^2)``."""
    if isinstance(node, Fn) and _is_size(node):
        base = unfolded(node.arguments[0])
        return Fn("max", (base, Neg(base)))
    rooted = _rooted(node)
    if rooted is not None:
        base, power = unfolded(rooted[0]), rooted[1]
        size = Fn("max", (base, Neg(base)))
        exponent = Num(int(power) if power.denominator == 1 else power) if power > 0 else Neg(Num(-power))
        return size if power == 1 else Pow(size, exponent)
    below = children(node)
    if not below:
        return node
    return rebuilt(node, [unfolded(part) for part in below])


def equal_by_cases(first: Node, second: Node, points: Points, equal: Equal) -> bool:
    """Decide whether two formulas are equal for all values of the symbols.

    Args:
        first: a formula.
        second: another formula.
        points: the domains of the symbols, and the sampled points.
        equal: compares formulas without maxima.

    Raises:
        Undecided: neither equality nor difference could be proven.
    """
    first, second = (_without_idle(unfolded(one), points.domains) for one in (first, second))
    remembered = _Remembered(equal)
    # Larger formulas are sampled at fewer points, so the cost of a comparison is bounded.
    count = min(LOOKED_AT, MAX_WORK // (work_of(first) + work_of(second)))
    seen: tuple[set[Decision], set[Decision]] = set(), set()
    is_open, rounded = False, rounds(first) or rounds(second)
    for number in range(count):
        # Points inside the domain can prove a difference. Points anywhere among the real numbers only show
        # which arguments decide, and around them the formulas must agree as well.
        for at, inside in ((points.inside(number), True), (points.anywhere(number), False)):
            try:
                left = _settled(first, at, seen[0], (), remembered)
                right = _settled(second, at, seen[1], (), remembered)
            except _Tie:  # whole numbers are equal by chance, others are not
                is_open = is_open or not (inside or rounded)
                continue
            if left is None or right is None or remembered(left, right):
                continue
            if inside and _differ(left, right, at):
                return False
            is_open = True  # they may agree at whole numbers, say
    decided = not any(_idle(first, seen[0], ())) and not any(_idle(second, seen[1], ()))
    if (is_open or not decided) and not _is_reordered(first, second, remembered):
        raise Undecided("a maximum or minimum of which not every case could be decided")
    return True


def _idle(node: Node, seen: set[Decision], place: tuple[int, ...]) -> Iterator[Node]:
    """Yield the arguments of maxima that were never seen to decide."""
    for number, part in enumerate(children(node)):
        if _is_maximum(node) and (place, number) not in seen:
            yield part
        yield from _idle(part, seen, (*place, number))


class _Remembered:
    """Compares formulas without maxima, each pair once. An undecided pair counts as different."""

    def __init__(self, equal: Equal) -> None:
        self._equal = equal
        self._known: dict[tuple[Node, Node], bool] = {}

    def __call__(self, first: Node, second: Node) -> bool:
        known = self._known.get((first, second))
        if known is None:
            try:
                known = self._equal(first, second)
            except Undecided:
                known = False
            self._known[first, second] = known
        return known


def _differ(left: Node, right: Node, at: Point) -> bool:
    """Return whether two formulas without maxima certainly differ at a point."""
    try:
        return exact(left, at) != exact(right, at)
    except (Irrational, TooLarge):
        return differ_somewhere(left, right, [at])
    except Undefined:
        return False


def _is_reordered(first: Node, second: Node, equal: Equal) -> bool:
    """Return whether two formulas differ only in the order of terms, factors or arguments of maxima."""
    if not any(map(_is_maximum, (*walk(first), *walk(second)))):
        return equal(first, second)
    if type(first) is not type(second) or (
        isinstance(first, Fn) and isinstance(second, Fn) and first.name != second.name
    ):
        return False
    left, right = children(first), list(children(second))
    if len(left) != len(right):
        return False
    if not isinstance(first, Add | Mul) and not _is_maximum(first):
        return all(_is_reordered(*pair, equal) for pair in zip(left, right, strict=True))
    for one in left:
        place = next((place for place, other in enumerate(right) if _is_reordered(one, other, equal)), None)
        if place is None:
            return False
        del right[place]
    return True


def _without_idle(node: Node, domains: Mapping[str, str]) -> Node:
    """Return an equal formula with nested maxima flattened and arguments that never decide removed."""
    node = rebuilt(node, [_without_idle(part, domains) for part in children(node)])
    if isinstance(node, Neg) and isinstance(node.operand, Neg):
        return node.operand.operand
    # -max(a, b) = min(-a, -b), so that nested maxima meet and can be flattened.
    if isinstance(node, Neg) and isinstance(node.operand, Fn) and _is_maximum(node.operand):
        other = "min" if node.operand.name == "max" else "max"
        return _without_idle(Fn(other, tuple(Neg(part) for part in node.operand.arguments)), domains)
    if not (isinstance(node, Fn) and _is_maximum(node)):
        return node
    parts: list[Node] = []
    for part in node.arguments:
        parts += part.arguments if isinstance(part, Fn) and part.name == node.name else (part,)
    kept: list[Node] = []
    for place, part in enumerate(parts):
        if not any(_never_decides(part, other, node.name, domains) for other in (*kept, *parts[place + 1 :])):
            kept.append(part)
    return kept[0] if len(kept) == 1 else Fn(node.name, tuple(kept))


def _never_decides(one: Node, other: Node, name: str, domains: Mapping[str, str]) -> bool:
    """Return whether an argument of a maximum never decides because of another argument.

    Of two equal arguments, the first one counts as never deciding.
    """
    opposite = "min" if name == "max" else "max"
    if isinstance(one, Fn) and one.name == opposite:  # no larger than any of its arguments
        return one == other or any(_never_decides(part, other, name, domains) for part in one.arguments)
    if isinstance(other, Fn) and other.name == opposite:
        return all(_never_decides(one, part, name, domains) for part in other.arguments)
    if any(map(_is_maximum, (*walk(one), *walk(other)))):
        return one == other
    larger, smaller = (other, one) if name == "max" else (one, other)
    return is_never_negative(Add((larger, Neg(smaller))), domains)


class _Tie(Exception):
    """At a point it is open which argument decides."""


def _settled(node: Node, at: Point, seen: set[Decision], place: tuple[int, ...], equal: Equal) -> Node | None:
    """Return the formula that holds around a point.

    Each maximum is replaced by the argument that decides there.

    Returns:
        None if an argument has no value at the point.

    Raises:
        _Tie: several different arguments may have the extreme value.
    """
    below = children(node)
    if not below:
        return node
    parts: list[Node] = []
    for number, part in enumerate(below):
        settled = _settled(part, at, seen, (*place, number), equal)
        if settled is None:
            return None
        parts.append(settled)
    if not (isinstance(node, Fn) and _is_maximum(node)):
        return rebuilt(node, parts)
    deciding = _deciding(parts, at, smallest=node.name == "min")
    if deciding is None:
        return None
    if not deciding or not all(equal(parts[deciding[0]], parts[other]) for other in deciding[1:]):
        # Values that are equal or cannot be distinguished: the point may lie on a boundary between two cases.
        raise _Tie
    seen.update((place, number) for number in deciding)
    return parts[deciding[0]]


def _deciding(parts: Sequence[Node], at: Point, *, smallest: bool) -> list[int] | None:
    """Return the indices of the largest (or smallest) values, see `find_certain_extremes`.

    None if an argument has no value.
    """
    try:
        values = [exact(part, at) for part in parts]
    except (Irrational, TooLarge):
        return certainly_largest(parts, at, smallest=smallest)
    except Undefined:
        return None
    top = min(values) if smallest else max(values)
    return [number for number, value in enumerate(values) if value == top]


def always(relation: Relation, domains: Mapping[str, str]) -> bool:
    """Decide whether an inequality certainly holds for all values of the symbols.

    For example, ``0 < n`` holds for every positive integer ``n``.

    Args:
        relation: an inequality.
        domains: name → domain, at least for the symbols of the relation.
    """
    smaller, larger = relation.left, relation.right
    if relation.sign in (">", "≥"):
        smaller, larger = larger, smaller
    return is_never_negative(Add((larger, Neg(smaller))), domains, strictly=relation.sign in ("<", ">"))
