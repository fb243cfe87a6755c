"""Create the mutants of the exam's nine formulas with one mistake each.

The mistakes are made in the text of a right answer, independently of the code for diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograder.formulas.nodes import (
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
    collect_symbols,
    get_children,
    rebuild_node,
)
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from tests.formulas.examples import VOCABULARY


class Formula(Struct, frozen=True):
    """One question of the exam: the spellings of its answer, and the relations it grants."""

    name: str
    written: tuple[str, ...]
    """Right answers in natural arrangements, the reference's first."""
    assume: tuple[str, ...] = ()


HEADS, HIDDEN = "d_model = n_heads*d_head", "d_ff = 4*d_model"
RELATION = Formula(
    "e-relation", ("d_model = n_heads*d_head", "d_head = d_model/n_heads", "n_heads*d_head = d_model")
)
FORMULAS = (
    Formula("a", ("d_model*d_head",)),
    Formula("b", ("8*d_model^2", "d_model*4*d_model + 4*d_model*d_model", "2*d_model*d_ff"), (HIDDEN,)),
    Formula("c", ("n_heads*d_head*d_model", "(n_heads*d_head)*d_model"), (HEADS,)),
    Formula(
        "d",
        (
            "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2",
            "4*n_heads*d_model*d_head + 8*d_model^2",
            "4*d_model*(n_heads*d_head + 2*d_model)",
        ),
        (HIDDEN,),
    ),
    Formula(
        "e", ("12*d_model^2", "4*d_model^2 + 8*d_model^2", "3*d_model^2 + d_model^2 + 8*d_model^2"), (HEADS,)
    ),
    Formula("f", ("12*n_layers*d_model^2", "n_layers*(4*d_model^2 + 8*d_model^2)"), (HEADS, HIDDEN)),
    Formula(
        "h",
        ("16*d_model^2", "3*d_model*4*d_model + 4*d_model*d_model", "12*d_model^2 + 4*d_model^2"),
        (HEADS, HIDDEN),
    ),
    Formula("i", ("20*n_layers*d_model^2", "n_layers*(4*d_model^2 + 16*d_model^2)"), (HEADS, HIDDEN)),
)  # fmt: skip
EXTRA = (
    "1",
    "d_model",
    "5*d_model",
    "d_head",
    "n_heads",
    "d_model^2",
    "n_voc*d_model",
    "n*d_model",
    "2*n_layers",
)
"""Terms that occur in none of the formulas."""
MULTIPLES = (Num(2), Num(3), Num(4), Num(6))
NAMES = tuple(VOCABULARY.domains)


def mutants(formula: Formula) -> dict[Node, str]:
    """Return every formula with one mistake and its kind; some are right by chance."""
    mutants: dict[Node, str] = {}
    for text in formula.written:
        tree = parse(text, VOCABULARY)
        for kind, mutant in (*_anywhere(tree), *_whole(tree)):
            mutants.setdefault(mutant, kind)
    return mutants


def relation_mutants(formula: Formula) -> dict[Relation, str]:
    """Return every equation with one mistake on one side."""
    mutants: dict[Relation, str] = {}
    for text in formula.written:
        relation = parse_single(text, VOCABULARY)
        for kind, side in _anywhere(relation.right):
            mutants.setdefault(Relation(relation.left, side), kind)
        for kind, side in _anywhere(relation.left):
            mutants.setdefault(Relation(side, relation.right), kind)
        for factor in MULTIPLES[:2]:
            mutants.setdefault(Relation(relation.left, Mul((factor, relation.right))), "constant factor")
    return mutants


def _anywhere(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the formula with one of its nodes changed."""
    yield from _here(node)
    below = get_children(node)
    for index, child in enumerate(below):
        for kind, changed in _anywhere(child):
            yield kind, rebuild_node(node, (*below[:index], changed, *below[index + 1 :]))


def _here(node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case Num(value):
            for other in {value + 1, value - 1, 2 * value, 3 * value, 1} - {value, 0}:
                yield "wrong number", Num(other)
        case Sym(name):
            yield from (("symbol replaced", Sym(other)) for other in NAMES if other != name)
            yield "power", Pow(node, Num(2))
            yield "power", Pow(node, Num(3))
            yield "factorial", Fn("factorial", (node,))
            yield "off by one", Add((node, Num(1)))
            yield "off by one", Add((node, Neg(Num(1))))
            yield "divided", Div(Num(1), node)
        case Pow(base, exponent):
            yield "power", base
            yield "product for power", Mul((base, exponent))
            yield "base and exponent", Pow(exponent, base)
        case Mul(factors):
            for index, factor in enumerate(factors):
                other_factors = (*factors[:index], *factors[index + 1 :])
                rest = other_factors[0] if len(other_factors) == 1 else Mul(other_factors)
                yield "symbol forgotten" if collect_symbols(factor) else "number forgotten", rest
                yield "sum for product", Add((rest, factor))
                yield "divided", Div(rest, factor)
                if isinstance(factor, Add):
                    yield "brackets", Add((Mul((*other_factors, factor.terms[0])), *factor.terms[1:]))
        case Add(terms):
            for index, term in enumerate(terms):
                other_terms = (*terms[:index], *terms[index + 1 :])
                yield "term missing", other_terms[0] if len(other_terms) == 1 else Add(other_terms)
                yield "sign", Add((*terms[:index], Neg(term), *terms[index + 1 :]))
            yield "product for sum", Mul(terms)


def _whole(tree: Node) -> Iterator[tuple[str, Node]]:
    for number in MULTIPLES:
        yield "constant factor", Mul((number, tree))
        yield "constant factor", Div(tree, number)
    yield "sign", Neg(tree)
    for text in EXTRA:
        yield "extra term", Add((tree, parse(text, VOCABULARY)))
    for name in NAMES:
        yield "extra factor", Mul((Sym(name), tree))
    for first in sorted(collect_symbols(tree)):
        for second in NAMES:
            if second > first or second not in collect_symbols(tree):
                yield "symbols swapped", _renamed(tree, {first: Sym(second), second: Sym(first)})
    for name, wrong in (
        ("d_model", Sym("d_head")),
        ("d_model", Sym("n_heads")),
        ("d_model", Add((Sym("n_heads"), Sym("d_head")))),
        ("d_head", Sym("d_model")),
        ("d_model", Div(Sym("d_head"), Sym("n_heads"))),
    ):
        if name in collect_symbols(tree):
            yield "relation dropped", _renamed(tree, {name: wrong})


def _renamed(node: Node, names: dict[str, Node]) -> Node:
    if isinstance(node, Sym):
        return names.get(node.name, node)
    return rebuild_node(node, [_renamed(child, names) for child in get_children(node)])
