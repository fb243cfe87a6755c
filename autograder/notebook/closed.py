"""Names of a closed list as answers write them: what is one entry, and what does not matter about it.

The grader and the check of students read them alike: this module is part of every ``coursecheck.py``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterator, Mapping
from typing import Any

MAX_CHOSEN = 200
MAX_TEXT = 2000
YES_NO: Mapping[str, tuple[str, ...]] = {
    "yes": ("y", "ja", "j", "true", "wahr"),
    "no": ("n", "nein", "false", "falsch"),
}
"""The preset ``yes-no``: other spellings by option."""

_SEPARATORS = re.compile(r"[,;\n]+|\s+(?:and|und)\s+")
_AROUND = " \t\r\n\"'`´“”„‘’*$.:()[]{}–-"
_INSIDE = re.compile(r"[\s\-_]+")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|eine?)\s+", re.IGNORECASE)


def normal(text: str) -> str:
    """A name without what does not matter: case, spaces, quotes, a value after ``=``."""
    cut = unicodedata.normalize("NFKC", text[:MAX_TEXT]).casefold().partition("=")[0]
    return _INSIDE.sub("_", cut.strip(_AROUND)).strip("_")


def spellings(text: str) -> Iterator[str]:
    """A name as it stands; without an article, without what stands in brackets, and that alone."""
    cut = text[:MAX_TEXT]
    aside = _BRACKETS.sub(" ", cut)
    for one in (cut, aside, *_BRACKETS.findall(cut)):
        yield normal(one)
        yield normal(_ARTICLE.sub("", one.strip(_AROUND)))


def entries(value: Any, known: Container[str]) -> list[str] | None:
    """The single entries of an answer as texts; None when it is not a choice at all."""
    if value is None and "none" in known:  # Python's word for it
        return ["none"]
    if isinstance(value, Mapping):
        value = [key for key, chosen in value.items() if chosen is not False and chosen is not None]
    if isinstance(value, (list, tuple)):
        texts = [_text(entry) for entry in value[:MAX_CHOSEN]]
        return None if None in texts else [text for text in texts if text is not None]
    text = _text(value)
    if text is None:
        return None
    whole = "=" not in text and normal(text) in known  # an option's own text may hold a comma
    return [text] if whole else _SEPARATORS.split(text[:MAX_TEXT])[:MAX_CHOSEN]


def mark(name: str) -> str:
    """What stands for a name where nobody is to read it: enough to tell whether an answer is of the list."""
    return hashlib.sha256(normal(name).encode()).hexdigest()[:12]


class Marked(Container[str]):
    """A closed list of which only the marks are known."""

    def __init__(self, marks: Container[str]) -> None:
        self._marks = marks

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and mark(name) in self._marks


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() < 64):
        return str(value)
    return None
