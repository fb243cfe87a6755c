"""nbgrader's database module, without what its package imports first: server extensions and exchanges.

Nothing here uses those, and they take longer to import than all of this program.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def _load() -> Any:
    """``nbgrader.api``; where nbgrader is not imported yet, its own ``__init__`` is not run."""
    spec = importlib.util.find_spec("nbgrader")
    if spec is not None and "nbgrader" not in sys.modules:
        bare = importlib.util.module_from_spec(spec)
        sys.modules["nbgrader"] = bare
        bare.__dict__["__version__"] = importlib.import_module("nbgrader._version").__version__
    import nbgrader.api

    return nbgrader.api


api = _load()
