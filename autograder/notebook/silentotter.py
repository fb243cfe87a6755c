"""Stands in for ``otter`` while a notebook is graded: nothing is checked here, and nothing exported."""

from __future__ import annotations

from typing import Any


class Notebook:
    """Whatever a notebook asks of it, it does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        """Every method."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    """Nothing."""
