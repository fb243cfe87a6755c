"""Print formulas as plain text that is parsed to the same tree again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

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
    Relation,
    Sym,
    Tree,
    Tuple,
)


def to_text(tree: Tree) -> str:
    """Return the canonical plain text, e.g. ``3*n_heads*d_model*d_head + 8*d_model^2``."""
    if isinstance(tree, Relation):
        return f"{to_text(tree.left)} {tree.sign} {to_text(tree.right)}"
    if isinstance(tree, Tuple):
        inner = ", ".join(map(to_text, tree.elements))
        return f"({inner},)" if len(tree.elements) == 1 else f"({inner})"
    return _format_node(tree)


def _format_node(node: Node) -> str:
    if isinstance(node, Sym):  # first, because most parts are symbols
        return node.name
    if isinstance(node, Add):
        return join_terms(node.terms, _format_operand)
    if isinstance(node, Neg):
        return f"-{_format_operand(node.operand, Add, Neg)}"
    if isinstance(node, Mul):
        first = _format_operand(node.factors[0], Add, Neg, Mul)
        return "*".join(
            (first, *(_format_operand(factor, Add, Neg, Mul, Div) for factor in node.factors[1:]))
        )
    if isinstance(node, Div):
        return f"{_format_numerator(node.numerator)}/{_format_operand(node.denominator, Add, Neg, Mul, Div)}"
    if isinstance(node, Pow):
        base = _format_operand(node.base, Add, Neg, Mul, Div, Pow)
        return f"{base}^{_format_operand(node.exponent, Add, Neg, Mul, Div)}"
    if isinstance(node, Fn):
        return f"{node.name}({', '.join(map(to_text, node.arguments))})"
    return format_decimal(node.value) if isinstance(node, Num) else node.name


def format_decimal(value: int | Fraction) -> str:
    """Return a number as decimals if they end, otherwise as a fraction.

    The decimals of parsed numbers always end. There are never exactly three of them, because a point may
    separate thousands in some languages: 1.1250.
    """
    if isinstance(value, int):
        return str(value)
    digits, denominator = 0, value.denominator
    # Decimals end if a power of ten is a multiple of the denominator.
    while (10**digits) % denominator and digits < 1000:
        digits += 1
    if (10**digits) % denominator:
        return f"({value.numerator}/{denominator})"
    whole, decimals = divmod(value.numerator * 10**digits // denominator, 10**digits)
    return f"{whole}.{decimals:0{digits}d}{'0' if digits == 3 and 0 < whole < 1000 else ''}"


def join_terms(
    terms: Sequence[Node], format_operand: Callable[..., str], *, plus: str = " + ", minus: str = " - "
) -> str:
    """Return a sum, written as a difference where a term has a minus sign.

    Args:
        terms: of the sum.
        format_operand: prints a term, in brackets if it is of one of the further types.
        plus: sign between terms.
        minus: sign of a difference.
    """
    parts = [format_operand(terms[0], Add)]
    for term in terms[1:]:
        if isinstance(term, Neg):
            parts.append(minus + format_operand(term.operand, Add, Neg))
        else:
            parts.append(plus + format_operand(term, Add))
    return "".join(parts)


def _format_numerator(node: Node) -> str:
    """Return a numerator, in brackets if its exponent might include the denominator: ``(d^1)/2``."""
    last = node.factors[-1] if isinstance(node, Mul) else node
    open_ended = isinstance(last, Pow) and (last.exponent == Num(1) or last.base == Const("e"))
    return f"({_format_node(node)})" if open_ended else _format_operand(node, Add, Neg)


def _format_operand(node: Node, *bracketed: type[Node]) -> str:
    """Return the text of a part, in brackets if it would be parsed differently without them."""
    text = _format_node(node)
    return f"({text})" if isinstance(node, bracketed) else text
