"""The closed vocabulary of sentences for students, identified by codes, in every available language."""

from __future__ import annotations

from autograder.messages.catalogue import counted, languages, localised, sentence, sentences, template
from autograder.records import Message

__all__ = ["counted", "filled", "languages", "localised", "render", "sentence", "sentences", "template"]


def render(message: Message, language: str) -> str:
    """Return the sentence in a language; English if the message or the catalogue has no other.

    Raises:
        KeyError: the code is not in the vocabulary and the message carries no text.
    """
    own = message.text
    text = own.get(language) or own["en"] if own else template(message.code, language)
    return text.format_map(filled(message, language))


def filled(message: Message, language: str) -> dict[str, str]:
    """Return the values of a message's placeholders in a language."""
    return {
        name: words if isinstance(words, str) else words.within(language)
        for name, words in message.params.items()
    }
