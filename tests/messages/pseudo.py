"""An invented language: English in other letters, so that untranslated English is visible."""

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
    """Return a text in the invented language, without changes to placeholders."""
    parts = _KEPT.split(text)
    return "".join(part if number % 2 else part.translate(_OTHER) for number, part in enumerate(parts))


def write(locale: Path, language: str = LANGUAGE) -> None:
    """Write the catalogue in the invented language as a single file of some language."""
    book = TranslationFiles(locale=locale)
    catalogue = book.update_catalogue(language)
    for message in catalogue:
        if message.context:
            several = not isinstance(message.id, str)
            message.string = tuple(map(accented, message.id)) if several else accented(message.id)
    book.write_catalogue(catalogue, language)


class Words(HTMLParser):
    """The words a reader sees on a page: text and labels of pictures and frames, without code and output."""

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
            self._inside.append("pre" if own else tag)  # typeset student text

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() not in {tag, "pre"}:
            pass

    def handle_data(self, data: str) -> None:
        if not _NO_WORDS & set(self._inside):
            self.found.append(data)


def read(page: str) -> str:
    """Return the words of a page."""
    return " ".join(Words(page).found)


def english(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Return untranslated English words, except known ones and units such as MB."""
    return [word for word in re.findall(r"[A-Za-z]{3,}", text) if word not in known]
