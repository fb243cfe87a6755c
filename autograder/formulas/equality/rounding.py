"""Compare formulas with ceilings and floors, for which agreement at random points proves nothing.

Two attempts are made. If the formulas are equal when every rounded part is replaced by an unknown that
depends only on its argument, then they are equal; this is tried for the formulas as written, and with parts
normalised that are the same for whole numbers. If they differ at some point, then they are different.
Everything else needs manual review.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from autograder.formulas.errors import Undecided
from autograder.formulas.forms.polynomials import Ring
from autograder.formulas.nodes import (
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    collect_symbols,
    get_children,
    rebuild_node,
    walk_tree,
)
from autograder.formulas.values.balls import is_different_somewhere
from autograder.formulas.values.evaluate import (
    Irrational,
    Rational,
    TooLarge,
    Undefined,
    evaluate_exactly,
)
from autograder.formulas.values.points import Points, SecretNumbers

ROUNDING = frozenset(("ceil", "floor"))
"""Names of the rounding functions."""
WITNESSES = (3, 12, 100, 10_000, 10**12)
"""Upper ends of the ranges in which a point of difference is looked for."""
_TRIES = 4
"""Number of points per range."""
_BITS = 90
"""Size of the coordinates at which rounded parts are replaced by unknowns."""

Rounding = Callable[[str, Rational], int]
"""Replaces a rounded value: name of the function and value of its argument → a number."""


def has_rounding(node: Node) -> bool:
    """Return whether a ceiling or floor occurs."""
    return any(isinstance(part, Fn) and part.name in ROUNDING for part in walk_tree(node))


def is_equal_with_rounding(first: Node, second: Node, points: Points) -> bool:
    """Decide whether two formulas are equal for all values of the symbols.

    Args:
        first: a formula.
        second: another formula.
        points: the domains of the symbols, and the sampled points.

    Raises:
        Undecided: neither equality nor difference could be proven.
    """
    names = sorted(collect_symbols(first) | collect_symbols(second))
    domains, stream = points.domains, points.create_stream("rounding")
    normalised = _normalise_rounding(first, domains), _normalise_rounding(second, domains)
    witnesses: list[Mapping[str, Rational]] = [
        {name: _draw_value(domains[name], largest, stream) for name in names}
        for largest in WITNESSES
        for _ in range(_TRIES)
    ]
    witnesses += [points.get_point_inside(number) for number in range(points.least)]
    try:
        # Fractions for whole symbols too: an argument that is whole here is whole everywhere.
        point = {name: _draw_value("positive", 1 << _BITS, stream) for name in names}
        unknown = _make_unknowns(points.derive_seed("unknowns"))
        for left, right in ((first, second), normalised):
            if _evaluate_rounded(left, point, unknown) == _evaluate_rounded(right, point, unknown):
                return True
        if any(_is_different_at(first, second, point) for point in witnesses):
            return False
        raise Undecided("rounded values that agree where they were looked at")
    except Irrational as error:
        fractions = ({name: Fraction(value) for name, value in point.items()} for point in witnesses)
        if is_different_somewhere(first, second, fractions):
            return False
        raise Undecided("rounded values that are not rational") from error
    except TooLarge as error:
        raise Undecided("rounded values that are too large") from error
    except Undefined as error:
        raise Undecided("division by zero") from error


def _normalise_rounding(node: Node, domains: Mapping[str, str]) -> Node:
    """Normalise rounding: quotients of whole numbers are rounded down, and once; whole values not at all.

    For whole ``a``, ``k`` and ``m > 0``: ``ceil(a/m) = floor((a - 1)/m) + 1``, and ``floor((floor(x) + k)/m)
    = floor((x + k)/m)``. Graham, Knuth, Patashnik, Concrete Mathematics, 3.2.
    """
    node = rebuild_node(node, [_normalise_rounding(part, domains) for part in get_children(node)])
    if isinstance(node, Fn) and node.name in ROUNDING and _is_whole_quotient(node.arguments[0], domains):
        return node.arguments[0]
    if not (isinstance(node, Fn) and node.name in ROUNDING and isinstance(node.arguments[0], Div)):
        return node
    above, under = node.arguments[0].numerator, node.arguments[0].denominator
    if not (is_whole(under, domains) and _is_above_zero(under, domains) and is_whole(above, domains)):
        return node
    if node.name == "ceil":
        # Only floors remain, so that both spellings of a value become the same.
        lowered = _normalise_rounding(Fn("floor", (Div(Add((above, Neg(Num(1)))), under),)), domains)
        return Add((lowered, Num(1)))
    summands = list(_flatten_terms(above))
    # An inner floor in a numerator can be removed, see the second identity above.
    for position, part in enumerate(summands):
        if isinstance(part, Fn) and part.name == "floor":
            inner = Add((*summands[:position], part.arguments[0], *summands[position + 1 :]))
            return Fn("floor", (Div(inner, under),))
    return node


def _flatten_terms(node: Node) -> Iterator[Node]:
    """Yield the terms of a sum, including those of nested sums."""
    if isinstance(node, Add):
        for part in node.terms:
            yield from _flatten_terms(part)
    else:
        yield node


def is_whole(node: Node, domains: Mapping[str, str]) -> bool:
    """Return whether a formula certainly has whole values."""
    match node:
        case Num(value):
            return Fraction(value).denominator == 1
        case Sym(name):
            return domains.get(name) == "positive integer"
        case Pow(base, Num(exponent)):
            return isinstance(exponent, int) and is_whole(base, domains)
        case Fn(name, _) if name in ROUNDING:
            return True
        case Neg() | Add() | Mul():
            return all(is_whole(part, domains) for part in get_children(node))
    return False


def _is_whole_quotient(node: Node, domains: Mapping[str, str]) -> bool:
    """Return whether a quotient such as ``16*d^2/2``, ``n*d/d`` or ``n*(n - 1)/2`` is always whole."""
    if is_whole(node, domains):
        return True
    try:
        ring = Ring((node,))
        return ring.is_whole_valued(node) and all(is_whole(part, domains) for part in ring.generators)
    except Undecided:
        return False


def _is_above_zero(node: Node, domains: Mapping[str, str]) -> bool:
    """Return whether a formula certainly has values above zero."""
    match node:
        case Num(value):
            return value > 0
        case Sym(name):
            return domains.get(name) == "positive integer"
        case Pow(base, _):
            return _is_above_zero(base, domains)
        case Add() | Mul():
            return all(_is_above_zero(part, domains) for part in get_children(node))
    return False


def _draw_value(domain: str, largest: int, stream: SecretNumbers) -> Rational:
    """Draw a value of a domain, with numerator and denominator up to about `largest`."""
    value: Rational = 1 + stream.draw_below(largest)
    if domain in ("probability", "unit"):  # the ends of the interval, where it has them
        least, parts = (0, largest) if domain == "unit" else (1, largest + 1)
        return Fraction(least + stream.draw_below(parts + 1 - 2 * least), parts)
    if domain != "positive integer":
        value = Fraction(value) / (1 + stream.draw_below(largest))
    return -value if domain == "real" and stream.draw_below(2) else value


def _is_different_at(first: Node, second: Node, point: Mapping[str, Rational]) -> bool:
    try:
        return _evaluate_rounded(first, point, _round_number) != _evaluate_rounded(
            second, point, _round_number
        )
    except Undefined:
        return False


def _evaluate_rounded(node: Node, point: Mapping[str, Rational], rounding: Rounding) -> Rational:
    return evaluate_exactly(_replace_rounded_parts(node, point, rounding), point)


def _replace_rounded_parts(node: Node, point: Mapping[str, Rational], rounding: Rounding) -> Node:
    """Return the formula with its rounded parts replaced by numbers."""
    if isinstance(node, Fn) and node.name in ROUNDING:
        value = rounding(node.name, _evaluate_rounded(node.arguments[0], point, rounding))
        return Num(value) if value >= 0 else Neg(Num(-value))
    return rebuild_node(node, [_replace_rounded_parts(part, point, rounding) for part in get_children(node)])


def _round_number(name: str, value: Rational) -> int:
    return math.ceil(value) if name == "ceil" else math.floor(value)


def _make_unknowns(key: bytes) -> Rounding:
    """Return a function that replaces rounded values by pseudorandom numbers.

    A number depends only on the value of the argument; a ceiling is a mirrored floor.
    """

    def map_to_unknown(name: str, value: Rational) -> int:
        if value.denominator == 1:
            return int(value)
        sign = -1 if name == "ceil" else 1
        argument = Fraction(sign * value)
        whole = math.floor(argument)  # floor(x + k) = floor(x) + k for whole k
        text = f"{argument - whole}".encode()
        # A keyed hash: without the secret, an answer cannot be built so that two unknowns agree by chance.
        return sign * (int.from_bytes(hashlib.blake2b(text, key=key, digest_size=12).digest()) + whole)

    return map_to_unknown
