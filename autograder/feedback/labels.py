"""What pages say, in one language: their own words, numbers and signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar

from autograder import messages
from autograder.limits import amount
from autograder.records import Ending, LimitKind, Limits, Text
from autograder.wording import decimal_sign, text_in, written_number

_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")

ICONS: Mapping[str, str] = {
    "passed": "✓",
    "partly": "◐",
    "failed": "✕",
    "no-answer": "○",
    "needs-review": "⋯",
    "marked": "✎",
}


class Labels:
    """The page's words in one language; English for a language that is not there."""

    area: ClassVar[str] = "page"
    """Of the catalogue; its codes are named without it."""

    def __init__(self, language: str) -> None:
        self.language = language if language in messages.languages() else "en"

    def __call__(self, key: str, **params: object) -> str:
        """One label, with its placeholders filled."""
        return messages.sentence(f"{self.area}.{key}", self.language, **params)

    def icon(self, status: str) -> str:
        """The sign of a status; it always stands beside its word."""
        return ICONS[status]

    def pick(self, text: str | Text, otherwise: str = "") -> str:
        """A rubric's text in this language; see `text_in`."""
        return text_in(text, self.language) or otherwise

    def number(self, value: Decimal) -> str:
        """Points without trailing zeros, with the language's decimal sign and a real minus."""
        return written_number(value, self.language)

    def grade(self, name: str) -> str:
        """A grade with the language's decimal sign and a real minus."""
        shown = name.replace("-", "−")
        return shown.replace(".", decimal_sign(self.language)) if _DECIMAL.fullmatch(name) else shown

    def ending(self, ending: Ending, limits: Limits) -> str:
        """Why a cell was ended before it was done."""
        return messages.sentence(f"cell.ending.{ending.value}", self.language, limit=amount(ending, limits))

    def met(self, met: LimitKind, limits: Limits) -> str:
        """Which limit a cell met without being ended."""
        return messages.sentence(f"cell.limit.{met.value}", self.language, limit=amount(met, limits))

    def pending(self, points: Decimal) -> str:
        """How many points a person still decides on."""
        return messages.counted("page.pending", self.language, points, points=self.number(points))
