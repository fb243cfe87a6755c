"""Parse answers with several formulas: lists and sets, equations and inequalities, and chains of them.

Unlike in a shape, a cross in a list is a multiplication sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Node, Relation, Tuple
from autograder.formulas.notation.decoration import remove_name, remove_wrapping
from autograder.formulas.notation.parse import parse, parse_tuple
from autograder.formulas.notation.tokens import make_comma_error
from autograder.formulas.notation.vocabulary import Vocabulary

MAX_CHARS = 2000

_EITHER_SIGN = re.compile(r"±|∓|\\(?:pm|mp)(?![A-Za-z])")
_TIMES = re.compile(r"[×✕⨯]|\\times(?![A-Za-z])")
_SEPARATOR = re.compile(
    r"(?P<kept>&[a-z]{2,8};)"
    r"|(?<!\\);|\$[ \t]*,?[ \t]*\$|(?<![\w\\])(?:and|und|sowie|&)(?![\w(])|(?<!\s)\s*\n\s*(?:[-*•]\s+)?"
)
_BULLET = re.compile(r"\s*([-*•])\s+(?=\S.*\n[ \t]*\1\s)", re.DOTALL)
_DIGITS = re.compile(r"(?<![\d,.])\d+,\d+(?![\d,])")
_OPEN, _ONWARD = ",;([{+-*/=^", ",;)]}+*/^="
MAX_SIDES = 16
_SIGN = re.compile(
    r"(?P<tag></?su[bp]>)"
    r"|(?P<ne>!=(?!=)|≠|<>|\\neq?(?![A-Za-z])|&ne;)"
    r"|(?P<le>&le;|<=|=<|[≤⩽≦]|\\le(?:q(?:slant|q)?)?(?![A-Za-z]))"
    r"|(?P<ge>&ge;|>=|=>|[≥⩾≧]|\\ge(?:q(?:slant|q)?)?(?![A-Za-z]))"
    r"|(?P<lt>[<＜﹤]|\\lt(?![A-Za-z])|&lt;)|(?P<gt>[>＞﹥]|\\gt(?![A-Za-z])|&gt;)"
    r"|(?P<eq>:=|(?<!!)==?|[＝≔≙≡]|\\(?:equiv|coloneqq)(?![A-Za-z]))"
)
_WRITTEN: Mapping[str, str] = {"le": "≤", "ge": "≥", "lt": "<", "gt": ">", "eq": "="}
_CALL = re.compile(r"\s*(?:sympy\.|sp\.)?(?P<name>Eq|Equality|Le|Lt|Ge|Gt)\s*(?=\(.*\)\s*\Z)", re.DOTALL)
_CALLED: Mapping[str, str] = {"Eq": "=", "Equality": "=", "Le": "≤", "Lt": "<", "Ge": "≥", "Gt": ">"}


def parse_list(text: str, vocabulary: Vocabulary) -> Tuple:
    """Parse ``(a, b)``, ``{a, b}``, ``S = {a, b}``, ``±a`` or one formula per line, in the order as written.

    Raises:
        Unreadable: an element is not in the grammar; has the offset in ``text``.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    if _EITHER_SIGN.search(text):
        above, below = (_read_list(_choose_sign(text, upper), vocabulary).elements for upper in (True, False))
        # Elements without a double sign occur in both readings, and are kept once.
        pairs = (dict.fromkeys(pair) for pair in zip(above, below, strict=True))
        return Tuple(tuple(element for pair in pairs for element in pair))
    return _read_list(text, vocabulary)


def _choose_sign(text: str, upper: bool) -> str:  # noqa: FBT001 - the upper sign of each, or the lower one
    """Replace each ``±`` by one of its two signs."""
    plus = ("±", "\\pm") if upper else ("∓", "\\mp")
    return _EITHER_SIGN.sub(
        lambda match: ("+" if match.group() in plus else "-").ljust(len(match.group())), text
    )


def _read_list(text: str, vocabulary: Vocabulary) -> Tuple:
    text = remove_wrapping(text)
    bullet = _BULLET.match(text)
    # Removed text is replaced by blanks, so that offsets of errors stay correct.
    start = 0 if bullet is None else bullet.end()
    text = remove_name(" " * start + text[start:], vocabulary)
    start = len(text) - len(text.lstrip())
    listed = text[start:].rstrip(" \t\r\n$")
    digits = _DIGITS.search(text)
    if digits is not None and any(
        not separator["kept"] and separator.group().strip() in (";", "", "-", "*", "•")
        for separator in _SEPARATOR.finditer(listed)
    ):
        # With another separator in use, a comma between digits may be a decimal comma.
        raise make_comma_error(digits.group(), digits.start())
    listed = _TIMES.sub(lambda sign: "*".ljust(len(sign.group())), listed)
    listed = " " * start + _SEPARATOR.sub(_replace_separator, listed)
    bare = listed.lstrip(" \t\r\n$")
    return parse_tuple(" " * (len(listed) - len(bare)) + bare, vocabulary)


def _replace_separator(match: re.Match[str]) -> str:
    """Return a comma of the same width, to keep the offsets of errors correct; blanks for a broken line.

    A character that is written as an HTML entity is kept.
    """
    if match["kept"]:
        return match["kept"]
    text, width = match.string, len(match.group())
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
    broken = not before or not after or before[-1] in _OPEN or after[0] in _ONWARD
    return " " * width if "\n" in match.group() and broken else ",".ljust(width)


def parse_chain(text: str, vocabulary: Vocabulary) -> tuple[Relation, ...]:
    """Parse ``a = b``, ``a < b``, ``Eq(a, b)``, or a chain ``a = b = c`` as pairs of neighbours.

    Raises:
        Unreadable: it is not in the grammar; ``relation-expected`` if there is no sign at all.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    # sympy notation: Eq(a, b), Le(a, b), …
    called = _CALL.match(text)
    if called is not None:
        sides = parse_tuple(" " * called.end() + text[called.end() :], vocabulary).elements
        if len(sides) == 2:
            return (Relation(*sides, _CALLED[called["name"]]),)
    signs = [sign for sign in _SIGN.finditer(text) if sign.lastgroup != "tag"]
    unequal = next((sign for sign in signs if sign.lastgroup == "ne"), None)
    if unequal is not None:
        raise Unreadable("not-equal", unequal.start(), sign=unequal.group())
    if not signs:
        raise Unreadable("relation-expected", len(text))
    if len(signs) >= MAX_SIDES:
        raise Unreadable("too-many-parts", signs[MAX_SIDES - 1].start(), limit=str(MAX_SIDES))
    starts, ends = [0, *(sign.end() for sign in signs)], [*(sign.start() for sign in signs), len(text)]
    formulas = [_parse_side(text, start, end, vocabulary) for start, end in zip(starts, ends, strict=True)]
    return tuple(
        Relation(left, right, _WRITTEN[str(sign.lastgroup)])
        for left, right, sign in zip(formulas, formulas[1:], signs, strict=False)
    )


def parse_single(text: str, vocabulary: Vocabulary) -> Relation:
    """Parse one equation or inequality.

    Raises:
        Unreadable: see `parse_chain`; ``relation-expected`` also for a chain.
    """
    links = parse_chain(text, vocabulary)
    if len(links) > 1:
        raise Unreadable("relation-expected", len(text))
    return links[0]


def _parse_side(text: str, start: int, end: int, vocabulary: Vocabulary) -> Node:
    """Parse one side; blanks before it keep the offsets of errors correct."""
    return parse(" " * start + text[start:end].rstrip(" &"), vocabulary)
