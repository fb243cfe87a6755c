"""What students write about themselves on an exam's title page: kept for people, and never trusted.

Who somebody is follows from the folder a submission lies in. These lines help where folders were mixed up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autograder.records import Cell, Markdown
from autograder.syntax import UNREADABLE, parsed

FIELDS = ("family_name", "first_name", "student_number", "programme")
"""The names that the cell below the title page assigns."""
_MOST_CODE = 4_000
_MOST_SIGNS = 100


def details(cells: Iterable[Cell | Markdown]) -> dict[str, str]:
    """The texts and numbers that cells assign to the names, read without running anything.

    The first one that is not empty counts; each is cut to a hundred characters.
    """
    found: dict[str, str] = {}
    for cell in cells:
        if not isinstance(cell, Cell) or cell.locked or len(cell.source) > _MOST_CODE:
            continue
        if any(name in cell.source for name in FIELDS):
            found = {**_assigned(cell.source), **found}
    return {name: found[name] for name in FIELDS if name in found}


def _assigned(source: str) -> dict[str, str]:
    try:
        body = parsed(source).body
    except UNREADABLE:
        return {}
    found: dict[str, str] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        value = statement.value.value
        if type(value) is int and abs(value) < 10**_MOST_SIGNS:
            value = str(value)
        if isinstance(value, str) and value.strip():
            text = " ".join(value.split())[:_MOST_SIGNS]
            found |= {target.id: text for target in statement.targets if isinstance(target, ast.Name)}
    return {name: text for name, text in found.items() if name in FIELDS}
