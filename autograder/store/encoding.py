"""A result as bytes, whole or within its budget, and back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from autograder.records import Graded, Note

_MOST_NOTES = 500
_MOST_WORDS = 4_000
"""Characters of one text of a result, where all of them are too many."""


def bounded(graded: Graded, mb: int) -> bytes:
    """A result as JSON of a bounded size: the marks are whole, what is too much is left out.

    An honest result is never that large, and notebooks are cut before (`autograder.grading.storage_limit`).
    """
    stored = encode(graded)
    if len(stored) <= mb << 20:
        return stored
    score = graded.score
    notes = [_short(note) for note in score.notes[:_MOST_NOTES]]
    notes.append(Note("result-cut", f"the result was larger than {mb} MB; notebooks and long texts are gone"))
    items = tuple(_short(item) for item in score.items)
    score = replace(score, notes=tuple(notes), items=items)
    return encode(replace(graded, score=score, notebooks=()))


def encode(graded: Graded) -> bytes:
    """A result as JSON; exact, but for lone surrogates, which UTF-8 cannot carry."""
    try:
        return msgspec.json.encode(graded)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(graded)))


def decode(stored: bytes) -> Graded | None:
    """The result that `encode` wrote, or None when the bytes are of another version."""
    try:
        return msgspec.json.decode(stored, type=Graded)
    except msgspec.MsgspecError:
        return None


def _short(record: Any) -> Any:
    """The record with its longest texts cut."""
    return msgspec.convert(_cut(msgspec.to_builtins(record)), type(record))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MOST_WORDS]
    if isinstance(value, list | tuple):
        return [_cut(entry) for entry in value]
    return {name: _cut(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _whole(value: Any) -> Any:
    """The same plain data with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_whole(entry) for entry in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(entry) for name, entry in value.items()}
    return value
