"""Dependence of questions on the results of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def find_dependents(changed: set[str], tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return these questions, and all that name one of them anywhere: they may read its results.

    Args:
        changed: ids of questions.
        tables: every question as in the file, by its id.
    """
    names = set(changed)
    while True:
        # A substring counts as a name: a false match only adds a question.
        more = {
            name
            for name, table in tables.items()
            if name not in names
            and any(dependency in text for text in _list_texts(table) for dependency in names)
        }
        if not more:
            return names
        names |= more


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _list_texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _list_texts(part)
