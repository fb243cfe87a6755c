r"""Reads lists and sets of formulas: ``(a, b)``, ``{a, b}``, ``S = \{a, b\}``, lines.

Other than in a shape, ``×`` is a sign of multiplication here.
"""

from __future__ import annotations

import re

from autograder.algebra.nodes import Tuple
from autograder.algebra.notation.parse import parse_tuple
from autograder.algebra.notation.tokens import doubtful_comma
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.notation.wrapping import unwrapped, without_name
from autograder.errors import Unreadable

MAX_CHARS = 2000

_TIMES = re.compile(r"[×✕⨯]|\\times(?![A-Za-z])")
_SEPARATOR = re.compile(
    r"(?P<kept>&[a-z]{2,8};)"
    r"|(?<!\\);|\$[ \t]*,?[ \t]*\$|(?<![\w\\])(?:and|und|sowie|&)(?![\w(])|(?<!\s)\s*\n\s*(?:[-*•]\s+)?"
)
_BULLET = re.compile(r"\s*([-*•])\s+(?=\S.*\n[ \t]*\1\s)", re.DOTALL)
_DIGITS = re.compile(r"(?<![\d,.])\d+,\d+(?![\d,])")
_OPEN, _ONWARD = ",;([{+-*/=^", ",;)]}+*/^="


def parse_list(text: str, vocabulary: Vocabulary) -> Tuple:
    """Read a list or a set in the order in which it is written.

    Raises:
        Unreadable: an element is not in the grammar; carries the offset in ``text``.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    text = unwrapped(text)
    found = _BULLET.match(text)
    start = 0 if found is None else found.end()
    text = without_name(" " * start + text[start:], vocabulary)
    start = len(text) - len(text.lstrip())
    listed = text[start:].rstrip(" \t\r\n$")
    digits = _DIGITS.search(text)
    if digits is not None and any(
        not one["kept"] and one.group().strip() in (";", "", "-", "*", "•")
        for one in _SEPARATOR.finditer(listed)
    ):
        raise doubtful_comma(digits.group(), digits.start())
    listed = _TIMES.sub(lambda sign: "*".ljust(len(sign.group())), listed)
    listed = " " * start + _SEPARATOR.sub(_comma, listed)
    bare = listed.lstrip(" \t\r\n$")
    return parse_tuple(" " * (len(listed) - len(bare)) + bare, vocabulary)


def _comma(found: re.Match[str]) -> str:
    """A comma of the same width, so that the offsets of errors stay right; blanks where a line is broken.

    A character that is written by its name in HTML stays.
    """
    if found["kept"]:
        return found["kept"]
    text, width = found.string, len(found.group())
    before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    broken = not before or not after or before[-1] in _OPEN or after[0] in _ONWARD
    return " " * width if "\n" in found.group() and broken else ",".ljust(width)
