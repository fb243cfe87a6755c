r"""Parse formulas: recursive descent over `tokens`, with limits. Nothing is ever evaluated as code.

    answer    := sum | sum "=" sum | "(" sum "," sum … ")"
    sum       := ["+" | "-"] product (("+" | "-") product)*
    product   := factor (("*" | "/" | "//" | nothing) factor)*
    factor    := ("+" | "-")* power
    power     := postfix ["^" factor]
    postfix   := atom ["!"]
    atom      := number | symbol | constant | "(" sum ")" | "⌈" sum "⌉" | "⌊" sum "⌋" | "|" sum "|"
               | call | series
    series    := ("\sum" | "\prod") "_" "{" letter "=" sum "}" "^" group product
    call      := function ["_" group] ["^" factor] (postfix | "(" sum ("," sum)* ")") | "\frac" group group

Notation on which mathematicians disagree (``a/b c``, ``1/2d``, ``log a b``, ``d 2``) is rejected with a
question to the author instead of being read in one of the two ways.
"""

from __future__ import annotations

import re
from itertools import pairwise

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Node, Relation, Tree, Tuple
from autograder.formulas.notation.descent_parser import CLOSING, Reader
from autograder.formulas.notation.tokens import Tokens, make_comma_error, tokenize
from autograder.formulas.notation.vocabulary import Vocabulary

ORDERS = ("<", "≤", ">", "≥")
"""Signs of inequalities, as `to_text` writes them."""
_DIGITS = re.compile(r"[0-9]+")
_DIGITS_BEFORE = re.compile(r"(?<![0-9.,])[0-9]+\Z")
MAX_ELEMENTS = 16
"""Limit on elements of a tuple, and on sides of an equation."""


def parse(text: str, vocabulary: Vocabulary) -> Node:
    """Parse one formula.

    Raises:
        Unreadable: it is not in the grammar, or beyond a limit; has the offset in ``text``.
    """
    sides = parse_sides(text, vocabulary)
    if len(sides) > 1:
        raise Unreadable("unexpected-relation", text.find("="))
    return sides[0]


