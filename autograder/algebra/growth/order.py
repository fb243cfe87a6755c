"""Judges asymptotic answers: ``O(n*d*(n + d))`` for a cost of ``12*n*d^2 + n^2*d``.

All symbols are positive and grow without bound, independently of one another; assumptions between them
are put in first. Two formulas are alike when each is at most a constant times the other. Whatever is
not proven either way is `Undecided`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from autograder.algebra.equality.compare import Assumption
from autograder.algebra.growth import scales, sums
from autograder.algebra.growth.growth import growth
from autograder.algebra.growth.hull import bounds
from autograder.algebra.growth.landau import body_of
from autograder.algebra.growth.scales import Product
from autograder.algebra.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    children,
    substitute,
    symbols,
)
from autograder.algebra.terms import terms
from autograder.errors import Undecided

MAX_LEADING = 8
"""Terms of which none outgrows another."""


class Order(Struct, frozen=True, eq=False):
    """An order of growth: the leading terms of a numerator, and those of a denominator."""

    above: tuple[Product, ...]
    below: tuple[Product, ...]


class Comparison(Struct, frozen=True):
    """How the growth asked for compares with an answer's.

    Attributes:
        at_most: it is at most a constant times the answer.
        at_least: it is at least a constant times the answer.
        asked: its leading terms, brought to one denominator with those of the answer.
        answer: the answer's.
    """

    at_most: bool
    at_least: bool
    asked: tuple[Product, ...]
    answer: tuple[Product, ...]

    @property
    def alike(self) -> bool:
        """Both are of the same order."""
        return self.at_most and self.at_least

    @property
    def faster_in(self) -> tuple[str, ...]:
        """Symbols in which it grows faster than the answer, the others being fixed."""
        return _faster(self.asked, self.answer)

    @property
    def slower_in(self) -> tuple[str, ...]:
        """Symbols in which it grows more slowly."""
        return _faster(self.answer, self.asked)


def order(statement: Node, assumptions: Iterable[Assumption] = ()) -> Order:
    """The order of growth of a statement's formula, or of a formula.

    Args:
        statement: what was read by `landau`.
        assumptions: symbol → formula, in an order in which each uses only symbols settled before.

    Raises:
        Undecided: its growth cannot be told.
    """
    node = body_of(statement)
    for name, formula in reversed(tuple(assumptions)):
        node = substitute(node, name, formula)
    found = growth(node)
    above, below = sums.leading(found.above), sums.leading(found.below)
    if len(above) > MAX_LEADING or len(below) > MAX_LEADING:
        raise Undecided("too many leading terms")
    return Order(above, below)


def compared(asked: Order, answer: Order) -> Comparison:
    """Compare two orders of growth.

    Raises:
        Undecided: neither that one bounds the other, nor that it does not, could be proven.
    """
    left, right = _leading(asked.above, answer.below), _leading(answer.above, asked.below)
    return Comparison(_bounded(left, right), _bounded(right, left), left, right)


def alike(asked: Order, answer: Order) -> bool:
    """Whether two orders of growth are the same; what `compared` says of that, in less time.

    Raises:
        Undecided: see `compared`.
    """
    left, right = _leading(asked.above, answer.below), _leading(answer.above, asked.below)
    return set(left) == set(right) or (_bounded(left, right) and _bounded(right, left))


def surplus(statement: Node) -> Node | None:
    """A term that another term outgrows, so that it says nothing; None where there is none.

    The formula itself stands for a term that is only there when brackets are multiplied out.

    Raises:
        Undecided: the growth of a term cannot be told.
    """
    body = body_of(statement)
    parts = terms(body)
    leading: list[tuple[Product, ...]] = []
    for part in parts:
        found = growth(part)
        if found.below == sums.UNIT:
            leading.append(sums.leading(sums.vague(found.above)))
    if len(parts) == 1:
        return body if len(leading) == 1 and sums.outgrown(growth(body).above) is not None else None
    if len(leading) < len(parts):
        return None
    for part, own in zip(parts, leading, strict=True):
        others = [product for products in leading if products is not own for product in products]
        if all(any(scales.vanishing(scales.quotient(one, other)) for other in others) for one in own):
            return part if part in children(body) else body
    return None


def constant(statement: Node) -> Node | None:
    """A constant factor, which says nothing; None where there is none. Exponents and bases are none."""
    return _constant(body_of(statement))


def _constant(node: Node) -> Node | None:
    match node:
        case Num() | Const():
            return node if node != Num(1) else None
        case Neg(operand):
            return node if isinstance(operand, Num) else _constant(operand)
        case Add(parts):
            growing = [part for part in parts if symbols(part)]
            return _first(growing) if growing else node
        case Mul(parts):
            return _first(parts)
        case Div(above, below):
            return _first((above, below))
        case Pow(base, exponent):
            return node if not symbols(exponent) and _constant(base) is not None else None
        case Fn("sqrt" | "max" | "min", arguments):
            return node if _first(arguments) is not None else None
    return None


def _first(parts: Iterable[Node]) -> Node | None:
    return next((found for part in parts if (found := _constant(part)) is not None), None)


def _leading(first: Sequence[Product], second: Sequence[Product]) -> tuple[Product, ...]:
    if second == (scales.ONE,):
        return tuple(first)
    products = sums.vague(scales.multiplied(one, other) for one in first for other in second)
    found = sums.leading(products)
    if len(found) > MAX_LEADING:
        raise Undecided("too many leading terms")
    return found


def _bounded(left: Sequence[Product], right: Sequence[Product]) -> bool:
    """Whether the sum of some products is at most a constant times the sum of others."""
    verdicts = [bounds(right, product) if right else False for product in left]
    if False in verdicts:
        return False
    if None in verdicts:
        raise Undecided("the growth could not be compared")
    return True


def _faster(left: Sequence[Product], right: Sequence[Product]) -> tuple[str, ...]:
    """The symbols in which a sum of products grows faster than another."""
    found = {name for product in (*left, *right) for name in scales.names(product)}
    return tuple(
        name
        for name in sorted(found)
        if any(
            all(scales.unbounded_in(scales.quotient(product, other), name) for other in right)
            for product in left
        )
    )
