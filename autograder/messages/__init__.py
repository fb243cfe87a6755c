"""The closed vocabulary of student-facing sentences, in English and German.

One module per area holds a table ``SENTENCES: dict[code, {"en": ..., "de": ...}]`` with named
placeholders (``{name}``); this package joins them and renders a `Message`.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.messages import (
    algebra,
    attention,
    audit,
    checks,
    counting,
    decoding,
    forbidden,
    forms,
    limits,
    memorisation,
    quantities,
    repair,
    shapes,
    tables,
    timing,
    tracing,
    training,
)
from autograder.records import Message, Text

LANGUAGES = ("en", "de")

SENTENCES: Mapping[str, Text] = {
    **algebra.SENTENCES,
    **attention.SENTENCES,
    **audit.SENTENCES,
    **checks.SENTENCES,
    **counting.SENTENCES,
    **forbidden.SENTENCES,
    **decoding.SENTENCES,
    **forms.SENTENCES,
    **limits.SENTENCES,
    **memorisation.SENTENCES,
    **quantities.SENTENCES,
    **repair.SENTENCES,
    **shapes.SENTENCES,
    **tables.SENTENCES,
    **tracing.SENTENCES,
    **timing.SENTENCES,
    **training.SENTENCES,
}


def render(message: Message, language: str) -> str:
    """The sentence in one language; English where the rubric has no other.

    Raises:
        KeyError: the code is not in the vocabulary and the message carries no text of its own.
    """
    texts = message.text or SENTENCES[message.code]
    return (texts.get(language) or texts["en"]).format_map(filled(message, language))


def filled(message: Message, language: str) -> dict[str, str]:
    """What stands in the placeholders of a message, in one language."""
    return {
        name: words if isinstance(words, str) else words.within(language)
        for name, words in message.params.items()
    }
