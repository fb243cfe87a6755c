"""Modules that are imported on first use."""

from __future__ import annotations

import importlib
import sys
from typing import Any


class LateModule:
    """A proxy that imports a module on first use: sandboxes import our modules before they are confined."""

    def __init__(self, name: str) -> None:
        """Import nothing yet."""
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._name) or importlib.import_module(self._name)
        return getattr(module, name)
