"""Dependence of questions on the results of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def dependents(changed: set[str], tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return these questions, and all that name one of them anywhere: they may read its results.

    Args:
        changed: ids of questions.
        tables: every question as in the file, by its id.
    """
    found = set(changed)
    while True:
        # A substring counts as a name: a false match only adds a question.
        more = {
            name
            for name, table in tables.items()
            if name not in found and any(one in text for text in _texts(table) for one in found)
        }
        if not more:
            return found
        found |= more


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield key
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
