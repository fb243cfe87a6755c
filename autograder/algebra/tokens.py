r"""Cuts a formula into tokens: one alphabet for plain text, Unicode and LaTeX.

What is not plain printable ASCII is rewritten first, character by character, with a map back to the
text as it was handed in, so that every error points where the student looks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.algebra.nodes import Const, Node, Num
from autograder.algebra.vocabulary import Vocabulary, plain_name
from autograder.errors import Unreadable

MAX_CHARS = 2000
MAX_TOKENS = 600
MAX_DIGITS = 400

_TEXT = r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|operatorname|textit|textrm|texttt|mbox)\s*"
_SUBSCRIPT = (
    r"(?:\\?_(?:[A-Za-z0-9]+|\{(?:[^{}]|\{[^{}]{0,40}\}){1,60}\}|" + _TEXT + r"\{[^{}]{1,60}\}))*"
)  # at most one level of braces inside a subscript, as in d_{\text{model}}
_GRAMMAR = (
    r"(?P<skip>[ \t\r\n$]+|\\[,;:! ()\[\]]"
    r"|\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|quad|qquad)(?![A-Za-z]))"
    r"|(?P<number>\d{1,3}(?:(?P<mark>,|\{,\}|\\,|_|')\d{3}(?:(?P=mark)\d{3})*(?!\d)(?:\.\d+)?"
    r"|(?: \d{3}){2,}(?!\d)|(?:\.\d{3}){2,}(?!\d))"
    r"|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![A-Za-z0-9_]))?)"
    r"|(?P<log>log(?=_))"
    r"|(?P<name>(?:[A-Za-z\u0370-\u03ff][A-Za-z0-9\u0370-\u03ff]*|" + _TEXT + r"\{[^{}]{1,60}\})"
    r"" + _SUBSCRIPT + r"'*)"
    r"|(?P<half>\\[dtc]?frac\s*\d\s*\d)"  # TeX takes one digit for each
    r"|(?P<command>\\(?:[A-Za-z]+|[{}]))"
    r"|(?P<sign>\*\*|==|[-+*×/^()\[\]{}!,=_])"
)
_TOKEN = re.compile(_GRAMMAR)
_TOKEN_IN_LIST = re.compile(_GRAMMAR.replace("(?P<mark>,|", "(?P<mark>"))
_NOT_DIGITS = re.compile(r"[^0-9.eE+-]")
_HALF = re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)")
_LOOSE_POINTS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")

_SIGNS: Mapping[str, str] = {"**": "^", "==": "="}
_COMMANDS: Mapping[str, str] = {
    "cdot": "*", "ast": "*", "times": "×", "div": "/", "{": "{", "}": "}", "lbrace": "{", "rbrace": "}",
    "frac": "frac", "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "binom": "binom", "dbinom": "binom",
}  # fmt: skip
FUNCTION_SPELLINGS: Mapping[str, str] = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "ln": "ln", "lg": "lg", "log2": "log2", "lb": "log2",
    "log10": "lg", "max": "max", "Max": "max", "min": "min", "Min": "min",
    "factorial": "factorial", "binomial": "binomial", "binom": "binomial",
}  # fmt: skip
_CONSTANTS: Mapping[str, Const] = {"pi": Const("pi"), "e": Const("e"), "E": Const("e")}

_REWRITTEN: Mapping[str, str] = {
    "·": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "×": "×", "✕": "×", "⨯": "×",
    "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-",
    "√": " sqrt ", "π": " pi ",
    "\u00a0": " ", "\u2009": "\\,", "\u202f": "\\,", "\u2007": " ", "\u2002": " ", "\u2003": " ",
    "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "", "\u2061": "", "\u2062": "",
    "’": "'", "½": "(1/2)", "¼": "(1/4)", "¾": "(3/4)",
}  # fmt: skip
_RAISED: Mapping[str, str] = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_LOWERED: Mapping[str, str] = dict(
    zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True)
)
_UNESCAPED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "\f": (("rac",), "\\f"),
    "\t": (("ext", "imes", "frac"), "\\t"),
    "\b": (("inom",), "\\b"),
    "\r": (("ight",), "\\r"),
}
"""LaTeX in an ordinary Python string: its backslash and letter became a control character."""


class Tokens(Struct, frozen=True):
    """A cut formula: three columns, one row a token; the last row's kind is ``"end"``.

    A kind is the sign itself (``"+"``, ``"("``, …), ``"number"``, ``"symbol"`` or ``"constant"`` (value: the
    tree), ``"function"`` (value: its name), ``"frac"`` or ``"binom"``.
    """

    kinds: list[str]
    values: list[Node | str]
    places: list[int]
    """Offsets into the original text."""


def tokenize(text: str, vocabulary: Vocabulary, *, in_list: bool = False) -> Tokens:
    """Cut a formula into tokens. In a list, a comma never groups digits.

    Raises:
        Unreadable: too long, or a character, number or name is not known.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    if text.isascii() and text.isprintable():
        return _cut(text, vocabulary, None, in_list=in_list)
    rewritten, origin = _rewrite(text)
    try:
        return _cut(rewritten, vocabulary, origin, in_list=in_list)
    except Unreadable as error:
        raise Unreadable(error.code, origin[error.offset], **error.params) from None


