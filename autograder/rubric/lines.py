"""Finds the line of a rubric that an error is about, so that nobody has to search for it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from autograder.errors import RubricError

_HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?")
_ID = re.compile(r"""\s*(?:id|code|name)(?:\.en)?\s*=\s*(?:\{\s*en\s*=\s*)?["']([^"']*)["']""")
_PLACES = (
    ("question", re.compile(r"\bquestion (?:(\d+)|'([^']+)')")),
    ("question.sign", re.compile(r", sign (?:(\d+)|'([^']+)')")),
    ("question.item", re.compile(r", item (?:(\d+)|'?([\w.-]+)'?)")),
    ("question.item.mistake", re.compile(r", (?:mistake )?'([^']+)'()")),
    ("question.item.examples", re.compile(r", examples()()")),
    ("question.case", re.compile(r"\bcase (?:(\d+)|'([^']+)')")),
)
_TABLE = re.compile(r"^\[?(assignment(?:\.\w+)*|variant)\b")
_KEY = re.compile(r"unknown key '([^']+)'|: (\w+)(?:[.,]| \d+)?[^:' ]*:")


class _Block(Struct, frozen=True):
    """The lines from one header of a table to the next."""

    table: str
    first: int
    lines: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What messages call it by."""
        return tuple(found[1] for line in self.lines if (found := _ID.match(line)))


@contextlib.contextmanager
def located(path: Path) -> Iterator[None]:
    """Let errors about a rubric name its file, and the line where it can be told.

    Raises:
        RubricError: as it was raised inside, with file and line before it.
    """
    try:
        yield
    except RubricError as error:
        message = str(error).removeprefix(f"{path}: ")
        try:
            line = line_of(path.read_text(encoding="utf-8"), message)
        except (OSError, UnicodeDecodeError):
            line = None
        place = f"{path}, line {line}" if line else str(path)
        raise RubricError(f"{place}: {message}") from error


def line_of(text: str, message: str) -> int | None:
    """The line, counted from one, that a message about a rubric is about; None where it names no place."""
    blocks = _blocks(text)
    key = _KEY.search(message)
    table = _TABLE.match(message)
    if table:
        chosen = [block for block in blocks if block.table == table[1]]
    else:
        chosen = blocks
        for name, pattern in _PLACES:
            found = pattern.search(message)
            if found and (within := _within(chosen, name, found[1], found[2])):
                chosen = within
        if chosen is blocks:
            return None
    if not chosen:
        return None
    return _line_of_key(chosen, key[1] or key[2] if key else "") or chosen[0].first


def _blocks(text: str) -> list[_Block]:
    blocks: list[tuple[str, int, list[str]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.fullmatch(line.rstrip("\r"))
        if header:
            blocks.append((header[1], number, [line]))
        elif blocks:
            blocks[-1][2].append(line)
    return [_Block(table, first, tuple(lines)) for table, first, lines in blocks]


def _within(blocks: list[_Block], table: str, number: str | None, name: str | None) -> list[_Block]:
    """The block of a table by its number or its name, with those below it."""
    starts = [at for at, block in enumerate(blocks) if block.table == table]
    if number and number.isdigit():
        starts = starts[int(number) - 1 : int(number)]
    elif name or number:
        starts = [at for at in starts if (name or number) in blocks[at].names]
    if not starts:
        return []
    below = blocks[starts[0] :]
    end = next((at for at, one in enumerate(below[1:], 1) if not one.table.startswith(f"{table}.")), None)
    return below[:end]


def _line_of_key(blocks: list[_Block], key: str) -> int | None:
    """The line in the first of the blocks that states the key, alone or inside a table in braces."""
    if not key:
        return None
    for pattern in (rf"\s*(?:\w+\.)*[\"']?{re.escape(key)}[\"']?\s*[=.]", rf".*[{{,]\s*{re.escape(key)}\s*="):
        for at, line in enumerate(blocks[0].lines):
            if re.match(pattern, line):
                return blocks[0].first + at
    return None
