r"""Parse asymptotic statements: ``O(n^2 d)``, ``Θ(n log n)``, ``T(n) \in \mathcal{O}(n)``, ``O(n) + O(d)``.

A statement becomes an `Fn` with the sign as its name (``"O"``, ``"Θ"``, ``"Ω"``, ``"o"``, ``"ω"``), which no
formula can contain; a formula without a sign is kept as it is. The formula in the brackets is read by the
usual grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Add, Fn, Node
from autograder.formulas.notation.decoration import is_name_of, remove_wrapping
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Vocabulary

SIGNS = ("O", "Θ", "Ω", "o", "ω")
MAX_STATEMENTS = 16
"""Limit on statements in a sum, or joined by equals signs."""
MAX_CHARS = 2000

_SPELLINGS: Mapping[str, str] = {
    "O": "O", "𝒪": "O", "𝑂": "O", "𝓞": "O", "Ο": "O", "О": "O",
    "Θ": "Θ", "Theta": "Θ", "θ": "Θ", "\u03f4": "Θ", "Ω": "Ω", "\u2126": "Ω", "Omega": "Ω",
    "o": "o", "𝑜": "o", "ω": "ω", "omega": "ω",
}  # fmt: skip
_FONT = r"(?:\\(?:mathcal|mathrm|mathit|mathsf|mathbf|mathscr|operatorname|text|textrm|textit|boldsymbol)\s*)"
_LETTER = "[" + "".join(spelling for spelling in _SPELLINGS if len(spelling) == 1) + "]"
_WORD = r"(?:Theta|Omega|omega)"
_NAME = rf"(?:{_FONT}\{{\s*\\?(?:{_WORD}|{_LETTER})\s*\}}|{_FONT}\s{_LETTER}|\\?{_WORD}|{_LETTER})"
_SPACE = r"(?:[\s$]|\\[!,;: ]|\\left(?![A-Za-z])|\\[bB]igg?l?(?![A-Za-z]))*"
_SIGN = re.compile(rf"(?P<name>(?<![A-Za-z0-9_\u0370-\u03ff\\{{]){_NAME})(?P<gap>{_SPACE})(?P<open>[(\[{{])")
_OF = re.compile(
    rf"[\s$]*(?:[Bb]ig[ -]?|[Ll]ittle[ -]?|gro(?:ss|ß)[ -]?|klein[ -]?)?(?P<name>{_NAME})\s+(?:of|von)\s+"
)
_BIG = re.compile(r"[\s$]*(?:(?:[Bb]ig|[Ll]ittle|gro(?:ss|ß)|klein)[ -]?)?")
_BARE = re.compile(rf"[\s$]*(?P<name>{_NAME})(?![A-Za-z0-9_])")
_JOINT = re.compile(r":?==?|∈|\\in(?![A-Za-z])|\s(?:is|ist)(?:\s+in)?\s|\s(?:in)\s(?=.*[(\[])")
_FINISHED = re.compile(r"(?:[\s$.]|\\[!,;: ])*\Z")
_MORE = re.compile(r"(?:[\s$]|\\[!,;: ])*\+")
_LEFT_SIDE = re.compile(r"[\s$]*(?:[A-Za-z#][\w{}\\]*(?:\s*\([^()]*\))?)?[\s$]*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_KINDS = r"(?:time|runtime|number|Zeit|Laufzeit|Zahl|steps?|Schritte?|many|viele)"
_WORDS = rf"(?:const(?:ant)?|konst(?:ant)?e?r?)(?:\s+{_KINDS})*"
_CONSTANT = re.compile(rf"[\s$]*(?:(?:O|in|it is|is|ist)\s)?\s*{_WORDS}[\s.$]*", re.IGNORECASE)
_CONSTANT_WITHIN = re.compile(rf"(?<=[(\[{{])\s*{_WORDS}\s*(?=[)\]}}])", re.IGNORECASE)
_CONSTANT_BEHIND = re.compile(
    rf"(?<=[)\]}}1])[\s,;:(=–-]*(?:\b(?:i\.e\.|d\.h\.)\s*)?{_WORDS}[\s).$]*\Z", re.IGNORECASE
)


def parse_landau(text: str, vocabulary: Vocabulary) -> Node:
    """Parse a statement, or a formula without a sign.

    Raises:
        Unreadable: it is neither, or there is an equals sign; has the offset in ``text``.
    """
    sides = parse_statements(text, vocabulary)
    if len(sides) > 1:
        raise Unreadable("unexpected-relation", text.find("="))
    return sides[0]


def parse_statements(text: str, vocabulary: Vocabulary) -> tuple[Node, ...]:
    """Parse statements joined by equals signs or ∈; a name on the left, such as ``T(n) =``, is dropped.

    Raises:
        Unreadable: see `parse_landau`.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    text = _remove_words(remove_wrapping(text), vocabulary)
    # The text between two joints is a side; the joints themselves are dropped.
    bounds = [0]
    for joint in _JOINT.finditer(text):
        bounds.extend((joint.start(), joint.end()))
    bounds.append(len(text))
    pieces = list(zip(bounds[::2], bounds[1::2], strict=True))
    if len(pieces) > MAX_STATEMENTS:
        raise Unreadable("too-many-parts", pieces[MAX_STATEMENTS][0], limit=str(MAX_STATEMENTS))
    left = text[slice(*pieces[0])]
    if len(pieces) > 1 and (
        _is_name(left, vocabulary) or is_name_of(left.strip(" \t\r\n$"), text[pieces[0][1] :], vocabulary)
    ):
        del pieces[0]
    return tuple(_parse_statement(text, start, end, vocabulary) for start, end in pieces)


