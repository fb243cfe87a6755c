"""Modules that are imported when something of them is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any


class LateModule:
    """Stands for a module: boxes import ours before they are confined, and torch behind it."""

    def __init__(self, name: str) -> None:
        """Import nothing yet."""
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._name) or importlib.import_module(self._name)
        return getattr(module, name)
