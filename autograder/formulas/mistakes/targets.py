"""A correct formula under one reading, with all the data that wrong answers are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.mistakes import floats
from autograder.formulas.mistakes.changes import LOGARITHMS, ONE, ROUNDINGS, make_sum, swap_symbols
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
    substitute_symbol,
    walk_tree,
)

MOST_NAMES = 16
"""Number of symbols that are tried."""
MOST_MATERIAL = 32
"""Number of parts of the correct formula that are tried in the answer."""
MOST_ALIKE = 6
"""Largest number of terms of a correct sum of which every selection may be missing."""

_BY_RANK = (
    ("sign", "log-base", "rounding", "function-replaced"),
    ("reciprocal", "swapped-symbols"),
    ("factor-too-large", "factor-too-small", "power-for-product", "base-and-exponent"),
    ("sign-in-term", "sign-of-part"),
    ("symbol-replaced", "divided", "product-for-quotient"),
    ("sum-for-product", "product-for-sum", "product-for-power", "sum-for-power"),
    ("off-by-one",),
    ("extra-term", "extra-factor", "extra-divisor", "function-too-much"),
    ("brackets", "brackets-too-wide"),
    ("belongs-inside",),
    ("power-too-large", "power-too-small", "power-of-part", "rounding-forgotten"),
    ("number", "function-forgotten"),
    ("part-off-by-one", "missing-term", "factor-forgotten", "divisor-forgotten", "coefficient"),
    ("symbol-one", "symbol-zero", "missing-terms"),
    ("number-forgotten", "term-forgotten"),
    ("part-replaced",),
)
RANKS = {code: rank for rank, codes in enumerate(_BY_RANK) for code in codes}
"""Code → rank; the mistakes that students make most often, and the most telling ones, come first."""


_OF_PARTS = {"off-by-one": "part-off-by-one", "reciprocal": "divided"}
"""Codes that rank lower if they are about a part: code → code with the rank that applies."""


class Explanation(Struct, frozen=True):
    """A change that makes a wrong formula correct.

    Attributes:
        code: the kind of mistake.
        params: values that the message names, as the student wrote them.
        repaired: the student's formula with the mistake corrected; None if the misconception was applied to
            the correct formula.
        misconception: the correct formula with the misconception; None if the mistake was corrected in the
            student's.
        some: one occurrence was changed, and there are others like it.
    """

    code: str
    params: dict[str, str]
    repaired: Node | None = None
    misconception: Node | None = None
    some: bool = False

    def to_sort_key(self) -> tuple[int, bool, int]:
        """Return a sort key: the most telling change first; of equal ones, the one about the smallest part.

        Symbols and whole results are off by one more often than other parts.
        """
        in_part = "part" in self.params
        rank = RANKS[_OF_PARTS.get(self.code, self.code) if in_part else self.code]
        return rank, "everywhere" in self.params, len(self.params.get("part", ""))


class Target(Struct, frozen=True, eq=False):
    """A correct formula under one reading, prepared for the search.

    Attributes:
        right: the formula.
        comparer: the reading.
        points: points with a value for every symbol.
        values: the values of the formula at these points.
        order: indices of the points, those at which most symbols matter first.
        names: symbols to try, those of the formula first.
        functions: functions that an answer may lack.
        material: parts of the formula that an answer may lack.
        special: explanations by one misconception that is applied everywhere, with the values of that
            formula.
    """

    right: Node
    comparer: Comparer
    points: tuple[floats.At, ...]
    values: tuple[float, ...]
    order: tuple[int, ...]
    names: dict[str, None]
    functions: frozenset[str]
    material: tuple[Node, ...]
    special: tuple[tuple[Explanation, tuple[float, ...]], ...]

    @classmethod
    def from_formula(cls, right: Node, comparer: Comparer) -> Target:
        """Compute all attributes."""
        domains = comparer.points.domains
        points = floats.sample_points(right, domains, comparer.assumptions)
        values = tuple(floats.evaluate_formula(right, point) for point in points)
        own_names = sorted(collect_symbols(right))
        order = sorted(
            range(len(points)),
            key=lambda index: (
                not values[index],
                -_count_sensitive(right, own_names, points[index], values[index]),
            ),
        )
        names = dict.fromkeys((*own_names, *domains))
        # Symbols of the formula come first, so the limit drops unrelated ones.
        names = dict.fromkeys(list(names)[:MOST_NAMES])
        parts = [part for part in walk_tree(right) if part != right and not isinstance(part, Num)]
        material = tuple(dict.fromkeys(part for part in parts if isinstance(part, NODES)))[:MOST_MATERIAL]
        # Computed once per correct formula: comparing an answer with them costs a few float comparisons.
        special = tuple(
            (
                explanation,
                tuple(floats.evaluate_formula(explanation.misconception, point) for point in points),
            )
            for explanation in _generate_special(right, own_names, list(names))
            if explanation.misconception is not None
        )
        return cls(
            right, comparer, points, values, tuple(order), names, _collect_functions(right), material, special
        )

    @property
    def needed(self) -> frozenset[str]:
        """The symbols that the correct formula depends on, with assumptions substituted."""
        return frozenset(
            name for name in self.find_present_symbols(self.right) if self.is_dependent_on(self.right, name)
        )

    def find_present_symbols(self, formula: Node) -> frozenset[str]:
        """Return the symbols that occur in a formula, with assumptions substituted."""
        return collect_symbols(self.comparer.substitute_assumptions(formula))

    def is_dependent_on(self, formula: Node, name: str) -> bool:
        """Return whether the value of a formula changes with a symbol that no assumption resolves."""
        whole = self.comparer.substitute_assumptions(formula)
        for point in self.points:
            # A factor of 0.7 keeps probabilities inside their domain.
            here, there = (
                floats.evaluate_formula(whole, point),
                floats.evaluate_formula(whole, {**point, name: point[name] * 0.7}),
            )
            if not floats.is_near(here, there):
                return True
        return False

    def generate_special_cases(self, wrong: Node, theirs: Sequence[float]) -> Iterator[Explanation]:
        """Yield the misconceptions that may have produced a wrong formula with the given values."""
        written = collect_symbols(wrong)
        for explanation, values_there in self.special:
            other = Sym(explanation.params.get("symbol", ""))
            # The student must have used the symbol more often than the correct formula does.
            if other.name and _count_occurrences(other, wrong) <= _count_occurrences(other, self.right):
                continue
            named = {
                explanation.params[key] for key in ("first", "second", "symbol") if key in explanation.params
            }
            if explanation.params.get("missing") in written or not named <= written:
                continue
            pairs = zip(values_there, theirs, strict=True)
            both = [
                (expected, actual)
                for expected, actual in pairs
                if not (math.isnan(expected) or math.isnan(actual))
            ]
            if len(both) > 1 and all(floats.is_close(expected, actual) for expected, actual in both):
                yield explanation

    def is_fitting(self, repaired: Node, usable: Sequence[int], theirs: Sequence[float]) -> bool:
        """Return whether a change may make the formula correct; not if it has no visible effect."""
        changed = agreed = 0
        for index in usable:
            value = floats.evaluate_formula(repaired, self.points[index])
            if not math.isnan(value):
                if not floats.is_close(value, self.values[index]):
                    return False
                agreed += 1
                changed += not floats.is_close(value, theirs[index])
        # The answer may agree at all points; then a change cannot be seen there, and the proof decides.
        hidden = all(floats.is_close(self.values[index], theirs[index]) for index in usable)
        return agreed > 1 and (changed > 0 or hidden)

    def is_proven(self, explanation: Explanation, wrong: Node) -> bool:
        """Return whether the comparer confirms an explanation."""
        try:
            if explanation.repaired is not None:
                return self.comparer.is_equal(explanation.repaired, self.right)
            return explanation.misconception is not None and self.comparer.is_equal(
                explanation.misconception, wrong
            )
        except Undecided:
            return False


def _count_occurrences(part: Node, node: Node) -> int:
    """Return how often a part occurs in a formula."""
    return sum(1 for other in walk_tree(node) if other == part)


def _collect_functions(right: Node) -> frozenset[str]:
    """Return functions that a student may have forgotten or confused: those of the correct formula."""
    names = {part.name for part in walk_tree(right) if isinstance(part, Fn)}
    powers = [part for part in walk_tree(right) if isinstance(part, Pow)]
    if any(
        not isinstance(part.exponent, Num) or isinstance(part.exponent.value, Fraction) for part in powers
    ):
        names |= {"sqrt", "exp"}
    if names & set(LOGARITHMS):
        names |= set(LOGARITHMS)
    if "exp" in names:
        names |= {"sigmoid", "tanh"}
    return frozenset(names)


def _count_sensitive(node: Node, names: Sequence[str], point: floats.At, value: float) -> int:
    """Count the symbols that matter at a point: inside a ceiling or a maximum, some have no effect there."""
    moved = (floats.evaluate_formula(node, {**point, name: point[name] * 0.7}) for name in names)
    return sum(1 for other in moved if not floats.is_close(other, value))


NODES = (Sym, Neg, Add, Mul, Div, Pow, Fn)
"""Kinds of nodes that are tried as parts: all but numbers and constants."""


def _generate_special(right: Node, own_names: Sequence[str], names: Sequence[str]) -> Iterator[Explanation]:
    """Yield the correct formula with one misconception wherever it is possible, and without several terms."""
    for name, other in combinations(own_names, 2):
        params = {"first": name, "second": other}
        yield Explanation("swapped-symbols", params, misconception=swap_symbols(right, name, other))
    for name in own_names:
        for other in names:
            if other != name:
                yield Explanation(
                    "symbol-replaced",
                    {"symbol": other},
                    misconception=substitute_symbol(right, name, Sym(other)),
                )
        yield Explanation("symbol-one", {"missing": name}, misconception=substitute_symbol(right, name, ONE))
        yield Explanation(
            "symbol-zero", {"missing": name}, misconception=substitute_symbol(right, name, Num(0))
        )
    for name in sorted(
        {part.name for part in walk_tree(right) if isinstance(part, Fn) and len(part.arguments) == 1}
    ):
        misconception = replace_calls(right, name, lambda fn: fn.arguments[0])
        code = "rounding-forgotten" if name in ROUNDINGS else "function-forgotten"
        yield Explanation(code, {"everywhere": name}, misconception=misconception)
    # The number of selections grows exponentially with the number of terms.
    if isinstance(right, Add) and len(right.terms) <= MOST_ALIKE:
        for count in range(1, len(right.terms) - 1):
            for kept in combinations(right.terms, count):
                yield Explanation("missing-terms", {}, misconception=make_sum(kept))


def replace_calls(node: Node, name: str, make_node: Callable[[Fn], Node]) -> Node:
    """Return a formula with each application of a function replaced by the result of a callable."""
    changed = rebuild_node(node, [replace_calls(child, name, make_node) for child in get_children(node)])
    return make_node(changed) if isinstance(changed, Fn) and changed.name == name else changed
