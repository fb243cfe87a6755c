"""Compare formulas with ``max``, ``min`` and roots of squares case by case.

At a given point one argument of every maximum decides its value, so two formulas without maxima remain to be
compared. If their values differ at a point of the domain, the formulas are different. They are equal if they
agree at every sampled point and every argument was seen to decide somewhere; arguments that can never decide
are removed first. Everything else is `Undecided`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from autograder.formulas.equality.rounding import has_rounding
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
    collect_symbols,
    get_children,
    rebuild_node,
    walk_tree,
)
from autograder.formulas.values.balls import estimate_work, find_certain_extremes, is_different_somewhere
from autograder.formulas.values.evaluate import (
    Irrational,
    TooLarge,
    Undefined,
    evaluate_exactly,
    try_constant,
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
    return any(_is_case(part) for part in walk_tree(node))


def has_maxima(node: Node) -> bool:
    """Return whether a maximum or a minimum occurs."""
    return any(map(_is_maximum, walk_tree(node)))


def _is_case(node: object) -> bool:
    return _is_maximum(node) or _is_absolute_value(node) or _match_even_root(node) is not None


def _is_maximum(node: object) -> bool:
    """Return whether a node is a maximum or a minimum of several arguments."""
    return isinstance(node, Fn) and node.name in ("max", "min") and len(node.arguments) > 1


def _is_absolute_value(node: object) -> bool:
    """Return whether a node is an absolute value."""
    return isinstance(node, Fn) and node.name == "abs"


def _match_even_root(node: object) -> tuple[Node, Fraction] | None:
    """Return base and total power of a root of an even power, such as ``sqrt(x^2)``; otherwise None."""
    if isinstance(node, Fn) and node.name == "sqrt":
        base, power = node.arguments[0], Fraction(1, 2)
    elif isinstance(node, Pow) and isinstance(outer := try_constant(node.exponent), Fraction):
        base, power = node.base, outer
    else:
        return None
    if isinstance(base, Mul) and len(base.factors) == 2 and base.factors[0] == base.factors[1]:
        base = Pow(base.factors[0], Num(2))
    # An even root of an even power is a power of the absolute value: (x^2)^(1/2) = |x|.
    inner = try_constant(base.exponent) if isinstance(base, Pow) else None
    if not isinstance(base, Pow) or not isinstance(inner, int) or inner % 2 or power.denominator % 2:
        return None
    return (base.base, power * inner) if collect_symbols(base.base) else None


def replace_absolute_values(node: Node) -> Node:
    """Replace absolute values by maxima: ``max(x, -x)`` for ``|x|`` and ``sqrt(x^2)``."""
    if isinstance(node, Fn) and _is_absolute_value(node):
        base = replace_absolute_values(node.arguments[0])
        return Fn("max", (base, Neg(base)))
    even_root = _match_even_root(node)
    if even_root is not None:
        base, power = replace_absolute_values(even_root[0]), even_root[1]
        absolute = Fn("max", (base, Neg(base)))
        exponent = Num(int(power) if power.denominator == 1 else power) if power > 0 else Neg(Num(-power))
        return absolute if power == 1 else Pow(absolute, exponent)
    return rebuild_node(node, [replace_absolute_values(part) for part in get_children(node)])


def is_equal_by_cases(first: Node, second: Node, points: Points, equal: Equal) -> bool:
    """Decide whether two formulas are equal for all values of the symbols.

    Args:
        first: a formula.
        second: another formula.
        points: the domains of the symbols, and the sampled points.
        equal: compares formulas without maxima.

    Raises:
        Undecided: neither equality nor difference could be proven.
    """
    first, second = (
        _drop_idle_arguments(replace_absolute_values(formula), points.domains) for formula in (first, second)
    )
    cached_equal = _CachedEquality(equal)
    # Larger formulas are sampled at fewer points, so the cost of a comparison is bounded.
    count = min(LOOKED_AT, MAX_WORK // (estimate_work(first) + estimate_work(second)))
    seen: tuple[set[Decision], set[Decision]] = set(), set()
    is_open, rounded = False, has_rounding(first) or has_rounding(second)
    for index in range(count):
        # Points inside the domain can prove a difference. Points anywhere among the real numbers only show
        # which arguments decide, and around them the formulas must agree as well.
        for point, inside in (
            (points.get_point_inside(index), True),
            (points.get_point_anywhere(index), False),
        ):
            here: tuple[set[Decision], set[Decision]] = set(), set()
            try:
                left = _select_branches(first, point, here[0], (), cached_equal)
                right = _select_branches(second, point, here[1], (), cached_equal)
            except _Tie:  # whole numbers are equal by chance, others are not
                is_open = is_open or not (inside or rounded)
                continue
            if left is None or right is None:
                continue
            # Only what decides where both were compared: a tie of one of them can hide a difference.
            seen[0].update(here[0])
            seen[1].update(here[1])
            if cached_equal(left, right):
                continue
            if inside and _is_different_at(left, right, point):
                return False
            is_open = True  # they may agree at whole numbers, say
    all_seen = not any(_find_unseen_arguments(first, seen[0], ())) and not any(
        _find_unseen_arguments(second, seen[1], ())
    )
    if (is_open or not all_seen) and not _is_reordered(first, second, cached_equal):
        raise Undecided("a maximum or minimum of which not every case could be decided")
    return True


def _find_unseen_arguments(node: Node, seen: set[Decision], path: tuple[int, ...]) -> Iterator[Node]:
    """Yield the arguments of maxima that were never seen to decide."""
    for index, part in enumerate(get_children(node)):
        if _is_maximum(node) and (path, index) not in seen:
            yield part
        yield from _find_unseen_arguments(part, seen, (*path, index))


class _CachedEquality:
    """Compares formulas without maxima, each pair once. An undecided pair counts as different."""

    def __init__(self, equal: Equal) -> None:
        self._equal = equal
        self._known: dict[tuple[Node, Node], bool] = {}

    def __call__(self, first: Node, second: Node) -> bool:
        verdict = self._known.get((first, second))
        if verdict is None:
            try:
                verdict = self._equal(first, second)
            except Undecided:
                verdict = False
            self._known[first, second] = verdict
        return verdict


def _is_different_at(left: Node, right: Node, point: Point) -> bool:
    """Return whether two formulas without maxima certainly differ at a point."""
    try:
        return evaluate_exactly(left, point) != evaluate_exactly(right, point)
    except (Irrational, TooLarge):
        return is_different_somewhere(left, right, [point])
    except Undefined:
        return False


def _is_reordered(first: Node, second: Node, equal: Equal) -> bool:
    """Return whether two formulas differ only in the order of terms, factors or arguments of maxima."""
    if not any(map(_is_maximum, (*walk_tree(first), *walk_tree(second)))):
        return equal(first, second)
    if type(first) is not type(second) or (
        isinstance(first, Fn) and isinstance(second, Fn) and first.name != second.name
    ):
        return False
    left, right = get_children(first), list(get_children(second))
    if len(left) != len(right):
        return False
    if not isinstance(first, Add | Mul) and not _is_maximum(first):
        return all(_is_reordered(*pair, equal) for pair in zip(left, right, strict=True))
    for operand in left:
        position = next(
            (position for position, other in enumerate(right) if _is_reordered(operand, other, equal)), None
        )
        if position is None:
            return False
        del right[position]
    return True


def _drop_idle_arguments(node: Node, domains: Mapping[str, str]) -> Node:
    """Return an equal formula with nested maxima flattened and arguments that never decide removed."""
    node = rebuild_node(node, [_drop_idle_arguments(part, domains) for part in get_children(node)])
    if isinstance(node, Neg) and isinstance(node.operand, Neg):
        return node.operand.operand
    # -max(a, b) = min(-a, -b), so that nested maxima meet and can be flattened.
    if isinstance(node, Neg) and isinstance(node.operand, Fn) and _is_maximum(node.operand):
        other = "min" if node.operand.name == "max" else "max"
        return _drop_idle_arguments(Fn(other, tuple(Neg(part) for part in node.operand.arguments)), domains)
    if not (isinstance(node, Fn) and _is_maximum(node)):
        return node
    parts: list[Node] = []
    for part in node.arguments:
        parts += part.arguments if isinstance(part, Fn) and part.name == node.name else (part,)
    kept: list[Node] = []
    for position, part in enumerate(parts):
        if not any(
            _is_dominated(part, other, node.name, domains) for other in (*kept, *parts[position + 1 :])
        ):
            kept.append(part)
    return kept[0] if len(kept) == 1 else Fn(node.name, tuple(kept))


def _is_dominated(candidate: Node, other: Node, name: str, domains: Mapping[str, str]) -> bool:
    """Return whether an argument of a maximum never decides because of another argument.

    Of two equal arguments, the first one counts as never deciding.
    """
    opposite = "min" if name == "max" else "max"
    if isinstance(candidate, Fn) and candidate.name == opposite:  # no larger than any of its arguments
        return candidate == other or any(
            _is_dominated(part, other, name, domains) for part in candidate.arguments
        )
    if isinstance(other, Fn) and other.name == opposite:
        return all(_is_dominated(candidate, part, name, domains) for part in other.arguments)
    if any(map(_is_maximum, (*walk_tree(candidate), *walk_tree(other)))):
        return candidate == other
    larger, smaller = (other, candidate) if name == "max" else (candidate, other)
    return is_never_negative(Add((larger, Neg(smaller))), domains)


class _Tie(Exception):
    """At a point it is open which argument decides."""


def _select_branches(
    node: Node, point: Point, seen: set[Decision], path: tuple[int, ...], equal: Equal
) -> Node | None:
    """Return the formula that holds around a point.

    Each maximum is replaced by the argument that decides there.

    Returns:
        None if an argument has no value at the point.

    Raises:
        _Tie: several different arguments may have the extreme value.
    """
    is_maximum = _is_maximum(node)
    operands = get_children(node)
    parts: list[Node] = []
    # A decision inside an argument has no effect on the value unless that argument decides itself.
    inner: list[set[Decision]] = [set() if is_maximum else seen for _ in operands]
    for index, part in enumerate(operands):
        branch = _select_branches(part, point, inner[index], (*path, index), equal)
        if branch is None:
            return None
        parts.append(branch)
    if not is_maximum:
        return rebuild_node(node, parts)
    winners = _find_extremes(parts, point, smallest=isinstance(node, Fn) and node.name == "min")
    if winners is None:
        return None
    if not winners or not all(equal(parts[winners[0]], parts[other]) for other in winners[1:]):
        # Values that are equal or cannot be distinguished: the point may lie on a boundary between two cases.
        raise _Tie
    for index in winners:
        seen.add((path, index))
        seen |= inner[index]
    return parts[winners[0]]


def _find_extremes(parts: Sequence[Node], point: Point, *, smallest: bool) -> list[int] | None:
    """Return the indices of the largest (or smallest) values, see `find_certain_extremes`.

    None if an argument has no value.
    """
    try:
        values = [evaluate_exactly(part, point) for part in parts]
    except (Irrational, TooLarge):
        return find_certain_extremes(parts, point, smallest=smallest)
    except Undefined:
        return None
    top = min(values) if smallest else max(values)
    return [index for index, value in enumerate(values) if value == top]


def is_always_true(relation: Relation, domains: Mapping[str, str]) -> bool:
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
