"""A correct formula under one reading, with its terms recognised as monomials by their exact values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.changes import make_product
from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow, Sym, collect_symbols
from autograder.formulas.values.evaluate import Rational
from autograder.formulas.values.points import BITS

MAX_TERMS = 24
"""Largest number of terms that a formula is expanded into."""
SMALL = 1 << 14
"""Largest numerator and denominator of the numeric factor."""
MOST_POWER = 8
"""Largest power of a symbol, and the negative of the smallest."""
_BELOW = 3
"""Largest power of a symbol that is expected in a denominator."""
_NUMBERS = 2**8 * 3**4 * 5**2 * 7 * 11 * 13
"""A multiple of the denominators that are expected in numeric factors.

Values are multiplied by it first, so that these denominators do not cancel against factors that the
coordinates have by chance."""
_ROOM = BITS * 24
"""Size in bits of the largest value that is examined."""


class Monomial(Struct, frozen=True):
    """A number times powers of symbols.

    Attributes:
        number: the numeric factor, not zero.
        powers: name → power, without symbols of power 0.
    """

    number: Fraction
    powers: Mapping[str, int]

    def to_formula(self) -> Node:
        """Return the formula, e.g. ``4*n_heads*d_model^2/n``."""
        number = abs(self.number)
        above = [_make_power(name, power) for name, power in self.powers.items() if power > 0]
        below = [_make_power(name, -power) for name, power in self.powers.items() if power < 0]
        if number.numerator != 1 or not above:
            above.insert(0, Num(number.numerator))
        if number.denominator != 1:
            below.insert(0, Num(number.denominator))
        formula = make_product(above)
        if below:
            formula = Div(formula, make_product(below))
        return Neg(formula) if self.number < 0 else formula


def compare_powers(before: Monomial, after: Monomial) -> dict[str, int]:
    """Return by how much the power of each symbol grows from one to the other, without zeros."""
    if before.powers == after.powers:
        return {}
    names = dict.fromkeys((*before.powers, *after.powers))
    steps = {name: after.powers.get(name, 0) - before.powers.get(name, 0) for name in names}
    return {name: step for name, step in steps.items() if step}


def find_small_ratio(first: Rational, second: Rational) -> Fraction | None:
    """Return the quotient of two nonzero values if it is a number that a misconception can produce."""
    # Integers are the usual case, and faster than fractions.
    if type(first) is int and type(second) is int:
        common = gcd(first, second)
        if abs(first) > SMALL * common or abs(second) > SMALL * common:
            return None
        return Fraction(first // common, second // common)
    ratio = Fraction(first) / Fraction(second)
    return ratio if abs(ratio.numerator) <= SMALL and ratio.denominator <= SMALL else None


class Recogniser:
    """Recognises monomials at the secret point of a comparer, in the symbols that no assumption resolves.

    The coordinates of the point are large secret integers. If a value can be divided repeatedly by
    coordinates until a small number is left then, except for a chance below 2^-60, it is that small number
    times these powers.
    """

    __slots__ = ("_common", "_points")

    def __init__(self, comparer: Comparer) -> None:
        """Use the point of a comparer."""
        resolved = {name for name, _ in comparer.assumptions}
        values = ((name, comparer.evaluate_at_point(Sym(name))) for name in comparer.points.exact)
        self._points: Sequence[tuple[str, int]] = tuple(
            (name, value)
            for name, value in values
            # A small coordinate would divide numeric factors by chance.
            if name not in resolved and isinstance(value, int) and abs(value) > SMALL
        )
        self._common = _NUMBERS
        for _, value in self._points:
            self._common *= value**_BELOW

    def recognise_monomial(self, value: Rational | None) -> Monomial | None:
        """Return the monomial with this value; None if there is none within the limits."""
        if not value:
            return None
        if type(value) is int:
            return self._split_powers(value * _NUMBERS, 0)
        # Clears the denominators that symbols and numbers below a fraction line cause.
        cleared = value * self._common
        return None if cleared.denominator != 1 else self._split_powers(cleared.numerator, _BELOW)

    def _split_powers(self, remaining: int, lowered: int) -> Monomial | None:
        """Divide by the coordinates a value that was multiplied by each of them `lowered` times."""
        if remaining.bit_length() > _ROOM + lowered * BITS * len(self._points):
            return None
        powers: dict[str, int] = {}
        for name, point in self._points:
            power = -lowered
            quotient, remainder = divmod(remaining, point)
            # Divide by the same coordinate as often as possible; the number of divisions is its power.
            while not remainder:
                remaining, power = quotient, power + 1
                if power > MOST_POWER:
                    return None
                quotient, remainder = divmod(remaining, point)
            if power:
                powers[name] = power
        number = Fraction(remaining, _NUMBERS)
        if abs(number.numerator) > SMALL or number.denominator > SMALL:
            return None
        return Monomial(number, powers)


def _make_power(name: str, power: int) -> Node:
    return Sym(name) if power == 1 else Pow(Sym(name), Num(power))


class ReferenceFormula(Struct, frozen=True, eq=False):
    """A correct formula under one reading.

    Attributes:
        right: the formula.
        comparer: the reading.
        value: the exact value of the formula at its first point.
        recogniser: recognises monomials by their values at that point.
        monomial: the formula as one monomial; None for a sum.
        parts: its terms as monomials with their values, like terms collected; empty if a term is no monomial.
        without: exact value → the term without which the formula has it; empty for a single term.
    """

    right: Node
    comparer: Comparer
    value: Rational
    recogniser: Recogniser
    monomial: Monomial | None
    parts: tuple[tuple[Monomial, Rational], ...]
    without: dict[Rational, Node]

    @classmethod
    def from_formula(cls, right: Node, comparer: Comparer) -> ReferenceFormula | None:
        """Compute all attributes; None if the formula has no exact value, or is zero.

        Args:
            right: a correct formula.
            comparer: a reading.
        """
        value = comparer.evaluate_at_point(right)
        if not value:
            return None
        recogniser = Recogniser(comparer)
        parts = collect_terms(expand_terms(right), comparer, recogniser)
        without: dict[Rational, Node] = {}
        # Terms as written come first, so that a missing term is named as in the formula.
        for part in (
            (*expand_terms(right), *(part.to_formula() for part, _ in parts)) if len(parts) > 1 else ()
        ):
            if (part_value := comparer.evaluate_at_point(part)) is not None:
                without.setdefault(value - part_value, part)
        return cls(right, comparer, value, recogniser, recogniser.recognise_monomial(value), parts, without)

    def is_missing(self, formula: Node, name: str) -> bool:
        """Return whether a symbol does not occur in a formula after the assumptions are substituted."""
        return name not in collect_symbols(self.comparer.substitute_assumptions(formula))


def collect_terms(
    parts: Iterable[Node], comparer: Comparer, recogniser: Recogniser
) -> tuple[tuple[Monomial, Rational], ...]:
    """Return terms as monomials with their values; terms that differ only by a number are combined."""
    by_powers: dict[tuple[tuple[str, int], ...], tuple[Fraction, Rational]] = {}
    for part in parts:
        value = comparer.evaluate_at_point(part)
        monomial = recogniser.recognise_monomial(value)
        if monomial is None or value is None:
            return ()
        powers = tuple(monomial.powers.items())
        number, total = by_powers.get(powers, (Fraction(0), 0))
        by_powers[powers] = (number + monomial.number, total + value)
    return tuple(
        (Monomial(number, dict(powers)), value) for powers, (number, value) in by_powers.items() if number
    )


def expand_terms(node: Node) -> tuple[Node, ...]:
    """Return the terms of a formula; only the formula itself if it is not a sum or has too many."""
    expanded = _expand_node(node)
    return (node,) if expanded is None else expanded


def _expand_node(node: Node) -> tuple[Node, ...] | None:
    match node:
        case Add(parts):
            return _join_terms([_expand_node(part) for part in parts])
        case Neg(operand):
            return _map_terms(_expand_node(operand), Neg)
        case Div(numerator, denominator):
            return _map_terms(_expand_node(numerator), lambda term: Div(term, denominator))
        case Pow(base, Num(2)) if isinstance(base, Add):
            return _expand_product((base, base))
        case Mul(factors):
            return _expand_product(factors)
    return (node,)


def _join_terms(parts: list[tuple[Node, ...] | None]) -> tuple[Node, ...] | None:
    joined: list[Node] = []
    for part in parts:
        if part is None or len(joined) + len(part) > MAX_TERMS:
            return None
        joined.extend(part)
    return tuple(joined)


def _map_terms(parts: tuple[Node, ...] | None, wrap: Callable[[Node], Node]) -> tuple[Node, ...] | None:
    return None if parts is None else tuple(wrap(part) for part in parts)


def _expand_product(factors: tuple[Node, ...]) -> tuple[Node, ...] | None:
    products: list[tuple[Node, ...]] = [()]
    for factor in factors:
        parts = _expand_node(factor)
        if parts is None or len(products) * len(parts) > MAX_TERMS:
            return None
        # The product of the numbers of terms is bounded before it is formed.
        products = [(*product, part) for product in products for part in parts]
    return tuple(Mul(product) for product in products)
