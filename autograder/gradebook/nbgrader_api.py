"""nbgrader's database module, without what its package imports first: server extensions and exchanges.

Nothing here uses those, and they take longer to import than all of this program. So do modules that it
imports for dates of assignments and for JupyterHub: they are imported when it first uses something of them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands in for a module of this name until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def _later(names: Iterable[str]) -> Iterator[None]:
    """Whatever is imported inside takes stand-ins for these modules, where they are not imported yet."""
    stand_ins = {name: _Later(name) for name in names if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _load() -> Any:
    """``nbgrader.api``; where nbgrader is not imported yet, its own ``__init__`` is not run."""
    spec = importlib.util.find_spec("nbgrader")
    if spec is not None and "nbgrader" not in sys.modules:
        bare = importlib.util.module_from_spec(spec)
        sys.modules["nbgrader"] = bare
        bare.__dict__["__version__"] = importlib.import_module("nbgrader._version").__version__
    with _later(("nbgrader.utils", "requests")):
        import nbgrader.api

    return nbgrader.api


api = _load()
