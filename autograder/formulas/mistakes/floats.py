"""Evaluate formulas as floating-point numbers at a few points, to select changes that are worth a proof.

Nothing is concluded from these values. If they agree, the comparer decides.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import islice

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
    get_children,
    walk_tree,
)

POINTS = 12
"""Number of points at which formulas are evaluated."""
DRAWN = 40
"""Number of drawn points from which these are chosen."""
SEVERAL = 4
"""Above this value, a rounded part can be distinguished from other roundings."""
CLOSE = 1e-9
"""Relative difference up to which values may be equal."""
MAX_SIZE = 1e200
"""Largest absolute value of a result; larger ones become nan."""
MAX_BITS = 600
"""Size of the largest numerator that is converted to a float."""

At = Mapping[str, float]
"""A value for every symbol."""


def sample_points(
    formula: Node, domains: Mapping[str, str], assumptions: Sequence[tuple[str, Node]]
) -> tuple[At, ...]:
    """Return points with a value for every symbol, the same in every process; assumptions are applied.

    Points are preferred at which another argument of a maximum decides, or rounding matters in another way:
    elsewhere, many different formulas would have equal values.
    """
    by_branch: dict[Hashable, list[At]] = {}
    for index in range(DRAWN):
        point = {name: _draw_value(name, domain, index) for name, domain in domains.items()}
        for name, settled in assumptions:
            point[name] = evaluate_formula(settled, point)
        by_branch.setdefault(_identify_branch(formula, point), []).append(point)
    # Take the first point of every branch, then the second of each, and so on.
    turns = (group[turn] for turn in range(DRAWN) for group in by_branch.values() if turn < len(group))
    return tuple(islice(turns, POINTS))


def _identify_branch(formula: Node, point: At) -> Hashable:
    """Return which arguments decide at a point, and whether rounded values are large."""
    signature: list[Hashable] = [math.isnan(evaluate_formula(formula, point))]
    for part in walk_tree(formula):
        if isinstance(part, Fn) and part.name in ("max", "min", "floor", "ceil"):
            values: list[float] = [evaluate_formula(argument, point) for argument in part.arguments]
            signature += [values.index(max(values)), values.index(min(values)), values[0] > SEVERAL]
    return tuple(signature)


def _draw_value(name: str, domain: str, index: int) -> float:
    """Draw a value of a domain.

    For whole symbols it is a fraction, a small number, and one of any size, in turn.
    """
    # A hash instead of a random generator: the same points in every process, without shared state.
    digest = hashlib.blake2b(f"{index} {name}".encode(), digest_size=8).digest()
    # Uniform in [0, 1).
    share = int.from_bytes(digest) / 2**64
    if domain in ("probability", "unit"):
        return 0.03 + 0.94 * share
    if domain == "positive integer":
        return (2.5 + 11 * share, 1.0 + int(9 * share), 2.0 + int(math.exp(8 * share)))[index % 3]
    size = math.exp(3 * share - 1.3)
    return -size if domain == "real" and digest[0] % 2 else size


def is_close(first: float, second: float) -> bool:
    """Return whether two values may be equal; False if one is nan or infinite."""
    return abs(first - second) <= CLOSE * (abs(first) + abs(second)) < math.inf


def is_near(first: float, second: float) -> bool:
    """Return whether two values differ by no more than rounding errors; True if one is nan."""
    # Negated, so that a comparison with nan counts as near.
    return not abs(first - second) > 1e-6 * (abs(first) + abs(second))


def to_float(number: int | Fraction) -> float:
    """Return the nearest float; nan if the number is too large to compute with."""
    return float(number) if number.numerator.bit_length() < MAX_BITS else math.nan


def evaluate_formula(node: Node, point: At) -> float:
    """Return the value of a formula; nan if it has none."""
    if isinstance(node, Sym):
        return point[node.name]
    if isinstance(node, Num):
        return to_float(node.value)
    if isinstance(node, Const):
        return math.pi if node.name == "pi" else math.e
    return combine_values(node, [evaluate_formula(child, point) for child in get_children(node)])


def combine_values(node: Node, values: Sequence[float]) -> float:
    """Return the value of a formula from the values of its parts; nan if it has none."""
    try:
        result = _combine_values(node, values)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):  # TypeError: too many arguments
        return math.nan
    return result if abs(result) < MAX_SIZE else math.nan


def _combine_values(node: Node, values: Sequence[float]) -> float:
    match node:
        case Add():
            return sum(values)
        case Mul():
            return math.prod(values)
        case Neg():
            return -values[0]
        case Div():
            return values[0] / values[1]
        case Pow():
            return _compute_power(values[0], values[1])
        case Fn(name, _):
            if any(map(math.isnan, values)):
                return math.nan
            return _FUNCTIONS[name](*values) if name in _FUNCTIONS else math.nan
    return math.nan


def _compute_power(base: float, exponent: float) -> float:
    if base < 0 and exponent != int(exponent):
        return math.nan
    return float(base**exponent)


def _compute_logarithm(argument: float, base: float = math.e) -> float:
    return math.log(argument) / math.log(base)


def _compute_binomial(total: float, chosen: float) -> float:
    return math.gamma(total + 1) / (math.gamma(chosen + 1) * math.gamma(total - chosen + 1))


_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": _compute_logarithm,
    "ln": math.log,
    "lg": math.log10,
    "max": max,
    "min": min,
    "factorial": lambda argument: math.gamma(argument + 1),
    "binomial": _compute_binomial,
    "ceil": lambda argument: float(math.ceil(argument)),
    "floor": lambda argument: float(math.floor(argument)),
    "abs": abs,
    "sigmoid": lambda argument: 1 / (1 + math.exp(-argument)),
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
}


def invert_node(node: Node, index: int, values: Sequence[float], wanted: float) -> float:
    """Return the value that one part needs for the formula to have a wanted value; nan if not determined."""
    try:
        result = _invert_node(node, index, values, wanted)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan
    return result if abs(result) < MAX_SIZE else math.nan


def _invert_node(  # noqa: C901 - one case for each kind of node
    node: Node, index: int, values: Sequence[float], wanted: float
) -> float:
    siblings = [*values[:index], *values[index + 1 :]]
    match node:
        case Add():
            return wanted - sum(siblings)
        case Mul():
            return wanted / math.prod(siblings)
        case Neg():
            return -wanted
        case Div():
            return wanted * values[1] if index == 0 else values[0] / wanted
        case Pow():
            if index == 1:
                return math.log(wanted) / math.log(values[0])
            return float(wanted ** (1 / values[1])) if wanted > 0 else math.nan
        case Fn("sqrt", _):
            return wanted * wanted if wanted >= 0 else math.nan
        case Fn("exp", _):
            return math.log(wanted)
        case Fn("ln", _) | Fn("log", (_,)):
            return math.exp(wanted)
        case Fn("lg", _):
            return float(10.0**wanted)
        case Fn("log", _) if index == 0:
            return float(values[1] ** wanted)
    return math.nan
