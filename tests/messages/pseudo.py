"""An invented language, ``xx``: English with other letters, so that whatever is left of English is seen."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.messages.translation_files import TranslationFiles

LANGUAGE = "xx"
_OTHER = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "áƀćđéƒǵħíĵķĺɱńóƥɋŕšťúʋŵẋýžÁɃĆĐÉƑǴĦÍĴĶĹṀŃÓƤɊŔŠŤÚƲŴẊÝŽ",
)
_KEPT = re.compile(r"(\{[^{}]*\}|\{\{|\}\})")


def accented(text: str) -> str:
    """A text in the invented language; placeholders stay."""
    parts = _KEPT.split(text)
    return "".join(part if number % 2 else part.translate(_OTHER) for number, part in enumerate(parts))


def write(locale: Path) -> None:
    """The catalogue in the invented language: one file, and nothing else."""
    book = TranslationFiles(locale=locale)
    catalogue = book.update_catalogue(LANGUAGE)
    for message in catalogue:
        if message.context:
            several = not isinstance(message.id, str)
            message.string = tuple(map(accented, message.id)) if several else accented(message.id)
    book.write_catalogue(catalogue, LANGUAGE)


def english(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Words in a text that are not of the invented language, but for some; units such as MB are no words."""
    return [word for word in re.findall(r"[A-Za-z]{3,}", text) if word not in known]
