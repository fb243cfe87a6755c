"""The form a formula is written in, judged on the tree as its author wrote it.

Each form is a function that names the first part that is not in the form; what it quotes is always the
author's own. Whether the formula is right is not looked at.
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
"""A power of numbers above this may stay as it is: nobody writes 2^30 out."""


class Flaw(Struct, frozen=True):
    """Why a formula is not in a form.

    Attributes:
        code: stable name, e.g. ``"like-terms"``.
        params: the parts it is about, as text; all of them are the author's own.
    """

    code: str
    params: Mapping[str, str] = {}


def flaw(formula: Node, form: str) -> Flaw | None:
    """The first reason why a formula is not in a form of `FORMS`; None when it is.

    Raises:
        Undecided: it is too large to be factored.
    """
    return FORMS[form](formula)


def occurring(tree: Tree) -> frozenset[str]:
    """The names of the symbols and functions that are written in a tree."""
    return frozenset(node.name for node in walk(tree) if isinstance(node, Sym | Fn | Const))


def collected(formula: Node) -> Flaw | None:
    """No sum has two terms that differ in the number in front only."""
    return _first(_like_terms, _nodes(formula))


def expanded(formula: Node) -> Flaw | None:
    """No product or quotient of a sum, and no power of a sum."""
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
            return expanded(above) or (None if isinstance(below, Add) else expanded(below))
        case Pow(base, exponent):
            power = _constant(exponent)
            if isinstance(_bare(base), Add) and power is not None and power > 0 and power == int(power):
                return Flaw("power-of-sum", {"part": to_text(formula)})
            return None if isinstance(base, Add) else expanded(base)
    return None


def factored(formula: Node) -> Flaw | None:
    """A product of factors of which none can be taken apart further.

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
    part = to_text(factor)
    ring = Ring((factor,))
    polynomial = ring.polynomial(factor)
    if not polynomial:
        return Flaw("cancels", {"part": part})
    if len(polynomial) == 1 or not ring.is_whole(factor):
        return Flaw("factorable", {"part": part})
    common = ring.content(polynomial)
    if common is not None:
        return Flaw("common-factor", {"part": part, "factor": to_text(common)})
    if ring.numeric_common(factor) != 1:
        return Flaw("common-factor", {"part": part, "factor": str(ring.numeric_common(factor))})
    return Flaw("factorable", {"part": part}) if ring.factors(polynomial) > 1 else None


def single_fraction(formula: Node) -> Flaw | None:
    """At most one fraction line, and no sum beside it."""
    lines = [node for node in _nodes(formula) if _is_fraction(node)]
    if len(lines) > 1:
        return Flaw("several-fractions", {"part": to_text(lines[1])})
    for node in _nodes(formula):
        if isinstance(node, Add) and lines and any(_holds(term, lines[0]) for term in node.terms):
            return Flaw("sum-beside-fraction", {"part": to_text(node)})
    return None


def simplified(formula: Node) -> Flaw | None:
    """Like terms collected, and no arithmetic, no factor 1, nothing to cancel and no nested fraction left.

    Raises:
        Undecided: a fraction is too large to be reduced.
    """
    for node in _nodes(formula, deep=True):
        for look in (_like_terms, _arithmetic, _neutral, _double_sign, _nested, _repeated, _cancelling):
            found = look(node)
            if found is not None:
                return found
    return None


def not_simplified(formula: Node) -> Flaw | None:
    """The steps are still to be seen: something could be collected, multiplied out, or cancelled."""
    return Flaw("already-simplified") if simplified(formula) is None else None


def sum_(formula: Node) -> Flaw | None:
    """A sum of two terms or more."""
    return None if isinstance(_bare(formula), Add) else Flaw("no-sum")


def product(formula: Node) -> Flaw | None:
    """A product, a power, or a single symbol or number: no sum."""
    return Flaw("no-product") if isinstance(_bare(formula), Add) else None


FORMS: Mapping[str, Callable[[Node], Flaw | None]] = {
    "collected": collected,
    "expanded": expanded,
    "factored": factored,
    "single_fraction": single_fraction,
    "simplified": simplified,
    "not_simplified": not_simplified,
    "sum": sum_,
    "product": product,
}
"""Every form by its name in the rubric."""


