"""nbgrader's database module, without the server extensions and exchanges that its package imports first.

These are not needed here, and they import most of Jupyter's server and converters: 0.45 s of processor time
for every command that opens a gradebook. Compare the processor time of ``python -c "import
autograder.app.classes, nbgrader.api"`` (1.59 s) with that of ``python -c "import autograder.app.classes,
autograder.store.gradebook.nbgrader_api"`` (1.12 s).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def _load_api() -> Any:
    """Return ``nbgrader.api``; if nbgrader is not imported yet, skip its own ``__init__``."""
    spec = importlib.util.find_spec("nbgrader")
    if spec is not None and "nbgrader" not in sys.modules:
        bare = importlib.util.module_from_spec(spec)
        # A bare package: importing its submodules needs its path, but not its ``__init__``.
        sys.modules["nbgrader"] = bare
        bare.__dict__["__version__"] = importlib.import_module("nbgrader._version").__version__
    import nbgrader.api

    return nbgrader.api


api = _load_api()
