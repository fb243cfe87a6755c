"""An invented language: English with other letters, so that whatever is left of English is seen."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from autograder.messages.translation_files import TranslationFiles

LANGUAGE = "xx"
_OTHER = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "áƀćđéƒǵħíĵķĺɱńóƥɋŕšťúʋŵẋýžÁɃĆĐÉƑǴĦÍĴĶĹṀŃÓƤɊŔŠŤÚƲŴẊÝŽ",
)
_TEXTS = frozenset({"alt", "title", "aria-label", "placeholder"})
_NO_WORDS = frozenset({"pre", "code", "style", "script", "math"})
_KEPT = re.compile(r"(\{[^{}]*\}|\{\{|\}\})")


def accented(text: str) -> str:
    """A text in the invented language; placeholders stay."""
    parts = _KEPT.split(text)
    return "".join(part if number % 2 else part.translate(_OTHER) for number, part in enumerate(parts))


def write(locale: Path, language: str = LANGUAGE) -> None:
    """The catalogue in the invented language, in place of some language: one file, and nothing else."""
    book = TranslationFiles(locale=locale)
    catalogue = book.update_catalogue(language)
    for message in catalogue:
        if message.context:
            several = not isinstance(message.id, str)
            message.string = tuple(map(accented, message.id)) if several else accented(message.id)
    book.write_catalogue(catalogue, language)


class Words(HTMLParser):
    """What people read of a page: its text, and the texts of pictures and frames; not code and its output."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in _TEXTS]
        if tag not in {"img", "meta", "br"}:
            own = any(name == "class" and "prose" in (value or "").split() for name, value in attrs)
            self._inside.append("pre" if own else tag)  # what students wrote, typeset

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() not in {tag, "pre"}:
            pass

    def handle_data(self, data: str) -> None:
        if not _NO_WORDS & set(self._inside):
            self.found.append(data)


def read(page: str) -> str:
    """The words of a page."""
    return " ".join(Words(page).found)


def english(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Words in a text that are not of the invented language, but for some; units such as MB are no words."""
    return [word for word in re.findall(r"[A-Za-z]{3,}", text) if word not in known]
