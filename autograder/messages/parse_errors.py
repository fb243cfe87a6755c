"""The message about a formula or number that cannot be read.

It is part of the check that students run, so it imports little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.core.records import Message
from autograder.formulas.errors import Unreadable

if TYPE_CHECKING:
    from autograder.core.wording import Phrase

EXCERPT = 24
"""Characters of a formula shown on either side of an error."""
MARK = "▸"
SHOWN = 2000
"""Characters of the whole formula that are kept to draw a caret."""


def describe_unreadable(error: Unreadable, text: str) -> Message:
    """Return the sentence about a formula that could not be read.

    Its parameters contain ``text`` and ``offset``, for a caret below the formula, and ``excerpt``, the
    surrounding text with a mark at the position, which the sentence itself shows. If the error is about a
    separately submitted part, its own text is used.
    """
    code, text = get_code(error), error.params.get("text", text)
    # Clamped, so that a position outside of the text cannot break the excerpt.
    offset = min(max(error.offset, 0), len(text))
    before, after = text[max(0, offset - EXCERPT) : offset], text[offset : offset + EXCERPT]
    excerpt = f"{'…' if offset > EXCERPT else ''}{before}{MARK}{after}"
    shown = {name: _make_visible(value[:80]) for name, value in error.params.items()}
    excerpt_params = {
        "text": _make_visible(text[:SHOWN]),
        "offset": str(offset),
        "excerpt": _make_visible(excerpt),
    }
    return Message(f"unreadable.{code}", {**shown, **excerpt_params, "mark": MARK})


def describe_unreadable_number(error: Unreadable, answer_name: Phrase, shown: str) -> Message:
    """Return the sentence about a number that could not be read.

    Args:
        error: the reason.
        answer_name: the name of the answer.
        shown: the answer as it is quoted.
    """
    code = {"number-too-large": "too-large"}.get(error.code, error.code)
    if code == "unknown-unit" and error.params["suggestion"]:
        code = "unknown-unit-near"
    params = {name: _make_visible(value[:60]) for name, value in error.params.items() if name != "text"}
    return Message(f"number.{code}", {"value": shown, **params, "what": answer_name})


def get_code(error: Unreadable) -> str:
    """Return the code of the sentence about an error, in the area ``describe_unreadable``."""
    is_near = error.code == "unknown-name" and error.params.get("suggestion")
    return "unknown-name-near" if is_near else error.code


def _make_visible(text: str) -> str:
    """Return one line without control characters and lone surrogates, which cannot be written to a page."""
    return "".join(
        character if character.isprintable() and not character.isspace() else " " for character in text
    )
