"""Formulas as exact quotients of polynomials (python-flint), within limits.

Any part that is not a polynomial of the symbols, such as ``sqrt(n)`` or ``2^n``, counts as a further symbol:
two such parts are the same if they are written the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flint import Ordering, fmpz_mpoly_ctx

from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Add, Div, Mul, Neg, Node, Num, Pow
from autograder.formulas.values.evaluate import try_constant

MAX_GENERATORS = 10
MAX_TERMS = 120
MAX_DEGREE = 24
MAX_CLASSES = 64
"""Number of residue classes that are tested one by one."""
MAX_BITS = 256
"""Size of a coefficient."""

Polynomial = Any
"""An ``fmpz_mpoly``; flint has no type information."""


class Ring:
    """Polynomials with whole coefficients in the symbols, and symbol-like parts, of some formulas."""

    __slots__ = ("_context", "_generators", "_places")

    def __init__(self, formulas: Sequence[Node]) -> None:
        """Find the generators of some formulas.

        Raises:
            Undecided: there are too many.
        """
        generators: dict[Node, int] = {}
        for formula in formulas:
            _collect_generators(formula, generators)
        if len(generators) > MAX_GENERATORS:
            raise Undecided("too many symbols for polynomials")
        self._places = generators
        # flint needs at least one generator, even for constants.
        names = [f"x{index}" for index in range(max(len(generators), 1))]
        self._context = fmpz_mpoly_ctx.get(names, Ordering.lex)
        self._generators = self._context.gens()

    @property
    def generators(self) -> tuple[Node, ...]:
        """The symbols and symbol-like parts, in the order of the powers in a term."""
        return tuple(self._places)

    def to_quotient(self, node: Node) -> tuple[Polynomial, Polynomial]:
        """Return numerator and denominator of a formula; they may have common factors.

        Raises:
            Undecided: beyond the limits, or a denominator is zero.
        """
        match node:
            case Num(value):
                whole = Fraction(value)
                return self._make_constant(whole.numerator), self._make_constant(whole.denominator)
            case Neg(operand):
                above, below = self.to_quotient(operand)
                return -above, below
            case Add(terms):
                total = self._make_constant(0), self._make_constant(1)
                for term in terms:
                    total = _add_quotients(total, self.to_quotient(term))
                return total
            case Mul(factors):
                return self._combine_factors(factors)
            case Div(numerator, denominator):
                above, below = self.to_quotient(numerator)
                upper, lower = self.to_quotient(denominator)
                return self._divide_quotients((above, below), (upper, lower))
            case Pow(base, _) if (power := _get_whole_exponent(node)) is not None:
                above, below = self.to_quotient(base)
                raised = _expand_power(above, abs(power)), _expand_power(below, abs(power))
                return raised if power >= 0 else self._divide_quotients(self._combine_factors(()), raised)
        return self._generators[self._places[node]], self._make_constant(1)

    def to_lowest_terms(self, node: Node) -> tuple[Polynomial, Polynomial]:
        """Return numerator and denominator of a formula without common factors."""
        above, below = self.to_quotient(node)
        common = above.gcd(below)
        return above / common, below / common

    def is_whole(self, node: Node) -> bool:
        """Return whether a formula in lowest terms has no symbol below a fraction line."""
        return bool(self.to_lowest_terms(node)[1].is_constant())

    def strip_number(self, node: Node) -> tuple[str, str]:
        """Return numerator and denominator in lowest terms without the numeric factor, as text."""
        above, below = self.to_lowest_terms(node)
        return str(_strip_number(above)), str(_strip_number(below))

    def is_whole_valued(self, node: Node) -> bool:
        """Return whether whole generators give whole values, as for ``n*(n - 1)/2``."""
        above, below = self.to_lowest_terms(node)
        # If the denominator is a number, values modulo it depend only on the residues of the generators.
        divisor, count = abs(int(below.coeffs()[0])), max(len(self._places), 1)
        if not below.is_constant() or divisor**count > MAX_CLASSES:
            return False
        return all(
            int(above(*remainders)) % divisor == 0 for remainders in product(range(divisor), repeat=count)
        )

    def find_content(self, polynomial: Polynomial) -> Node | None:
        """Return the number and powers that are common to all terms; None if that is 1."""
        return self._to_formula(polynomial.term_content())

    def find_numeric_content(self, node: Node) -> Fraction:
        """Return the greatest number common to all terms, e.g. 1/2 for ``n/2 + 3*d/2``."""
        above, below = self.to_lowest_terms(node)
        return Fraction(int(above.content()), int(below.content()))

    def count_factors(self, polynomial: Polynomial) -> int:
        """Return the number of irreducible factors other than numbers, counted with multiplicity."""
        _, irreducible = polynomial.factor()
        return sum(int(times) for _, times in irreducible)

    def has_common_divisor(self, first: Node, second: Node) -> bool:
        """Return whether two polynomials have a common divisor other than 1; False for fractions."""
        (left, left_denominator), (right, right_denominator) = map(self.to_quotient, (first, second))
        if not (left_denominator.is_one() and right_denominator.is_one()) or not left or not right:
            return False
        return not left.gcd(right).is_one()

    def _to_formula(self, polynomial: Polynomial) -> Node | None:
        """Return a polynomial of one term as a formula; None for 1 and for several terms."""
        if len(polynomial) != 1 or polynomial.is_one():
            return None
        parts = list(self._places)
        number = abs(int(polynomial.coeffs()[0]))
        factors: list[Node] = [] if number == 1 else [Num(number)]
        for part, power in zip(parts, polynomial.monoms()[0], strict=False):
            if power:
                factors.append(part if power == 1 else Pow(part, Num(int(power))))
        return factors[0] if len(factors) == 1 else Mul(tuple(factors))

    def _make_constant(self, value: int) -> Polynomial:
        if value.bit_length() > MAX_BITS:
            raise Undecided("a number too large for polynomials")
        return self._context.constant(value)

    def _combine_factors(self, factors: Sequence[Node]) -> tuple[Polynomial, Polynomial]:
        above, below = self._make_constant(1), self._make_constant(1)
        for factor in factors:
            upper, lower = self.to_quotient(factor)
            above, below = _expand_product(above, upper), _expand_product(below, lower)
        return above, below

    def _divide_quotients(
        self, first: tuple[Polynomial, Polynomial], second: tuple[Polynomial, Polynomial]
    ) -> tuple[Polynomial, Polynomial]:
        if not second[0]:
            raise Undecided("division by zero")
        return _expand_product(first[0], second[1]), _expand_product(first[1], second[0])


def _strip_number(polynomial: Polynomial) -> Polynomial:
    primitive = polynomial / polynomial.content() if polynomial else polynomial
    # Polynomials that differ only by sign must become the same text.
    return -primitive if primitive and int(primitive.coeffs()[0]) < 0 else primitive


def _collect_generators(node: Node, generators: dict[Node, int]) -> None:
    match node:
        case Num():
            return
        case Neg(operand):
            _collect_generators(operand, generators)
        case Add(parts) | Mul(parts):
            for part in parts:
                _collect_generators(part, generators)
        case Div(above, below):
            _collect_generators(above, generators)
            _collect_generators(below, generators)
        case Pow(base, _) if _get_whole_exponent(node) is not None:
            _collect_generators(base, generators)
        case _:
            generators.setdefault(node, len(generators))


def _get_whole_exponent(node: Pow) -> int | None:
    """Return the exponent if it is a constant whole number."""
    power = try_constant(node.exponent)
    return None if power is None or power != int(power) else int(power)


def _add_quotients(
    first: tuple[Polynomial, Polynomial], second: tuple[Polynomial, Polynomial]
) -> tuple[Polynomial, Polynomial]:
    # A common denominator is kept, which avoids needless growth of the polynomials.
    if first[1] == second[1]:
        return _check_size(first[0] + second[0]), first[1]
    above = _expand_product(first[0], second[1]) + _expand_product(second[0], first[1])
    return _check_size(above), _expand_product(first[1], second[1])


def _expand_product(first: Polynomial, second: Polynomial) -> Polynomial:
    if len(first) * len(second) > MAX_TERMS**2 or _get_degree(first) + _get_degree(second) > MAX_DEGREE:
        raise Undecided("a polynomial of too many terms or too high a degree")
    return _check_size(first * second)


def _expand_power(base: Polynomial, power: int) -> Polynomial:
    # The bound on terms is the number of monomials of that degree in as many variables as the base has terms.
    if power * max(_get_degree(base), 1) > MAX_DEGREE or math.comb(len(base) + power - 1, power) > MAX_TERMS:
        raise Undecided("a polynomial of too many terms or too high a degree")
    return _check_size(base**power)


def _check_size(polynomial: Polynomial) -> Polynomial:
    if len(polynomial) > MAX_TERMS or any(
        abs(int(coefficient)).bit_length() > MAX_BITS for coefficient in polynomial.coeffs()
    ):
        raise Undecided("a polynomial of too many terms or too large coefficients")
    return polynomial


def _get_degree(polynomial: Polynomial) -> int:
    return int(polynomial.total_degree()) if polynomial else 0
