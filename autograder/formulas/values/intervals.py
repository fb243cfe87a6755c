"""Bounds of formulas over the whole domain of their symbols, by interval arithmetic on exact numbers.

Used to prove that the argument of a root or logarithm is never negative. The bounds are sound, not tight:
each occurrence of a symbol varies on its own, as in `Moore, Kearfott, Cloud: Introduction to Interval
Analysis`, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct

from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, children
from autograder.formulas.values.evaluate import EXACT_BITS, TooLarge, Undefined, constant_value

Bound: TypeAlias = "int | Fraction | float"
"""Exact, or an infinite float. Other floats never occur."""


class Interval(Struct, frozen=True):
    """Every value of a formula, where it has one, lies between ``low`` and ``high``.

    Attributes:
        low: the least value, or less.
        high: the largest value, or more.
        excludes_zero: whether the value is never zero, e.g. because the interval is open there.
    """

    low: Bound = -math.inf
    high: Bound = math.inf
    excludes_zero: bool = False

    @property
    def is_nonzero(self) -> bool:
        """Whether the value is never zero."""
        return self.excludes_zero or self.low > 0 or self.high < 0


EVERYTHING = Interval()
_UNIT = Interval(-1, 1)
_DOMAINS: Mapping[str, Interval] = {
    "positive integer": Interval(1),
    "positive": Interval(0, math.inf, excludes_zero=True),
    "probability": Interval(0, 1, excludes_zero=True),
    "unit": Interval(0, 1),
    "real": EVERYTHING,
}


def enclose(node: Node, domains: Mapping[str, str]) -> Interval:
    """Return bounds of a formula.

    Args:
        node: the formula.
        domains: name → domain of each symbol; see `Vocabulary`.
    """
    if isinstance(node, Sym):
        return _DOMAINS[domains[node.name]]
    if isinstance(node, Num):
        return Interval(node.value, node.value)
    if isinstance(node, Const):
        return Interval(3, 4) if node.name == "pi" else Interval(2, 3)
    below = [enclose(part, domains) for part in children(node)]
    if isinstance(node, Pow):
        return _widen(_raise(node, *below))
    if isinstance(node, Fn):
        return _widen(_apply(node.name, below))
    if isinstance(node, Neg):
        return _negate(below[0])
    if isinstance(node, Div):
        return _widen(_multiply(below[0], _invert(below[1])))
    combine = _add if isinstance(node, Add) else _multiply
    total = below[0]
    for other in below[1:]:
        total = combine(total, other)
    squared = isinstance(node, Mul) and _is_square(node.factors)
    return _widen(Interval(max(total.low, 0), total.high, total.excludes_zero) if squared else total)


def _widen(interval: Interval) -> Interval:
    """Replace bounds of many digits by simpler ones, so that nested powers stay cheap."""
    low, high = interval.low, interval.high
    if _is_long(low):
        low = 1 if low >= 1 else 0 if low >= 0 else -math.inf
    if _is_long(high):
        high = -1 if high <= -1 else 0 if high <= 0 else math.inf
    return Interval(low, high, interval.is_nonzero)


def _is_long(bound: Bound) -> bool:
    return _bits(bound) > EXACT_BITS


def _bits(bound: Bound) -> int:
    if isinstance(bound, float):
        return 0
    return max(bound.numerator.bit_length(), bound.denominator.bit_length())


def _is_square(factors: Sequence[Node]) -> bool:
    """Whether every factor stands an even number of times in a product."""
    return all(factors.count(factor) % 2 == 0 for factor in factors)


def _negate(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low, interval.excludes_zero)


def _add(first: Interval, second: Interval) -> Interval:
    low, high = first.low + second.low, first.high + second.high
    open_end = (first.is_nonzero or second.is_nonzero) and (
        min(first.low, second.low) >= 0 or max(first.high, second.high) <= 0
    )
    return Interval(low, high, open_end)


def _times(first: Bound, second: Bound) -> Bound:
    """Multiply two ends; zero times an infinite end is zero, since the end itself is never reached."""
    return 0 if 0 in (first, second) else first * second


def _multiply(first: Interval, second: Interval) -> Interval:
    ends = [_times(one, other) for one in (first.low, first.high) for other in (second.low, second.high)]
    return Interval(min(ends), max(ends), first.is_nonzero and second.is_nonzero)


def _invert(interval: Interval) -> Interval:
    """Return bounds of the reciprocal, where it has a value."""
    low, high = interval.low, interval.high
    if low == high == 0:
        return EVERYTHING  # it has no value
    if low >= 0:
        return Interval(_reciprocal(high), math.inf if low == 0 else _reciprocal(low), excludes_zero=True)
    if high <= 0:
        return _negate(_invert(_negate(interval)))
    return Interval(excludes_zero=True)


def _reciprocal(bound: Bound) -> Bound:
    if isinstance(bound, float):
        return 0
    return math.inf if bound == 0 else 1 / Fraction(bound)


def _raise(node: Pow, base: Interval, exponent: Interval) -> Interval:
    """Return bounds of a power, where it has a real value."""
    try:
        power = constant_value(node.exponent)
    except (TooLarge, Undefined):
        return EVERYTHING
    if isinstance(power, int):
        raised = _raise_to_whole(base, abs(power))
        return _invert(raised) if power < 0 else raised
    # A symbolic exponent may be whole, and an odd root may be meant for negative numbers: nothing is said.
    # Other bases are not negative where the power has a value.
    if base.low < 0 and (power is None or power.denominator % 2):
        return EVERYTHING
    nonzero = base.is_nonzero
    if exponent.low >= 0:
        return Interval(1 if base.low >= 1 else 0, 1 if base.high <= 1 else math.inf, nonzero)
    if exponent.high <= 0:
        return Interval(1 if base.high <= 1 else 0, 1 if base.low >= 1 else math.inf, nonzero)
    return Interval(0, math.inf, nonzero)


def _raise_to_whole(base: Interval, power: int) -> Interval:
    if power == 0:
        return Interval(1, 1)
    if max(_bits(base.low), _bits(base.high)) * power > EXACT_BITS:  # bounds of few digits instead
        even = power % 2 == 0
        low = 1 if base.low >= 1 else 0 if even or base.low >= 0 else -math.inf
        return Interval(low, math.inf, base.is_nonzero)
    ends = [base.low**power, base.high**power]
    if power % 2 == 0 and base.low < 0 < base.high:
        ends.append(0)
    return Interval(min(ends), max(ends), base.is_nonzero)


def _apply(name: str, arguments: Sequence[Interval]) -> Interval:
    """Return bounds of a function's value, where it has one."""
    if name in ("max", "min"):
        return _extreme(arguments, largest=name == "max")
    known = _OF_ONE.get(name)
    return EVERYTHING if known is None or len(arguments) > 1 else known(arguments[0])


