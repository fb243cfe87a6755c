"""Limit the depth of JSON, so that recursive third-party code does not fail on it."""

from __future__ import annotations

from typing import Any

MAX_LEVELS = 20
"""Most nested objects and lists that are kept of a cell; no tool writes half as many."""


def prune_json(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Return a copy of parsed JSON in which objects and lists below so many levels are empty."""
    if isinstance(value, dict):
        return {key: prune_json(entry, levels - 1) for key, entry in value.items()} if levels else {}
    if isinstance(value, list):
        return [prune_json(entry, levels - 1) for entry in value] if levels else []
    return value
