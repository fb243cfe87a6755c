"""The message about a formula or number that cannot be read.

It is part of the check that students run, so it imports little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.formulas.errors import Unreadable
from autograder.records import Message

if TYPE_CHECKING:
    from autograder.wording import Phrase

EXCERPT = 24
"""Characters of a formula shown on either side of an error."""
MARK = "▸"
SHOWN = 2000
"""Characters of the whole formula that are kept to draw a caret."""


def unreadable(error: Unreadable, text: str) -> Message:
    """Return the sentence about a formula that could not be read.

    Its parameters contain ``text`` and ``offset``, for a caret below the formula, and ``excerpt``, the
    surrounding
    text with a mark at the position, which the sentence itself shows. If the error is about a separately
    submitted
    part, its own text is used.
    """
    code, text = code_of(error), error.params.get("text", text)
    # Clamped, so that a position outside of the text cannot break the excerpt.
    offset = min(max(error.offset, 0), len(text))
    before, after = text[max(0, offset - EXCERPT) : offset], text[offset : offset + EXCERPT]
    excerpt = f"{'…' if offset > EXCERPT else ''}{before}{MARK}{after}"
    shown = {name: _visible(value[:80]) for name, value in error.params.items()}
    place = {"text": _visible(text[:SHOWN]), "offset": str(offset), "excerpt": _visible(excerpt)}
    return Message(f"unreadable.{code}", {**shown, **place, "mark": MARK})


def unreadable_number(error: Unreadable, what: Phrase, shown: str) -> Message:
    """Return the sentence about a number that could not be read.

    Args:
        error: the reason.
        what: the name of the answer.
        shown: the answer as it is quoted.
    """
    code = {"number-too-large": "too-large"}.get(error.code, error.code)
    if code == "unknown-unit" and error.params["suggestion"]:
        code = "unknown-unit-near"
    params = {name: _visible(value[:60]) for name, value in error.params.items() if name != "text"}
    return Message(f"number.{code}", {"value": shown, **params, "what": what})


def code_of(error: Unreadable) -> str:
    """Return the code of the sentence about an error, in the area ``unreadable``."""
    is_near = error.code == "unknown-name" and error.params.get("suggestion")
    return "unknown-name-near" if is_near else error.code


def _visible(text: str) -> str:
    """Return one line without control characters and lone surrogates, which cannot be written to a page."""
    return "".join(
        character if character.isprintable() and not character.isspace() else " " for character in text
    )
