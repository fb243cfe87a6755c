"""Says how a wrong formula differs from the right one. Feedback only: no marks depend on it.

Whatever depends on the right formula alone is computed once and looked up by its exact value at a
secret point; the rest is arithmetic on a handful of exact values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations

from msgspec import Struct

from autograder.algebra.compare import Comparer
from autograder.algebra.evaluate import Rational
from autograder.algebra.nodes import Add, Mul, Node, Sym, substitute, symbols
from autograder.algebra.terms import terms
from autograder.algebra.write import to_text

SMALL = 1 << 12
"""Numerators and denominators up to this may be a slip; a chance ratio at a secret point never is."""
MAX_OWN_TERMS = 12


class Difference(Struct, frozen=True):
    """How a formula differs from the right one.

    Attributes:
        code: stable name, e.g. ``"constant-factor"``.
        params: what a student may read, e.g. the symbol; never anything of the right formula that the
            student did not write.
        staff: the same with everything known, in English.
    """

    code: str
    params: Mapping[str, str] = {}
    staff: str = ""


class Diagnosis:
    """Everything that can be said about wrong answers to one right formula."""

    __slots__ = ("_comparer", "_lookup", "_missing", "_names", "_points", "_right", "_terms")

    def __init__(self, right: Node, comparer: Comparer) -> None:
        """Prepare the lookup.

        Args:
            right: the right formula.
            comparer: compares under the most lenient reading of the question.
        """
        self._comparer = comparer
        self._right = comparer.value(right)
        self._names = sorted(symbols(right))
        self._points = {name: comparer.value(Sym(name)) for name in self._names}
        self._terms: list[Rational] = []
        self._missing: dict[Rational, Rational] = {}
        self._lookup: dict[Rational, Difference] = {}
        if self._right is not None:
            self._prepare(right, self._right)

    def difference(self, wrong: Node) -> Difference | None:
        """The first explanation that fits; None when none does."""
        value, right = self._comparer.value(wrong), self._right
        if value is None or right is None:
            return None
        known = self._lookup.get(value)
        if known is not None:
            return known
        return (
            self._factor(value, right)
            or self._extra(wrong, value, right)
            or self._coefficient(value, right)
            or self._symbol_missing(wrong)
        )

    def _prepare(self, right: Node, value: Rational) -> None:
        parts = terms(right)
        if len(parts) > 1:
            for part in parts:
                at = self._comparer.value(part)
                if at:
                    self._terms.append(at)
                    self._missing[value - at] = at
                    self._put(value - at, "missing-term", {}, f"the term {to_text(part)} is missing")
                    self._powers_in(part, at, value)
        for first, second in combinations(self._names, 2):
            swapped = _swapped(right, first, second)
            self._put(
                self._comparer.value(swapped),
                "swapped-symbols",
                {"first": first, "second": second},
                f"{first} and {second} are swapped",
            )
        if isinstance(right, Mul):
            total = self._comparer.value(Add(right.factors))
            self._put(total, "sum-for-product", {}, "a sum stands for a product")

    def _powers_in(self, part: Node, at: Rational, value: Rational) -> None:
        """One symbol's power is off by one in one term."""
        for name in symbols(part):
            point = self._points[name]
            if point:
                for changed in (at * point, Fraction(at) / point):
                    staff = f"in the term {to_text(part)} the power of {name} is off by one"
                    self._put(value - at + changed, "power-in-term", {"symbol": name}, staff)

    def _put(self, value: Rational | None, code: str, params: Mapping[str, str], staff: str) -> None:
        if value is not None and value != self._right:
            self._lookup.setdefault(value, Difference(code, params, staff))

    def _factor(self, value: Rational, right: Rational) -> Difference | None:
        if value == 0 or right == 0:
            return None
        ratio = Fraction(value) / Fraction(right)
        if _small(ratio):
            if ratio == -1:
                return Difference("sign", {}, "the sign is wrong")
            code = "factor-too-large" if abs(ratio) > 1 else "factor-too-small"
            return Difference(code, {}, f"off by the constant factor {ratio}")
        for name in self._names:
            point = self._points[name]
            for power in (1, 2, -1, -2):
                if point and _small(rest := ratio / Fraction(point) ** power):
                    code = "power-too-large" if power > 0 else "power-too-small"
                    staff = f"off by the factor {rest}*{name}^{power}"
                    return Difference(code, {"symbol": name}, staff)
        return None

    def _extra(self, wrong: Node, value: Rational, right: Rational) -> Difference | None:
        """A term of the student's own is too much, or stands in the place of another."""
        parts = terms(wrong)
        if len(parts) < 2 or len(parts) > MAX_OWN_TERMS:
            return None
        for code, found in (("extra-term", {right: 0}.get), ("wrong-term", self._missing.get)):
            difference = self._own_term(parts, value, code, found)
            if difference is not None:
                return difference
        return None

    def _own_term(
        self,
        parts: tuple[Node, ...],
        value: Rational,
        code: str,
        found: Callable[[Rational], Rational | None],
    ) -> Difference | None:
        for part in parts:
            at = self._comparer.value(part)
            if at is not None and found(value - at) is not None:
                text = to_text(part)
                return Difference(code, {"term": text}, f"{code}: {text}")
        return None

    def _coefficient(self, value: Rational, right: Rational) -> Difference | None:
        """One term of the right formula has another number in front."""
        for at in self._terms:
            ratio = Fraction(value - right) / Fraction(at)
            if _small(ratio):
                return Difference("coefficient", {}, f"one term counts {1 + ratio} times")
        return None

    def _symbol_missing(self, wrong: Node) -> Difference | None:
        present = symbols(wrong)
        settled = {name for name, _ in self._comparer.assumptions}
        for name in self._names:
            if name not in present and not settled:
                return Difference("symbol-missing", {}, f"{name} does not occur")
        return None


def _small(ratio: Fraction) -> bool:
    return 0 < abs(ratio.numerator) <= SMALL and ratio.denominator <= SMALL


def _swapped(node: Node, first: str, second: str) -> Node:
    between = Sym("")
    moved = substitute(node, first, between)
    return substitute(substitute(moved, second, Sym(first)), "", Sym(second))
