"""The closed vocabulary of sentences for students, identified by codes, in every available language."""

from __future__ import annotations

from autograder.core.records import Message
from autograder.messages.catalogue import (
    build_localised_text,
    format_counted,
    format_sentence,
    get_template,
    list_languages,
    load_sentences,
)

__all__ = [
    "build_localised_text",
    "fill_placeholders",
    "format_counted",
    "format_sentence",
    "get_template",
    "list_languages",
    "load_sentences",
    "render_message",
]


def render_message(message: Message, language: str) -> str:
    """Return the sentence in a language; English if the message or the catalogue has no other.

    Raises:
        KeyError: the code is not in the vocabulary and the message carries no text.
    """
    custom_text = message.text
    text = (
        custom_text.get(language) or custom_text["en"]
        if custom_text
        else get_template(message.code, language)
    )
    return text.format_map(fill_placeholders(message, language))


def fill_placeholders(message: Message, language: str) -> dict[str, str]:
    """Return the values of a message's placeholders in a language."""
    return {
        name: words if isinstance(words, str) else words.get_text(language)
        for name, words in message.params.items()
    }
