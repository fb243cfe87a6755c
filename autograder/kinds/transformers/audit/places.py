"""Whether a place that a student names is where something was planted."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

_LINE = re.compile(r"(?:lines?|zeilen?)?\s*(\d{1,5})(?:\s*(?:-|–|to|bis)\s*(\d{1,5}))?")
MOST_LINES = 5
"""So many lines may be named at once; more are no place."""


class Place(Struct, frozen=True):
    """Where a fault or a remark sits, as the reference says."""

    lines: tuple[int, ...]
    names: tuple[str, ...]


class Site(Struct, frozen=True):
    """Where a fault or a remark sits: line numbers from 1, and names of the component."""

    lines: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(cls, told: Place) -> Site:
        """From what the reference says."""
        return cls(frozenset(told.lines), frozenset(_plain(name.replace("-", " ")) for name in told.names))

    def met_by(self, place: Any) -> bool:
        """Whether a student's words name it: a line number, a few lines, or a component."""
        if isinstance(place, bool) or not isinstance(place, int | str):
            return False
        if isinstance(place, int):
            return place in self.lines
        text = _plain(place[:200])
        match = _LINE.fullmatch(text)
        if match is None:
            return _plain(text.replace("-", " ")) in self.names
        first = int(match[1])
        last = int(match[2] or first)
        return 0 <= last - first < MOST_LINES and any(first <= line <= last for line in self.lines)


def _plain(name: str) -> str:
    """The same text for spellings of one name."""
    bare = name.strip().lower().removeprefix("the ").removeprefix("self.").removesuffix("()")
    return re.sub(r"[\s_]+", " ", bare.removeprefix("def ")).strip()
