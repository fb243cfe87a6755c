"""A right formula under one reading, with everything about it that diagnosing wrong ones needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from math import gcd, lcm

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.mistakes.monomials import Monomial, Recogniser
from autograder.algebra.mistakes.slips import Material, Slip, slips
from autograder.algebra.nodes import Add, Mul, Node, substitute, symbols, walk
from autograder.algebra.terms import terms
from autograder.algebra.values.evaluate import Rational

MOST_NAMES = 12
"""Symbols that slips are tried with."""
MOST_WORK = 6_000
"""Parts of formulas in all slips together, about ten milliseconds: of a formula of 38 roots in one another
there are hundreds of slips, each as large as itself."""
LEAST_SLIPS = 20


class Base(Struct, frozen=True, eq=False):
    """A right formula under one reading.

    Attributes:
        right: the formula.
        comparer: the reading.
        value: the formula's exact value there.
        recogniser: tells monomials from other values there.
        monomial: the formula as one monomial; None for a sum.
        parts: its terms, like ones collected, as monomials with their values; empty where one is none.
        table: exact value → the slip that makes it.
    """

    right: Node
    comparer: Comparer
    value: Rational
    recogniser: Recogniser
    monomial: Monomial | None
    parts: tuple[tuple[Monomial, Rational], ...]
    table: dict[Rational | None, Slip]

    @classmethod
    def of(cls, right: Node, comparer: Comparer) -> Base | None:
        """Compute everything; None where the formula has no exact value, or is nothing.

        Args:
            right: a right formula.
            comparer: a reading.
        """
        value = comparer.value(right)
        if not value:
            return None
        recogniser = Recogniser(comparer)
        written = terms(right)
        parts = collected(written, comparer, recogniser)
        trees = [part.tree() for part, _ in parts] or list(written)
        table: dict[Rational | None, Slip] = {}
        material = Material(
            _writings(right, parts), tuple(trees), written, _names(right, comparer), _sums(comparer)
        )
        size = sum(1 for _ in walk(right))
        for slip in islice(slips(material), max(LEAST_SLIPS, MOST_WORK // size)):
            at = comparer.value(slip.tree)
            if at is not None and at != value:
                table.setdefault(at, slip)
        return cls(right, comparer, value, recogniser, recogniser.monomial(value), parts, table)

    def lacks(self, formula: Node, name: str) -> bool:
        """Whether a symbol stands nowhere in a formula, nor in what its symbols are settled by."""
        return name not in symbols(expanded(formula, self.comparer))


def expanded(node: Node, comparer: Comparer) -> Node:
    """A formula with the assumptions put in."""
    for name, formula in reversed(comparer.assumptions):
        node = substitute(node, name, formula)
    return node


def _names(right: Node, comparer: Comparer) -> tuple[str, ...]:
    """The symbols that slips are tried with: those of the formula first, none that is settled."""
    settled = {name for name, _ in comparer.assumptions}
    own = symbols(right) - settled
    others = [name for name in comparer.points.exact[0] if name not in own | settled]
    return (*sorted(own), *others)[:MOST_NAMES]


def collected(
    parts: Iterable[Node], comparer: Comparer, recogniser: Recogniser
) -> tuple[tuple[Monomial, Rational], ...]:
    """Terms with their values; those that differ by a number only are one."""
    found: dict[tuple[tuple[str, int], ...], tuple[Fraction, Rational]] = {}
    for part in parts:
        value = comparer.value(part)
        monomial = recogniser.monomial(value)
        if monomial is None or value is None:
            return ()
        powers = tuple(monomial.powers.items())
        number, total = found.get(powers, (Fraction(0), 0))
        found[powers] = (number + monomial.number, total + value)
    return tuple(
        (Monomial(number, dict(powers)), value) for powers, (number, value) in found.items() if number
    )


def _writings(right: Node, parts: Sequence[tuple[Monomial, Rational]]) -> tuple[Node, ...]:
    """The formula as it stands, multiplied out, and with the common factor before the brackets."""
    if len(parts) < 2:
        return (right,)
    monomials = [part for part, _ in parts]
    multiplied_out = Add(tuple(part.tree() for part in monomials))
    names = {name for part in monomials for name in part.powers}
    shared = {name: min(part.powers.get(name, 0) for part in monomials) for name in sorted(names)}
    number = Fraction(
        gcd(*(part.number.numerator for part in monomials)),
        lcm(*(part.number.denominator for part in monomials)),
    )
    common = Monomial(number, {name: power for name, power in shared.items() if power})
    if not common.powers and number == 1:
        return (right, multiplied_out)
    rest = [
        Monomial(
            part.number / number,
            {name: left for name, power in part.powers.items() if (left := power - shared[name])},
        ).tree()
        for part in monomials
    ]
    outside = common.tree()
    factors = outside.factors if isinstance(outside, Mul) else (outside,)
    return (right, multiplied_out, Mul((*factors, Add(tuple(rest)))))


def _sums(comparer: Comparer) -> dict[str, Node]:
    """What stands for a settled symbol when its relation is misread as a sum."""
    return {
        name: Add(formula.factors)
        for name, formula in comparer.assumptions
        if isinstance(formula, Mul) and symbols(formula)
    }