def _extreme(arguments: Sequence[Interval], *, largest: bool) -> Interval:
    pick = max if largest else min
    low, high = pick(one.low for one in arguments), pick(one.high for one in arguments)
    known = [one for one in arguments if one.is_nonzero and (one.low >= 0 if largest else one.high <= 0)]
    return Interval(low, high, bool(known) or all(one.is_nonzero for one in arguments))


def _between(argument: Interval, turn: Bound, at_turn: Bound, low: Bound, high: Bound) -> Interval:
    """Return bounds of a rising function between ``low`` and ``high`` whose value at ``turn`` is known."""
    return Interval(at_turn if argument.low >= turn else low, at_turn if argument.high <= turn else high)


def _root(argument: Interval) -> Interval:
    bounds = _between(Interval(max(argument.low, 0), argument.high), 1, 1, 0, math.inf)
    return Interval(bounds.low, bounds.high, argument.is_nonzero)


def _size(argument: Interval) -> Interval:
    if argument.low >= 0:
        return argument
    if argument.high <= 0:
        return _negate(argument)
    return Interval(0, max(-argument.low, argument.high), argument.excludes_zero)


def _round(argument: Interval, rounded: Callable[[Bound], int]) -> Interval:
    low, high = (one if isinstance(one, float) else rounded(one) for one in (argument.low, argument.high))
    return Interval(low, high, excludes_zero=rounded is math.ceil and low >= 0 and argument.is_nonzero)


def _positive(interval: Interval) -> Interval:
    return Interval(interval.low, interval.high, excludes_zero=True)


_OF_ONE: Mapping[str, Callable[[Interval], Interval]] = {
    "sqrt": _root,
    "exp": lambda argument: _positive(_between(argument, 0, 1, 0, math.inf)),
    "log": lambda argument: _between(argument, 1, 0, -math.inf, math.inf),
    "ln": lambda argument: _between(argument, 1, 0, -math.inf, math.inf),
    "lg": lambda argument: _between(argument, 1, 0, -math.inf, math.inf),
    "abs": _size,
    "ceil": lambda argument: _round(argument, math.ceil),
    "floor": lambda argument: _round(argument, math.floor),
    "sigmoid": lambda argument: _positive(_between(argument, 0, Fraction(1, 2), 0, 1)),
    "tanh": lambda argument: _between(argument, 0, 0, -1, 1),
    "sin": lambda _: _UNIT,
    "cos": lambda _: _UNIT,
    # The gamma function is above 0.88 from 1 on; below, it changes its sign.
    "factorial": lambda argument: Interval(Fraction(4, 5)) if argument.low >= 0 else EVERYTHING,
}
