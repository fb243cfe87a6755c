"""One-mistake variants of a right formula: what a student writes who does everything right but one thing.

Made once for each right formula. A variant is a formula; it is recognised by its exact value, so no
search is needed when an answer comes in, and what is said about the answer is exactly true of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

from msgspec import Struct

from autograder.formulas.mistakes.changes import one_place, product, swapped, times, total
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
    children,
    rebuilt,
    substitute,
    symbols,
)

MOST_TERMS = 8
"""Terms of a right formula that misconceptions are made in."""
MOST_MISCONCEPTIONS = 2000
"""Variants of one right formula."""
SEVERAL = 5
"""Up to so many terms, every choice of missing ones is a variant."""


class Misconception(Struct, frozen=True):
    """A right formula with one misconception.

    Attributes:
        code: the misconception's stable name.
        tree: the formula that comes of it.
        symbol: the symbol that the misconception is about; for a replaced symbol the one that stands there.
        other: the second symbol of swapped or replaced ones.
        part: the term that the misconception made, where it is in one term of several.
        at: the part of the right formula that the misconception was made in.
    """

    code: str
    tree: Node
    symbol: str = ""
    other: str = ""
    part: Node | None = None
    at: Node | None = None


class Material(Struct, frozen=True):
    """What misconceptions are made from.

    Attributes:
        writings: the right formula as it stands, and in other arrangements.
        parts: its terms, like ones collected.
        written: its terms as they stand.
        names: the symbols that a student may use.
        misread: symbol → what stands for it when a granted relation is misread.
    """

    writings: tuple[Node, ...]
    parts: tuple[Node, ...]
    written: tuple[Node, ...]
    names: tuple[str, ...]
    misread: Mapping[str, Node]

    @property
    def several(self) -> Iterable[int]:
        """Indices of the terms, where there are several and not too many."""
        return range(len(self.parts)) if 1 < len(self.parts) <= MOST_TERMS else ()


def misconceptions(material: Material) -> Iterator[Misconception]:
    """Every variant, the most likely explanation first."""
    return islice(chain(_of_terms(material), _of_symbols(material)), MOST_MISCONCEPTIONS)


def _of_terms(material: Material) -> Iterator[Misconception]:
    parts, right = material.parts, material.writings[0]
    if not isinstance(right, Add):  # multiplied out, n for n-1 would be a term that is missing
        yield from _off_by_one(right)
    yield from _missing(parts)
    yield from _missing(material.written)
    for index in material.several:
        made = Neg(parts[index])
        yield Misconception("sign-in-term", _with(parts, index, made), part=made, at=parts[index])
    for writing in material.writings:
        for code, tree, at in misread(writing):
            yield Misconception(code, tree, at=at)
    for name, formula in material.misread.items():
        if name in symbols(right):
            yield Misconception("relation-misread", substitute(right, name, formula), name)
            for tree in one_place(right, name, formula):
                yield Misconception("relation-misread", tree, name)


def _of_symbols(material: Material) -> Iterator[Misconception]:
    parts, names, right = material.parts, material.names, material.writings[0]
    yield from _swapped(right, parts)
    for index in material.several:
        yield from _powers(parts, index)
    for index in range(min(len(parts), MOST_TERMS)):
        yield from _replaced(parts, index, names)
    yield from _replaced_everywhere(right, names)
    for writing in material.writings:
        yield from _one_symbol(writing, names)
        yield from _off_by_one(writing)
    for index in material.several:
        yield from _factors_and_swaps(parts, index, names)
    if material.several:
        yield from _factors(right, parts, names)


def _missing(parts: Sequence[Node]) -> Iterator[Misconception]:
    most = len(parts) - 1 if len(parts) <= SEVERAL else 1
    for lost in range(1, most + 1):
        for chosen in combinations(range(len(parts)), lost):
            left = [part for index, part in enumerate(parts) if index not in chosen]
            code = "missing-term" if lost == 1 else "missing-terms"
            yield Misconception(code, total(left), at=total([parts[index] for index in chosen]))


def _swapped(right: Node, parts: Sequence[Node]) -> Iterator[Misconception]:
    """Two symbols swapped everywhere; not where that only replaces one of them in a single term."""
    for name, other in combinations(sorted(symbols(right)), 2):
        touched = [part for part in parts if _factors_of(swapped(part, name, other)) != _factors_of(part)]
        if len(parts) > 1 and len(touched) == 1 and not {name, other} <= symbols(touched[0]):
            continue
        yield Misconception("swapped-symbols", swapped(right, name, other), name, other)


def _factors_of(part: Node) -> Counter[Node]:
    return Counter(part.factors if isinstance(part, Mul) else (part,))


def _powers(parts: Sequence[Node], index: int) -> Iterator[Misconception]:
    """One symbol's power is wrong in one of several terms, or the symbol is missing there."""
    part = parts[index]
    for name in sorted(symbols(part)):
        for power in (-1, 1, -2, 2):
            made = times(part, name, power)
            yield Misconception("power-in-term", _with(parts, index, made), name, part=made, at=part)


def _replaced(parts: Sequence[Node], index: int, names: Sequence[str]) -> Iterator[Misconception]:
    """Another symbol stands in one term, in one place or in two."""
    part = parts[index]
    above = _above(part)
    for name in sorted(above):
        for other in names:
            for power in range(1, min(2, above[name]) + 1) if other != name else ():
                made = times(times(part, name, -power), other, power)
                shown = made if len(parts) > 1 else None
                yield Misconception("symbol-replaced", _with(parts, index, made), other, name, shown, part)


