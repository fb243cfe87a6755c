"""Whether what was said about a wrong formula is true: undoing exactly that makes it the right one.

Everything is evaluated at points of its own, not at those the diagnosis was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.mistakes.diagnose import Difference
from autograder.algebra.nodes import (
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Relation,
    Sym,
    Tree,
    children,
    rebuilt,
    substitute,
    symbols,
)
from autograder.algebra.terms import terms
from autograder.algebra.values.points import Points

WHOLE = {
    "power-too-large",
    "power-too-small",
    "factor-forgotten",
    "extra-factor",
    "divided",
    "several-factors",
}
TERMS = {"coefficient", "sign-in-term", "power-in-term", "extra-factor-in-term", "wrong-term"}


class Judge:
    """Undoes what a diagnosis names, under one reading."""

    def __init__(self, reading: Comparer) -> None:
        points = Points(dict.fromkeys(reading.points.exact[0], "positive integer"), b"a test")
        self._comparer = Comparer(points, _relations(reading))

    def true_of(self, difference: Difference, wrong: Node, right: list[Node]) -> bool:
        """Whether a diagnosis of a wrong formula is true for one of the right ones."""
        code = difference.code
        if code == "symbol-missing":
            return any(self._needed(tree) - self._needed(wrong) for tree in right)
        if code == "symbol-foreign":
            return difference.params["symbol"] in self._needed(wrong) - self._needed(right[0])
        assert difference.slip is not None
        if not self._same(difference.slip, wrong):
            return False
        symbol = difference.params.get("symbol", "")
        return any(self._undone(code, symbol, difference.slip, wrong, tree) for tree in right)

    def _undone(self, code: str, symbol: str, slip: Node, wrong: Node, right: Node) -> bool:
        if code in ("sign", "factor-too-large", "factor-too-small", "reciprocal") or code in WHOLE:
            return self._factor(code, symbol, wrong, right)
        if code in ("missing-term", "missing-terms"):
            return self._missing(code, wrong, right)
        if code == "extra-term":
            return self._monomial(Add((wrong, Neg(right))))
        if code in TERMS or code == "swapped-in-term":
            return self._term(code, symbol, wrong, right)
        if code == "symbol-replaced":
            return self._replaced(symbol, slip, right) or self._term(code, symbol, wrong, right)
        return any(self._same(tree, right) for tree in _inverse(code, slip))

    def _factor(self, code: str, symbol: str, wrong: Node, right: Node) -> bool:
        steps = self._steps(Div(wrong, right))
        ratio = self._value(Div(wrong, right))
        match code:
            case "sign":
                return ratio == -1
            case "factor-too-large":
                return steps == {} and abs(ratio) > 1
            case "factor-too-small":
                return steps == {} and abs(ratio) < 1
            case "reciprocal":
                return self._steps(Mul((wrong, right))) == {}
            case "several-factors":
                return bool(steps) and (len(steps) > 1 or not self._pure(wrong, right, steps))
        if steps is None or len(steps) != 1 or (symbol and symbol not in steps):
            return False
        ((name, step),) = steps.items()
        if code in ("power-too-small", "divided"):
            return step < 0 and bool(symbol) and self._pure(wrong, right, steps)
        if code == "factor-forgotten":
            return name not in symbols(wrong)
        if not self._pure(wrong, right, steps):
            return False
        return step > 0 and (code == "power-too-large") == (name in self._needed(right))

    def _pure(self, wrong: Node, right: Node, steps: Mapping[str, int]) -> bool:
        """Whether powers of symbols are all that differs."""
        powers = [Pow(Sym(name), Num(step)) for name, step in steps.items()]
        return self._same(Mul((right, *powers)), wrong)

    def _missing(self, code: str, wrong: Node, right: Node) -> bool:
        parts = [*terms(right), *(Add(pair) for pair in self._alike(terms(right)))]
        counts = (1,) if code == "missing-term" else range(2, len(parts))
        return any(
            self._same(Add((wrong, *chosen)), right)
            for count in counts
            for chosen in combinations(parts, count)
        )

    def _alike(self, parts: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
        for part in parts:
            yield tuple(other for other in parts if self._steps(Div(other, part)) == {})

    def _term(self, code: str, symbol: str, wrong: Node, right: Node) -> bool:
        """One term, replaced by one that differs from it as the code says, makes the formula right."""
        missing = [*terms(right), *(Add(pair) for pair in self._alike(terms(right)))]
        delta = Add((wrong, Neg(right)))
        pairs = [(own, Add((own, Neg(delta)))) for own in terms(wrong)]
        pairs += [(Add((part, delta)), part) for part in missing]
        return any(self._changes(code, symbol, own, needed) for own, needed in pairs if self._value(needed))

    def _changes(self, code: str, symbol: str, own: Node, needed: Node) -> bool:
        if not self._value(own):
            return False
        steps, ratio = self._steps(Div(own, needed)), self._value(Div(own, needed))
        if steps is None:
            return False
        match code:
            case "coefficient":
                return steps == {}
            case "sign-in-term":
                return ratio == -1
            case "wrong-term":
                return self._monomial(needed)
            case "power-in-term":
                return len(steps) == 1 and (not symbol or symbol in steps)
            case "extra-factor-in-term":
                return len(steps) == 1 and sum(steps.values()) > 0 and (not symbol or symbol in steps)
            case "symbol-replaced":
                return (
                    len(steps) == 2 and sum(steps.values()) == 0 and (not symbol or steps.get(symbol, 0) > 0)
                )
        return code == "swapped-in-term" and len(steps) == 2 and sum(steps.values()) == 0

    def _replaced(self, symbol: str, slip: Node, right: Node) -> bool:
        for name in symbols(right):
            if symbol and self._same(slip, substitute(right, name, Sym(symbol))):
                return True  # everywhere: cannot be undone where the symbol occurs in the right formula
            for stands in [symbol] if symbol else sorted(symbols(slip)):
                for tree in (
                    substitute(slip, stands, Sym(name)),
                    *_one_changed(slip, Sym(stands), Sym(name)),
                ):
                    if self._same(tree, right):
                        return True
        steps = self._steps(Div(slip, right))
        return steps is not None and len(steps) == 2 and sum(steps.values()) == 0

    def _needed(self, tree: Node) -> set[str]:
        return {
            name for name in self._comparer.points.exact[0] if self._moved(tree, name) != self._value(tree)
        }

    def _steps(self, tree: Node) -> dict[str, int] | None:
        """The powers of a monomial, from how it grows when a symbol is doubled; None for other formulas."""
        steps = {}
        value = self._value(tree)
        for name in self._comparer.points.exact[0]:
            if not value:
                return None
            growth = Fraction(self._moved(tree, name)) / Fraction(value)
            powers = [power for power in range(-12, 13) if growth == Fraction(2) ** power]
            if not powers:
                return None
            if powers != [0]:
                steps[name] = powers[0]
        return steps

    def _monomial(self, tree: Node) -> bool:
        return self._steps(tree) is not None

    def _moved(self, tree: Node, name: str) -> Fraction:
        for settled, formula in reversed(self._comparer.assumptions):
            tree = substitute(tree, settled, formula)
        return self._value(substitute(tree, name, Mul((Num(2), Sym(name)))))

    def _value(self, tree: Node) -> Fraction:
        value = self._comparer.value(tree)
        assert value is not None, tree
        return Fraction(value)

    def _same(self, first: Node, second: Node) -> bool:
        return self._comparer.equal(first, second)


def _relations(reading: Comparer) -> list[Relation]:
    return [Relation(Sym(name), formula) for name, formula in reading.assumptions]


def _inverse(code: str, slip: Node) -> Iterator[Node]:
    """The formula with one operation undone, wherever that is possible; or a symbol, everywhere."""
    for name in sorted(symbols(slip)):
        if code == "off-by-one":
            for one in (Num(1), Neg(Num(1))):
                yield _everywhere(slip, Add((Sym(name), one)), Sym(name))
        for other in sorted(symbols(slip)) if code == "swapped-symbols" else ():
            yield substitute(substitute(substitute(slip, name, Sym("")), other, Sym(name)), "", Sym(other))
    for node in _walk(slip):
        if code == "relation-misread" and isinstance(node, Add):
            yield _everywhere(slip, node, Mul(node.terms))
        for undo in UNDONE.get(code, ()):
            other = undo(node)
            if other is not None:
                yield from _one_changed(slip, node, other)


def _as_product(node: Node) -> Node | None:
    return Mul(node.terms) if isinstance(node, Add) else None


def _as_sum(node: Node) -> Node | None:
    return Add(node.factors) if isinstance(node, Mul) else None


def _power_from_product(node: Node) -> Node | None:
    return Pow(*node.factors) if isinstance(node, Mul) and len(node.factors) == 2 else None


def _power_from_sum(node: Node) -> Node | None:
    return Pow(*node.terms) if isinstance(node, Add) and len(node.terms) == 2 else None


def _quotient(node: Node) -> Node | None:
    return Div(*node.factors) if isinstance(node, Mul) and len(node.factors) == 2 else None


def _product_from_quotient(node: Node) -> Node | None:
    return Mul((node.numerator, node.denominator)) if isinstance(node, Div) else None


def _turned(node: Node) -> Node | None:
    return Pow(node.exponent, node.base) if isinstance(node, Pow) else None


def _product_from_power(node: Node) -> Node | None:
    return Mul((node.base, node.exponent)) if isinstance(node, Pow) else None


def _argument(node: Node) -> Node | None:
    return node.arguments[0] if isinstance(node, Fn) else None


def _without_one(node: Node) -> Node | None:
    return node.terms[0] if isinstance(node, Add) and node.terms[1] in (Num(1), Neg(Num(1))) else None


def _first_factor_outside(node: Node) -> Node | None:
    if isinstance(node, Add) and isinstance(node.terms[0], Mul) and len(node.terms[0].factors) == 2:
        outside, first = node.terms[0].factors
        return Mul((outside, Add((first, *node.terms[1:]))))
    return None


def _last_factor_outside(node: Node) -> Node | None:
    if isinstance(node, Add) and isinstance(node.terms[-1], Mul) and len(node.terms[-1].factors) == 2:
        outside, last = node.terms[-1].factors
        return Mul((outside, Add((*node.terms[:-1], last))))
    return None


UNDONE: dict[str, tuple[Callable[[Node], Node | None], ...]] = {
    "sum-for-product": (_as_product,),
    "product-for-sum": (_as_sum,),
    "brackets": (_first_factor_outside, _last_factor_outside),
    "product-for-power": (_power_from_product,),
    "sum-for-power": (_power_from_sum,),
    "product-for-quotient": (_quotient,),
    "quotient-for-product": (_product_from_quotient,),
    "base-and-exponent": (_turned,),
    "power-for-product": (_product_from_power,),
    "function-too-much": (_argument,),
    "off-by-one": (_without_one,),
    "relation-misread": (_as_product,),
}
"""Code → the ways to undo it at one node."""


def _walk(node: Tree) -> Iterator[Node]:
    yield node  # type: ignore[misc]
    for child in children(node):
        yield from _walk(child)


def _everywhere(node: Node, old: Node, new: Node) -> Node:
    if node == old:
        return new
    below = children(node)
    return rebuilt(node, [_everywhere(child, old, new) for child in below]) if below else node


def _one_changed(node: Node, old: Node, new: Node) -> Iterator[Node]:
    if node == old:
        yield new
    below = children(node)
    for index, child in enumerate(below):
        for changed in _one_changed(child, old, new):
            yield rebuilt(node, (*below[:index], changed, *below[index + 1 :]))
