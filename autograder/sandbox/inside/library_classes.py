"""The classes of libraries that a judge uses for the names that a student's box gives them."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from typing import Any

from autograder.sandbox.inside import forms

_OF_PYTHON = "types"
_NOT_THE_TESTS = frozenset(
    (
        *("__main__", "test", "autograder", "reference"),
        *("unittest", "mock", "pytest", "_pytest", "hypothesis"),
    )
)
"""Packages with classes that stay in the student's box. Some make objects that equal everything, as
``unittest.mock.ANY``: made here, they would count as a library's result and not as the student's."""
_FROM_FILES = (importlib.machinery.SourceFileLoader, importlib.machinery.ExtensionFileLoader)
"""How libraries are loaded; solutions and mutants are loaded from their sources alone."""


def find_library(name: str) -> Any:
    """Return a module of Python or of a library that is loaded here; None for all others.

    Nothing is imported, since the name is under the student's control.
    """
    root = name.partition(".")[0]
    if root in _NOT_THE_TESTS or root == forms.DRAWN:
        return None
    loader = getattr(getattr(sys.modules.get(root), "__spec__", None), "loader", None)
    return sys.modules.get(name) if root in sys.stdlib_module_names or type(loader) in _FROM_FILES else None


def find_library_class(path: Sequence[str]) -> type | None:
    """Return a class of a library that confirms its path, which is under the student's control."""
    module, name = path
    kind: Any = forms.find_by_name(module, name) if find_library(module) is not None else None
    if not issubclass(type(kind), type):
        return None
    return kind if module == _OF_PYTHON or (kind.__module__, kind.__qualname__) == (module, name) else None
