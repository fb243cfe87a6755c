"""Formulas on pages: how an answer was read, where an unreadable one breaks, and TeX in people's texts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from latex2mathml.converter import convert
from markupsafe import Markup, escape

from autograder.core.wording import Phrase
from autograder.formulas import FormulaError, Vocabulary, parse, to_mathml
from autograder.formulas.nodes import Tree
from autograder.pages.feedback.sanitise import clean_mathml, to_printable_text
from autograder.rubric import RubricSymbol

MOST_READING = 400
_AROUND = 36
"""Characters shown on either side of the caret."""
MOST_TEX = 4_000
"""Most characters of one formula that is typeset; a longer one stays as written."""
_FORMULA = re.compile(r"\$([^$\n]+)\$")


class Typesetter:
    """Typesets formulas with the symbols of one rubric."""

    def __init__(self, symbols: Mapping[str, RubricSymbol]) -> None:
        self._vocabulary: Vocabulary | None = None
        # With an invalid vocabulary formulas are shown as text.
        with contextlib.suppress(FormulaError):
            self._vocabulary = Vocabulary(symbols)

    def render_formula(self, reading: str) -> Markup | None:
        """Return MathML of a canonical formula, or its text if it cannot be typeset; None for no formula."""
        if not reading:
            return None
        tree = self._parse_tree(reading)
        if tree is None:
            return Markup("<code>{}</code>").format(to_printable_text(reading, MOST_READING))
        return Markup(clean_mathml(to_mathml(tree)))  # noqa: S704 - through the allow-list

    def _parse_tree(self, reading: str) -> Tree | None:
        """Return the tree of a formula of any form; None if it cannot be parsed."""
        if self._vocabulary is None or len(reading) > MOST_READING:
            return None
        # A reading does not state its form, so all are tried.
        for form in ("formula", "relation", "tuple", "asymptotic"):
            with contextlib.suppress(FormulaError):
                return parse(reading, self._vocabulary, form)
        return None


def render_caret(params: Mapping[str, Phrase]) -> str:
    """Return two lines, the text and a caret below the position ``offset``; empty without a position.

    A long text is cut around the position. Both come from a message's ``text`` and ``offset``.
    """
    text, offset = str(params.get("text", "")), str(params.get("offset", ""))
    if not text or not re.fullmatch("[0-9]{1,7}", offset) or int(offset) > len(text):
        return ""
    place = int(offset)
    # Control characters are spelled out, which changes the length, so the caret is placed afterwards.
    before = to_printable_text(_join_lines(text[max(0, place - _AROUND) : place]))
    after = to_printable_text(_join_lines(text[place : place + _AROUND]))
    left, right = "…" * (place > _AROUND), "…" * (place + _AROUND < len(text))
    return f"{left}{before}{after}{right}\n{' ' * len(left + before)}^"


def _join_lines(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.splitlines()) if text.strip() else text


def render_tex(tex: str, display: str = "inline") -> str:
    """Return MathML of a formula, still to be sanitised; empty if it cannot be read.

    Args:
        tex: without dollar signs.
        display: ``"inline"`` or ``"block"``.
    """
    if len(tex) > MOST_TEX:
        return ""
    try:
        return convert(tex, display=display)
    except Exception:  # noqa: BLE001 - the library's errors have no common base; the text is the fallback
        return ""


def with_formulas(text: str, most: int) -> Markup:
    """Return a plain text with typeset ``$…$``; unreadable TeX stays as written.

    Args:
        text: text written by a person.
        most: most characters that are shown.
    """
    parts, end = [], 0
    shown = to_printable_text(text, most)
    for match in _FORMULA.finditer(shown):
        set_ = render_tex(match[1].strip())
        if set_:
            parts += [escape(shown[end : match.start()]), Markup(clean_mathml(set_))]  # noqa: S704 - cleaned
            end = match.end()
    return Markup("").join([*parts, escape(shown[end:])])
