"""Writes formulas as plain text: reading what was written gives the same tree again."""

from __future__ import annotations

from fractions import Fraction

from autograder.algebra.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Relation, Sym, Tree, Tuple


def to_text(tree: Tree) -> str:
    """The canonical plain text, e.g. ``3*n_heads*d_model*d_head + 8*d_model^2``."""
    match tree:
        case Relation(left, right, sign):
            return f"{to_text(left)} {sign} {to_text(right)}"
        case Tuple(elements):
            inner = ", ".join(map(to_text, elements))
            return f"({inner},)" if len(elements) == 1 else f"({inner})"
    return _text(tree)


def _text(node: Node) -> str:
    match node:
        case Add(terms):
            return _sum(terms)
        case Neg(operand):
            return f"-{_within(operand, Add, Neg)}"
        case Mul(factors):
            first = _within(factors[0], Add, Neg, Mul)
            return "*".join((first, *(_within(factor, Add, Neg, Mul, Div) for factor in factors[1:])))
        case Div(numerator, denominator):
            return f"{_within(numerator, Add, Neg)}/{_within(denominator, Add, Neg, Mul, Div)}"
        case Pow(base, exponent):
            return f"{_within(base, Add, Neg, Mul, Div, Pow)}^{_within(exponent, Add, Neg, Mul, Div)}"
        case Fn(name, arguments):
            return f"{name}({', '.join(map(to_text, arguments))})"
        case Num(value):
            return decimal(value)
        case Sym(name) | Const(name):
            return name


def decimal(value: int | Fraction) -> str:
    """A number as it may be written: in decimals where they end, which those that were read always do."""
    if isinstance(value, int):
        return str(value)
    digits, denominator = 0, value.denominator
    while (10**digits) % denominator and digits < 1000:
        digits += 1
    if (10**digits) % denominator:
        return f"({value.numerator}/{denominator})"
    whole, rest = divmod(value.numerator * 10**digits // denominator, 10**digits)
    return f"{whole}.{rest:0{digits}d}"


def _sum(terms: tuple[Node, ...]) -> str:
    parts = [_within(terms[0], Add)]
    for term in terms[1:]:
        if isinstance(term, Neg):
            parts.append(f"- {_within(term.operand, Add, Neg)}")
        else:
            parts.append(f"+ {_within(term, Add)}")
    return " ".join(parts)


def _within(node: Node, *bracketed: type[Node]) -> str:
    """The text of a part, in brackets where its kind would be read differently without."""
    text = _text(node)
    return f"({text})" if isinstance(node, bracketed) else text
