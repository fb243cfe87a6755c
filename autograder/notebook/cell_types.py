"""Tells whether an answer in code that was turned to text is code, or a text: a formula, a table, a value."""

from __future__ import annotations

import ast
import re

from autograder.notebook.copies import parse_cell

_FORMULA = re.compile(r"\$[^$]+\$")
_ASSIGNMENT = re.compile(r"^[ \t]*\w+[ \t]*=(?!=)", re.MULTILINE)


def is_text(source: str) -> bool:
    """Return whether nothing in a cell assigns or defines anything, so that running it would tell nothing.

    One key in Jupyter flips a cell's type, so a flipped cell of code is run all the same.
    """
    if _ASSIGNMENT.search(_FORMULA.sub("", source)):
        return False
    tree = None if _FORMULA.search(source) else parse_cell(source)
    return tree is None or all(isinstance(one, ast.Expr) for one in tree.body)
