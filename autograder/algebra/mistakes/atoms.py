"""Logarithms, roots and symbolic powers of a right formula, each as one symbol of its own.

What is equal with independent symbols in their places is equal. So slips around ``n*log(n)`` can be
looked up by exact values like slips in a polynomial.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.nodes import Fn, Node, Pow, Relation, Sym, children, rebuilt, symbols
from autograder.algebra.printing.text import to_text
from autograder.algebra.values.points import Points


class Atoms:
    """The parts of right formulas that have no rational value."""

    __slots__ = ("_names", "_points")

    def __init__(self, right: Iterable[Node], comparer: Comparer) -> None:
        """Find them, and draw points for them.

        Args:
            right: right formulas.
            comparer: whose symbols they use.
        """
        self._names: dict[Node, str] = {}
        for tree in right:
            self._find(tree)
        known = dict.fromkeys(comparer.points.exact[0], "positive integer")
        domains = {**known, **dict.fromkeys(self._names.values(), "positive integer")}
        self._points = Points(domains, comparer.points.derived("atoms"))

    def replaced(self, node: Node) -> Node:
        """The formula with a symbol for each of these parts."""
        name = self._names.get(node)
        if name is not None:
            return Sym(name)
        below = children(node)
        return rebuilt(node, [self.replaced(child) for child in below]) if below else node

    def comparer(self, reading: Comparer) -> Comparer:
        """A reading's assumptions at points that have values for these parts."""
        return Comparer(self._points, [Relation(Sym(name), tree) for name, tree in reading.assumptions])

    def _find(self, node: Node) -> None:
        if isinstance(node, Fn) or (isinstance(node, Pow) and symbols(node.exponent)):
            self._names.setdefault(node, to_text(node))
            return
        for child in children(node):
            self._find(child)
