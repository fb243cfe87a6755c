"""The closed vocabulary of sentences for students: by their codes, in every language of the catalogue."""

from __future__ import annotations

from autograder.messages.catalogue import counted, languages, localised, sentence, sentences, template
from autograder.records import Message

__all__ = ["counted", "filled", "languages", "localised", "render", "sentence", "sentences", "template"]


def render(message: Message, language: str) -> str:
    """The sentence in one language; English where the rubric, or the catalogue, has no other.

    Raises:
        KeyError: the code is not in the vocabulary and the message carries no text of its own.
    """
    own = message.text
    text = own.get(language) or own["en"] if own else template(message.code, language)
    return text.format_map(filled(message, language))


def filled(message: Message, language: str) -> dict[str, str]:
    """What stands in the placeholders of a message, in one language."""
    return {
        name: words if isinstance(words, str) else words.within(language)
        for name, words in message.params.items()
    }
