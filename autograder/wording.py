"""Texts in several languages, as rubrics state them. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


def text_in(text: str | Mapping[str, str], language: str) -> str:
    """A rubric's text in one language, else in English, else in any; one without languages is for all."""
    if isinstance(text, str):
        return text
    return text.get(language) or text.get("en") or next(iter(text.values()), "")


class Told(Struct, frozen=True):
    """Words inside a sentence that a rubric states in several languages, as with the name of a case."""

    text: dict[str, str]

    def __str__(self) -> str:
        """What staff read."""
        return self.within("en")

    def __add__(self, more: str) -> Told:
        return Told({language: words + more for language, words in self.text.items()})

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.text.items())))

    def within(self, language: str) -> str:
        """The words in one language; see `text_in`."""
        return text_in(self.text, language)


Phrase = str | Told
"""What stands in the place of a placeholder: one text, or one for each language."""
