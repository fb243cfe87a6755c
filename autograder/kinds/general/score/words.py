"""Measures in words: as many digits as are needed, in every language, and the number a notebook claims."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from autograder.checks.values.arrays import numbers
from autograder.messages import languages, sentence
from autograder.wording import LocalisedText, Phrase, written_number

LEAST_DIGITS, MOST_DIGITS = 4, 12
_NUMBER = r"[^\d\n]{0,20}?([-−+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?)"
_MOST_TEXT = 100_000
"""Characters of what a notebook printed that are searched, from its end."""


def in_words(value: float, beside: Iterable[float] = ()) -> LocalisedText:
    """A number with four digits, or as many as tell it apart from others that it is not equal to."""
    if not math.isfinite(value):
        return LocalisedText(dict.fromkeys(languages(), "−∞" if value < 0 else "∞"))
    others = [one for one in beside if one != value]
    digits = LEAST_DIGITS
    while digits < MOST_DIGITS and any(_rounded(value, digits) == _rounded(one, digits) for one in others):
        digits += 1
    return exactly(_rounded(value, digits))


def exactly(number: Decimal) -> LocalisedText:
    """A number as it is."""
    return LocalisedText({language: written_number(number, language) for language in languages()})


def remark(code: str, **params: Phrase) -> LocalisedText:
    """A sentence that follows another one, in every language."""

    def within(language: str) -> dict[str, str]:
        return {
            name: words if isinstance(words, str) else words.within(language)
            for name, words in params.items()
        }

    return LocalisedText({language: sentence(code, language, **within(language)) for language in languages()})


def joined(remarks: Sequence[LocalisedText]) -> Phrase:
    """Sentences one after the other; empty where there is none."""
    if not remarks:
        return ""
    return LocalisedText({one: "".join(each.within(one) for each in remarks) for one in languages()})


def reported_number(value: Any, after: str = "") -> float | None:
    """The number that a notebook arrives at: a value, the last of a list, or what was printed after words.

    Args:
        value: a number or several; or the texts that were printed.
        after: the words before the number, where texts are meant.
    """
    if after:
        text = "\n".join(str(one) for one in value)[-_MOST_TEXT:]
        found = re.findall(re.escape(after) + _NUMBER, text)
        return float(found[-1].replace("−", "-").replace(",", ".")) if found else None
    found_numbers = numbers(value)
    if found_numbers is None or found_numbers.kind not in ("int", "float") or not found_numbers.array.size:
        return None
    last = float(found_numbers.array.reshape(-1)[-1])
    return last if math.isfinite(last) else None


def _rounded(value: float, digits: int) -> Decimal:
    return Decimal(f"{value:.{digits}g}")
