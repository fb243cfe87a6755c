"""The printed sheets' own words, in one language."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from autograder import messages
from autograder.feedback.labels import Labels


class SheetLabels(Labels):
    """The sheets' words in one language; English for a language that is not there."""

    area: ClassVar[str] = "sheet"

    def points(self, value: Decimal) -> str:
        """Points with their unit."""
        return messages.counted("sheet.points", self.language, value, number=self.number(value))
