"""Python source as a syntax tree, in whichever thread. Nothing is ever run."""

from __future__ import annotations

import ast
import threading
import unicodedata
import warnings

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser raises for source that is no Python, or is too deep."""

# CPython counts the depth of the trees of all threads together, and fails when two are built at the same
# time: "AST constructor recursion depth mismatch". The filter of warnings belongs to all threads as well.
_ONE_AT_A_TIME = threading.Lock()


_HIGHEST = 30
"""Marks on one letter; Unicode's stream-safe form has no more."""


def _towering(source: str) -> bool:
    """Whether one letter has so many marks that the parser, which puts them in order, would take long."""
    height = 0
    for char in "" if source.isascii() else source:
        height = height + 1 if unicodedata.combining(char) else 0
        if height > _HIGHEST:
            return True
    return False


def parsed(source: str) -> ast.Module:
    """The tree of a module.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it has a character that no source may have, or a tower of marks on one letter.
        RecursionError: it is too deep.
        MemoryError: likewise.
    """
    if _towering(source):
        raise ValueError("too many marks on one letter")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LaTeX in an ordinary string: an invalid escape is not our concern
        return ast.parse(source)
