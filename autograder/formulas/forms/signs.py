"""Formulas that are nowhere negative for the values that their symbols may have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from autograder.formulas.errors import Undecided
from autograder.formulas.forms.polynomials import Polynomial, Ring
from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Node, Num, Pow, Sym, children, rebuilt, walk

REMEMBERED = 512
"""Formulas of which the sign is kept: a class meets the same ones again and again."""
_ONE = Num(1)
_NEVER_NEGATIVE = frozenset(("sqrt", "exp", "abs", "sigmoid", "factorial", "binomial"))
_KEEP_THE_SIGN = frozenset(("floor", "ceil", "tanh"))
"""Functions that are not negative where their argument is not."""


def is_never_negative(node: Node, domains: Mapping[str, str], *, strictly: bool = False) -> bool:
    """Return whether a formula is proven to be nowhere negative, or also nowhere zero, where it has a value.

    A difference such as ``n^2 - n`` is expanded in what the symbols exceed their least values by. If all
    coefficients have one sign, so has the formula.

    Args:
        node: the formula.
        domains: name → domain of each symbol.
        strictly: whether it must not be zero, either.
    """
    named = frozenset((name, domain) for name, domain in domains.items())
    return _is_never_negative(node, named, strictly)


@lru_cache(maxsize=REMEMBERED)
def _is_never_negative(node: Node, domains: frozenset[tuple[str, str]], strictly: bool) -> bool:  # noqa: FBT001
    if _by_parts(node, dict(domains), strictly=strictly):
        return True
    try:
        return _by_coefficients(node, dict(domains), strictly=strictly)
    except Undecided:
        return False


def _by_parts(  # noqa: C901 - one case for each kind of node
    node: Node, domains: Mapping[str, str], *, strictly: bool
) -> bool:
    """The same, seen from the parts of a formula alone."""

    def known(part: Node) -> bool:
        return _by_parts(part, domains, strictly=strictly)

    match node:
        case Num(value):
            return value > 0 or not strictly
        case Const():
            return True
        case Sym(name):
            return domains[name] != "real" and not (strictly and domains[name] == "unit")
        case Add(terms):
            some = not strictly or any(map(known, terms))
            return some and all(_by_parts(term, domains, strictly=False) for term in terms)
        case Mul() | Div():
            return all(map(known, children(node)))
        case Pow(base, Num(int(power))) if power % 2 == 0:
            return not strictly or known(base)
        case Pow(base, _):
            return known(base)
        case Fn("max" | "min" as name, arguments):
            return any(map(known, arguments)) if name == "max" else all(map(known, arguments))
        case Fn(name, arguments) if name in _NEVER_NEGATIVE:
            return not strictly or name not in ("sqrt", "abs") or known(arguments[0])
        case Fn(name, (argument,)) if name in _KEEP_THE_SIGN:
            return known(argument) and not (strictly and name == "floor")
    return False


def _by_coefficients(node: Node, domains: Mapping[str, str], *, strictly: bool) -> bool:
    """The same, seen from the coefficients of the numerator and the denominator.

    Raises:
        Undecided: beyond the limits of polynomials.
    """
    if strictly and any(domains[part.name] == "unit" for part in walk(node) if isinstance(part, Sym)):
        return False  # odds leave out the upper end
    shifted = _shifted(node, domains)
    ring = Ring((shifted,))
    above, below = ring.quotient(shifted)
    known = {name: "unit" if domain == "positive integer" else domain for name, domain in domains.items()}
    odd = {
        place for powers in (*above.monoms(), *below.monoms()) for place, by in enumerate(powers) if by % 2
    }
    if not all(_by_parts(ring.generators[place], known, strictly=False) for place in odd):
        return False
    positive = [_by_parts(part, known, strictly=True) for part in ring.generators]
    signs = {_sign(above), _sign(below)}
    return len(signs) == 1 and 0 not in signs and not (strictly and not _has_positive_term(above, positive))


def _shifted(node: Node, domains: Mapping[str, str]) -> Node:
    """The formula in what whole symbols exceed 1 by, and in the odds of probabilities."""
    if isinstance(node, Sym):
        if domains[node.name] == "positive integer":
            return Add((_ONE, node))
        return Div(node, Add((_ONE, node))) if domains[node.name] in ("probability", "unit") else node
    below = children(node)
    return rebuilt(node, [_shifted(part, domains) for part in below]) if below else node


def _sign(polynomial: Polynomial) -> int:
    """The sign of all coefficients; 0 if they have both. Zero counts as positive."""
    signs = {int(one) > 0 for one in polynomial.coeffs()}
    return 0 if len(signs) > 1 else -1 if signs == {False} else 1


def _has_positive_term(polynomial: Polynomial, positive: list[bool]) -> bool:
    """Whether a term is nowhere zero: only what is positive is a factor of it."""
    return any(
        all(sure or not power for sure, power in zip(positive, powers, strict=False))
        for powers in polynomial.monoms()
    )
