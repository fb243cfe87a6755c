"""TeX as MathML: in texts of the course, and in what people write about answers."""

from __future__ import annotations

import re

from latex2mathml.converter import convert
from markupsafe import Markup, escape

from autograder.feedback.sanitise import clean_mathml, printable_text

MOST_TEX = 4_000
"""Characters of one formula that is typeset; a longer one stays as it was written."""
_FORMULA = re.compile(r"\$([^$\n]+)\$")


def mathml(tex: str, display: str = "inline") -> str:
    """MathML of a formula, still to be sanitised; empty where it cannot be read.

    Args:
        tex: without dollar signs.
        display: ``"inline"`` or ``"block"``.
    """
    if len(tex) > MOST_TEX:
        return ""
    try:
        return convert(tex, display=display)
    except Exception:  # noqa: BLE001 - the library's errors have no common base, and the text is there in any case
        return ""


def with_formulas(text: str, most: int) -> Markup:
    """A plain text whose ``$…$`` are typeset; what cannot be read as TeX stays as it was written.

    Args:
        text: of a person.
        most: characters of it that are shown.
    """
    parts, end = [], 0
    shown = printable_text(text, most)
    for found in _FORMULA.finditer(shown):
        set_ = mathml(found[1].strip())
        if set_:
            parts += [escape(shown[end : found.start()]), Markup(clean_mathml(set_))]  # noqa: S704 - cleaned
            end = found.end()
    return Markup("").join([*parts, escape(shown[end:])])
