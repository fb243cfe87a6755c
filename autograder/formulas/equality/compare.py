"""Decide whether two formulas are equal, by a ladder of methods; never by manipulating them.

1. the same tree;
2. the exact value at a secret random point: a difference is a proof, agreement is wrong with a probability
   below degree / 2^89, and the degree is below 2^6;
3. maxima, minima and absolute values: case by case, each by the other methods (`cases`); radicals,
   logarithms, symbolic exponents and large values: balls (`balls`); ceilings and floors: `rounding`;
4. `Undecided`: manual review.

`Comparer.is_equal` compares formulas wherever both have values. In addition, an answer must have a value
wherever the expected answer has one: `Comparer.find_gap`, by `definedness`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from autograder.formulas.equality.cases import has_cases, has_maxima, is_equal_by_cases
from autograder.formulas.equality.definedness import find_gap, is_rational
from autograder.formulas.equality.relations import (
    Assumption,
    is_same_relation,
    solve_for_symbol,
    subtract_sides,
)
from autograder.formulas.equality.rounding import has_rounding, is_equal_with_rounding
from autograder.formulas.errors import FormulaError, Undecided
from autograder.formulas.nodes import Node, Relation, Tree, Tuple, collect_symbols, substitute_symbol
from autograder.formulas.values.balls import is_equal_at_points
from autograder.formulas.values.evaluate import Irrational, Rational, TooLarge, Undefined, evaluate_exactly
from autograder.formulas.values.points import Point, Points, is_in_domain

RECENT = 64
"""Number of formulas for which a comparer caches values."""


class _PreparedFormula(NamedTuple):
    """A formula with the assumptions substituted, and how it has to be compared."""

    node: Node
    has_cases: bool
    rounds: bool


class Comparer:
    """Compares formulas under given assumptions, at the secret points it was created with.

    Attributes:
        points: the secret points, shared between comparers of one vocabulary.
        assumptions: symbol → formula, ordered so that each uses only symbols that are resolved before it.
    """

    __slots__ = ("_exact", "_irrational", "assumptions", "points")

    def __init__(self, points: Points, assumptions: Iterable[Relation] = ()) -> None:
        """Apply assumptions to the points.

        Raises:
            FormulaError: an assumption is not of the form ``symbol = formula``, or they are circular.
        """
        self.points = points
        self.assumptions = _order_assumptions(assumptions)
        self._irrational: dict[int, tuple[Node, _PreparedFormula]] = {}
        self._exact: dict[str, Rational] = dict(points.exact)
        try:
            for name, formula in self.assumptions:
                self._exact[name] = evaluate_exactly(formula, self._exact)
        except (Irrational, TooLarge, Undefined) as error:
            raise FormulaError(f"an assumption must be a rational formula: {self.assumptions}") from error

    def with_assumptions(self, assumptions: Iterable[Relation]) -> Comparer:
        """Return a comparer at the same points, under these assumptions instead."""
        return Comparer(self.points, assumptions)

    def evaluate_at_point(self, node: Node) -> Rational | None:
        """Return the exact value at the secret point: equal formulas have equal values.

        Returns:
            None if there is no exact value within the limits.
        """
        try:
            return evaluate_exactly(node, self._exact)
        except (Irrational, TooLarge, Undefined):
            return None

    def compute_fingerprint(self, tree: Tree) -> Hashable | None:
        """Return a value that equal formulas or tuples share; None if only a comparison can decide."""
        if isinstance(tree, Relation):
            return None
        if isinstance(tree, Tuple):
            values = tuple(map(self.evaluate_at_point, tree.elements))
            return None if None in values else values
        return self.evaluate_at_point(tree)

    def is_equal(self, first: Tree, second: Tree) -> bool:
        """Decide whether two formulas, tuples or relations are equal for all values of the symbols.

        Relations are equal if one is a rearrangement of the other; assumptions are not applied to them.

        Args:
            first: a formula, tuple or relation.
            second: another one.

        Raises:
            Undecided: neither equality nor difference could be proven.
        """
        if isinstance(first, Relation) or isinstance(second, Relation):
            return (
                isinstance(first, Relation)
                and isinstance(second, Relation)
                and (first == second or is_same_relation(first, second, self.points, self.is_equal))
            )
        if isinstance(first, Tuple) or isinstance(second, Tuple):
            return (
                isinstance(first, Tuple)
                and isinstance(second, Tuple)
                and len(first.elements) == len(second.elements)
                and all(map(self.is_equal, first.elements, second.elements))
            )
        if first == second:
            return True
        try:
            return self._is_exactly_equal(first, second)
        except (Irrational, TooLarge):
            return self._is_equal_by_fallback(first, second)

    def is_accepted(self, answer: Tree, expected: Tree) -> bool:
        """Decide whether an answer equals the expected one, and has a value wherever that one has a value.

        Raises:
            Undecided: neither could be proven.
        """
        return self.is_equal(answer, expected) and self.find_gap(answer, expected) is None

    def find_gap(self, answer: Tree, expected: Tree) -> Node | None:
        """Return a part of an answer that is undefined where an equal expected answer has a value.

        Single points do not count, such as ``n = 1`` of ``(n^2 - 1)/(n - 1)``. None if there is no gap.

        Raises:
            Undecided: a gap could be neither found nor excluded.
        """
        if answer == expected or all(map(is_rational, _list_formulas(answer))):
            return None
        if isinstance(answer, Relation) and isinstance(expected, Relation):  # assumptions are not applied
            return find_gap(subtract_sides(answer), subtract_sides(expected), self.points)
        pairs = zip(_list_formulas(answer), _list_formulas(expected), strict=False)
        gaps = (find_gap(*pair, self.points, self.substitute_assumptions, self._is_allowed) for pair in pairs)
        return next((gap for gap in gaps if gap is not None), None)

    def substitute_assumptions(self, node: Node) -> Node:
        """Return a formula with the assumptions substituted."""
        # Later assumptions use only earlier symbols, so one pass from the end resolves all of them.
        for name, formula in reversed(self.assumptions):
            node = substitute_symbol(node, name, formula)
        return node

    def _is_allowed(self, point: Point) -> bool:
        """Return whether the assumptions keep their symbols in their domains, as far as is known."""
        values: dict[str, Rational] = dict(point)
        for name, formula in self.assumptions:
            try:
                values[name] = evaluate_exactly(formula, values)
            except KeyError:
                continue
            except (Irrational, TooLarge, Undefined):
                return False
            if not is_in_domain(values[name], self.points.domains[name]):
                return False
        return True

    def _is_exactly_equal(self, first: Node, second: Node) -> bool:
        left, right = self._evaluate_or_none(first), self._evaluate_or_none(second)
        # The exact point is drawn at random: a formula that is undefined there is undefined everywhere.
        if left is None and right is None:
            raise Undecided("both formulas divide by zero")
        return left == right

    def _evaluate_or_none(self, node: Node) -> Rational | None:
        try:
            return evaluate_exactly(node, self._exact)
        except Undefined:
            return None

    def _is_equal_by_fallback(self, first: Node, second: Node) -> bool:
        """Compare two formulas of which at least one has no exact rational value."""
        left, right = self._prepare_formula(first), self._prepare_formula(second)
        if left.has_cases or right.has_cases:
            try:
                plain = Comparer(self.points).is_equal
                return is_equal_by_cases(left.node, right.node, self.points, plain)
            except Undecided:
                if has_maxima(left.node) or has_maxima(right.node):
                    raise
                # Roots of squares: points with every pattern of signs decide as well.
        if left.rounds or right.rounds:
            return is_equal_with_rounding(left.node, right.node, self.points)
        return is_equal_at_points(left.node, right.node, self.points)

    def _prepare_formula(self, node: Node) -> _PreparedFormula:
        """Substitute the assumptions into a formula, cached because a class repeats the same formulas."""
        cached = self._irrational.get(id(node))
        if cached is not None and cached[0] is node:
            return cached[1]
        substituted = self.substitute_assumptions(node)
        prepared = _PreparedFormula(substituted, has_cases(substituted), has_rounding(substituted))
        if len(self._irrational) >= RECENT:
            self._irrational.clear()
        # The entry keeps the formula, so that its id is not reused while it is a key.
        self._irrational[id(node)] = node, prepared
        return prepared


def _list_formulas(tree: Tree) -> tuple[Node, ...]:
    if isinstance(tree, Relation):
        return tree.left, tree.right
    return tree.elements if isinstance(tree, Tuple) else (tree,)


def _order_assumptions(assumptions: Iterable[Relation]) -> tuple[Assumption, ...]:
    """Order assumptions so that each uses only symbols that are resolved before it."""
    pending: dict[str, Node] = {}
    for relation in assumptions:
        assumption = solve_for_symbol(relation)
        if assumption is None or assumption[0] in pending:
            raise FormulaError("an assumption must have the form symbol = formula, once for each symbol")
        pending[assumption[0]] = assumption[1]
    ordered: list[Assumption] = []
    while pending:
        ready = [name for name in pending if not collect_symbols(pending[name]) & pending.keys()]
        if not ready:
            raise FormulaError(f"assumptions go round in a circle: {', '.join(sorted(pending))}")
        ordered.extend((name, pending.pop(name)) for name in ready)
    return tuple(ordered)
