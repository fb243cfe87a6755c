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

from autograder.formulas.equality.cases import equal_by_cases, has_cases, has_maxima
from autograder.formulas.equality.definedness import find_gap, is_rational
from autograder.formulas.equality.relations import Assumption, excess, same_relation, solved
from autograder.formulas.equality.rounding import equal_rounded, rounds
from autograder.formulas.errors import FormulaError, Undecided
from autograder.formulas.nodes import Node, Relation, Tree, Tuple, substitute, symbols
from autograder.formulas.values.balls import equal_at
from autograder.formulas.values.evaluate import Irrational, Rational, TooLarge, Undefined, exact
from autograder.formulas.values.points import Point, Points, is_in_domain

RECENT = 64
"""Number of formulas for which a comparer caches values."""


class _Settled(NamedTuple):
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

    __slots__ = ("_exact", "_irrational", "_recent", "assumptions", "points")

    def __init__(self, points: Points, assumptions: Iterable[Relation] = ()) -> None:
        """Apply assumptions to the points.

        Raises:
            FormulaError: an assumption is not of the form ``symbol = formula``, or they are circular.
        """
        self.points = points
        self.assumptions = _ordered(assumptions)
        self._exact: list[dict[str, Rational]] = []
        self._recent: dict[int, tuple[Node, Rational]] = {}
        self._irrational: dict[int, tuple[Node, _Settled]] = {}
        try:
            for drawn in points.exact:
                self._exact.append(_at_assumptions(dict(drawn), self.assumptions))
        except (Irrational, TooLarge, Undefined) as error:
            raise FormulaError(f"an assumption must be a rational formula: {self.assumptions}") from error

    def under(self, assumptions: Iterable[Relation]) -> Comparer:
        """Return a comparer at the same points, under these assumptions instead."""
        return Comparer(self.points, assumptions)

    def value(self, node: Node, point: int = 0) -> Rational | None:
        """Return the exact value at one of the points: equal formulas have equal values.

        Returns:
            None if there is no exact value within the limits.
        """
        try:
            # Only the first point is cached: the others are evaluated for the few formulas that agree there.
            return exact(node, self._exact[point]) if point else self._first_value(node)
        except (Irrational, TooLarge, Undefined):
            return None

    def fingerprint(self, tree: Tree) -> Hashable | None:
        """Return a value that equal formulas or tuples share; None if only a comparison can decide."""
        if isinstance(tree, Relation):
            return None
        if isinstance(tree, Tuple):
            values = tuple(map(self.value, tree.elements))
            return None if None in values else values
        return self.value(tree)

    def _first_value(self, node: Node) -> Rational:
        """Return the value at the first point, cached because each formula needs it several times."""
        known = self._recent.get(id(node))
        if known is not None and known[0] is node:
            return known[1]
        value = exact(node, self._exact[0])
        if len(self._recent) >= RECENT:
            self._recent.clear()
        # The entry keeps a reference to the node: otherwise its id could be reused for another node.
        self._recent[id(node)] = node, value
        return value

    def equal(self, first: Tree, second: Tree) -> bool:
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
                and (first == second or same_relation(first, second, self.points, self.equal))
            )
        if isinstance(first, Tuple) or isinstance(second, Tuple):
            return (
                isinstance(first, Tuple)
                and isinstance(second, Tuple)
                and len(first.elements) == len(second.elements)
                and all(map(self.equal, first.elements, second.elements))
            )
        if first == second:
            return True
        try:
            return self._equal_exactly(first, second)
        except (Irrational, TooLarge):
            return self._equal_otherwise(first, second)

    def accepts(self, answer: Tree, right: Tree) -> bool:
        """Decide whether an answer equals the expected one, and has a value wherever that one has a value.

        Raises:
            Undecided: neither could be proven.
        """
        return self.equal(answer, right) and self.find_gap(answer, right) is None

    def find_gap(self, answer: Tree, right: Tree) -> Node | None:
        """Return a part of an answer that is undefined where an equal expected answer has a value.

        Single points do not count, such as ``n = 1`` of ``(n^2 - 1)/(n - 1)``. None if there is no gap.

        Raises:
            Undecided: a gap could be neither found nor excluded.
        """
        if answer == right or all(map(is_rational, _formulas(answer))):
            return None
        if isinstance(answer, Relation) and isinstance(right, Relation):  # assumptions are not applied
            return find_gap(excess(answer), excess(right), self.points)
        pairs = zip(_formulas(answer), _formulas(right), strict=False)
        gaps = (find_gap(*pair, self.points, self.expanded, self._allows) for pair in pairs)
        return next((gap for gap in gaps if gap is not None), None)

    def expanded(self, node: Node) -> Node:
        """Return a formula with the assumptions substituted."""
        # Later assumptions use only earlier symbols, so one pass from the end resolves all of them.
        for name, formula in reversed(self.assumptions):
            node = substitute(node, name, formula)
        return node

    def _allows(self, at: Point) -> bool:
        """Return whether the assumptions keep their symbols in their domains, as far as is known."""
        values: dict[str, Rational] = dict(at)
        for name, formula in self.assumptions:
            try:
                values[name] = exact(formula, values)
            except KeyError:
                continue
            except (Irrational, TooLarge, Undefined):
                return False
            if not is_in_domain(values[name], self.points.domains[name]):
                return False
        return True

    def _equal_exactly(self, first: Node, second: Node) -> bool:
        left, right = self._defined(first), self._defined(second)
        if left is None and right is None:
            raise Undecided("both formulas divide by zero")
        # The first point rejects nearly all wrong answers; the others make a chance agreement negligible.
        return left == right and all(exact(first, at) == exact(second, at) for at in self._exact[1:])

    def _defined(self, node: Node) -> Rational | None:
        try:
            return self._first_value(node)
        except Undefined:
            return None

    def _equal_otherwise(self, first: Node, second: Node) -> bool:
        """Compare two formulas of which at least one has no exact rational value."""
        left, right = self._settled(first), self._settled(second)
        if left.has_cases or right.has_cases:
            try:
                plain = Comparer(self.points).equal
                return equal_by_cases(left.node, right.node, self.points, plain)
            except Undecided:
                if has_maxima(left.node) or has_maxima(right.node):
                    raise
                # Roots of squares: points with every pattern of signs decide as well.
        if left.rounds or right.rounds:
            return equal_rounded(left.node, right.node, self.points)
        return equal_at(left.node, right.node, self.points)

    def _settled(self, node: Node) -> _Settled:
        """Substitute the assumptions into a formula, cached because a class repeats the same formulas."""
        known = self._irrational.get(id(node))
        if known is not None and known[0] is node:
            return known[1]
        settled = self.expanded(node)
        found = _Settled(settled, has_cases(settled), rounds(settled))
        if len(self._irrational) >= RECENT:
            self._irrational.clear()
        self._irrational[id(node)] = node, found
        return found


def _formulas(tree: Tree) -> tuple[Node, ...]:
    if isinstance(tree, Relation):
        return tree.left, tree.right
    return tree.elements if isinstance(tree, Tuple) else (tree,)


def _ordered(assumptions: Iterable[Relation]) -> tuple[Assumption, ...]:
    """Order assumptions so that each uses only symbols that are resolved before it."""
    waiting: dict[str, Node] = {}
    for relation in assumptions:
        assumption = solved(relation)
        if assumption is None or assumption[0] in waiting:
            raise FormulaError("an assumption must have the form symbol = formula, once for each symbol")
        waiting[assumption[0]] = assumption[1]
    ordered: list[Assumption] = []
    while waiting:
        ready = [name for name in waiting if not symbols(waiting[name]) & waiting.keys()]
        if not ready:
            raise FormulaError(f"assumptions go round in a circle: {', '.join(sorted(waiting))}")
        ordered.extend((name, waiting.pop(name)) for name in ready)
    return tuple(ordered)


def _at_assumptions(at: dict[str, Rational], assumptions: Iterable[Assumption]) -> dict[str, Rational]:
    for name, formula in assumptions:
        at[name] = exact(formula, at)
    return at
