r"""Remove parts of an answer that carry no meaning: ``\[ \]``, ``N =``, ``≈``, ``parameters``, ``ℝ^{n×d}``.

Every function replaces the removed part by blanks, so that offsets stay correct.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograder.formulas.nodes import FUNCTIONS
from autograder.formulas.notation.vocabulary import Vocabulary, plain_name

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


def unwrapped(text: str) -> str:
    """Remove markup that only marks the text as a formula."""
    return _WRAPPING.sub(lambda found: " " * len(found.group()), text)


def without_name(text: str, vocabulary: Vocabulary) -> str:
    """Remove the name of the result and ``=`` or ``≈`` before the formula.

    A declared symbol is such a name only if it is one letter that the right side does not mention: in ``N =
    12 L d²`` the letter N is the quantity asked for, even if it denotes something different elsewhere.
    """
    found = _LEFT_SIDE.match(text)
    if found is not None and _names_result(found, text, vocabulary):
        text = _blanked(text, found.end())
    found = _EQUALS.match(text)
    return text if found is None or not found.group().strip() else _blanked(text, found.end())


def without_unit(text: str, vocabulary: Vocabulary) -> str:
    """Remove words at the end for the counted quantity."""
    last = _LAST_WORD.search(text)
    if last is None or last.group(1) in vocabulary.names:  # the usual case
        return text
    # Only the end of the text is searched, which bounds the work for a hostile text.
    start = max(1, len(text) - _LONGEST_UNIT)
    places = (place for place in range(start, len(text)) if not _GLUED.match(text, place - 1))
    unit = re.compile(_UNIT, re.IGNORECASE)  # `re` caches it; compiled here because few runs need it
    found = next((found for place in places if (found := unit.match(text, place))), None)
    if found is None or not _ENDS.search(_BLANKS.sub("", text[: found.start()])):
        return text
    words = re.split(r"[\s/]+", str(found[str(found.lastgroup)]))
    # A word that is a symbol is part of the formula.
    if any(word in vocabulary.names or vocabulary.misspelt(word) for word in words):
        return text
    return text[: found.start()] + " " * len(found.group()) + text[found.end() :]


def without_remark(text: str, vocabulary: Vocabulary) -> str:
    """Remove words in brackets at the end, none of them a symbol: ``d^2 (one for each row)``."""
    found = _REMARK.search(text)
    if found is None or not _ENDS.search(text[: found.start()].rstrip()):
        return text
    words = _WORD.findall(found["words"])
    if changes_value(found["words"]) or numbers_in_words(found["words"]):
        return text
    if any(word in vocabulary.names or word in FUNCTIONS or vocabulary.misspelt(word) for word in words):
        return text
    return text[: found.start()] + " " * len(found.group())


def changes_value(remark: str) -> bool:
    """Return whether words may say that another value is meant than that of the formula before them."""
    return _CHANGES.search(remark) is not None


def numbers_in_words(remark: str) -> list[int]:
    """Return the small numbers that are written as words."""
    return [_NUMBERS[word] for word in re.findall(r"\w+", remark.lower()) if word in _NUMBERS]


def is_name_of(letter: str, rest: str, vocabulary: Vocabulary) -> bool:
    """Return whether a letter on the left names the result: the right side does not mention it."""
    mentioned = (name for word in _WORD.findall(rest) for name in _mentioned(word, vocabulary))
    return len(letter) == 1 and letter.isalpha() and letter not in mentioned


def inside_space(text: str, vocabulary: Vocabulary) -> str:
    r"""Return the sizes in ``ℝ^{n×d}``, ``Q \in \mathbb{R}^{n×d}`` and ``torch.Size([n])``; else the text."""
    found = _SIZE.fullmatch(text)
    if found is not None:
        start, end = found.span(1)
        return " " * start + text[start:end] + " " * (len(text) - end)
    found = _SPACE.fullmatch(text)
    if found is None or "R" in vocabulary.names:
        return text
    start, end = found.span("braces" if found["braces"] is not None else "brackets")
    return " " * start + text[start:end] + " " * (len(text) - end)


def _names_result(found: re.Match[str], text: str, vocabulary: Vocabulary) -> bool:
    names = [plain_name(word) for word in found["name"].split()]
    if len(names) == 1 and len(names[0]) == 1 and names[0] in vocabulary.names:
        return is_name_of(names[0], text[found.end() :], vocabulary)
    return not any(
        name in vocabulary.names or vocabulary.split(name) or vocabulary.misspelt(name) for name in names
    )


def _mentioned(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the name in a word, and the letters that it may be a product of."""
    name = plain_name(word)
    return [name] if name in vocabulary.names else [name, *(vocabulary.split(name) or ())]


def _blanked(text: str, end: int) -> str:
    return " " * end + text[end:]
