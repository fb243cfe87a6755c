"""Search for the line of a rubric that an error is about.

An error has the keys that lead to its place (`RubricError.path`); each key of the file has its line.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.core.errors import Place, RubricError, TomlStep

_NAMES = ("id", "code", "name")
"""Keys with a value that may name an entry of a list in a path."""


@contextlib.contextmanager
def locate_errors(path: Path) -> Iterator[None]:
    """Add to errors about a rubric its file, and the line if it is known.

    Raises:
        RubricError: as it was raised inside, with file and line before it.
    """
    try:
        yield
    except RubricError as error:
        message = str(error).removeprefix(f"{path}: ")
        try:
            line = find_line(path.read_text(encoding="utf-8-sig"), error.path)
        except (OSError, UnicodeDecodeError):
            line = None
        place = f"{path}, line {line}" if line else str(path)
        raise RubricError(message, Place(place, *error.path)) from error


def find_line(text: str, path: Sequence[TomlStep]) -> int | None:
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
    position: tuple[TomlStep, ...] = ()
    value: Any = tree
    for key in path:
        position = (*position, _find_index(value, key) if isinstance(value, list) else key)
        if position not in lines:
            return outside if isinstance(value, list) else line
        outside, line = line, lines[position]
        value = value[position[-1]]
    return line


def _find_index(entries: Sequence[Any], key: TomlStep) -> TomlStep:
    if isinstance(key, int):
        return key
    numbers = (
        number
        for number, entry in enumerate(entries)
        if isinstance(entry, Mapping) and any(_is_named(entry.get(name), key) for name in _NAMES)
    )
    return next(numbers, int(key) - 1 if key.isdecimal() else key)


def _is_named(value: Any, key: TomlStep) -> bool:
    return bool(value.get("en") == key if isinstance(value, Mapping) else value == key)


class _Lines:
    """The line of every key and every entry of a list in a TOML file that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.lines: dict[tuple[TomlStep, ...], int] = {}
        self._text, self._at, self._line = text, 0, 1
        self._counts: dict[tuple[TomlStep, ...], int] = {}
        table: tuple[TomlStep, ...] = ()
        while self._skip_blanks():
            if self._text.startswith("[", self._at):
                table = self._read_header()
            else:
                self._read_pair(table)

    def _peek_character(self) -> str:
        return self._text[self._at : self._at + 1]

    def _advance(self, count: int = 1) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _skip_blanks(self) -> bool:
        """Skip blanks, line ends and comments; return whether anything follows."""
        while self._peek_character():
            if self._peek_character() == "#":
                end = self._text.find("\n", self._at)
                self._advance((end if end >= 0 else len(self._text)) - self._at)
            elif self._peek_character().isspace():
                self._advance()
            else:
                return True
        return False

    def _read_header(self) -> tuple[TomlStep, ...]:
        """Read ``[a.b]`` or ``[[a.b]]``; return the keys, with the index of each list entry around it."""
        several = self._text.startswith("[[", self._at)
        line = self._line
        self._advance(1 + several)
        table: tuple[TomlStep, ...] = ()
        keys = self._read_keys()
        for number, key in enumerate(keys, start=1):
            table = (*table, key)
            self.lines.setdefault(table, line)
            if several and number == len(keys):
                self._counts[table] = self._counts.get(table, -1) + 1
            # A header below a list, such as [question.visible], belongs to the last entry of the list.
            if table in self._counts:
                table = (*table, self._counts[table])
                self.lines.setdefault(table, line)
        self._advance(1 + several)
        return table

    def _read_keys(self) -> list[str]:
        """Read keys with dots between them."""
        keys = [self._read_key()]
        while self._skip_blanks() and self._peek_character() == ".":
            self._advance()
            keys.append(self._read_key())
        return keys

    def _read_key(self) -> str:
        self._skip_blanks()
        start = self._at
        if self._peek_character() in "\"'":
            self._skip_string()
            # Let the library resolve the escapes of a quoted key.
            (key,) = tomllib.loads(f"{self._text[start : self._at]} = 0")
            return str(key)
        while self._peek_character().isalnum() or self._peek_character() in ("_", "-"):
            self._advance()
        return self._text[start : self._at]

    def _read_pair(self, table: tuple[TomlStep, ...]) -> None:
        line = self._line
        for key in self._read_keys():
            table = (*table, key)
            self.lines.setdefault(table, line)
        self._advance()  # the equals sign
        self._skip_blanks()
        self._read_value(table)

    def _read_value(self, path: tuple[TomlStep, ...]) -> None:
        if self._peek_character() in "\"'":
            self._skip_string()
        elif self._peek_character() == "[":
            self._read_entries(path)
        elif self._peek_character() == "{":
            self._advance()
            while self._skip_blanks() and self._peek_character() != "}":
                self._read_pair(path)
                self._skip_comma()
            self._advance()
        else:
            while self._peek_character() and self._peek_character() not in ",]}#\n":
                self._advance()

    def _read_entries(self, path: tuple[TomlStep, ...]) -> None:
        self._advance()
        number = 0
        while self._skip_blanks() and self._peek_character() != "]":
            self.lines.setdefault((*path, number), self._line)
            self._read_value((*path, number))
            number += 1
            self._skip_comma()
        self._advance()

    def _skip_comma(self) -> None:
        if self._skip_blanks() and self._peek_character() == ",":
            self._advance()

    def _skip_string(self) -> None:
        mark = self._peek_character()
        long = self._text.startswith(mark * 3, self._at)
        end = mark * 3 if long else mark
        self._advance(len(end))
        while not self._text.startswith(end, self._at):
            self._advance(2 if mark == '"' and self._peek_character() == "\\" else 1)
        self._advance(len(end))
        while long and self._peek_character() == mark:  # up to two more may belong to the text
            self._advance()
