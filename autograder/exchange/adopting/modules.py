"""Find the modules that notebooks import: installed ones to preload, and missing ones."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.core.syntax import UNREADABLE, parse_module

_NEVER = frozenset({"IPython", "nbgrader", "otter", "pytest", "nose", "google"})
"""Tools around a notebook: small, replaced by a substitute, or not available in a sandbox."""
_OPTIMIZERS = "torch.optim"
"""Preloaded by name, because it imports much at its first use (``LATE_IMPORTS`` of the fork server)."""
_MAGIC = ("%", "!", "?")


def list_preloads(sources: Iterable[str], folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that sources import.

    Args:
        sources: of cells and modules; IPython lines are skipped.
        folder: of the assignment; its modules are not searched elsewhere.

    Returns:
        The installed ones, for the rubric to preload; and a sentence for each missing one.
    """
    names = dict.fromkeys(name for source in sources for name in _find_imports(source))
    wanted = sorted(
        name
        for name in names
        if name not in sys.stdlib_module_names
        and name not in _NEVER
        and not (folder / name).is_dir()
        and not (folder / f"{name}.py").is_file()
    )
    # Only the package is searched: finding a module inside it would import the package.
    installed = {name: importlib.util.find_spec(name.partition(".")[0]) is not None for name in wanted}
    missing = [
        f"{name}: imported by the assignment, but not installed here"
        for name in wanted
        if not installed[name]
    ]
    return tuple(name for name in wanted if installed[name]), tuple(missing)


def _find_imports(source: str) -> Iterator[str]:
    # IPython lines are not valid Python, and would hide the imports of the whole cell.
    lines = ("" if line.lstrip().startswith(_MAGIC) else line for line in source.split("\n"))
    try:
        tree = parse_module("\n".join(lines))
    except UNREADABLE:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name for alias in node.names for name in _list_packages(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from _list_packages(node.module)
        # torch imports its optimizers lazily, so using the attribute counts as an import.
        elif isinstance(node, ast.Attribute) and node.attr == "optim" and ast.unparse(node) == _OPTIMIZERS:
            yield _OPTIMIZERS


def _list_packages(module: str) -> Iterator[str]:
    """Yield the package of a module, and torch's optimizers if the module belongs to them."""
    yield module.partition(".")[0]
    if f"{module}.".startswith(f"{_OPTIMIZERS}."):
        yield _OPTIMIZERS
