"""Replaces ``otter`` while a notebook is graded: nothing is checked here, and nothing exported."""

from __future__ import annotations

from typing import Any


class Notebook:
    """Accepts every call and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        """Return a method that does nothing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _ignore_call


def _ignore_call(*_: Any, **__: Any) -> None:
    """Do nothing."""
