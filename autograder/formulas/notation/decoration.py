r"""Remove parts of an answer that carry no meaning: ``\[ \]``, ``N =``, ``≈``, ``parameters``, ``ℝ^{n×d}``.

Every function replaces the removed part by blanks, so that offsets stay correct.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.formulas.nodes import FUNCTIONS
from autograder.formulas.notation.vocabulary import Vocabulary, strip_markup

_WRAPPING = re.compile(r"`+|\\(?:begin|end)\{[a-z]{1,20}\*?\}|\\[\[\]()]|\\displaystyle(?![A-Za-z])")
_EQUALS = re.compile(r"[\s$&]*(?:(?::?==?|[≈∼≃≅]|\\(?:approx|sim|simeq|cong)(?![A-Za-z]))[\s$&]*)+")
_NAME = r"[A-Za-z#\u0370-\u03ff](?:[\w'\u0370-\u03ff]|\\_|\\(?=[A-Za-z])|\{[^{}=]{0,40}\}){0,60}"
_LEFT_SIDE = re.compile(
    rf"[\s$]*(?P<name>\\?(?:{_NAME})(?: {{1,2}}{_NAME}){{0,5}})(?:\s{{0,3}}\([^=()]{{0,60}}\))?\s{{0,3}}"
    r"(?::?=(?!=)|:(?=\s)|[≈∼]|(?<=\s)~(?=\s)|\\(?:approx|sim)(?![A-Za-z]))"
)
_WORD = re.compile(_NAME)
_COUNTED = (
    "parameters?|parametern?|params?|weights?|gewichten?|gewichte|flops?|operations?|operationen|ops|multiplications?"
    "|multiplikationen|additions?|additionen|multiply-adds?|steps?|schritten?|schritte|bytes?|tokens?|entries|einträgen?"
    "|einträge|elements?|elementen?|elemente|values|werten?|werte|numbers|zahlen|comparisons|vergleiche"
)
"""Words for the counted quantity. Words that imply another factor are not included: bits, MACs, MB."""
_PER = (
    r"(?:per|pro|je|/)\s?(?:token|layer|schicht|head|kopf|step|schritt|sequence|sequenz|block|image|bild|sample"
    r"|example|beispiel|forward pass)"
)
_WORDS = (
    r"(?:(?:(?:many|different|trainable|learnable|trainierbare|lernbare|floating[- ]point)\s+)?"
    rf"(?:{_COUNTED})(?:\s*{_PER})?(?:\s+(?:in total|total|overall|altogether|insgesamt|gesamt))?"
    r"|in total|overall|altogether|insgesamt)"
)
_UNIT = (
    rf"(?:\\(?:text|mathrm|textrm|mbox|operatorname|textit|mathit)\s?\{{\s*(?P<set>{_WORDS})\s*\}}"
    rf"|[(\[](?P<bracketed>{_WORDS})[)\]]|(?P<bare>{_WORDS}))(?=[\s$.)\]]*\Z)"
)
_ENDS = re.compile(r"[\w)\]}!²³⁰¹⁴-⁹ᵃ-ᵿ₀-ₜ$|⌉⌋]\Z")
_GLUED = re.compile(r"[A-Za-z_^\\{]")
_LAST_WORD = re.compile(r"(?<![A-Za-z_\\])([^\W\d_]{3,30})[\s$.)\]}]{0,20}\Z")
_BLANKS = re.compile(r"(?:\s|~|\\[,;:! ]|\\q?quad){0,20}\Z")
_LONGEST_UNIT = 60
_REMARK = re.compile(r"\s\((?P<words>[^\W\d_]{3,30}(?:,?\s[^\W\d_]{2,30}){1,11})\)\s*\Z")
_CHANGES = re.compile(
    r"\b(?:or|oder|bzw|plus|minus|times|mal|twice|doubled?|doppelt|half|halb|not|nicht"
    r"|tripled?|multiplied|multipliziert|divided|geteilt|cubed"
    r"|if|falls|wenn|unless|otherwise|sonst|but|aber|wrong|falsch|squared|quadriert)\b",
    re.IGNORECASE,
)
"""Words that may change the value."""
_NUMBERS: Mapping[str, int] = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
    "twelve": 12, "zwölf": 12,
}  # fmt: skip
_SIZE = re.compile(r"[\s$`]*(?:\w+\.)?(?:Size|TensorShape|shape)\s*\((.*)\)[\s$`.]*", re.DOTALL)
_SPACE = re.compile(
    r"[\s$]*(?:[^^]*(?:\\in\b|∈))?\s*(?:\\mathbb\s*\{?\s*R\s*\}?|ℝ|R)\s*\^\s*"
    r"(?:\{(?P<braces>.*)\}|\((?P<brackets>.*)\))[\s$.]*",
    re.DOTALL,
)


def remove_wrapping(text: str) -> str:
    """Remove markup that only marks the text as a formula."""
    return _WRAPPING.sub(lambda match: " " * len(match.group()), text)


def remove_name(text: str, vocabulary: Vocabulary) -> str:
    """Remove the name of the result and ``=`` or ``≈`` before the formula.

    A declared symbol is such a name only if it is one letter that the right side does not mention: in ``N =
    12 L d²`` the letter N is the quantity asked for, even if it denotes something different elsewhere.
    """
    match = _LEFT_SIDE.match(text)
    if match is not None and _is_result_name(match, text, vocabulary):
        text = _replace_by_blanks(text, match.end())
    match = _EQUALS.match(text)
    return text if match is None or not match.group().strip() else _replace_by_blanks(text, match.end())


def remove_unit(text: str, vocabulary: Vocabulary) -> str:
    """Remove words at the end for the counted quantity."""
    last = _LAST_WORD.search(text)
    if last is None or last.group(1) in vocabulary.names:  # the usual case
        return text
    # Only the end of the text is searched, which bounds the work for a hostile text.
    start = max(1, len(text) - _LONGEST_UNIT)
    positions = (position for position in range(start, len(text)) if not _GLUED.match(text, position - 1))
    unit = re.compile(_UNIT, re.IGNORECASE)  # `re` caches it; compiled here because few runs need it
    match = next((match for position in positions if (match := unit.match(text, position))), None)
    if match is None or not _ENDS.search(_BLANKS.sub("", text[: match.start()])):
        return text
    words = re.split(r"[\s/]+", str(match[str(match.lastgroup)]))
    # A word that is a symbol is part of the formula.
    if any(word in vocabulary.names or vocabulary.find_misspelt(word) for word in words):
        return text
    return text[: match.start()] + " " * len(match.group()) + text[match.end() :]


def remove_remark(text: str, vocabulary: Vocabulary) -> str:
    """Remove words in brackets at the end, none of them a symbol: ``d^2 (one for each row)``."""
    match = _REMARK.search(text)
    if match is None or not _ENDS.search(text[: match.start()].rstrip()):
        return text
    words = _WORD.findall(match["words"])
    if may_change_value(match["words"]) or find_spelt_numbers(match["words"]):
        return text
    if any(word in vocabulary.names or word in FUNCTIONS or vocabulary.find_misspelt(word) for word in words):
        return text
    return text[: match.start()] + " " * len(match.group())


def may_change_value(remark: str) -> bool:
    """Return whether words may say that another value is meant than that of the formula before them."""
    return _CHANGES.search(remark) is not None


def find_spelt_numbers(remark: str) -> list[int]:
    """Return the small numbers that are written as words."""
    return [_NUMBERS[word] for word in re.findall(r"\w+", remark.lower()) if word in _NUMBERS]


def is_name_of(letter: str, right_side: str, vocabulary: Vocabulary) -> bool:
    """Return whether a letter on the left names the result: the right side does not mention it."""
    mentioned = (name for word in _WORD.findall(right_side) for name in _list_mentioned(word, vocabulary))
    return len(letter) == 1 and letter.isalpha() and letter not in mentioned


def extract_sizes(text: str, vocabulary: Vocabulary) -> str:
    r"""Return the sizes in ``ℝ^{n×d}``, ``Q \in \mathbb{R}^{n×d}`` and ``torch.Size([n])``; else the text."""
    match = _SIZE.fullmatch(text)
    if match is not None:
        start, end = match.span(1)
        return " " * start + text[start:end] + " " * (len(text) - end)
    match = _SPACE.fullmatch(text)
    if match is None or "R" in vocabulary.names:
        return text
    start, end = match.span("braces" if match["braces"] is not None else "brackets")
    return " " * start + text[start:end] + " " * (len(text) - end)


def _is_result_name(match: re.Match[str], text: str, vocabulary: Vocabulary) -> bool:
    names = [strip_markup(word) for word in match["name"].split()]
    if len(names) == 1 and len(names[0]) == 1 and names[0] in vocabulary.names:
        return is_name_of(names[0], text[match.end() :], vocabulary)
    return not any(
        name in vocabulary.names or vocabulary.split_letters(name) or vocabulary.find_misspelt(name)
        for name in names
    )


def _list_mentioned(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the name in a word, and the letters that it may be a product of."""
    name = strip_markup(word)
    return [name] if name in vocabulary.names else [name, *(vocabulary.split_letters(name) or ())]


def _replace_by_blanks(text: str, end: int) -> str:
    return " " * end + text[end:]