def summands(node: Add) -> Iterator[Node]:
    """The terms of a sum, those of sums directly inside included."""
    for term in node.terms:
        inner = term.operand if isinstance(term, Neg) else term
        if isinstance(inner, Add):
            yield from summands(inner)
        else:
            yield term


def _like_terms(node: Node) -> Flaw | None:
    """Terms of one sum that differ in the number in front only."""
    if not isinstance(node, Add):
        return None
    seen: dict[Bare, Node] = {}
    for term in summands(node):
        bare = product_of(term).bare()
        if bare in seen:
            return Flaw("like-terms", {"first": _signless(seen[bare]), "second": _signless(term)})
        seen[bare] = term
    return None


def _arithmetic(node: Node) -> Flaw | None:
    """Numbers that could be computed: ``2*3*d``, ``2^3``, ``4/2``, ``sqrt(9)``."""
    match node:
        case Mul() | Div():
            written = product_of(node)
            above = [number for number in written.above if number != 1]
            below = [number for number in written.below if number != 1]
            if len(above) > 1 or len(below) > 1 or (above and below and not _reduced(above[0], below[0])):
                return Flaw("arithmetic", {"part": to_text(node)})
        case Pow(base, exponent) if _constant(base) is not None and _constant(exponent) is not None:
            value = _constant(node)
            if value is not None and max(abs(value.numerator), value.denominator) <= LEFT_STANDING:
                return Flaw("arithmetic", {"part": to_text(node)})
        case Fn() if _constant(node) is not None:
            return Flaw("arithmetic", {"part": to_text(node)})
    return None


def _reduced(above: Fraction, below: Fraction) -> bool:
    whole = above.denominator == below.denominator == 1
    return whole and gcd(above.numerator, below.numerator) == 1


def _neutral(node: Node) -> Flaw | None:
    """A factor 1 or 0, a term 0, an exponent 1 or 0."""
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
    """A fraction above or below a fraction line, or beside another fraction as a factor."""
    match node:
        case Div(above, below):
            nested = any(isinstance(part, Div) for side in (above, below) for part in _nodes(side))
        case Mul(factors):
            nested = sum(isinstance(_bare(factor), Div) for factor in factors) > 1
        case _:
            nested = False
    return Flaw("nested-fraction", {"part": to_text(node)}) if nested else None


def _repeated(node: Node) -> Flaw | None:
    """Powers of one base side by side, such as ``d^2*d``; ``d*d`` may stay."""
    if not isinstance(node, Mul):
        return None
    bases = [factor.base for factor in node.factors if isinstance(factor, Pow)]
    plain = [factor for factor in node.factors if not isinstance(factor, Pow)]
    roots = [factor for factor in plain if isinstance(factor, Fn)]
    repeated = any(len(set(parts)) < len(parts) for parts in (bases, roots)) or any(
        base in plain for base in bases
    )
    return Flaw("powers-apart", {"part": to_text(node)}) if repeated else None


def _cancelling(node: Node) -> Flaw | None:
    """A factor on both sides of a fraction line, written or after multiplying out."""
    part = {"part": to_text(node)} if isinstance(node, Div | Mul) else {}
    match node:
        case Mul(factors) if any(_is_fraction(_bare(factor)) for factor in factors):
            written = product_of(node)
            return Flaw("cancels", part) if written.cancels() else None
        case Div(above, below):
            if product_of(node).cancels():
                return Flaw("cancels", part)
            if any(isinstance(inner, Add) for side in (above, below) for inner in _nodes(side)):
                return Flaw("cancels", part) if Ring((above, below)).common(above, below) else None
    return None


def _nodes(node: Node, *, deep: bool = False) -> Iterator[Node]:
    """A formula and its parts from the outside; those of functions and exponents only if deep."""
    yield node
    if deep or not isinstance(node, Fn):
        parts = (node.base,) if isinstance(node, Pow) and not deep else children(node)
        for part in parts:
            yield from _nodes(part, deep=deep)


def _holds(node: Node, part: Node) -> bool:
    return any(inner is part for inner in _nodes(node))


def _is_fraction(node: Node) -> bool:
    """A quotient, or a power with a negative number for exponent."""
    if isinstance(node, Pow):
        power = _constant(node.exponent)
        return power is not None and power < 0
    return isinstance(node, Div)


