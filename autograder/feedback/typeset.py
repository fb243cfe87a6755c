"""Formulas on the page: how an answer was read, typeset, and where an unreadable one breaks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from markupsafe import Markup

from autograder.algebra.nodes import Tree
from autograder.algebra.notation.landau import parse_landau
from autograder.algebra.notation.parse import parse, parse_tuple
from autograder.algebra.notation.several import parse_single
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.printing.mathml import to_mathml
from autograder.errors import AlgebraError, RubricError
from autograder.feedback.sanitise import clean_mathml, printable_text
from autograder.rubric import RubricSymbol
from autograder.wording import Phrase

MOST_READING = 400
_AROUND = 36
"""Characters shown on either side of the caret."""


class Typesetter:
    """Sets formulas that use the symbols of one rubric."""

    def __init__(self, symbols: Mapping[str, RubricSymbol]) -> None:
        self._vocabulary: Vocabulary | None = None
        with contextlib.suppress(RubricError):
            self._vocabulary = Vocabulary(symbols)

    def markup(self, reading: str) -> Markup | None:
        """MathML of a canonical formula, or its text where it cannot be set; None for no formula."""
        if not reading:
            return None
        tree = self._tree(reading)
        if tree is None:
            return Markup("<code>{}</code>").format(printable_text(reading, MOST_READING))
        return Markup(clean_mathml(to_mathml(tree)))  # noqa: S704 - through the allow-list

    def _tree(self, reading: str) -> Tree | None:
        if self._vocabulary is None or len(reading) > MOST_READING:
            return None
        for read in (parse, parse_single, parse_tuple, parse_landau):
            with contextlib.suppress(AlgebraError):
                return read(reading, self._vocabulary)
        return None


def caret(params: Mapping[str, Phrase]) -> str:
    """Two lines, the text and a caret below the place ``offset``; empty without a place to point at.

    A long text is cut around the place. Both come from a message's ``text`` and ``offset``.
    """
    text, offset = str(params.get("text", "")), str(params.get("offset", ""))
    if not text or not re.fullmatch("[0-9]{1,7}", offset) or int(offset) > len(text):
        return ""
    place = int(offset)
    before = printable_text(_line(text[max(0, place - _AROUND) : place]))
    after = printable_text(_line(text[place : place + _AROUND]))
    left, right = "…" * (place > _AROUND), "…" * (place + _AROUND < len(text))
    return f"{left}{before}{after}{right}\n{' ' * len(left + before)}^"


def _line(text: str) -> str:
    return " ".join(text.splitlines()) if text.strip() else text
