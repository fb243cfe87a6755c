r"""Reads formulas: recursive descent over `tokens`, with limits. Nothing is ever evaluated as code.

    answer    := sum | sum "=" sum | "(" sum "," sum … ")"
    sum       := ["+" | "-"] product (("+" | "-") product)*
    product   := factor (("*" | "/" | "//" | nothing) factor)*
    factor    := ("+" | "-")* power
    power     := postfix ["^" factor]
    postfix   := atom ["!"]
    atom      := number | symbol | constant | "(" sum ")" | "⌈" sum "⌉" | "⌊" sum "⌋" | call
    call      := function ["_" group] ["^" factor] (postfix | "(" sum ("," sum)* ")") | "\frac" group group

Where mathematicians themselves disagree (``a/b c``, ``log a b``, ``d 2``), a formula is refused with a
question back instead of being read in one of the two ways.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.algebra.nodes import Node, Relation, Tree, Tuple
from autograder.algebra.notation.descent import CLOSING, Reader
from autograder.algebra.notation.tokens import Tokens, quick_tokens, tokenize
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.errors import Unreadable

ORDERS = ("<", "≤", ">", "≥")
"""Signs of inequalities, as `write.to_text` writes them."""
MAX_ELEMENTS = 16
"""Elements of a tuple, sides of an equation."""


def parse(text: str, vocabulary: Vocabulary) -> Node:
    """Read one formula.

    Raises:
        Unreadable: it is not in the grammar, or beyond a limit; carries the offset in ``text``.
    """
    sides = parse_sides(text, vocabulary)
    if len(sides) > 1:
        raise Unreadable("unexpected-relation", text.find("="))
    return sides[0]


def parse_sides(text: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
    """Read one formula, or several joined by equals signs.

    Raises:
        Unreadable: see `parse`.
    """
    return _read(text, vocabulary, _sides)


def _read(
    text: str, vocabulary: Vocabulary, form: Callable[[Tokens], tuple[Node, ...]], *, in_list: bool = False
) -> tuple[Node, ...]:
    """Read the usual words first, and with all the rules what cannot be read from those."""
    quick = quick_tokens(text, vocabulary, in_list=in_list)
    if quick is not None:
        try:
            return form(quick)
        except Unreadable:
            pass
    return form(tokenize(text, vocabulary, in_list=in_list))


def _sides(tokens: Tokens, *, own: bool = False) -> tuple[Node, ...]:
    reader = Reader(tokens, own=own)
    sides = [reader.sum()]
    while reader.accept("="):
        if len(sides) == MAX_ELEMENTS:
            raise reader.error("too-many-parts", limit=str(MAX_ELEMENTS))
        sides.append(reader.sum())
    reader.finish()
    return tuple(sides)


def parse_relation(text: str, vocabulary: Vocabulary) -> Relation:
    """Read an equation with one equals sign.

    Raises:
        Unreadable: see `parse`; ``relation-expected`` when there is not exactly one equals sign.
    """
    sides = parse_sides(text, vocabulary)
    if len(sides) != 2:
        raise Unreadable("relation-expected", len(text))
    return Relation(sides[0], sides[1])


def parse_tuple(text: str, vocabulary: Vocabulary) -> Tuple:
    """Read ``(a, b, c)``, ``[a, b, c]``, ``a, b, c`` or ``a × b × c``, with one element or more.

    Raises:
        Unreadable: see `parse`.
    """
    return Tuple(_read(text, vocabulary, _elements, in_list=True))


def _elements(tokens: Tokens, *, own: bool = False) -> tuple[Node, ...]:
    reader = Reader(tokens, in_list=True, own=own)
    closing = _enclosing(tokens)
    if closing:
        reader.accept(tokens.kinds[0])
    elements: list[Node] = []
    while not (closing and elements and reader.kind == closing):  # a comma may stand before the end: (a,)
        if len(elements) == MAX_ELEMENTS:
            raise reader.error("too-many-parts", limit=str(MAX_ELEMENTS))
        elements.append(reader.sum())
        if not (reader.accept(",") or reader.accept("×")):
            break
    if closing:
        reader.close(closing, tokens.places[0])
    reader.finish()
    return tuple(elements)


def _enclosing(tokens: Tokens) -> str:
    """The bracket that closes at the very end what opens at the very beginning; else empty."""
    closing = CLOSING.get(tokens.kinds[0], "")
    if not closing or tokens.kinds[-2] != closing:
        return ""
    depth = 0
    for kind in tokens.kinds[:-2]:
        depth += (kind in CLOSING) - (kind in CLOSING.values())
        if depth == 0:
            return ""
    return closing


def parse_canonical(text: str, vocabulary: Vocabulary) -> Tree:
    """Read back what `write.to_text` wrote, whichever form it has, and however long it became.

    Raises:
        Unreadable: it was not written by `write.to_text` with these symbols.
    """
    sign = next((sign for sign in ORDERS if f" {sign} " in text), "=")
    parts = [text] if sign == "=" else text.split(f" {sign} ")
    try:
        each = (_sides(tokenize(part, vocabulary, own=True), own=True) for part in parts)
        sides = tuple(side for part in each for side in part)
    except Unreadable as error:
        if error.code not in ("comma", "ambiguous-comma"):
            raise
        return Tuple(_elements(tokenize(text, vocabulary, in_list=True, own=True), own=True))
    if len(sides) > 2:
        raise Unreadable("relation-expected", len(text))
    return sides[0] if len(sides) == 1 else Relation(sides[0], sides[1], sign)
