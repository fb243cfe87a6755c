"""Check the form in which a formula is written, on the tree as its author wrote it.

Each form is a function that names the first part that violates the form; it always quotes the author's own
text. These functions do not check whether the formula is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import gcd

from msgspec import Struct

from autograder.formulas.forms.polynomials import Ring
from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, Tree, children, walk
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.evaluate import TooLarge, Undefined, constant_value

LEFT_STANDING = 10_000
"""A power of numbers above this may stay as it is: writing out 2^30 is not expected."""


class Flaw(Struct, frozen=True):
    """A reason why a formula is not in a form.

    Attributes:
        code: stable name, e.g. ``"like-terms"``.
        params: the parts concerned, as text; all of them are the author's own.
    """

    code: str
    params: Mapping[str, str] = {}


def flaw(formula: Node, form: str) -> Flaw | None:
    """Return the first reason why a formula is not in a form of `FORMS`; None if it is.

    Raises:
        Undecided: the formula is too large to be factored.
    """
    return FORMS[form](formula)


def occurring(tree: Tree) -> frozenset[str]:
    """Return the names of the symbols and functions that are written in a tree."""
    return frozenset(node.name for node in walk(tree) if isinstance(node, Sym | Fn | Const))


def collected(formula: Node) -> Flaw | None:
    """Check that no sum has two terms that differ only in their numeric factor."""
    return _first(_like_terms, _nodes(formula))


def expanded(formula: Node) -> Flaw | None:
    """Check that there is no product or quotient of a sum, and no power of a sum."""
    match formula:
        case Add(terms):
            return _first(expanded, terms)
        case Neg(operand):
            if isinstance(_bare(operand), Add):
                return Flaw("product-of-sums", {"part": to_text(formula)})
            return expanded(operand)
        case Mul(factors):
            if any(isinstance(_bare(factor), Add) for factor in factors):
                return Flaw("product-of-sums", {"part": to_text(formula)})
            return _first(expanded, factors)
        case Div(above, below):
            if isinstance(_bare(above), Add):
                return Flaw("fraction-of-sum", {"part": to_text(formula)})
            # A sum below the fraction line cannot be expanded further.
            return expanded(above) or (None if isinstance(below, Add) else expanded(below))
        case Pow(base, exponent):
            power = _constant(exponent)
            if isinstance(_bare(base), Add) and power is not None and power > 0 and power == int(power):
                return Flaw("power-of-sum", {"part": to_text(formula)})
            return None if isinstance(base, Add) else expanded(base)
    return None


def factored(formula: Node) -> Flaw | None:
    """Check that the formula is a product of irreducible factors.

    Raises:
        Undecided: a factor is too large.
    """
    match formula:
        case Neg(operand) | Pow(operand, _):
            return factored(operand)
        case Mul(factors):
            return _first(factored, factors)
        case Div(above, below):
            return factored(above) or factored(below)
        case Add():
            return _reducible(formula)
    return None


def _reducible(factor: Add) -> Flaw | None:
    found = collected(factor)
    if found is not None:
        return found
    # The cheap check comes first; the polynomial ring below is slower and may be undecided.
    part = to_text(factor)
    ring = Ring((factor,))
    polynomial = ring.polynomial(factor)
    if not polynomial:
        return Flaw("cancels", {"part": part})
    # A sum that collapses to one term, or has a symbol in a denominator, can be written as a product.
    if len(polynomial) == 1 or not ring.is_whole(factor):
        return Flaw("factorable", {"part": part})
    common = ring.content(polynomial)
    if common is not None:
        return Flaw("common-factor", {"part": part, "factor": to_text(common)})
    if ring.numeric_common(factor) != 1:
        return Flaw("common-factor", {"part": part, "factor": str(ring.numeric_common(factor))})
    return Flaw("factorable", {"part": part}) if ring.factors(polynomial) > 1 else None


def simplified(formula: Node) -> Flaw | None:
    """Check that the formula is simplified.

    Like terms are collected, and there is no arithmetic, no factor 1, nothing to cancel and no nested
    fraction left.

    Raises:
        Undecided: a fraction is too large to be reduced.
    """
    for node in _nodes(formula, deep=True):
        for look in (_like_terms, _arithmetic, _neutral, _double_sign, _nested, _repeated, _cancelling):
            found = look(node)
            if found is not None:
                return found
    return None


def sum_(formula: Node) -> Flaw | None:
    """Check that the formula is a sum of two terms or more."""
    return None if isinstance(_bare(formula), Add) else Flaw("no-sum")


def product(formula: Node) -> Flaw | None:
    """Check that the formula is a product, a power, or a single symbol or number: not a sum."""
    return Flaw("no-product") if isinstance(_bare(formula), Add) else None


FORMS: Mapping[str, Callable[[Node], Flaw | None]] = {
    "collected": collected,
    "expanded": expanded,
    "factored": factored,
    "simplified": simplified,
    "sum": sum_,
    "product": product,
}
"""Every form by its name in the rubric."""


def summands(node: Add) -> Iterator[Node]:
    """Yield the terms of a sum, including those of directly nested sums."""
    for term in node.terms:
        inner = term.operand if isinstance(term, Neg) else term
        if isinstance(inner, Add):
            yield from summands(inner)
        else:
            yield term


def _like_terms(node: Node) -> Flaw | None:
    """Find terms of one sum that differ only in their numeric factor."""
    if not isinstance(node, Add):
        return None
    # A fresh ring per sum keeps the number of generators small.
    ring = Ring((node,))
    seen: dict[Hashable, Node] = {}
    for term in summands(node):
        bare = ring.bare(term)
        if bare in seen:
            return Flaw("like-terms", {"first": _signless(seen[bare]), "second": _signless(term)})
        seen[bare] = term
    return None


def _arithmetic(node: Node) -> Flaw | None:
    """Find numbers that could be computed: ``2*3*d``, ``2^3``, ``4/2``, ``sqrt(9)``."""
    match node:
        case Mul() | Div():
            above, below = (
                [value for part in parts if (value := _number(part)) not in (None, 1)]
                for parts in _split(node)
            )
            left = len(above) > 1 or len(below) > 1 or (above and below and not _reduced(*above, *below))
        case Pow(base, exponent) if _constant(base) is not None and _constant(exponent) is not None:
            value = _constant(node)
            left = value is not None and max(abs(value.numerator), value.denominator) <= LEFT_STANDING
        case _:
            left = isinstance(node, Fn) and _constant(node) is not None
    return Flaw("arithmetic", {"part": to_text(node)}) if left else None


def _number(factor: Node) -> Fraction | None:
    """Return the numeric factor of a factor; None for none, and for 1.

    That is its value if it is constant, or the number in the base of a power.
    """
    value = _constant(factor)
    if value is None and isinstance(factor, Pow) and isinstance(factor.base, Mul):
        value = next((found for part in factor.base.factors if (found := _constant(part)) is not None), None)
    return None if value == 1 else value


def _reduced(above: Fraction, below: Fraction) -> bool:
    whole = above.denominator == below.denominator == 1
    return whole and gcd(above.numerator, below.numerator) == 1


def _split(node: Node) -> tuple[list[Node], list[Node]]:
    """Return the factors above the fraction line of a product or quotient, and those below."""
    match node:
        case Neg(operand):
            return _split(operand)
        case Mul(factors):
            parts = [_split(factor) for factor in factors]
            return [one for above, _ in parts for one in above], [one for _, below in parts for one in below]
        case Div(numerator, denominator):
            (above, under), (over, below) = _split(numerator), _split(denominator)
            return above + below, under + over
        # A negative power is a factor of the denominator.
        case Pow(base, exponent) if _constant(base) is None and (_constant(exponent) or 0) < 0:
            return [], [Pow(base, exponent.operand) if isinstance(exponent, Neg) else base]
    return [node], []


def _neutral(node: Node) -> Flaw | None:
    """Find a factor 1 or 0, a term 0, or an exponent 1 or 0."""
    match node:
        case Mul(factors):
            idle = any(_bare(factor) in (Num(0), Num(1)) for factor in factors)
        case Add(terms):
            idle = any(_bare(term) == Num(0) for term in terms)
        case Pow(base, exponent):
            idle = exponent in (Num(0), Num(1)) or base in (Num(0), Num(1))
        case Div(above, below):
            idle = _bare(above) == Num(0) or _bare(below) == Num(1)
        case _:
            idle = False
    return Flaw("neutral", {"part": to_text(node)}) if idle else None


def _double_sign(node: Node) -> Flaw | None:
    doubled = isinstance(node, Neg) and isinstance(node.operand, Neg)
    return Flaw("double-sign", {"part": to_text(node)}) if doubled else None


def _nested(node: Node) -> Flaw | None:
    """Find a fraction above or below a fraction line, or two fractions that are factors of one product."""
    match node:
        case Div(above, below):
            nested = any(isinstance(part, Div) for side in (above, below) for part in _nodes(side))
        case Mul(factors):
            nested = sum(isinstance(_bare(factor), Div) for factor in factors) > 1
        case _:
            nested = False
    return Flaw("nested-fraction", {"part": to_text(node)}) if nested else None


def _repeated(node: Node) -> Flaw | None:
    """Find several powers of one base, such as ``d^2*d``; ``d*d`` may stay."""
    if not isinstance(node, Mul):
        return None
    bases = [factor.base for factor in node.factors if isinstance(factor, Pow)]
    plain = [factor for factor in node.factors if not isinstance(factor, Pow)]
    # d*d may stay, but sqrt(d)*sqrt(d) may not.
    roots = [factor for factor in plain if isinstance(factor, Fn)]
    repeated = any(len(set(parts)) < len(parts) for parts in (bases, roots)) or any(
        base in plain for base in bases
    )
    return Flaw("powers-apart", {"part": to_text(node)}) if repeated else None


def _cancelling(node: Node) -> Flaw | None:
    """Find a common factor of both sides of a fraction line, as written or after multiplying out."""
    above, below = _split(node) if isinstance(node, Mul | Div) else ([], [])
    if not above or not below:
        return None
    upper, lower = Mul(tuple(above)), Mul(tuple(below))
    return Flaw("cancels", {"part": to_text(node)}) if Ring((upper, lower)).common(upper, lower) else None


def _nodes(node: Node, *, deep: bool = False) -> Iterator[Node]:
    """Yield a formula and its parts from the outside; those inside functions and exponents only if deep."""
    yield node
    # A form describes the outer structure; only simplification looks inside functions.
    if deep or not isinstance(node, Fn):
        parts = (node.base,) if isinstance(node, Pow) and not deep else children(node)
        for part in parts:
            yield from _nodes(part, deep=deep)


def _bare(node: Node) -> Node:
    """Return a formula without its leading signs."""
    while isinstance(node, Neg):
        node = node.operand
    return node


def _signless(node: Node) -> str:
    return to_text(_bare(node))


def _first(look: Callable[[Node], Flaw | None], parts: Iterable[Node]) -> Flaw | None:
    return next((found for part in parts if (found := look(part)) is not None), None)


def _constant(node: Node) -> Fraction | None:
    """Return the value of a rational constant; None for any other formula."""
    try:
        value = constant_value(node)
    except (TooLarge, Undefined):
        return None
    return None if value is None else Fraction(value)