def _remove_words(text: str, vocabulary: Vocabulary) -> str:
    """Replace the word "constant" by 1, padded to the same length; remove it behind a statement."""
    # A declared symbol of that name is a symbol.
    if not {"const", "constant", "konstant"}.isdisjoint(vocabulary.names):
        return text
    if _CONSTANT.fullmatch(text):
        return "1"
    text = _CONSTANT_BEHIND.sub("", text)
    return _CONSTANT_WITHIN.sub(lambda word: "1".ljust(len(word[0])), text)


def get_sign(statement: Node) -> str:
    """Return the sign of a statement; empty for a formula."""
    return statement.name if isinstance(statement, Fn) and statement.name in SIGNS else ""


def get_body(statement: Node) -> Node:
    """Return the formula in the brackets of a statement; a formula is returned as it is."""
    return statement.arguments[0] if isinstance(statement, Fn) and statement.name in SIGNS else statement


def _is_name(text: str, vocabulary: Vocabulary) -> bool:
    """Return whether a left side names the quantity, such as ``T(n)``; a declared symbol is a formula."""
    bare = text.strip(" \t\r\n$")
    return bool(_LEFT_SIDE.fullmatch(text)) and bare not in vocabulary.names and not _SIGN.match(bare)


def _parse_statement(text: str, start: int, end: int, vocabulary: Vocabulary) -> Node:
    worded = _OF.match(text, start, end)
    if worded is not None:
        return Fn(_normalise_sign(worded["name"]), (_parse_part(text, worded.end(), end, vocabulary),))
    match = _SIGN.search(text, start, end)
    if match is None:
        bare = _BARE.match(text, start, end)
        if bare is not None and bare["name"] not in vocabulary.names:
            raise Unreadable("landau-brackets", bare.start("name"), sign=_normalise_sign(bare["name"]))
        return _parse_part(text, start, end, vocabulary)
    if not _BIG.fullmatch(text, start, match.start()):
        raise Unreadable("landau-outside", match.start(), sign=match["name"])
    sign, bodies = _normalise_sign(match["name"]), list[Node]()
    while True:
        closing = _find_closing(text, match.end("open") - 1, end)
        bodies.append(_parse_part(text, match.end("open"), closing, vocabulary))
        if _FINISHED.match(text[:end], closing + 1):
            return Fn(sign, (bodies[0] if len(bodies) == 1 else Add(tuple(bodies)),))
        more = _MORE.match(text, closing + 1, end)
        begin = more.end() if more else closing + 1
        following = _SIGN.search(text, begin, end)
        if more is None or following is None or text[begin : following.start()].strip(" \t\r\n$"):
            raise Unreadable("landau-outside", closing + 1, sign=sign)
        # O(n) + O(d) is O(n + d), but a sum of different signs is no statement.
        if _normalise_sign(following["name"]) != sign:
            raise Unreadable("landau-mixed", following.start())
        if len(bodies) == MAX_STATEMENTS:
            raise Unreadable("too-many-parts", following.start(), limit=str(MAX_STATEMENTS))
        match = following


def _normalise_sign(name: str) -> str:
    bare = re.sub(_FONT + r"|[\\{}\s]", "", name)
    return _SPELLINGS[bare]


def _find_closing(text: str, opened: int, end: int) -> int:
    """Return the position of the bracket that closes the one at a position."""
    pending: list[str] = []
    for position in range(opened, end):
        character = text[position]
        if character in _CLOSING:
            pending.append(_CLOSING[character])
        elif pending and character == pending[-1]:
            pending.pop()
            if not pending:
                return position
    raise Unreadable("unclosed", opened, bracket=_CLOSING[text[opened]])


def _parse_part(text: str, start: int, end: int, vocabulary: Vocabulary) -> Node:
    """Parse a part of the text; blanks before it keep the offsets of errors correct."""
    # A closing \right or \big belongs to the bracket that was cut off.
    part = re.sub(r"\\right\s*\Z|\\[bB]igg?r?\s*\Z", "", text[start:end])
    return parse(" " * start + part, vocabulary)
