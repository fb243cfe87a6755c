"""Python source as a syntax tree, in whichever thread. Nothing is ever run."""

from __future__ import annotations

import ast
import threading
import warnings

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is no Python, or is too deep."""

# CPython counts the depth of the trees of all threads together, and fails when two are built at the same
# time: "AST constructor recursion depth mismatch". The filter of warnings belongs to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


def parsed(source: str) -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it has a character that no source may have.
        RecursionError: it is too deep.
        MemoryError: likewise.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LaTeX in an ordinary string: an invalid escape is not our concern
        return ast.parse(source)
