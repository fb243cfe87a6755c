"""Split a formula into tokens: one alphabet for plain text, Unicode and LaTeX."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.formulas.errors import Unreadable
from autograder.formulas.greek import GREEK
from autograder.formulas.nodes import FUNCTIONS, Node, Num, Sym
from autograder.formulas.notation.characters import describe_unknown, needs_rewriting, rewrite_characters
from autograder.formulas.notation.vocabulary import (
    COMMANDS,
    CONSTANTS,
    FUNCTION_SPELLINGS,
    SIGMOIDS,
    SIGNS,
    SUMMATIONS,
    Vocabulary,
    strip_markup,
)

MAX_CHARS = 2000
MAX_TOKENS = 400
MAX_DIGITS = 400
OWN = 8
"""Factor by which the limits on length and parts are higher for text that `to_text` wrote.

It writes every sign and whole names."""

_TEXT = (
    r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|mathnormal|mathcal|boldsymbol|bm|operatorname"
    r"|textit|textrm|textbf|textsf|texttt|textnormal|emph|mbox)\s*"
)
_GREEK = rf"\\(?:{'|'.join(GREEK)})(?![A-Za-z])"
_LETTER = r"[A-Za-z\u0370-\u03ff]"
_BRACED = rf"(?<![A-Za-z}}\]^_])\{{{_LETTER}\}}(?=\s*\\?_)"  # {d}_{model}, but not the root in \sqrt{d}_2
_MARKED = _TEXT + r"\{(?:[^{}]|\{[^{}]{0,40}\}){1,60}\}"
_SUBSCRIPT = (
    r"(?:\\?_[A-Za-z0-9\u0370-\u03ff]+|\s*\\?_\s*(?:\{(?:[^{}]|\{[^{}]{0,40}\}){1,60}\}|"
    + _TEXT
    + r"\{[^{}]{1,60}\}|"
    + _GREEK
    + "))"
)  # at most one level of braces inside a subscript, as in d_{\text{model}}


_SKIPPED = (
    r"[ \t\r\n$`~\u00a0]+|&(?=\s*=)|\\[,;:!> ()\[\]]|(?:[.;]|\\\\)(?=[\s$`]*\Z)|\{[ \t]*\}"
    r"|(?:math|np|numpy|sp|sympy|torch)\.(?=[a-z])"
    r"|\\(?:left|right|middle|[bB]igg?[lr]?|displaystyle|textstyle|limits|boxed|q?quad|enspace"
    r"|(?:neg)?(?:thin|med|thick)space)(?![A-Za-z])"
    r"|\\(?:begin|end)\{(?:equation|displaymath|math|align|aligned|gather|gathered|split)\*?\}"
)


_NARROW_GAP = r"(?:~|\u00a0|\\[,:;]|\{\\[,:;]\}|\\thinspace\s*)"
"""A gap that only typesetting makes: `rewrite_characters` puts U+00A0 for every space but the one on the
keyboard."""


def _build_grammar(comma: str, *, in_list: bool) -> str:
    """Return the pattern of a token.

    Args:
        comma: pattern of a mark that may group digits or precede decimals.
        in_list: whether a comma alone separates, so that one without a blank between digits is ambiguous.
    """
    tight = r"|(?P<tight>[1-9]\d{0,2}(?:,\\!\d{3})+(?!\d))" if in_list else ""
    return (
        rf"(?P<skip>{_SKIPPED})"
        rf"{tight}"
        rf"|(?P<dotted>[1-9]\d{{0,2}}(?:(?:\.\d{{3}}){{2,}}(?:{comma}\d+)?|\.\d{{3}}{comma}\d+)(?![\d.]))"
        rf"|(?P<grouped>(?:\d+(?:_\d+)+(?!\w)|[1-9]\d{{0,2}}(?:(?P<mark>{comma}|_|')\d{{3}}(?:(?P=mark)\d{{3}})*"
        rf"|(?:{_NARROW_GAP}\d{{3}})+|(?:(?: |{_NARROW_GAP})\d{{3}}){{2,}}| 0\d\d)(?!\d))(?:\.\d+)?)"
        rf"|(?P<decimal>\d+{comma}\d+(?![\d,])(?:[eE][+-]?\d{{1,4}}(?![A-Za-z0-9_]))?)"
        r"|(?P<powered>(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d{1,4}(?=[A-Za-z_]))"
        r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![A-Za-z0-9_]))?)"
        r"|(?P<cross>(?:(?<=\s)[xX](?=\s)|(?<=\d)[xX](?=\d)))"
        rf"|(?P<log>(?:log|{_TEXT}\{{\s*log\s*\}})(?=\s*_))"
        rf"|(?P<raised>(?P<base>{_LETTER})\^\s*(?:(?P<bare>\d)|[{{(]\s*(?P<power>\d{{1,9}})\s*[)}}])"
        rf"(?P<below>(?:{_SUBSCRIPT})(?<!\d)))"
        rf"|(?P<name>(?:{_LETTER}[A-Za-z0-9\u0370-\u03ff]*|{_GREEK}|{_MARKED}|{_BRACED})"
        rf"{_SUBSCRIPT}*'*)"
        r"|(?P<half>\\(?P<over>(?:[dtcs]|nice)?frac|[dt]?binom)\s*(?P<above>\d)\s*(?P<under>\d))"
        r"|(?P<command>\\(?:[A-Za-z]+|[{}]))"
        r"|(?P<percent>(?<=\d)\\?%(?=[\s~$)\]}*/+\-]|\Z))"
        r"|(?P<sign>\*\*|==|!=(?!=)|//|\\\*|[-+*×/^()\[\]{}!,=_⌈⌉⌊⌋|≠≈])"
    )


@functools.cache
def _compile_token(*, in_list: bool) -> re.Pattern[str]:
    """Return the compiled pattern of a token; in a list a comma separates."""
    comma = r"\{,\}" if in_list else r"(?:,|\{,\})"
    return re.compile(_build_grammar(rf"(?:\\!)?{comma}(?:\\!)?", in_list=in_list))


_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?P<mark>[.,])\d{3}")
"""Digits with a mark that may separate thousands, or precede decimals."""
_TIGHT_COMMA = re.compile(r"(?P<number>\d+,\d+),\s")
"""A comma without a blank, then one with a blank: only the second one certainly separates values."""
_CALLED = re.compile(r"(?:\s|\\left(?![A-Za-z])|\\[bB]igg?l?(?![A-Za-z]))*[(\[{]")
_OPENING = frozenset("([{⌈⌊")
_CLOSING = frozenset(")]}⌉⌋")
_NOT_DIGITS = re.compile(r"[^0-9.]")
_OPERANDS = frozenset(("number", "symbol", "constant", ")", "]", "}", "⌉", "⌋", "!"))


_SUMMATION = re.compile(r"\\(?:sum|prod)\s*(?:\\limits\s*)?_\s*\{\s*(?P<index>[A-Za-z])\s*=(?=[^{}]*\}\s*\^)")
"""The beginning of a sum or product over an index, with both bounds."""
_GAP = re.compile(
    r"(?:\s|~|\\[,;:! ]|\\(?:q?quad|enspace|(?:neg)?(?:thin|med|thick)space))"
    r"(?:[$`]|\\left|\\[bB]igg?l?)*\Z"
)
_MOST_GAP = 24


class Tokens(Struct, frozen=True):
    """The tokens of a formula in three columns; the kind of the last one is ``"end"``.

    A kind is the sign itself (``"+"``, ``"("``, …), ``"number"``, ``"symbol"`` or ``"constant"`` (value: the
    tree), ``"function"`` (value: its name), ``"frac"``, ``"binom"``,
    ``"summation"`` or ``"index"`` (value: the tree).
    """

    kinds: Sequence[str]
    values: Sequence[Node | str]
    places: Sequence[int]
    """Offsets into the original text."""
    vocabulary: Vocabulary
    text: str
    """The original text."""

    def has_gap(self, token: int) -> bool:
        """Return whether there are blanks before a token."""
        offset = self.places[token]
        return _GAP.search(self.text[max(0, offset - _MOST_GAP) : offset]) is not None

    def get_written(self, token: int) -> str:
        """Return the sign of a token as it was typed."""
        value, offset = self.values[token], self.places[token]
        typed = self.text[offset : offset + 1]
        if typed and not typed.isascii() and isinstance(value, str):
            return typed
        return value if isinstance(value, str) else self.kinds[token]


def tokenize(text: str, vocabulary: Vocabulary, *, in_list: bool = False, canonical: bool = False) -> Tokens:
    """Tokenize a formula. In a list, a comma never groups digits.

    Args:
        text: the formula.
        vocabulary: its symbols.
        in_list: whether commas separate.
        canonical: whether `to_text` wrote it, which raises the limits.

    Raises:
        Unreadable: it is too long, or a character, number or name is not known.
    """
    scale = OWN if canonical else 1
    most = scale * MAX_TOKENS
    if len(text) > scale * MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    if not needs_rewriting(text):
        return _Tokenizer(text, vocabulary, canonical=canonical).cut_tokens(most, in_list=in_list)
    plain, origin = rewrite_characters(text, most)
    try:
        tokens = _Tokenizer(plain, vocabulary, canonical=canonical).cut_tokens(most, in_list=in_list)
    except Unreadable as error:
        raise Unreadable(error.code, origin[error.offset], **error.params) from None
    # Offsets refer to the text as it was submitted, not to the rewritten one.
    places = [origin[offset] for offset in tokens.places]
    return Tokens(tokens.kinds, tokens.values, places, vocabulary, text)


class _Tokenizer:
    """Splits plain text into tokens."""

    __slots__ = (
        "_called",
        "_indices",
        "_kinds",
        "_open",
        "_own",
        "_places",
        "_text",
        "_values",
        "_vocabulary",
    )

    def __init__(self, text: str, vocabulary: Vocabulary, *, canonical: bool) -> None:
        self._text = text
        self._own = canonical
        self._called = ""
        """The function that the next brackets belong to."""
        self._open: list[str] = []
        """For each open bracket, the function that it belongs to; empty for none."""
        self._vocabulary = vocabulary
        self._indices: set[str] = set()
        """Names of the indices of sums and products so far."""
        self._kinds: list[str] = []
        self._values: list[Node | str] = []
        self._places: list[int] = []

    def cut_tokens(self, most: int, *, in_list: bool) -> Tokens:
        text, position = self._text, 0
        while position < len(text) and len(self._kinds) <= most:
            called = self._open[-1] if self._open else ""
            if text[position] == ";" and self._is_separator(position, in_list=in_list):
                self._put_token(",", ";", position)
                position += 1
                continue
            of_values = has_two_arguments(called) if called else in_list
            match = _compile_token(in_list=of_values).match(text, position)
            if match is None:
                raise describe_unknown(text[position], position)
            if match.lastgroup != "skip":
                self._take_match(match, position)
            position = match.end()
        if len(self._kinds) > most:
            raise Unreadable("too-many-parts", self._places[most], limit=str(most))
        self._put_token("end", "", len(text))
        return Tokens(self._kinds, self._values, self._places, self._vocabulary, text)

    def _is_separator(self, position: int, *, in_list: bool) -> bool:
        """Return whether a semicolon separates values, rather than ending the text."""
        several = in_list or has_several_arguments(self._open[-1] if self._open else "")
        return several and bool(self._text[position + 1 :].strip(" \t\r\n$`"))

    def _put_token(self, kind: str, value: Node | str, offset: int) -> None:
        # A bracket after _ or ^ belongs to a subscript or exponent, so the brackets of the function are still
        # to come: log_{2}(n).
        script = bool(self._kinds) and self._kinds[-1] in ("_", "^")
        if kind in _OPENING:
            self._open.append("" if script else self._called)
            self._called = self._called if script else ""
        elif kind in _CLOSING and self._open:
            self._open.pop()
        elif kind == "binom":
            self._called = "binomial"
        elif kind in ("function", "number", "symbol", "constant") and not script:
            self._called = str(value) if kind == "function" else ""
        self._kinds.append(kind)
        self._values.append(value)
        self._places.append(offset)

    def _take_match(self, match: re.Match[str], start: int) -> None:
        group, word = match.lastgroup, match.group()
        if group in ("sign", "percent"):
            self._put_token(SIGNS.get(word, "%"), word, start)
        elif group in ("number", "grouped", "dotted", "decimal"):
            self._put_number(group, word, start)
        elif group == "tight":
            raise make_comma_error(word.replace("\\!", ""), start)
        elif group == "powered":
            raise Unreadable("ambiguous-power", start, number=word)
        elif group == "half":
            self._put_token(COMMANDS[match["over"]], word, start)
            for digit in match.group("above", "under"):
                self._put_token("number", Num(int(digit)), start)
        elif group == "raised":
            self._put_word(match["base"] + match["below"], start)
            self._put_token("^", "^", start)
            self._put_token("number", Num(int(match["bare"] or match["power"])), start)
        elif group == "cross" and word not in self._vocabulary.nodes:
            if not self._kinds or self._kinds[-1] not in _OPERANDS:
                raise Unreadable("unknown-name", start, name=word, suggestion="")
            self._put_token("×", "×", start)
        else:
            self._put_word(word, start)

    def _put_number(self, group: str, word: str, start: int) -> None:
        word = word.replace("\\!", "")  # 1,\!024 removes the gap that TeX sets after a comma
        if group == "grouped":  # the comma in \, is not a comma
            word = re.sub(_NARROW_GAP, " ", word)
        digits = word.replace("{,}", ",")
        called = self._open[-1] if self._open else ""
        if not self._own and has_several_arguments(called):
            if "," in word and "{" not in word:
                raise make_comma_error(word, start)
            if not has_two_arguments(called) and (tight := _TIGHT_COMMA.match(self._text, start)):
                raise make_comma_error(tight["number"], start)
        if not self._own and self._vocabulary.decimal_comma and _THOUSANDS.fullmatch(digits):
            raise make_mark_error(digits, start)
        if group == "dotted":
            digits = digits.replace(".", "").replace(",", ".")
        elif group == "decimal":
            digits = digits.replace(",", ".")
        elif group == "grouped":
            digits = _NOT_DIGITS.sub("", digits)
        self._put_token("number", _parse_number(digits, start), start)

    def _put_word(self, word: str, start: int) -> None:
        """Add the token of a name or command; a declared symbol takes precedence."""
        vocabulary = self._vocabulary
        name = strip_markup(word)
        # Declared symbols come first: a course may use e or sigma as a name.
        symbol = vocabulary.nodes.get(word) or vocabulary.nodes.get(name)
        if symbol is not None:
            self._put_token("symbol", symbol, start)
        elif word[0] == "\\" and word[1:] in COMMANDS:
            self._put_token(COMMANDS[word[1:]], word, start)
        elif (function := vocabulary.functions.get(name) or FUNCTION_SPELLINGS.get(name)) is not None:
            self._put_token("function", function, start)
        elif name in CONSTANTS:
            self._put_token("constant", CONSTANTS[name], start)
        else:
            self._put_unlisted(word, name, start)

    def _put_unlisted(self, word: str, name: str, start: int) -> None:
        """Add the tokens of a word that is not known as written.

        Raises:
            Unreadable: it has no meaning, or several.
        """
        vocabulary = self._vocabulary
        if (summation := _SUMMATION.match(self._text, start)) and summation["index"] not in vocabulary.nodes:
            self._indices.add(summation["index"])
            self._put_token("summation", word, start)
            return
        if name in self._indices:
            self._put_token("index", Sym(name), start)
            return
        called = _CALLED.match(self._text, start + len(word)) is not None
        if name in SIGMOIDS and called:
            self._put_token("function", "sigmoid", start)
        elif (parts := vocabulary.split_letters(name)) is not None and len(parts) > 1:
            for part in parts:
                self._put_token("symbol", vocabulary.nodes[part], start)
                start += len(part) if word == name else 0
        # The order matters: a product of letters is certain, a guess at a misspelling is not.
        elif (meant := vocabulary.find_ambiguous(name)) is not None:
            offset = start + (word.index(meant[0]) if meant[0] in word else 0)
            product = "*".join(meant[0])
            raise Unreadable("ambiguous-name", offset, name=meant[0], product=product, symbol=meant[1])
        elif (other := vocabulary.find_misspelt(name)) is not None:
            self._put_token("symbol", other, start)
        elif called and name.lower() in FUNCTION_SPELLINGS:
            self._put_token("function", FUNCTION_SPELLINGS[name.lower()], start)
        else:
            raise _make_unknown_error(word, name, start, vocabulary)


def _make_unknown_error(word: str, name: str, start: int, vocabulary: Vocabulary) -> Unreadable:
    """Return the error for a word without a meaning."""
    if name in SUMMATIONS:
        return Unreadable("summation", start, name=word)
    if name == "E":
        return Unreadable("capital-e", start)
    if word[0] == "\\" and word[1:].isalpha():
        return Unreadable("unknown-command", start, name=word)
    return Unreadable("unknown-name", start, name=name or word, suggestion=vocabulary.suggest_spelling(name))


def has_several_arguments(function: str) -> bool:
    """Return whether commas separate values in the brackets of a function; "" is no function."""
    return has_two_arguments(function) or FUNCTIONS.get(function, (0, 0))[1] > 1


def has_two_arguments(function: str) -> bool:
    """Return whether a function always has two values, so that a comma never belongs to a number."""
    return function == "pow" or FUNCTIONS.get(function, (0, 0))[0] == 2


def make_comma_error(number: str, start: int) -> Unreadable:
    """Return the error for a comma between digits that may belong to one number or separate two."""
    apart = number.replace(",", ", ")
    if _THOUSANDS.fullmatch(number):
        grouped, decimals = _format_meanings(number)
        return Unreadable(
            "ambiguous-comma-thousands", start, number=number, grouped=grouped, decimals=decimals, apart=apart
        )
    joined = number.replace(",", "") if number.count(",") > 1 else _format_decimals(number)
    return Unreadable("ambiguous-comma", start, number=number, joined=joined, apart=apart)


def make_mark_error(number: str, start: int) -> Unreadable:
    """Return the error for a mark between digits that may separate thousands or precede decimals."""
    grouped, decimals = _format_meanings(number)
    return Unreadable("ambiguous-mark", start, number=number, grouped=grouped, decimals=decimals)


def _format_meanings(number: str) -> tuple[str, str]:
    return number.replace(",", "").replace(".", ""), _format_decimals(number)


def _format_decimals(number: str) -> str:
    """Format a number with decimals unambiguously: not with exactly three of them."""
    whole, _, decimals = number.replace(",", ".").partition(".")
    decimals = decimals.rstrip("0") or "0"
    return f"{whole}.{decimals}0" if len(decimals) == 3 and whole != "0" else f"{whole}.{decimals}"


def _parse_number(digits: str, start: int) -> Num:
    if digits.isdigit():
        if len(digits) > MAX_DIGITS:
            raise Unreadable("number-too-long", start, limit=str(MAX_DIGITS))
        return Num(int(digits))
    mantissa, _, exponent = digits.lower().partition("e")
    shift = abs(int(exponent)) if exponent else 0
    if len(mantissa) + shift > MAX_DIGITS - 2:  # so that it can be printed and parsed again
        raise Unreadable("number-too-long", start, limit=str(MAX_DIGITS))
    value = Fraction(digits)
    return Num(value.numerator if value.denominator == 1 else value)
