"""Print formulas as LaTeX, to be pasted into a question or a solution."""

from __future__ import annotations

from autograder.formulas.greek import GREEK, NAMES
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
from autograder.formulas.printing.text import format_decimal, join_terms

_SIGNS = {"≤": r"\leq", "≥": r"\geq"}
_ROUNDING = {"ceil": (r"\lceil", r"\rceil"), "floor": (r"\lfloor", r"\rfloor")}
_CALLED = {"sigmoid": r"\operatorname{sigmoid}"}
_GROWTH = {"O": "O", "o": "o", "Θ": r"\Theta", "Ω": r"\Omega", "ω": r"\omega"}


def to_latex(tree: Tree) -> str:
    r"""Return the LaTeX of a formula, without dollar signs, e.g. ``8 \cdot d_{\text{model}}^{2}``."""
    if isinstance(tree, Relation):
        return f"{_format_node(tree.left)} {_SIGNS.get(tree.sign, tree.sign)} {_format_node(tree.right)}"
    if isinstance(tree, Tuple):
        return rf"\left({', '.join(map(_format_node, tree.elements))}\right)"
    return _format_node(tree)


def _format_node(node: Node) -> str:
    match node:
        case Add(terms):
            return join_terms(terms, _format_operand)
        case Neg(operand):
            return f"-{_format_operand(operand, Add, Neg)}"
        case Mul(factors):
            first = _format_operand(factors[0], Add, Neg, Mul)
            return r" \cdot ".join(
                (first, *(_format_operand(factor, Add, Neg, Mul) for factor in factors[1:]))
            )
        case Div(numerator, denominator):
            return rf"\frac{{{_format_node(numerator)}}}{{{_format_node(denominator)}}}"
        case Pow(base, exponent):
            return f"{_format_operand(base, Add, Neg, Mul, Div, Pow, Fn)}^{{{_format_node(exponent)}}}"
        case Fn():
            return _format_function(node)
        case Num(value):
            return format_decimal(value)
        case Const(name):
            return r"\pi" if name == "pi" else name
        case Sym(name):
            return _format_symbol(name)


def _format_function(call: Fn) -> str:
    arguments = list(map(_format_node, call.arguments))
    if call.name == "sqrt":
        return rf"\sqrt{{{arguments[0]}}}"
    if call.name == "factorial":
        # A factorial sign applies only to the last symbol before it.
        simple = isinstance(call.arguments[0], Num | Sym | Const)
        return f"{arguments[0]}!" if simple else rf"\left({arguments[0]}\right)!"
    if call.name == "binomial":
        return rf"\binom{{{arguments[0]}}}{{{arguments[1]}}}"
    if call.name in _ROUNDING:
        opening, closing = _ROUNDING[call.name]
        return rf"\left{opening} {arguments[0]} \right{closing}"
    if call.name == "abs":
        return rf"\left|{arguments[0]}\right|"
    name = _GROWTH.get(call.name) or _CALLED.get(call.name, rf"\{call.name}")
    if call.name == "log" and len(arguments) == 2:
        name += f"_{{{arguments.pop()}}}"
    return rf"{name}\left({', '.join(arguments)}\right)"


def _format_symbol(name: str) -> str:
    # Everything after the first underscore becomes one subscript.
    base, _, below = name.partition("_")
    base = NAMES.get(base, base)
    if base in GREEK:
        base = f"\\{base}"
    elif len(base.rstrip("'")) > 1:  # TeX sets several letters as a product
        base = rf"\text{{{base}}}"
    below = below.replace("_", r"\_")
    return rf"{base}_{{\text{{{below}}}}}" if below else base


def _format_operand(node: Node, *bracketed: type[Node]) -> str:
    text = _format_node(node)
    return rf"\left({text}\right)" if isinstance(node, bracketed) else text
