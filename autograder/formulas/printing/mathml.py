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
from autograder.formulas.printing.text import decimal, to_text

_TIMES = "<mo>&#xB7;</mo>"
_COMMA = "<mo>,</mo>"
_MINUS = "<mo>&#x2212;</mo>"
_ROUNDING = {"ceil": ("&#x2308;", "&#x2309;"), "floor": ("&#x230A;", "&#x230B;")}


def to_mathml(tree: Tree) -> str:
    """Return a ``<math>`` element, with the plain text as annotation for readers without MathML."""
    return (
        f'<math xmlns="http://www.w3.org/1998/Math/MathML" aria-label="{escape(to_text(tree))}">'
        f"<semantics><mrow>{_tree(tree)}</mrow>"
        f'<annotation encoding="text/plain">{escape(to_text(tree))}</annotation></semantics></math>'
    )


def _tree(tree: Tree) -> str:
    if isinstance(tree, Relation):
        return f"{_node(tree.left)}<mo>{escape(tree.sign)}</mo>{_node(tree.right)}"
    if isinstance(tree, Tuple):
        return _bracketed(_COMMA.join(map(_node, tree.elements)))
    return _node(tree)


def _node(node: Node) -> str:
    if isinstance(node, Add):
        return _sum(node.terms)
    if isinstance(node, Neg):
        return f"{_MINUS}{_within(node.operand, Add, Neg)}"
    if isinstance(node, Mul):
        first = _within(node.factors[0], Add, Neg)
        return _TIMES.join((first, *(_within(factor, Add, Neg) for factor in node.factors[1:])))
    if isinstance(node, Div):
        return f"<mfrac>{_row(_node(node.numerator))}{_row(_node(node.denominator))}</mfrac>"
    if isinstance(node, Pow):
        return _power(node.base, node.exponent)
    if isinstance(node, Fn):
        return _function(node)
    if isinstance(node, Num):
        return f"<mn>{decimal(node.value)}</mn>"
    if isinstance(node, Const):
        return f"<mi>{'π' if node.name == 'pi' else node.name}</mi>"
    return _symbol(node.name)


def _power(base: Node, exponent: Node) -> str:
    if isinstance(base, Sym) and "_" in base.name:  # set both scripts above each other
        below = _symbol(base.name).removeprefix("<msub>").removesuffix("</msub>")
        return f"<msubsup>{below}{_row(_node(exponent))}</msubsup>"
    return f"<msup>{_row(_within(base, Add, Neg, Mul, Div, Pow, Fn))}{_row(_node(exponent))}</msup>"


def _sum(terms: tuple[Node, ...]) -> str:
    parts = [_within(terms[0], Add)]
    for term in terms[1:]:
        if isinstance(term, Neg):
            parts.append(f"{_MINUS}{_within(term.operand, Add, Neg)}")
        else:
            parts.append(f"<mo>+</mo>{_within(term, Add)}")
    return "".join(parts)


def _function(call: Fn) -> str:
    arguments = [_node(argument) for argument in call.arguments]
    if call.name == "sqrt":
        return f"<msqrt>{arguments[0]}</msqrt>"
    if call.name == "factorial":
        inner = call.arguments[0]
        simple = isinstance(inner, Num | Sym | Const)
        return f"{arguments[0] if simple else _bracketed(arguments[0])}<mo>!</mo>"
    if call.name == "binomial":
        pair = "".join(map(_row, arguments))
        return _bracketed(f'<mfrac linethickness="0">{pair}</mfrac>')
    if call.name in _ROUNDING:
        opening, closing = _ROUNDING[call.name]
        return f"<mrow><mo>{opening}</mo>{arguments[0]}<mo>{closing}</mo></mrow>"
    if call.name == "abs":
        return f"<mrow><mo>|</mo>{arguments[0]}<mo>|</mo></mrow>"
    # Function names come from a fixed list, so they need no escaping.
    name = f"<mi>{call.name}</mi>"
    if call.name == "log" and len(arguments) == 2:
        name = f"<msub>{name}{_row(arguments.pop())}</msub>"
    return f"{name}<mo>&#x2061;</mo>{_bracketed(_COMMA.join(arguments))}"


def _symbol(name: str) -> str:
    base, _, below = name.partition("_")
    # A symbol named alpha is shown as α.
    base = GREEK.get(base, base)
    if not below:
        return f"<mi>{escape(base)}</mi>"
    return f"<msub><mi>{escape(base)}</mi><mtext>{escape(below.replace('_', ' '))}</mtext></msub>"


def _within(node: Node, *bracketed: type[Node]) -> str:
    text = _node(node)
    return _bracketed(text) if isinstance(node, bracketed) else text


def _bracketed(content: str) -> str:
    return f'<mrow><mo stretchy="true">(</mo>{content}<mo stretchy="true">)</mo></mrow>'


def _row(content: str) -> str:
    return f"<mrow>{content}</mrow>"
