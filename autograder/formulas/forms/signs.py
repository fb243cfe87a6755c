"""Prove that formulas are nowhere negative on the domains of their symbols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from autograder.formulas.errors import Undecided
from autograder.formulas.forms.polynomials import Polynomial, Ring
from autograder.formulas.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Pow,
    Sym,
    get_children,
    rebuild_node,
    walk_tree,
)

REMEMBERED = 512
"""Number of cached formulas: a class repeats the same ones."""
_ONE = Num(1)
_NEVER_NEGATIVE = frozenset(("sqrt", "exp", "abs", "sigmoid", "factorial", "binomial"))
_KEEP_THE_SIGN = frozenset(("floor", "ceil", "tanh"))
"""Functions that are not negative if their argument is not."""


def is_never_negative(node: Node, domains: Mapping[str, str], *, strictly: bool = False) -> bool:
    """Return whether a formula is proven to be nowhere negative wherever it has a value.

    A difference such as ``n^2 - n`` is expanded in the excess of each symbol over its least value. If all
    coefficients have one sign, so has the formula.

    Args:
        node: the formula.
        domains: name → domain of each symbol.
        strictly: whether it must not be zero, either.
    """
    # The cache needs hashable arguments.
    domain_pairs = frozenset((name, domain) for name, domain in domains.items())
    return _is_never_negative(node, domain_pairs, strictly)


@lru_cache(maxsize=REMEMBERED)
def _is_never_negative(node: Node, domains: frozenset[tuple[str, str]], strictly: bool) -> bool:  # noqa: FBT001
    if _is_nonnegative_by_parts(node, dict(domains), strictly=strictly):
        return True
    try:
        return _is_nonnegative_by_coefficients(node, dict(domains), strictly=strictly)
    except Undecided:
        return False


def _is_nonnegative_by_parts(  # noqa: C901 - one case for each kind of node
    node: Node, domains: Mapping[str, str], *, strictly: bool
) -> bool:
    """Prove the same from the parts of a formula alone."""

    def check_part(part: Node) -> bool:
        return _is_nonnegative_by_parts(part, domains, strictly=strictly)

    match node:
        case Num(value):
            return value > 0 or not strictly
        case Const():
            return True
        case Sym(name):
            return domains[name] != "real" and not (strictly and domains[name] == "unit")
        case Add(terms):
            some = not strictly or any(map(check_part, terms))
            return some and all(_is_nonnegative_by_parts(term, domains, strictly=False) for term in terms)
        case Mul() | Div():
            return all(map(check_part, get_children(node)))
        # Even powers are never negative, whatever the base is.
        case Pow(base, Num(int(power))) if power % 2 == 0:
            return not strictly or check_part(base)
        case Pow(base, _):
            return check_part(base)
        case Fn("max" | "min" as name, arguments):
            return any(map(check_part, arguments)) if name == "max" else all(map(check_part, arguments))
        case Fn(name, arguments) if name in _NEVER_NEGATIVE:
            return not strictly or name not in ("sqrt", "abs") or check_part(arguments[0])
        case Fn(name, (argument,)) if name in _KEEP_THE_SIGN:
            return check_part(argument) and not (strictly and name == "floor")
    return False


def _is_nonnegative_by_coefficients(node: Node, domains: Mapping[str, str], *, strictly: bool) -> bool:
    """Prove the same from the coefficients of the numerator and the denominator.

    Raises:
        Undecided: beyond the limits of polynomials.
    """
    if strictly and any(domains[part.name] == "unit" for part in walk_tree(node) if isinstance(part, Sym)):
        return False  # odds leave out the upper end
    shifted = _shift_symbols(node, domains)
    ring = Ring((shifted,))
    above, below = ring.to_quotient(shifted)
    # The excess over 1 may be zero, like a value of the domain "unit".
    shifted_domains = {
        name: "unit" if domain == "positive integer" else domain for name, domain in domains.items()
    }
    # Even powers are never negative; generators with an odd power must be proven so.
    odd = {
        index for powers in (*above.monoms(), *below.monoms()) for index, by in enumerate(powers) if by % 2
    }
    if not all(
        _is_nonnegative_by_parts(ring.generators[index], shifted_domains, strictly=False) for index in odd
    ):
        return False
    positive = [_is_nonnegative_by_parts(part, shifted_domains, strictly=True) for part in ring.generators]
    signs = {_find_sign(above), _find_sign(below)}
    return len(signs) == 1 and 0 not in signs and not (strictly and not _has_positive_term(above, positive))


def _shift_symbols(node: Node, domains: Mapping[str, str]) -> Node:
    """Rewrite a formula in the excess of whole symbols over 1, and in the odds of probabilities."""
    if isinstance(node, Sym):
        if domains[node.name] == "positive integer":
            return Add((_ONE, node))
        return Div(node, Add((_ONE, node))) if domains[node.name] in ("probability", "unit") else node
    return rebuild_node(node, [_shift_symbols(part, domains) for part in get_children(node)])


def _find_sign(polynomial: Polynomial) -> int:
    """Return the common sign of all coefficients; 0 if they differ. Zero counts as positive."""
    signs = {int(coefficient) > 0 for coefficient in polynomial.coeffs()}
    return 0 if len(signs) > 1 else -1 if signs == {False} else 1


def _has_positive_term(polynomial: Polynomial, positive: list[bool]) -> bool:
    """Return whether a term is nowhere zero because all of its factors are positive."""
    return any(
        all(sure or not power for sure, power in zip(positive, powers, strict=False))
        for powers in polynomial.monoms()
    )
