"""The course's own words in the place of generated sentences: what may stand in them, how they are filled.

A wording is plain text with placeholders in braces, those of the message whose sentence it replaces; ``{{``
and ``}}`` are the braces themselves. It is never given to `str.format`: of what stands between braces nothing
but a name is looked at, and that only among what the message carries.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping

from markupsafe import Markup, escape

from autograder import messages
from autograder.feedback.sanitise import is_quoting, printable_text, quoting_sentence, sentence
from autograder.records import ItemResult, Message
from autograder.wording import text_in

SentenceKey = tuple[str, str, str]
"""Question, item, and the code of the message."""
Wordings = Mapping[SentenceKey, Mapping[str, str]]
"""What one student reads in the place of generated sentences, by language."""

MOST_PLACEHOLDERS = 20
"""In one wording: each may be filled with something long."""
_MOST_VALUE = 1_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def pieces(text: str) -> list[tuple[str, str]]:
    """The parts of a wording: plain text, and the placeholder behind it; empty where none is.

    Raises:
        ValueError: a brace stands alone, no name stands between two, or there are too many placeholders.
    """
    found: list[tuple[str, str]] = []
    for plain, name, form, conversion in string.Formatter().parse(text):
        if form or conversion or not (name is None or _NAME.fullmatch(name)):
            raise ValueError(f"expected a placeholder's name between braces, got {name!r}")
        found.append((plain, name or ""))
    if sum(bool(name) for _, name in found) > MOST_PLACEHOLDERS:
        raise ValueError(f"expected at most {MOST_PLACEHOLDERS} placeholders")
    return found


def spoken(wordings: Wordings, language: str, languages: Collection[str]) -> dict[SentenceKey, str]:
    """The wordings for a reader: in a language of the course only those that are stated in it.

    Args:
        wordings: in all languages.
        language: the reader's.
        languages: the course's; who reads another one gets the English wording, or any.
    """
    found = {
        key: texts.get(language) or ("" if language in languages else text_in(texts, language))
        for key, texts in wordings.items()
    }
    return {key: text for key, text in found.items() if text}


def told(result: ItemResult, language: str, own: Mapping[SentenceKey, str]) -> tuple[str, Markup]:
    """What a student is told about an item, as text and as markup: the course's words, or generated ones.

    A wording that this message cannot fill leaves the generated sentence as it is.
    """
    text = own.get((result.question, result.item, result.student.code), "")
    filled = _filled(text, result.student, language) if text else None
    return filled or (sentence(result.student, language), quoting_sentence(result.student, language))


def _filled(text: str, message: Message, language: str) -> tuple[str, Markup] | None:
    values = {"": "", **messages.filled(message, language)}
    frame = Markup("<code>{}</code>") if is_quoting(message) else Markup("{}")
    said, marked = "", Markup()
    try:
        for plain, name in pieces(text):
            words, value = printable_text(plain), printable_text(values[name], _MOST_VALUE)
            said += words + value
            marked += escape(words) + (frame.format(value) if name else Markup())
    except (KeyError, ValueError):
        return None
    return said, marked
