"""Evaluate formulas as balls (python-flint): a midpoint and a radius that certainly contain the true value.

Disjoint balls prove that two formulas differ. Equality is concluded from many secret points at which the
values agree to hundreds of digits; if a term is too small to be visible in a sum, the precision is raised, or
the point is not used.

Formulas are compared at points at which both have a value, so ``log(a^2*b)`` equals ``2*log(a) + log(b)``
although it has values for negative ``a``, too. A formula without a value wherever the other one has some is
different. If neither has any inside the domains of the symbols, as ``ln(p/(1-p))`` for a whole ``p``, they
are compared as functions of real numbers instead.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from flint import arb, ctx

from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    collect_symbols,
    walk_tree,
)
from autograder.formulas.values.evaluate import TooLarge, Undefined, evaluate_constant
from autograder.formulas.values.points import Point, Points

_OWNED = threading.RLock()
"""Guards the precision of flint; one lock per process, because the precision is a global variable."""


@contextlib.contextmanager
def set_precision(bits: int) -> Iterator[None]:
    """Compute with this precision in bits. Other threads that compute with balls wait.

    flint keeps one precision for the whole process: a thread that changes it changes it for every other
    thread in the middle of their computation. A thread that computes with balls therefore holds the only lock
    while its precision is set.
    """
    with _OWNED, ctx.workprec(bits):
        yield


PRECISIONS = (128, 512, 1408)
"""Bits, tried in turn; the last exceeds the number of digits that a number may be written with."""
THOROUGH = 2
"""Number of points at which formulas must agree at the highest precision."""
LEAST_AGREEMENT = 6
"""Number of points at which formulas must agree as functions of real numbers, including the thorough ones."""
LEAST_OF_LARGE = 3
"""The same for formulas that are too large for more, or have values at few points."""
LEAST_INSIDE = 4
"""Number of points inside their domains at which formulas must also agree."""
LEAST_WHOLE = 12
"""Number of points inside their domains that suffice if formulas have values only at whole numbers."""
MOST_POINTS = 96
"""Number of points that are tried, of both sorts together."""
MAX_LOGARITHM = 10_000.0
"""Largest absolute natural logarithm of a value."""
MAX_GAMMA = 1_000.0
"""Largest argument of a factorial."""
REMEMBERED = 512
"""Number of cached values of formulas at points."""
MAX_WORK = 4_000
"""Limit on the cost of one comparison, see `estimate_work`: about four milliseconds."""
_PRICES = {128: 1.0, 512: 1.5, 1408: 3.0}
"""Precision → relative cost."""
_OF_GAMMA = {"factorial": 12, "binomial": 30}
"""Cost of the functions based on gamma functions; every other function costs 4."""

_Outcome = Literal["differ", "agree", "first", "second", "neither", "unknown"]
"""Comparison of two formulas at a point: both have values, only one of them has a value, neither has, or
nothing certain is known."""


class _InsufficientPrecision(Exception):
    """A term is lost in a sum with a far larger one at this precision."""


_Tally = Counter[_Outcome]
"""Number of points of one sort with each outcome."""


def is_equal_at_points(first: Node, second: Node, points: Points) -> bool:
    """Decide whether two formulas agree wherever both have values.

    Args:
        first: a formula.
        second: another formula.
        points: the domains of the symbols, and the sampled points.

    Raises:
        Undecided: too few points are conclusive.
    """
    verdict = _decide_equality(first, second, points)
    if verdict is None:  # no values inside the domains: compare as functions of real numbers
        names = collect_symbols(first) | collect_symbols(second)
        verdict = _decide_equality(
            first, second, Points(dict.fromkeys(names, "real"), points.derive_seed("real"))
        )
    if verdict is None:
        raise Undecided("neither formula has a value anywhere")
    return verdict


def _decide_equality(first: Node, second: Node, points: Points) -> bool | None:
    """Decide equality inside the domains of the symbols; None if neither formula has a value there.

    Raises:
        Undecided: too few points are conclusive.
    """
    names = collect_symbols(first) | collect_symbols(second)
    whole = any(points.domains[name] == "positive integer" for name in names)
    if whole:  # the same as the second point below, without the first
        point, steps = points.get_point_inside(0), _choose_precisions(THOROUGH)
        if _compare_at_point(first, second, point, steps, points) == "differ":
            return False
    anywhere, inside, least = _Tally(), _Tally(), points.least
    work, spent = estimate_work(first) + estimate_work(second), 0.0
    for index in range(MOST_POINTS):
        is_inside = index % 2 == 1
        if not is_inside and anywhere["differ"]:  # now only values inside the domains can prove it
            continue
        steps = _choose_precisions(THOROUGH if is_inside else anywhere["agree"])
        if spent + work * _estimate_cost(steps, "agree") > MAX_WORK:
            break
        point = points.get_point_inside(index // 2) if is_inside else points.get_point_anywhere(index // 2)
        outcome = _compare_at_point(first, second, point, steps, points)
        spent += work * _estimate_cost(steps, outcome)
        (inside if is_inside else anywhere)[outcome] += 1
        # A difference at fractional values does not count if symbols are whole numbers.
        if outcome == "differ" and (is_inside or not whole):
            return False
        enough = anywhere["agree"] >= LEAST_AGREEMENT and inside["agree"] >= LEAST_INSIDE
        if enough and index >= 2 * least:
            return True
    return _decide_from_few(anywhere, inside)


def _estimate_cost(steps: Sequence[int], outcome: _Outcome) -> float:
    """Estimate the cost of a point.

    Mostly the first precision is sufficient, unless agreement needs the highest one.
    """
    first = outcome not in ("agree", "unknown") or (outcome == "agree" and steps == PRECISIONS)
    return sum(_PRICES[bits] for bits in (steps[:1] if first else steps))


def _decide_from_few(anywhere: _Tally, inside: _Tally) -> bool | None:
    """Decide after all points were tried and fewer agreed than usual; None if neither formula has values."""
    both = anywhere + inside
    if not anywhere["differ"] and (anywhere["agree"] >= LEAST_OF_LARGE or inside["agree"] >= LEAST_WHOLE):
        return True  # few values inside: whole numbers may be too large for exp
    if not both["agree"]:
        alone = inside["first"] + inside["second"]
        if alone >= LEAST_WHOLE:
            return False
        if inside["neither"] >= LEAST_WHOLE and not alone + anywhere["differ"]:
            return None
    raise Undecided(f"the values agree at only {both['agree']} points")


def _choose_precisions(agreed: int) -> tuple[int, ...]:
    """Return the precisions for a point: first one that shows most differences, then those for agreement."""
    if agreed >= THOROUGH:
        return PRECISIONS
    return (PRECISIONS[0], PRECISIONS[-1]) if agreed == 0 else PRECISIONS[-1:]


def estimate_work(node: Node) -> int:
    """Estimate the cost of evaluating a formula; a sum or product costs 1."""
    return sum(
        _OF_GAMMA.get(part.name, 4) if type(part) is Fn else 3 if type(part) is Pow else 1
        for part in walk_tree(node)
    )


def is_different_somewhere(first: Node, second: Node, points: Iterable[Point]) -> bool:
    """Return whether two formulas certainly differ at one of the points, within `MAX_WORK`."""
    # The worst case per point: all precisions are needed.
    each = (estimate_work(first) + estimate_work(second)) * sum(_PRICES.values())
    affordable = itertools.islice(points, int(MAX_WORK // each))
    return any(_compare_at_point(first, second, point, PRECISIONS, None) == "differ" for point in affordable)


def find_certain_extremes(parts: Sequence[Node], point: Point, *, smallest: bool = False) -> list[int] | None:
    """Return the index of the formula with the largest (or smallest) value at a point.

    Returns:
        An empty list if it is not certain, and None if one of the formulas has no value.
    """
    for bits in PRECISIONS:
        with set_precision(bits):
            values = {name: _to_ball(value) for name, value in point.items()}
            try:
                balls = [evaluate_ball(part, values) for part in parts]
            except _InsufficientPrecision:
                continue
            except (TooLarge, Undefined):
                return None
            if smallest:
                balls = [-candidate for candidate in balls]
            for index, candidate in enumerate(balls):
                if all(candidate > other for other_index, other in enumerate(balls) if other_index != index):
                    return [index]
    return []


def has_value(node: Node, point: Point) -> bool:
    """Return whether a formula certainly has a value at a point."""
    value = _evaluate_or_none(node, point)
    return value is not None and value.is_finite()


def is_negative(node: Node, point: Point) -> bool:
    """Return whether a formula certainly has a negative value at a point."""
    value = _evaluate_or_none(node, point)
    return value is not None and bool(value < 0)


def is_no_whole_number(node: Node, point: Point) -> bool:
    """Return whether a formula certainly has a value at a point that is not whole."""
    value = _evaluate_or_none(node, point)
    return value is not None and value.is_finite() and not value.contains_integer()


def is_zero(node: Node, point: Point) -> bool:
    """Return whether a formula is zero at a point, to as many digits as equal formulas must agree."""
    bits = PRECISIONS[-1]
    with set_precision(bits):
        value = _try_evaluate(node, point)
        return isinstance(value, arb) and bool(abs(value).upper() < arb(2) ** (-bits // 2))


def _evaluate_or_none(node: Node, point: Point) -> arb | None:
    """Return the value of a formula at a point; None if it has none, or if that is not certain."""
    for bits in PRECISIONS:
        with set_precision(bits):
            value = _try_evaluate(node, point)
        if value is not _InsufficientPrecision:
            return value if isinstance(value, arb) else None
    return None


def _compare_at_point(
    first: Node, second: Node, point: Point, steps: Sequence[int], points: Points | None
) -> _Outcome:
    """Compare two formulas at one point.

    Args:
        first: a formula.
        second: another formula.
        point: the point.
        steps: precisions, tried in turn. If there are fewer than all of them, only agreement at the highest
            one counts.
        points: the points with the cache for values; None to cache nothing.
    """
    thorough = len(steps) < len(PRECISIONS)
    for bits in steps:
        with set_precision(bits):
            try:
                left, right = (_evaluate_cached(node, point, bits, points) for node in (first, second))
            except _InsufficientPrecision:
                continue
            except TooLarge:
                return "unknown"
            if left is None or right is None:
                return "neither" if left is right else "second" if left is None else "first"
            if not (left.is_finite() and right.is_finite()):
                continue
            difference = left - right
            if not difference.contains(0):
                return "differ"
            if thorough and bits < PRECISIONS[-1]:
                continue
            scale = abs(left).max(abs(right))
            if left.contains(0) and right.contains(0):  # all terms cancel: both are zero
                scale = arb(1)
            if difference.abs_upper() <= scale * arb(2) ** (-bits // 2):
                return "agree"
    return "unknown"


def _evaluate_cached(node: Node, point: Point, bits: int, points: Points | None) -> arb | None:
    """Return the cached value of a formula at the current precision; None if it certainly has none."""
    key = (id(node), id(point), bits)
    cached = None if points is None else points.remembered.get(key)
    if cached is not None and cached[0] is node and cached[1] is point:
        value = cached[2]
    else:
        value = _try_evaluate(node, point)
        if points is not None:
            if len(points.remembered) >= REMEMBERED:
                points.remembered.clear()
            # The entry keeps references, because the ids in its key could be reused otherwise.
            points.remembered[key] = node, point, value
    if isinstance(value, type):
        raise value
    return value


def _try_evaluate(node: Node, point: Point) -> arb | type[Exception] | None:
    """Return the value of a formula, None if it certainly has none, or the class of the exception raised."""
    try:
        return evaluate_ball(node, {name: _to_ball(number) for name, number in point.items()})
    except Undefined:
        return None
    except _InsufficientPrecision:
        return _InsufficientPrecision
    except TooLarge:
        return TooLarge


def evaluate_ball(node: Node, values: Mapping[str, arb]) -> arb:
    """Return the value of a formula at a point, at the current precision of flint.

    Raises:
        TooLarge: a value is beyond the limits.
        Undefined: division by zero, or a function outside its domain, for certain.
        _InsufficientPrecision: a term is lost in a sum.
    """
    if isinstance(node, Sym):
        return values[node.name]
    if isinstance(node, Num):
        return _to_ball(node.value)
    if isinstance(node, Mul):
        return math.prod((evaluate_ball(factor, values) for factor in node.factors), start=arb(1))
    if isinstance(node, Add):
        return _add_terms([evaluate_ball(term, values) for term in node.terms])
    if isinstance(node, Pow):
        return _evaluate_power(node, values)
    if isinstance(node, Neg):
        return -evaluate_ball(node.operand, values)
    if isinstance(node, Div):
        return _divide_balls(evaluate_ball(node.numerator, values), evaluate_ball(node.denominator, values))
    if isinstance(node, Const):
        return arb.pi() if node.name == "pi" else arb.const_e()
    return _evaluate_function(node, values)


def _to_ball(value: int | Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator) if isinstance(value, Fraction) else arb(value)


def _add_terms(terms: Sequence[arb]) -> arb:
    total, largest = arb(0), arb(0)
    for term in terms:
        total += term
        largest = largest.max(abs(term))
    if ctx.prec >= PRECISIONS[-1]:  # terms that cannot be separated from zero cancel
        terms = [term for term in terms if not term.contains(0)]
    _check_visible(terms, largest)
    return total


def _check_visible(terms: Iterable[arb], scale: arb) -> None:
    """Check that no term except zero is lost at the scale of the sum."""
    # A term below this keeps less than three quarters of the digits in the sum.
    floor = scale * arb(2) ** (-ctx.prec // 4)
    if any(not term.is_zero() and abs(term) < floor for term in terms):
        raise _InsufficientPrecision


def _divide_balls(numerator: arb, denominator: arb) -> arb:
    if denominator.is_zero():
        raise Undefined
    return numerator / denominator


def _evaluate_power(node: Pow, values: Mapping[str, arb]) -> arb:
    base = evaluate_ball(node.base, values)
    constant = evaluate_constant(node.exponent)
    exponent = evaluate_ball(node.exponent, values) if constant is None else _to_ball(constant)
    whole = exponent.unique_fmpz() if exponent.is_exact() else None
    if whole is not None and (constant is not None or not base > 0):
        if base.is_zero() and whole < 0:
            raise Undefined
        if not base.is_zero():
            _check_limit(exponent * _estimate_logarithm(abs(base)))
        return base**whole
    if base < 0:
        raise Undefined
    _check_limit(exponent * _estimate_logarithm(base))
    nearest = 0 if constant is None else round(constant)
    _check_visible((exponent - nearest,), arb(1))  # the part by which it differs from a whole power
    return base**exponent


def _estimate_logarithm(value: arb) -> float:
    """Return a rough natural logarithm: at full precision it costs more than the power that it limits."""
    # A float suffices for a limit, unless the value is beyond its range.
    rough = float(value)
    if 0 < rough < math.inf:
        return math.log(rough)
    return float(value.log()) if value > 0 else 0.0


def _check_limit(logarithm: arb | float, bound: float = MAX_LOGARITHM) -> None:
    if not -bound < logarithm < bound:
        raise TooLarge


def _evaluate_function(node: Fn, values: Mapping[str, arb]) -> arb:
    arguments = [evaluate_ball(argument, values) for argument in node.arguments]
    name, first = node.name, arguments[0]
    match name:
        case "sqrt":
            if first < 0:
                raise Undefined
            return first.sqrt()
        case "exp":
            _check_limit(first)
            _check_visible((first,), arb(1))
            return first.exp()
        case "max" | "min":
            for other in arguments[1:]:
                first = first.max(other) if name == "max" else first.min(other)
            return first
        case "ceil" | "floor" | "abs":
            return abs(first) if name == "abs" else first.ceil() if name == "ceil" else first.floor()
        case "sigmoid" | "tanh" | "sin" | "cos":
            return _evaluate_curve(name, first)
        case "factorial":
            return _evaluate_gamma(first + 1)
        case "binomial":
            total, chosen = arguments
            return _evaluate_gamma(total + 1) / (
                _evaluate_gamma(chosen + 1) * _evaluate_gamma(total - chosen + 1)
            )
    return _evaluate_logarithm(name, arguments)


def _evaluate_curve(name: str, argument: arb) -> arb:
    """Return a sigmoid, a hyperbolic tangent, a sine or a cosine.

    Raises:
        _InsufficientPrecision: the difference from its limit, or from its value at zero, is lost.
    """
    if name == "sin":
        return argument.sin()
    if name == "cos":
        _check_visible((argument * argument,), arb(1))
        return argument.cos()
    size = abs(argument)
    _check_limit(size)
    _check_visible(((-size).exp(),), arb(1))
    if name == "tanh":
        return argument.tanh()
    _check_visible((argument,), arb(1))
    return 1 / (1 + (-argument).exp())


def _evaluate_logarithm(name: str, arguments: Sequence[arb]) -> arb:
    first = arguments[0]
    if any(argument <= 0 for argument in arguments):
        raise Undefined
    if name == "lg":
        return first.log() / arb.const_log10()
    return first.log() / arguments[1].log() if len(arguments) == 2 else first.log()


def _evaluate_gamma(value: arb) -> arb:
    _check_limit(value, MAX_GAMMA)
    return value.gamma()
