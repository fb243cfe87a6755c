"""Print formulas as MathML, which browsers display and screen readers speak.

Every text is escaped, and every element and attribute is written here: the only parts of a student's input in
the output are the names of declared symbols, and digits.
"""

from __future__ import annotations

from html import escape

from autograder.formulas.greek import GREEK
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
from autograder.formulas.printing.text import format_decimal, join_terms, to_text

_TIMES = "<mo>&#xB7;</mo>"
_COMMA = "<mo>,</mo>"
_MINUS = "<mo>&#x2212;</mo>"
_ROUNDING = {"ceil": ("&#x2308;", "&#x2309;"), "floor": ("&#x230A;", "&#x230B;")}


def to_mathml(tree: Tree) -> str:
    """Return a ``<math>`` element, with the plain text as annotation for readers without MathML."""
    return (
        f'<math xmlns="http://www.w3.org/1998/Math/MathML" aria-label="{escape(to_text(tree))}">'
        f"<semantics><mrow>{_format_tree(tree)}</mrow>"
        f'<annotation encoding="text/plain">{escape(to_text(tree))}</annotation></semantics></math>'
    )


def _format_tree(tree: Tree) -> str:
    if isinstance(tree, Relation):
        return f"{_format_node(tree.left)}<mo>{escape(tree.sign)}</mo>{_format_node(tree.right)}"
    if isinstance(tree, Tuple):
        return _add_brackets(_COMMA.join(map(_format_node, tree.elements)))
    return _format_node(tree)


def _format_node(node: Node) -> str:
    if isinstance(node, Add):
        return join_terms(node.terms, _format_operand, plus="<mo>+</mo>", minus=_MINUS)
    if isinstance(node, Neg):
        return f"{_MINUS}{_format_operand(node.operand, Add, Neg)}"
    if isinstance(node, Mul):
        first = _format_operand(node.factors[0], Add, Neg)
        return _TIMES.join((first, *(_format_operand(factor, Add, Neg) for factor in node.factors[1:])))
    if isinstance(node, Div):
        numerator, denominator = (
            _wrap_row(_format_node(part)) for part in (node.numerator, node.denominator)
        )
        return f"<mfrac>{numerator}{denominator}</mfrac>"
    if isinstance(node, Pow):
        return _format_power(node.base, node.exponent)
    if isinstance(node, Fn):
        return _format_function(node)
    if isinstance(node, Num):
        return f"<mn>{format_decimal(node.value)}</mn>"
    if isinstance(node, Const):
        return f"<mi>{'π' if node.name == 'pi' else node.name}</mi>"
    return _format_symbol(node.name)


def _format_power(base: Node, exponent: Node) -> str:
    if isinstance(base, Sym) and "_" in base.name:  # set both scripts above each other
        below = _format_symbol(base.name).removeprefix("<msub>").removesuffix("</msub>")
        return f"<msubsup>{below}{_wrap_row(_format_node(exponent))}</msubsup>"
    raised = _wrap_row(_format_operand(base, Add, Neg, Mul, Div, Pow, Fn))
    return f"<msup>{raised}{_wrap_row(_format_node(exponent))}</msup>"


def _format_function(call: Fn) -> str:
    arguments = [_format_node(argument) for argument in call.arguments]
    if call.name == "sqrt":
        return f"<msqrt>{arguments[0]}</msqrt>"
    if call.name == "factorial":
        inner = call.arguments[0]
        simple = isinstance(inner, Num | Sym | Const)
        return f"{arguments[0] if simple else _add_brackets(arguments[0])}<mo>!</mo>"
    if call.name == "binomial":
        pair = "".join(map(_wrap_row, arguments))
        return _add_brackets(f'<mfrac linethickness="0">{pair}</mfrac>')
    if call.name in _ROUNDING:
        opening, closing = _ROUNDING[call.name]
        return f"<mrow><mo>{opening}</mo>{arguments[0]}<mo>{closing}</mo></mrow>"
    if call.name == "abs":
        return f"<mrow><mo>|</mo>{arguments[0]}<mo>|</mo></mrow>"
    # Function names come from a fixed list, so they need no escaping.
    name = f"<mi>{call.name}</mi>"
    if call.name == "log" and len(arguments) == 2:
        name = f"<msub>{name}{_wrap_row(arguments.pop())}</msub>"
    return f"{name}<mo>&#x2061;</mo>{_add_brackets(_COMMA.join(arguments))}"


def _format_symbol(name: str) -> str:
    base, _, below = name.partition("_")
    # A symbol named alpha is shown as α.
    base = GREEK.get(base, base)
    if not below:
        return f"<mi>{escape(base)}</mi>"
    return f"<msub><mi>{escape(base)}</mi><mtext>{escape(below.replace('_', ' '))}</mtext></msub>"


def _format_operand(node: Node, *bracketed: type[Node]) -> str:
    text = _format_node(node)
    return _add_brackets(text) if isinstance(node, bracketed) else text


def _add_brackets(content: str) -> str:
    return f'<mrow><mo stretchy="true">(</mo>{content}<mo stretchy="true">)</mo></mrow>'


def _wrap_row(content: str) -> str:
    return f"<mrow>{content}</mrow>"
