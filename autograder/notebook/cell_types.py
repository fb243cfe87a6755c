"""Distinguish code from text in answer cells that were converted to Markdown, such as a formula or table."""

from __future__ import annotations

import ast
import re

from autograder.notebook.copies import parse_cell

_FORMULA = re.compile(r"\$[^$]+\$")
_ASSIGNMENT = re.compile(r"^[ \t]*\w+[ \t]*=(?!=)", re.MULTILINE)


def is_text(source: str) -> bool:
    """Decide whether a cell assigns and defines nothing, so that running it would have no effect.

    One key in Jupyter flips a cell's type, so a flipped code cell is run all the same.
    """
    # An equals sign inside a formula is no assignment.
    if _ASSIGNMENT.search(_FORMULA.sub("", source)):
        return False
    tree = None if _FORMULA.search(source) else parse_cell(source)
    return tree is None or all(isinstance(statement, ast.Expr) for statement in tree.body)
