"""Formulas in positive symbols, whatever the domains of their own; and what always holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from autograder.algebra.forms.signomials import NoSignomial, clash, excess, positive
from autograder.algebra.nodes import Add, Div, Neg, Node, Num, Relation, Sym, substitute, symbols

MAX_SIGNS = 3
"""Real symbols of which every pattern of signs is looked at."""


def from_one(domains: Mapping[str, str]) -> frozenset[str]:
    """The symbols that are 1 or more."""
    return frozenset(name for name, domain in domains.items() if domain == "positive integer")


def patterns(domains: Mapping[str, str]) -> Iterator[tuple[str, ...]] | None:
    """For each pattern of signs the symbols that are negative; None where there are too many."""
    reals = [name for name, domain in domains.items() if domain == "real"]
    if len(reals) > MAX_SIGNS:
        return None
    return (
        tuple(name for name, turned in zip(reals, signs, strict=True) if turned)
        for signs in product((False, True), repeat=len(reals))
    )


def in_positive(node: Node, domains: Mapping[str, str], negative: tuple[str, ...]) -> Node:
    """The formula in positive symbols: a negative one turned round, of a probability its odds.

    The ends of the domain ``unit`` are left out, and so is zero of the real numbers.
    """
    for name, domain in domains.items():
        if name in negative:
            node = substitute(node, name, Neg(Sym(name)))
        elif domain in ("probability", "unit"):
            node = substitute(node, name, Div(Sym(name), Add((Num(1), Sym(name)))))
    return node


def always(relation: Relation, domains: Mapping[str, str]) -> bool:
    """Whether an inequality surely holds for all values of the symbols, such as ``0 < n`` for a whole ``n``.

    Args:
        relation: an inequality.
        domains: name → domain, of its symbols at least.
    """
    smaller, larger = relation.left, relation.right
    if relation.sign in (">", "≥"):
        smaller, larger = larger, smaller
    own = {name: domains[name] for name in sorted(symbols(smaller) | symbols(larger))}
    strict = relation.sign in ("<", ">")
    signs = patterns(own)
    if signs is None or (strict and {"real", "unit"} & set(own.values())):
        return False  # the places that are left out might make both sides equal
    try:
        return all(_holds(smaller, larger, own, negative, strict=strict) for negative in signs)
    except NoSignomial:
        return False


def _holds(
    smaller: Node, larger: Node, domains: Mapping[str, str], negative: tuple[str, ...], *, strict: bool
) -> bool:
    low, high = (in_positive(side, domains, negative) for side in (smaller, larger))
    if strict:
        return positive(excess(high, low), from_one(domains))
    return not (turned := excess(low, high)) or clash([turned], from_one(domains))
