"""Wrong variants of a right answer, and right ones in another form, for trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.mistakes.bases import Base
from autograder.algebra.mistakes.slips import Slip
from autograder.algebra.nodes import (
    FUNCTIONS,
    Add,
    Div,
    Mul,
    Neg,
    Node,
    Num,
    Relation,
    Sym,
    Tree,
    Tuple,
    symbols,
)
from autograder.algebra.notation.landau import body_of, sign_of
from autograder.algebra.printing.text import to_text
from autograder.errors import Undecided
from autograder.kinds.general.symbolic.form_options import CONSTANTS
from autograder.kinds.general.symbolic.form_rule import FormRule
from autograder.kinds.general.symbolic.options import SymbolicItem

MOST_SLIPS = 60
"""Slips of one formula that sit the exam, as many of each sort as there are."""


_BREAKS = {
    "simplified": "times one",
    "sum": "times one",
    "collected": "in two halves",
    "product": "in two halves",
    "factored": "in two halves",
    "single_fraction": "in two halves",
    "expanded": "cancelled",
}
"""Form → the change after which no formula is in it."""


class Variant(Struct, frozen=True):
    """An answer made of a right one.

    Attributes:
        name: what was done, in a few words.
        text: the answer as a student would write it.
        tree: the same, to be compared with what is right; None for what is wrong in any case.
    """

    name: str
    text: str
    tree: Tree | None = None


def slips(base: Base) -> Iterator[Variant]:
    """Slips of a formula, a few of each sort; each differs from the formula at a secret point."""
    sorts: dict[str, list[Slip]] = {}
    for slip in base.table.values():
        sorts.setdefault(slip.code, []).append(slip)
    taken = 0
    for turn in range(max(map(len, sorts.values()), default=0)):
        for code, found in sorts.items():
            if turn < len(found) and taken < MOST_SLIPS:
                taken += 1
                yield _variant(code, found[turn].tree)


def wrong_forms(tree: Tree, options: SymbolicItem) -> Iterator[Variant]:
    """Wrong relations, tuples, lists, sets and orders of growth."""
    if isinstance(tree, Relation):
        yield _variant("right side doubled", Relation(tree.left, Mul((Num(2), tree.right)), tree.sign))
        yield _variant("one more on the right", Relation(tree.left, Add((tree.right, Num(1))), tree.sign))
        yield _variant("another sign", Relation(tree.left, tree.right, "<" if tree.sign == "=" else "="))
    elif isinstance(tree, Tuple):
        yield from _elements(tree.elements, ordered=options.form != "set")
    elif options.form == "asymptotic":
        yield from _orders(tree, upper=options.bound == "upper")


def _elements(elements: Sequence[Node], *, ordered: bool) -> Iterator[Variant]:
    for place in range(len(elements) - 1) if ordered else ():
        swapped = (*elements[:place], elements[place + 1], elements[place], *elements[place + 2 :])
        yield _variant(f"{place + 1} and {place + 2} swapped", Tuple(tuple(swapped)))
    for place, element in enumerate(elements):
        others = (*elements[:place], *elements[place + 1 :])
        if others:
            yield _variant(f"{place + 1} missing", Tuple(others))
        doubled = Mul((Num(2), element))
        yield _variant(f"{place + 1} doubled", Tuple((*elements[:place], doubled, *elements[place + 1 :])))


def _orders(tree: Node, *, upper: bool) -> Iterator[Variant]:
    sign, body = sign_of(tree) or "O", body_of(tree)
    for name in sorted(symbols(body)):
        if not upper:
            yield Variant(f"too large in {name}", f"{sign}({to_text(Mul((body, Sym(name))))})")
        if sign not in ("Ω", "ω"):
            yield Variant(f"too small in {name}", f"{sign}({to_text(Div(body, Sym(name)))})")


def unformed(tree: Tree, rule: FormRule) -> Iterator[Variant]:
    """Right formulas that are not in the form asked for, as far as simple changes give them.

    What breaks a form for certain is not left to the rule to say.
    """
    if isinstance(tree, Relation | Tuple):
        return
    names = sorted(symbols(tree))
    symbol: Node = Sym(names[0]) if names else Num(2)
    tried: dict[str, Node] = {
        "times one": Mul((Num(1), tree)),
        "in two halves": Add((Div(tree, Num(2)), Div(tree, Num(2)))),
        "cancelled": Div(Mul((Add((symbol, symbol)), tree)), Mul((Num(2), symbol))),
    }
    foreign = [name for name in rule.absent if name not in (*FUNCTIONS, *CONSTANTS)]
    for name in (*names, *foreign):
        tried[f"plus and minus {name}"] = Add((tree, Sym(name), Neg(Sym(name))))
    certain = {_BREAKS[form] for form in rule.must if form in _BREAKS}
    certain |= {f"plus and minus {name}" for name in foreign}
    for name, other in tried.items():
        try:
            if name in certain or rule.broken(other) is not None:
                yield _variant(name, other)
        except Undecided:
            continue


def any_equal(tree: Tree, known: Sequence[tuple[Tree, Comparer]]) -> bool:
    """Whether an answer equals one of several, or might."""
    for other, comparer in known:
        try:
            if comparer.equal(tree, other):
                return True
        except Undecided:
            return True
    return False


def _variant(name: str, tree: Tree) -> Variant:
    return Variant(name, to_text(tree), tree)
