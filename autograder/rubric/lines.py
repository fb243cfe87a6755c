"""Search for the line of a rubric that an error is about.

An error has the keys that lead to its place (`RubricError.path`); each key of the file has its line.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.errors import Key, Place, RubricError

_NAMES = ("id", "code", "name")
"""Keys with a value that may name an entry of a list in a path."""


@contextlib.contextmanager
def located(path: Path) -> Iterator[None]:
    """Add to errors about a rubric its file, and the line if it is known.

    Raises:
        RubricError: as it was raised inside, with file and line before it.
    """
    try:
        yield
    except RubricError as error:
        message = str(error).removeprefix(f"{path}: ")
        try:
            line = line_of(path.read_text(encoding="utf-8-sig"), error.path)
        except (OSError, UnicodeDecodeError):
            line = None
        place = f"{path}, line {line}" if line else str(path)
        raise RubricError(message, Place(place, *error.path)) from error


def line_of(text: str, path: Sequence[Key]) -> int | None:
    """Return the line, counted from one, of the last key of a path that the file has, or None.

    Args:
        text: of the file.
        path: keys from the top; an entry of a list by its index, from 0, or by its name.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    lines = _Lines(text).lines
    line: int | None = None
    outside: int | None = None
    place: tuple[Key, ...] = ()
    value: Any = tree
    for key in path:
        place = (*place, _index(value, key) if isinstance(value, list) else key)
        if place not in lines:
            return outside if isinstance(value, list) else line
        outside, line = line, lines[place]
        value = value[place[-1]]
    return line


def _index(entries: Sequence[Any], key: Key) -> Key:
    if isinstance(key, int):
        return key
    found = (
        number
        for number, entry in enumerate(entries)
        if isinstance(entry, Mapping) and any(_named(entry.get(name), key) for name in _NAMES)
    )
    return next(found, int(key) - 1 if key.isdecimal() else key)


def _named(value: Any, key: Key) -> bool:
    return bool(value.get("en") == key if isinstance(value, Mapping) else value == key)


class _Lines:
    """The line of every key and every entry of a list in a TOML file that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.lines: dict[tuple[Key, ...], int] = {}
        self._text, self._at, self._line = text, 0, 1
        self._counts: dict[tuple[Key, ...], int] = {}
        table: tuple[Key, ...] = ()
        while self._skip():
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _go(self, count: int = 1) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _skip(self) -> bool:
        """Skip blanks, line ends and comments; return whether anything follows."""
        while self._peek():
            if self._peek() == "#":
                end = self._text.find("\n", self._at)
                self._go((end if end >= 0 else len(self._text)) - self._at)
            elif self._peek().isspace():
                self._go()
            else:
                return True
        return False

    def _header(self) -> tuple[Key, ...]:
        """Read ``[a.b]`` or ``[[a.b]]``; return the keys, with the index of each list entry around it."""
        several = self._text.startswith("[[", self._at)
        line = self._line
        self._go(1 + several)
        table: tuple[Key, ...] = ()
        keys = self._keys()
        for number, key in enumerate(keys, start=1):
            table = (*table, key)
            self.lines.setdefault(table, line)
            if several and number == len(keys):
                self._counts[table] = self._counts.get(table, -1) + 1
            # A header below a list, such as [question.visible], belongs to the last entry of the list.
            if table in self._counts:
                table = (*table, self._counts[table])
                self.lines.setdefault(table, line)
        self._go(1 + several)
        return table

    def _keys(self) -> list[str]:
        """Read keys with dots between them."""
        keys = [self._key()]
        while self._skip() and self._peek() == ".":
            self._go()
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._skip()
        start = self._at
        if self._peek() in "\"'":
            self._string()
            # Let the library resolve the escapes of a quoted key.
            (key,) = tomllib.loads(f"{self._text[start : self._at]} = 0")
            return str(key)
        while self._peek().isalnum() or self._peek() in ("_", "-"):
            self._go()
        return self._text[start : self._at]

    def _pair(self, table: tuple[Key, ...]) -> None:
        line = self._line
        for key in self._keys():
            table = (*table, key)
            self.lines.setdefault(table, line)
        self._go()  # the equals sign
        self._skip()
        self._value(table)

    def _value(self, place: tuple[Key, ...]) -> None:
        if self._peek() in "\"'":
            self._string()
        elif self._peek() == "[":
            self._entries(place)
        elif self._peek() == "{":
            self._go()
            while self._skip() and self._peek() != "}":
                self._pair(place)
                self._comma()
            self._go()
        else:
            while self._peek() and self._peek() not in ",]}#\n":
                self._go()

    def _entries(self, place: tuple[Key, ...]) -> None:
        self._go()
        number = 0
        while self._skip() and self._peek() != "]":
            self.lines.setdefault((*place, number), self._line)
            self._value((*place, number))
            number += 1
            self._comma()
        self._go()

    def _comma(self) -> None:
        if self._skip() and self._peek() == ",":
            self._go()

    def _string(self) -> None:
        mark = self._peek()
        long = self._text.startswith(mark * 3, self._at)
        end = mark * 3 if long else mark
        self._go(len(end))
        while not self._text.startswith(end, self._at):
            self._go(2 if mark == '"' and self._peek() == "\\" else 1)
        self._go(len(end))
        while long and self._peek() == mark:  # up to two more may belong to the text
            self._go()
