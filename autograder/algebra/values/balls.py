"""Values as balls (python-flint): a midpoint and a radius that surely holds the true value.

Disjoint balls prove that two formulas differ. That two formulas are equal is concluded from several
secret points at which the difference shrinks with the precision; terms that are too small to be seen
beside the others are looked at with more precision, or leave the question undecided.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from flint import arb, ctx

from autograder.algebra.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, walk
from autograder.algebra.values.evaluate import TooLarge, Undefined, constant_value
from autograder.errors import Undecided

PRECISIONS = (128, 512, 1408)
"""Bits, tried in turn; the last is more than the digits that a number may be written with."""
THOROUGH = 2
"""Points at which formulas must agree at the highest precision."""
MAX_LOGARITHM = 10_000.0
"""Largest absolute natural logarithm of a value."""
MAX_GAMMA = 1_000.0
"""Largest argument of a factorial."""
MAX_WORK = 4_000
"""What one comparison may cost in all, see `_work`: about four milliseconds."""
_PRICES = {128: 1.0, 512: 1.5, 1408: 3.0}
"""Of each precision."""
_OF_GAMMA = {"factorial": 8, "binomial": 16}
"""What the functions made of gamma functions cost; every other one costs 4."""
_THOROUGH = (PRECISIONS[0], PRECISIONS[-1])
"""To see a difference, and to believe in agreement."""


class _Invisible(Exception):
    """A term is lost beside a far larger one at this precision."""


def equal_at(first: Node, second: Node, points: Sequence[Mapping[str, Fraction]], least: int) -> bool:
    """Whether two formulas agree at the points where both are defined.

    Args:
        first: a formula.
        second: another.
        points: values of every symbol.
        least: how many points must speak for equality.

    Raises:
        Undecided: too few points are conclusive.
    """
    agreed, work, spent = 0, _work(first) + _work(second), 0.0
    for number, at in enumerate(points):
        precisions = _THOROUGH if number < THOROUGH else PRECISIONS if agreed < number else PRECISIONS[:1]
        spent += work * sum(_PRICES[precision] for precision in precisions)
        if spent > MAX_WORK:
            raise Undecided("the formulas are too large for what they hold")
        verdict = _compare(first, second, at, thorough=number < THOROUGH)
        if verdict is False:
            return False
        agreed += verdict is True
        if agreed + len(points) - number - 1 < least:
            raise Undecided(f"the values agree at only {agreed} of {number + 1} points")
    return True


def _work(node: Node) -> int:
    """How long evaluating takes, where a sum or product takes 1."""
    return sum(
        _OF_GAMMA.get(part.name, 4) if type(part) is Fn else 3 if type(part) is Pow else 1
        for part in walk(node)
    )


def differ_somewhere(first: Node, second: Node, points: Iterable[Mapping[str, Fraction]]) -> bool:
    """Whether two formulas certainly differ at one of the points, as far as `MAX_WORK` reaches."""
    each = (_work(first) + _work(second)) * sum(_PRICES.values())
    affordable = itertools.islice(points, int(MAX_WORK // each))
    return any(_compare(first, second, at, thorough=False) is False for at in affordable)


def _compare(first: Node, second: Node, at: Mapping[str, Fraction], *, thorough: bool) -> bool | None:
    """At one point: differ (proven), agree, or None for undefined or beyond the limits.

    Being thorough, only agreement at the highest precision counts.
    """
    for precision in _THOROUGH if thorough else PRECISIONS:
        with ctx.workprec(precision):
            values = {name: _number(value) for name, value in at.items()}
            try:
                left, right = ball(first, values), ball(second, values)
            except _Invisible:
                continue
            except (TooLarge, Undefined):
                return None
            if not (left.is_finite() and right.is_finite()):
                continue
            difference = left - right
            if not difference.contains(0):
                return False
            scale = abs(left).max(abs(right))
            if thorough and precision < PRECISIONS[-1]:
                continue
            if difference.abs_upper() <= scale * arb(2) ** (-precision // 2):
                return True
    return None


def ball(node: Node, at: Mapping[str, arb]) -> arb:
    """The value of a formula at a point, at flint's current precision.

    Raises:
        TooLarge: a value is beyond the limits.
        Undefined: division by zero, or a function outside its domain, for certain.
        _Invisible: see there.
    """
    if isinstance(node, Sym):
        return at[node.name]
    if isinstance(node, Num):
        return _number(node.value)
    if isinstance(node, Mul):
        return math.prod((ball(factor, at) for factor in node.factors), start=arb(1))
    if isinstance(node, Add):
        return _sum([ball(term, at) for term in node.terms])
    if isinstance(node, Pow):
        return _power(node, at)
    if isinstance(node, Neg):
        return -ball(node.operand, at)
    if isinstance(node, Div):
        return _quotient(ball(node.numerator, at), ball(node.denominator, at))
    if isinstance(node, Const):
        return arb.pi() if node.name == "pi" else arb.const_e()
    return _function(node, at)


def _number(value: int | Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator) if isinstance(value, Fraction) else arb(value)


def _sum(terms: Sequence[arb]) -> arb:
    total, largest = arb(0), arb(0)
    for term in terms:
        total += term
        largest = largest.max(abs(term))
    _see(terms, largest)
    return total


def _see(terms: Iterable[arb], beside: arb) -> None:
    """Make sure that no term but zero is lost beside what it is added to."""
    floor = beside * arb(2) ** (-ctx.prec // 4)
    if any(not term.is_zero() and abs(term) < floor for term in terms):
        raise _Invisible


def _quotient(numerator: arb, denominator: arb) -> arb:
    if denominator.is_zero():
        raise Undefined
    return numerator / denominator


def _power(node: Pow, at: Mapping[str, arb]) -> arb:
    base = ball(node.base, at)
    constant = constant_value(node.exponent)
    if isinstance(constant, int):
        if base.is_zero() and constant < 0:
            raise Undefined
        if not base.is_zero():
            _limit(constant * _size(abs(base)))
        return base**constant
    exponent = _number(constant) if constant is not None else ball(node.exponent, at)
    if base < 0:
        raise Undefined
    _limit(exponent * _size(base))
    nearest = 0 if constant is None else round(constant)
    _see((exponent - nearest,), arb(1))  # about what makes the power differ from a whole one
    return base**exponent


def _size(value: arb) -> float:
    """The natural logarithm, roughly: at full precision it costs more than the power it is a limit for."""
    rough = float(value)
    if 0 < rough < math.inf:
        return math.log(rough)
    return float(value.log()) if value > 0 else 0.0


def _limit(logarithm: arb | float, most: float = MAX_LOGARITHM) -> None:
    if not -most < logarithm < most:
        raise TooLarge


def _function(node: Fn, at: Mapping[str, arb]) -> arb:
    arguments = [ball(argument, at) for argument in node.arguments]
    name, first = node.name, arguments[0]
    match name:
        case "sqrt":
            if first < 0:
                raise Undefined
            return first.sqrt()
        case "exp":
            _limit(first)
            _see((first,), arb(1))
            return first.exp()
        case "max" | "min":
            for other in arguments[1:]:
                first = first.max(other) if name == "max" else first.min(other)
            return first
        case "ceil" | "floor" | "abs":
            return abs(first) if name == "abs" else first.ceil() if name == "ceil" else first.floor()
        case "sigmoid" | "tanh" | "sin" | "cos":
            return _curve(name, first)
        case "factorial":
            return _gamma(first + 1)
        case "binomial":
            total, chosen = arguments
            return _gamma(total + 1) / (_gamma(chosen + 1) * _gamma(total - chosen + 1))
    return _logarithm_of(name, arguments)


def _curve(name: str, argument: arb) -> arb:
    """A sigmoid, a hyperbolic tangent, a sine or a cosine.

    Raises:
        _Invisible: what makes the value differ from its limit, or from that at zero, is lost beside it.
    """
    if name == "sin":
        return argument.sin()
    if name == "cos":
        _see((argument * argument,), arb(1))
        return argument.cos()
    size = abs(argument)
    _limit(size)
    _see(((-size).exp(),), arb(1))
    if name == "tanh":
        return argument.tanh()
    _see((argument,), arb(1))
    return 1 / (1 + (-argument).exp())


def _logarithm_of(name: str, arguments: Sequence[arb]) -> arb:
    first = arguments[0]
    if any(argument <= 0 for argument in arguments):
        raise Undefined
    if name == "lg":
        return first.log() / arb.const_log10()
    return first.log() / arguments[1].log() if len(arguments) == 2 else first.log()


def _gamma(value: arb) -> arb:
    _limit(value, MAX_GAMMA)
    return value.gamma()