def _cut(text: str, vocabulary: Vocabulary, origin: Sequence[int] | None, *, in_list: bool) -> Tokens:
    kinds: list[str] = []
    values: list[Node | str] = []
    places: list[int] = []
    names, match, position, end = (
        vocabulary.nodes,
        (_TOKEN_IN_LIST if in_list else _TOKEN).match,
        0,
        len(text),
    )
    while position < end:
        found = match(text, position)
        if found is None:
            raise Unreadable("unknown-character", position, character=text[position])
        group, start, position = found.lastgroup, position, found.end()
        if group == "skip":
            continue
        word = found.group()
        symbol = names.get(word) if group == "name" else None
        if symbol is not None:
            kinds.append("symbol")
            values.append(symbol)
        elif group == "sign":
            kinds.append(_SIGNS.get(word, word))
            values.append(word)
        elif group == "number":
            if "," in word and ("function" in kinds or "binom" in kinds):
                raise Unreadable("ambiguous-comma", start)
            kinds.append("number")
            values.append(_number(word, start))
        else:
            for kind, value in _word(word, start, vocabulary):
                kinds.append(kind)
                values.append(value)
                places.append(start)
            continue
        places.append(start)
    if len(kinds) > MAX_TOKENS:
        raise Unreadable("too-many-parts", places[MAX_TOKENS], limit=str(MAX_TOKENS))
    kinds.append("end")
    values.append("")
    places.append(end)
    return Tokens(kinds, values, places if origin is None else [origin[place] for place in places])


def _number(word: str, start: int) -> Num:
    if word.isdigit():
        if len(word) > MAX_DIGITS:
            raise Unreadable("number-too-long", start, limit=str(MAX_DIGITS))
        return Num(int(word))
    digits = _NOT_DIGITS.sub("", word)
    if _LOOSE_POINTS.fullmatch(word):
        digits = digits.replace(".", "")
    mantissa, _, exponent = digits.lower().partition("e")
    shift = abs(int(exponent)) if exponent else 0
    if len(mantissa) + shift > MAX_DIGITS - 2:  # so that its decimals can be read again
        raise Unreadable("number-too-long", start, limit=str(MAX_DIGITS))
    value = Fraction(digits)
    return Num(value.numerator if value.denominator == 1 else value)


def _word(word: str, start: int, vocabulary: Vocabulary) -> list[tuple[str, Node | str]]:
    """What a name or command that is not a declared symbol as it stands may still be."""
    name = plain_name(word)
    symbol = vocabulary.nodes.get(name)
    if symbol is not None:
        return [("symbol", symbol)]
    half = _HALF.fullmatch(word)
    if half is not None:
        above, below = half.groups()
        return [("frac", word), ("number", Num(int(above))), ("number", Num(int(below)))]
    if word[0] == "\\" and word[1:] in _COMMANDS:
        return [(_COMMANDS[word[1:]], word)]
    function = FUNCTION_SPELLINGS.get(name)
    if function is not None:
        return [("function", function)]
    constant = _CONSTANTS.get(name)
    if constant is not None:
        return [("constant", constant)]
    letters = vocabulary.split(name)
    if letters is not None and len(letters) > 1:
        return [("symbol", vocabulary.nodes[letter]) for letter in letters]
    if word[0] == "\\" and word[1:].isalpha():
        raise Unreadable("unknown-command", start, name=word)
    raise Unreadable("unknown-name", start, name=name or word, suggestion=vocabulary.suggestion(name))


def _rewrite(text: str) -> tuple[str, list[int]]:
    """Plain characters for all others, and for each of them where it came from."""
    parts: list[str] = []
    origin: list[int] = []
    position = 0
    while position < len(text):
        character, width = text[position], 1
        if character.isascii():
            mangled = text.startswith(_UNESCAPED.get(character, ((), ""))[0], position + 1)
            plain = _UNESCAPED[character][1] if mangled else character
        elif character in _RAISED:
            width = _run(text, position, _RAISED)
            plain = f"^({''.join(_RAISED[raised] for raised in text[position : position + width])})"
        elif character in _LOWERED:
            width = _run(text, position, _LOWERED)
            plain = f"_{''.join(_LOWERED[lowered] for lowered in text[position : position + width])}"
        elif character in _REWRITTEN:
            plain = _REWRITTEN[character]
        else:
            plain = _folded(character, position)
        parts.append(plain)
        origin.extend([position] * len(plain))
        position += width
    return "".join(parts), [*origin, len(text)]


def _run(text: str, start: int, table: Mapping[str, str]) -> int:
    end = start
    while end < len(text) and text[end] in table:
        end += 1
    return end - start


def _folded(character: str, position: int) -> str:
    """The ordinary form of a wide, mathematical or Greek letter or digit."""
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) == 1 and ("\u0370" <= folded <= "\u03ff" or folded.isascii()):
        return folded
    raise Unreadable("unknown-character", position, character=character)
