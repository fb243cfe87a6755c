"""Texts of pages in one language: their words, numbers and signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar

from autograder import messages
from autograder.core.limits import format_limit
from autograder.core.records import Ending, LimitKind, Limits, Text
from autograder.core.wording import format_number, get_decimal_sign, get_text

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
    """The page's words in one language; English for an unknown language."""

    area: ClassVar[str] = "page"
    """Area of the catalogue; keys are given without it."""

    def __init__(self, language: str) -> None:
        self.language = language if language in messages.list_languages() else "en"

    def __call__(self, key: str, **params: object) -> str:
        """Return one label, with its placeholders filled."""
        return messages.format_sentence(f"{self.area}.{key}", self.language, **params)

    def icon(self, status: str) -> str:
        """Return the sign of a status; pages always show it with its word."""
        return ICONS[status]

    def pick(self, text: str | Text, otherwise: str = "") -> str:
        """Return a rubric's text in this language."""
        return get_text(text, self.language) or otherwise

    def number(self, value: Decimal) -> str:
        """Return points without trailing zeros, with the language's decimal sign and a real minus."""
        return format_number(value, self.language)

    def grade(self, name: str) -> str:
        """Return a grade with the language's decimal sign and a real minus."""
        shown = name.replace("-", "−")
        # Only numeric grades have a decimal sign.
        return shown.replace(".", get_decimal_sign(self.language)) if _DECIMAL.fullmatch(name) else shown

    def describe_ending(self, ending: Ending, limits: Limits) -> str:
        """Return why a cell was terminated."""
        return messages.format_sentence(
            f"cell.ending.{ending.value}", self.language, limit=format_limit(ending, limits)
        )

    def describe_limit(self, met: LimitKind, limits: Limits) -> str:
        """Return which limit a cell reached without being terminated."""
        return messages.format_sentence(
            f"cell.limit.{met.value}", self.language, limit=format_limit(met, limits)
        )

    def describe_pending(self, points: Decimal) -> str:
        """Return the sentence about points that are still being graded."""
        return messages.format_counted("page.pending", self.language, points, points=self.number(points))
