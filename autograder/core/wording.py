"""Texts in several languages, as rubrics state them, and numbers. No imports of ours."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from babel import Locale

_MOST_ZEROS = 20


def get_text(text: str | Mapping[str, str], language: str) -> str:
    """Return a rubric's text in one language, or else in English, or else in any.

    A plain string is for all languages.
    """
    if isinstance(text, str):
        return text
    return text.get(language) or text.get("en") or next(iter(text.values()), "")


# The same few values are formatted for every student, and babel is slow.
@functools.lru_cache(maxsize=4096)
def format_number(value: Decimal, language: str) -> str:
    """Format a number without trailing zeros, with the language's decimal sign and a real minus sign.

    A number with more than twenty digits before or after the decimal sign is written with a power of ten.
    """
    # Imported here because babel loads slowly and most commands format no number.
    from babel.numbers import format_decimal

    power = value.adjusted() if value else 0
    if abs(power) > _MOST_ZEROS:
        return f"{format_number(value.scaleb(-power), language)} × 10^{power}".replace("^-", "^−")
    # No quantization: points are exact, and rounding them here would hide that.
    plain = format_decimal(value.normalize(), "0.#", _parse_locale(language), decimal_quantization=False)
    return plain.replace("-", "−")


def get_decimal_sign(language: str) -> str:
    """Return the decimal separator of a language."""
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(_parse_locale(language))


def has_decimal_comma(languages: Iterable[str]) -> bool:
    """Decide whether one of these languages has a decimal comma; then a point may separate thousands."""
    return any(get_decimal_sign(language) == "," for language in languages)


@functools.cache
def _parse_locale(language: str) -> Locale:
    """Return a language's locale; English if the language is unknown."""
    from babel import Locale, UnknownLocaleError

    try:
        return Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return Locale("en")


_BINARY = ((1 << 20, "MB"), (1 << 10, "kB"), (1, "B"))


def format_size(number: int) -> str:
    """Format a number of bytes, rounded up, in units that all languages share: ``64 MB``, ``11 B``."""
    size, unit = next((entry for entry in _BINARY if number >= entry[0]), _BINARY[-1])
    return f"{-(-number // size)} {unit}"


class LocalisedText(Struct, frozen=True):
    """Part of a sentence that a rubric states in several languages, such as the name of a case."""

    text: dict[str, str]

    def __str__(self) -> str:
        """Return the text for staff."""
        return self.get_text("en")

    def __add__(self, suffix: str) -> LocalisedText:
        return LocalisedText({language: words + suffix for language, words in self.text.items()})

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.text.items())))

    def get_text(self, language: str) -> str:
        """Return the text in one language; see `get_text`."""
        return get_text(self.text, language)


Phrase = str | LocalisedText
"""The value of a placeholder, or the text of an error: one text, or one for each language."""


def render_phrase(phrase: Phrase, language: str) -> str:
    """Return a phrase in one language."""
    return phrase if isinstance(phrase, str) else phrase.get_text(language)


def encode_phrase(phrase: Phrase) -> str:
    """Encode a phrase in all its languages for a store; see `decode_phrase`."""
    return msgspec.json.encode(phrase).decode()


def decode_phrase(stored: str) -> Phrase:
    """Decode a stored phrase; any other text, as earlier versions stored, is returned unchanged."""
    try:
        phrase: Phrase = msgspec.json.decode(stored, type=Phrase)
    except msgspec.DecodeError:
        return stored
    return phrase


def join_phrases(phrases: Iterable[Phrase], separator: str = "; ") -> Phrase:
    """Join phrases; the result has every language that one of them has."""
    parts = list(phrases)
    languages = {language for part in parts if isinstance(part, LocalisedText) for language in part.text}
    if not languages:
        return separator.join(map(str, parts))
    return LocalisedText(
        {
            language: separator.join(render_phrase(part, language) for part in parts)
            for language in sorted(languages)
        }
    )
