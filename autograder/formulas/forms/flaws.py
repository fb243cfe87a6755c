"""Check the form in which a formula is written, on the tree as its author wrote it.

Each form is a function that names the first part that violates the form; it always quotes the author's own
text. These functions do not check whether the formula is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from math import gcd

from msgspec import Struct

from autograder.formulas.forms.polynomials import Ring
from autograder.formulas.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    Tree,
    get_children,
    walk_tree,
)
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.evaluate import Rational, try_constant

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


def find_flaw(formula: Node, form: str) -> Flaw | None:
    """Return the first reason why a formula is not in a form of `FORMS`; None if it is.

    Raises:
        Undecided: the formula is too large to be factored.
    """
    return FORMS[form](formula)


def collect_names(tree: Tree) -> frozenset[str]:
    """Return the names of the symbols and functions that are written in a tree."""
    return frozenset(node.name for node in walk_tree(tree) if isinstance(node, Sym | Fn | Const))


def check_collected(formula: Node) -> Flaw | None:
    """Check that no sum has two terms that differ only in their numeric factor."""
    return _find_first(_find_like_terms, _walk_nodes(formula))


def check_expanded(formula: Node) -> Flaw | None:
    """Check that there is no product or quotient of a sum, and no power of a sum."""
    match formula:
        case Add(terms):
            return _find_first(check_expanded, terms)
        case Neg(operand):
            if isinstance(_strip_signs(operand), Add):
                return Flaw("product-of-sums", {"part": to_text(formula)})
            return check_expanded(operand)
        case Mul(factors):
            if any(isinstance(_strip_signs(factor), Add) for factor in factors):
                return Flaw("product-of-sums", {"part": to_text(formula)})
            return _find_first(check_expanded, factors)
        case Div(above, below):
            if isinstance(_strip_signs(above), Add):
                return Flaw("fraction-of-sum", {"part": to_text(formula)})
            # A sum below the fraction line cannot be expanded further.
            return check_expanded(above) or (None if isinstance(below, Add) else check_expanded(below))
        case Pow(base, exponent):
            power = try_constant(exponent)
            if (
                isinstance(_strip_signs(base), Add)
                and power is not None
                and power > 0
                and power == int(power)
            ):
                return Flaw("power-of-sum", {"part": to_text(formula)})
            return None if isinstance(base, Add) else check_expanded(base)
    return None


def check_factored(formula: Node) -> Flaw | None:
    """Check that the formula is a product of irreducible factors.

    Raises:
        Undecided: a factor is too large.
    """
    match formula:
        case Neg(operand) | Pow(operand, _):
            return check_factored(operand)
        case Mul(factors):
            return _find_first(check_factored, factors)
        case Div(above, below):
            return check_factored(above) or check_factored(below)
        case Add():
            return _check_irreducible(formula)
    return None


def _check_irreducible(factor: Add) -> Flaw | None:
    like_terms = check_collected(factor)
    if like_terms is not None:
        return like_terms
    # The cheap check comes first; the polynomial ring below is slower and may be undecided.
    part = to_text(factor)
    ring = Ring((factor,))
    polynomial, _ = ring.to_lowest_terms(factor)
    if not polynomial:
        return Flaw("cancels", {"part": part})
    # A sum that collapses to one term, or has a symbol in a denominator, can be written as a product.
    if len(polynomial) == 1 or not ring.is_whole(factor):
        return Flaw("factorable", {"part": part})
    common = ring.find_content(polynomial)
    if common is not None:
        return Flaw("common-factor", {"part": part, "factor": to_text(common)})
    if ring.find_numeric_content(factor) != 1:
        return Flaw("common-factor", {"part": part, "factor": str(ring.find_numeric_content(factor))})
    return Flaw("factorable", {"part": part}) if ring.count_factors(polynomial) > 1 else None


def check_simplified(formula: Node) -> Flaw | None:
    """Check that the formula is simplified.

    Like terms are collected, and there is no arithmetic, no factor 1, nothing to cancel and no nested
    fraction left.

    Raises:
        Undecided: a fraction is too large to be reduced.
    """
    for node in _walk_nodes(formula, deep=True):
        for check in (
            _find_like_terms,
            _find_arithmetic,
            _find_neutral,
            _find_double_sign,
            _find_nested_fraction,
            _find_repeated_base,
            _find_cancelling_factor,
        ):
            problem = check(node)
            if problem is not None:
                return problem
    return None


def check_sum(formula: Node) -> Flaw | None:
    """Check that the formula is a sum of two terms or more."""
    return None if isinstance(_strip_signs(formula), Add) else Flaw("no-sum")


def check_product(formula: Node) -> Flaw | None:
    """Check that the formula is a product, a power, or a single symbol or number: not a sum."""
    return Flaw("no-product") if isinstance(_strip_signs(formula), Add) else None


FORMS: Mapping[str, Callable[[Node], Flaw | None]] = {
    "collected": check_collected,
    "expanded": check_expanded,
    "factored": check_factored,
    "simplified": check_simplified,
    "sum": check_sum,
    "product": check_product,
}
"""Every form by its name in the rubric."""


def flatten_sum(node: Add) -> Iterator[Node]:
    """Yield the terms of a sum, including those of directly nested sums."""
    for term in node.terms:
        inner = term.operand if isinstance(term, Neg) else term
        if isinstance(inner, Add):
            yield from flatten_sum(inner)
        else:
            yield term


def _find_like_terms(node: Node) -> Flaw | None:
    """Find terms of one sum that differ only in their numeric factor."""
    if not isinstance(node, Add):
        return None
    # A fresh ring per sum keeps the number of generators small.
    ring = Ring((node,))
    seen: dict[Hashable, Node] = {}
    for term in flatten_sum(node):
        bare = ring.strip_number(term)
        if bare in seen:
            return Flaw(
                "like-terms", {"first": _format_unsigned(seen[bare]), "second": _format_unsigned(term)}
            )
        seen[bare] = term
    return None


def _find_arithmetic(node: Node) -> Flaw | None:
    """Find numbers that could be computed: ``2*3*d``, ``2^3``, ``4/2``, ``sqrt(9)``."""
    match node:
        case Mul() | Div():
            above, below = (
                [value for part in parts if (value := _extract_number(part)) not in (None, 1)]
                for parts in _split_fraction(node)
            )
            left = len(above) > 1 or len(below) > 1 or (above and below and not _is_reduced(*above, *below))
        case Pow(base, exponent) if try_constant(base) is not None and try_constant(exponent) is not None:
            value = try_constant(node)
            left = value is not None and max(abs(value.numerator), value.denominator) <= LEFT_STANDING
        case _:
            left = isinstance(node, Fn) and try_constant(node) is not None
    return Flaw("arithmetic", {"part": to_text(node)}) if left else None


def _extract_number(factor: Node) -> Rational | None:
    """Return the numeric factor of a factor; None for none, and for 1.

    That is its value if it is constant, or the number in the base of a power.
    """
    value = try_constant(factor)
    if value is None and isinstance(factor, Pow) and isinstance(factor.base, Mul):
        value = next(
            (constant for part in factor.base.factors if (constant := try_constant(part)) is not None), None
        )
    return None if value == 1 else value


def _is_reduced(above: Rational, below: Rational) -> bool:
    whole = above.denominator == below.denominator == 1
    return whole and gcd(above.numerator, below.numerator) == 1


def _split_fraction(node: Node) -> tuple[list[Node], list[Node]]:
    """Return the factors above the fraction line of a product or quotient, and those below."""
    match node:
        case Neg(operand):
            return _split_fraction(operand)
        case Mul(factors):
            parts = [_split_fraction(factor) for factor in factors]
            return [part for above, _ in parts for part in above], [
                part for _, below in parts for part in below
            ]
        case Div(numerator, denominator):
            (above, under), (over, below) = _split_fraction(numerator), _split_fraction(denominator)
            return above + below, under + over
        # A negative power is a factor of the denominator.
        case Pow(base, exponent) if try_constant(base) is None and (try_constant(exponent) or 0) < 0:
            return [], [Pow(base, exponent.operand) if isinstance(exponent, Neg) else base]
    return [node], []


def _find_neutral(node: Node) -> Flaw | None:
    """Find a factor 1 or 0, a term 0, or an exponent 1 or 0."""
    match node:
        case Mul(factors):
            idle = any(_strip_signs(factor) in (Num(0), Num(1)) for factor in factors)
        case Add(terms):
            idle = any(_strip_signs(term) == Num(0) for term in terms)
        case Pow(base, exponent):
            idle = exponent in (Num(0), Num(1)) or base in (Num(0), Num(1))
        case Div(above, below):
            idle = _strip_signs(above) == Num(0) or _strip_signs(below) == Num(1)
        case _:
            idle = False
    return Flaw("neutral", {"part": to_text(node)}) if idle else None


def _find_double_sign(node: Node) -> Flaw | None:
    doubled = isinstance(node, Neg) and isinstance(node.operand, Neg)
    return Flaw("double-sign", {"part": to_text(node)}) if doubled else None


def _find_nested_fraction(node: Node) -> Flaw | None:
    """Find a fraction above or below a fraction line, or two fractions that are factors of one product."""
    match node:
        case Div(above, below):
            nested = any(isinstance(part, Div) for side in (above, below) for part in _walk_nodes(side))
        case Mul(factors):
            nested = sum(isinstance(_strip_signs(factor), Div) for factor in factors) > 1
        case _:
            nested = False
    return Flaw("nested-fraction", {"part": to_text(node)}) if nested else None


def _find_repeated_base(node: Node) -> Flaw | None:
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


def _find_cancelling_factor(node: Node) -> Flaw | None:
    """Find a common factor of both sides of a fraction line, as written or after multiplying out."""
    above, below = _split_fraction(node) if isinstance(node, Mul | Div) else ([], [])
    if not above or not below:
        return None
    upper, lower = Mul(tuple(above)), Mul(tuple(below))
    cancels = Ring((upper, lower)).has_common_divisor(upper, lower)
    return Flaw("cancels", {"part": to_text(node)}) if cancels else None


def _walk_nodes(node: Node, *, deep: bool = False) -> Iterator[Node]:
    """Yield a formula and its parts from the outside; those inside functions and exponents only if deep."""
    yield node
    # A form describes the outer structure; only simplification looks inside functions.
    if deep or not isinstance(node, Fn):
        parts = (node.base,) if isinstance(node, Pow) and not deep else get_children(node)
        for part in parts:
            yield from _walk_nodes(part, deep=deep)


def _strip_signs(node: Node) -> Node:
    """Return a formula without its leading signs."""
    while isinstance(node, Neg):
        node = node.operand
    return node


def _format_unsigned(node: Node) -> str:
    return to_text(_strip_signs(node))


def _find_first(check: Callable[[Node], Flaw | None], parts: Iterable[Node]) -> Flaw | None:
    return next((problem for part in parts if (problem := check(part)) is not None), None)