def parse_sides(text: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
    """Parse one formula, or several joined by equals signs.

    Raises:
        Unreadable: see `parse`.
    """
    return _read_sides(tokenize(text, vocabulary))


def _read_sides(tokens: Tokens, *, canonical: bool = False) -> tuple[Node, ...]:
    reader = Reader(tokens, canonical=canonical)
    sides = [reader.parse_sum()]
    while reader.accept("="):
        if len(sides) == MAX_ELEMENTS:
            raise reader.make_error("too-many-parts", limit=str(MAX_ELEMENTS))
        sides.append(reader.parse_sum())
    reader.expect_end()
    return tuple(sides)


def parse_tuple(text: str, vocabulary: Vocabulary) -> Tuple:
    """Parse ``(a, b, c)``, ``[a, b, c]``, ``a, b, c`` or ``a × b × c``, with one element or more.

    If commas separate the elements, ``×`` is a product: ``(3 × a, 4 × b)``.

    Raises:
        Unreadable: see `parse`.
    """
    return Tuple(_read_elements(tokenize(text, vocabulary, in_list=True)))


def _read_elements(tokens: Tokens, *, canonical: bool = False) -> tuple[Node, ...]:
    if not canonical:
        _check_commas(tokens)
    try:
        return _read_list(tokens, canonical=canonical)
    except Unreadable as error:
        if error.code == "comma":  # the actual fault may be a bracket
            _check_brackets(tokens)
        raise


def _read_list(tokens: Tokens, *, canonical: bool) -> tuple[Node, ...]:
    closing = _find_enclosing(tokens)
    reader = Reader(
        tokens, in_list=not _is_separated_by_commas(tokens, inside=bool(closing)), canonical=canonical
    )
    if closing:
        reader.accept(tokens.kinds[0])
    elements: list[Node] = []
    while not (closing and elements and reader.kind == closing):  # a trailing comma is allowed: (a,)
        if len(elements) == MAX_ELEMENTS:
            raise reader.make_error("too-many-parts", limit=str(MAX_ELEMENTS))
        elements.append(reader.parse_sum())
        if not (reader.accept(",") or reader.accept("×")):
            break
    if closing:
        reader.close_bracket(closing, tokens.places[0])
    reader.expect_end()
    return tuple(elements)


def _is_separated_by_commas(tokens: Tokens, *, inside: bool) -> bool:
    """Return whether a comma outside further brackets separates two elements."""
    depth = 0
    for kind, after in pairwise(tokens.kinds):
        depth += (kind in CLOSING) - (kind in CLOSING.values())
        if kind == "," and depth == inside and after and after not in CLOSING.values():
            return True
    return False


def _check_commas(tokens: Tokens) -> None:
    """Reject a comma between digits if other commas have a blank: ``(1,024, n)``, ``(0,5; n)``.

    Raises:
        Unreadable: it may group digits, precede decimals or separate sizes.
    """
    text = tokens.text
    pairs = zip(tokens.kinds, tokens.places, strict=True)
    commas = [offset for kind, offset in pairs if kind == ","]
    semicolons = any(text[offset] == ";" for offset in commas)
    loose = semicolons or any(" " in text[max(0, offset - 1) : offset + 2] for offset in commas)
    for offset in commas:
        before, after = (
            _DIGITS_BEFORE.search(text[max(0, offset - 4) : offset]),
            _DIGITS.match(text, offset + 1),
        )
        if before is None or after is None:
            continue
        grouped = len(before.group()) < 4 and before.group()[0] != "0" and len(after.group()) == 3
        padded = len(after.group()) > 1 and after.group()[0] == "0"
        if padded or (loose and (grouped or semicolons or tokens.vocabulary.decimal_comma)):
            number = f"{before.group()},{after.group()}"
            raise make_comma_error(number, offset - len(before.group()))


def _check_brackets(tokens: Tokens) -> None:
    """Find the bracket that is never closed, or closed by another kind of bracket.

    Raises:
        Unreadable: there is one.
    """
    pending: list[int] = []
    for index, kind in enumerate(tokens.kinds):
        if kind in CLOSING:
            pending.append(index)
        elif kind in CLOSING.values():
            if not pending or CLOSING[tokens.kinds[pending[-1]]] != kind:
                raise Unreadable("unopened", tokens.places[index], bracket=kind)
            pending.pop()
    if pending:
        bracket = CLOSING[tokens.kinds[pending[0]]]
        raise Unreadable("unclosed", tokens.places[pending[0]], bracket=bracket)


def _find_enclosing(tokens: Tokens) -> str:
    """Return the last bracket if it closes the first one; else an empty string."""
    closing = CLOSING.get(tokens.kinds[0], "")
    if not closing or tokens.kinds[-2] != closing:
        return ""
    depth = 0
    # If the depth reaches zero before the end, the outer brackets do not belong together: (a)(b).
    for kind in tokens.kinds[:-2]:
        depth += (kind in CLOSING) - (kind in CLOSING.values())
        if depth == 0:
            return ""
    return closing


def parse_canonical(text: str, vocabulary: Vocabulary) -> Tree:
    """Parse text that `to_text` wrote, whichever form it has, and however long it became.

    Raises:
        Unreadable: it was not written by `to_text` with these symbols.
    """
    sign = next((sign for sign in ORDERS if f" {sign} " in text), "=")
    parts = [text] if sign == "=" else text.split(f" {sign} ")
    try:
        each = (_read_sides(tokenize(part, vocabulary, canonical=True), canonical=True) for part in parts)
        sides = tuple(side for part in each for side in part)
    except Unreadable as error:
        # A comma is the sign of a tuple; any other error is final.
        if error.code not in ("comma", "ambiguous-comma"):
            raise
        return Tuple(_read_elements(tokenize(text, vocabulary, in_list=True, canonical=True), canonical=True))
    if len(sides) > 2:
        raise Unreadable("relation-expected", len(text))
    return sides[0] if len(sides) == 1 else Relation(sides[0], sides[1], sign)