def _bare(node: Node) -> Node:
    """A formula without the signs before it."""
    while isinstance(node, Neg):
        node = node.operand
    return node


def _signless(node: Node) -> str:
    return to_text(_bare(node))


def _first(look: Callable[[Node], Flaw | None], parts: Iterable[Node]) -> Flaw | None:
    return next((found for part in parts if (found := look(part)) is not None), None)


MAX_POWER = 1000
Bare = frozenset[tuple[Hashable, Fraction]]
"""Bases with the sums of their powers."""


class Product(Struct, frozen=True):
    """What is multiplied in a term, above and below the fraction line.

    Attributes:
        above: the numbers above, in order; a number to a constant power is one number.
        below: the numbers below.
        powers: bases with their powers, in order, as often as they are written; those below are negative.
    """

    above: tuple[Fraction, ...] = ()
    below: tuple[Fraction, ...] = ()
    powers: tuple[tuple[Hashable, Fraction], ...] = ()

    def bare(self) -> Bare:
        """The bases with the sums of their powers; without numbers."""
        total: dict[Hashable, Fraction] = {}
        for base, power in self.powers:
            total[base] = total.get(base, Fraction(0)) + power
        return frozenset((base, power) for base, power in total.items() if power)

    def number(self) -> Fraction | None:
        """The number in front; None where a denominator is zero."""
        total = Fraction(1)
        for number in self.above:
            total *= number
        for number in self.below:
            if not number:
                return None
            total /= number
        return total

    def cancels(self) -> bool:
        """Whether a base stands above and below."""
        up = {base for base, power in self.powers if power > 0}
        return any(base in up for base, power in self.powers if power < 0)


def product_of(node: Node) -> Product:
    """Take a term apart; a sum in it, a function or a symbolic power is a base of its own.

    Sums are the same base however their terms are ordered.
    """
    match node:
        case Num(value):
            return Product((Fraction(value),))
        case Neg(operand):
            return product_of(operand)
        case Mul(factors):
            parts = [product_of(factor) for factor in factors]
            return Product(
                tuple(number for part in parts for number in part.above),
                tuple(number for part in parts for number in part.below),
                tuple(power for part in parts for power in part.powers),
            )
        case Div(numerator, denominator):
            return _joined(product_of(numerator), _inverse(product_of(denominator)))
        case Pow(base, exponent):
            return _power(node, base, exponent)
        case Add(terms):
            return Product(powers=((frozenset(_signed(term) for term in terms), Fraction(1)),))
    return Product(powers=((node, Fraction(1)),))


def _joined(first: Product, second: Product) -> Product:
    return Product(first.above + second.above, first.below + second.below, first.powers + second.powers)


def _inverse(one: Product) -> Product:
    return Product(one.below, one.above, tuple((base, -power) for base, power in one.powers))


def _power(node: Pow, base: Node, exponent: Node) -> Product:
    """A power of a product is the product of the powers, where the exponent is a whole constant."""
    power, value = _constant(exponent), _constant(node)
    if value is not None:
        return Product((value,))
    if power is None or abs(power) > MAX_POWER:
        return Product(powers=((node, Fraction(1)),))
    inner = product_of(base)
    if power != int(power) and (inner.above or inner.below or len(inner.powers) > 1):
        return Product(powers=((base, power),))
    if power < 0:
        inner = _inverse(inner)
    times = abs(power)
    return Product(
        tuple(_raised(number, times) for number in inner.above),
        tuple(_raised(number, times) for number in inner.below),
        tuple((one, by * times) for one, by in inner.powers),
    )


def _raised(number: Fraction, power: Fraction) -> Fraction:
    """A number to a whole power; only whether it is 1 matters where the power is large."""
    size = max(number.numerator.bit_length(), number.denominator.bit_length())
    return number**power.numerator if size * power.numerator <= 4096 else number


def _signed(term: Node) -> tuple[Fraction | None, Bare]:
    """A term of a sum with its sign, so that equal sums are equal bases."""
    sign = 1
    while isinstance(term, Neg):
        term, sign = term.operand, -sign
    written = product_of(term)
    number = written.number()
    return (None if number is None else sign * number, written.bare())


def _constant(node: Node) -> Fraction | None:
    """The value of a rational constant."""
    try:
        value = constant_value(node)
    except (TooLarge, Undefined):
        return None
    return None if value is None else Fraction(value)
