"""Reads equations and inequalities from every usual spelling, also as chains and as calls of sympy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.algebra.nodes import Node, Relation
from autograder.algebra.notation.parse import parse, parse_tuple
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.errors import Unreadable

MAX_SIDES = 16
MAX_CHARS = 2000

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


def parse_chain(text: str, vocabulary: Vocabulary) -> tuple[Relation, ...]:
    """Read ``a = b``, ``a < b``, ``Eq(a, b)``, or a chain ``a = b = c`` as its neighbours in pairs.

    Raises:
        Unreadable: it is not in the grammar; ``relation-expected`` where there is no sign at all.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
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
    formulas = [_side(text, start, end, vocabulary) for start, end in zip(starts, ends, strict=True)]
    return tuple(
        Relation(left, right, _WRITTEN[str(sign.lastgroup)])
        for left, right, sign in zip(formulas, formulas[1:], signs, strict=False)
    )


def parse_single(text: str, vocabulary: Vocabulary) -> Relation:
    """Read one equation or inequality.

    Raises:
        Unreadable: see `parse_chain`; ``relation-expected`` also for a chain.
    """
    links = parse_chain(text, vocabulary)
    if len(links) > 1:
        raise Unreadable("relation-expected", len(text))
    return links[0]


def _side(text: str, start: int, end: int, vocabulary: Vocabulary) -> Node:
    """Read a side; blanks before it keep the offsets of errors right."""
    return parse(" " * start + text[start:end].rstrip(" &"), vocabulary)