def _above(part: Node) -> Counter[str]:
    """How often each symbol is a factor of a term, above the fraction line."""
    match part:
        case Sym(name):
            return Counter((name,))
        case Pow(Sym(name), Num(int(power))):
            return Counter({name: power})
        case Mul(factors):
            return sum(map(_above, factors), Counter())
        case Div(numerator, _):
            return _above(numerator)
        case Neg(operand):
            return _above(operand)
    return Counter()


def _replaced_everywhere(right: Node, names: Sequence[str]) -> Iterator[Misconception]:
    for name in sorted(symbols(right)):
        for other in names:
            if other != name:
                yield Misconception("symbol-replaced", substitute(right, name, Sym(other)), other, name)


def _one_symbol(writing: Node, names: Sequence[str]) -> Iterator[Misconception]:
    """Another symbol stands in one place of a formula with brackets."""
    if isinstance(writing, Mul):
        for name in sorted(symbols(writing)):
            for other in names:
                if other != name:
                    for tree in one_place(writing, name, Sym(other)):
                        yield Misconception("symbol-replaced", tree, other, name)


def _off_by_one(right: Node) -> Iterator[Misconception]:
    for name in sorted(symbols(right)):
        for made in (Add((Sym(name), Num(1))), Add((Sym(name), Neg(Num(1))))):
            yield Misconception("off-by-one", substitute(right, name, made), name)
            for tree in one_place(right, name, made):
                yield Misconception("off-by-one", tree, name)


def _factors_and_swaps(parts: Sequence[Node], index: int, names: Sequence[str]) -> Iterator[Misconception]:
    """One of several terms has a factor too many, or two of its symbols swapped."""
    part = parts[index]
    own = sorted(symbols(part))
    for name in names:
        if name not in own:
            made: Node = Mul((part, Sym(name)))
            yield Misconception("extra-factor-in-term", _with(parts, index, made), name, part=made, at=part)
    for name, other in combinations(own, 2):
        made = swapped(part, name, other)
        yield Misconception("swapped-in-term", _with(parts, index, made), name, other, made, part)


def _factors(right: Node, parts: Sequence[Node], names: Sequence[str]) -> Iterator[Misconception]:
    """A sum as a whole has a symbol too often, too rarely, or another one in its place."""
    own = sorted(symbols(right))
    common = set(own).intersection(*map(_above, parts))
    for name in names:
        for power in (1, 2):
            code = "power-too-large" if name in common else "extra-factor"
            yield Misconception(code, times(right, name, power), name)
            if name in common:
                left = min(_above(part)[name] for part in parts) - power
                yield Misconception(
                    "power-too-small" if left else "factor-forgotten", times(right, name, -power), name
                )
        if name in common:
            for other in names:
                if other != name:
                    yield Misconception(
                        "symbol-replaced", times(times(right, name, -1), other, 1), other, name
                    )


def _with(parts: Sequence[Node], index: int, made: Node) -> Node:
    return total((*parts[:index], made, *parts[index + 1 :]))


def misread(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """Each operation of the formula as it is written read as another one: code, formula, place."""
    for code, changed in _here(node):
        yield code, changed, node
    below = children(node)
    for index, child in enumerate(below):
        for code, changed, at in misread(child):
            yield code, rebuilt(node, (*below[:index], changed, *below[index + 1 :])), at


def _here(node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case Mul(factors):
            yield from _product_as(factors)
        case Add(terms):
            yield from _sum_as(terms)
        case Pow(base, Num() as exponent):
            yield "product-for-power", Mul((base, exponent))
            yield "sum-for-power", Add((base, exponent))
        case Pow(base, exponent):
            yield "product-for-power", Mul((base, exponent))
            yield "base-and-exponent", Pow(exponent, base)
        case Div(numerator, denominator):
            yield "product-for-quotient", Mul((numerator, denominator))
            yield "reciprocal", Div(denominator, numerator)
        case Fn(_, arguments):
            yield "function-forgotten", arguments[0]


def _product_as(factors: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    yield "sum-for-product", Add(factors)
    for cut in range(1, len(factors)):
        yield "sum-for-product", Add((product(factors[:cut]), product(factors[cut:])))
    for index, factor in enumerate(factors):
        others = (*factors[:index], *factors[index + 1 :])
        if isinstance(factor, Add):
            yield from _brackets(others, factor.terms)
            yield "quotient-for-product", Div(product(others), factor)
        elif len(factors) > 2:
            yield "sum-for-product", Add((product(others), factor))


def _sum_as(terms: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    yield "product-for-sum", Mul(terms)
    for cut in range(1, len(terms)):
        yield "product-for-sum", Mul((total(terms[:cut]), total(terms[cut:])))
    for index in range(len(terms) - 1):
        both = Mul((terms[index], terms[index + 1]))
        yield "product-for-sum", total((*terms[:index], both, *terms[index + 2 :]))


def _brackets(others: tuple[Node, ...], terms: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    """A factor reaches only the first or only the last term of the brackets beside it."""
    outside = product(others)
    yield "brackets", total((Mul((outside, terms[0])), *terms[1:]))
    yield "brackets", total((*terms[:-1], Mul((outside, terms[-1]))))
