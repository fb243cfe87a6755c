"""Drawn values in texts: ``⟦d_model⟧`` or ``⟦d_model // n_heads⟧``.

The brackets are U+27E6 and U+27E7. Neither Python, TOML, Markdown nor LaTeX has a use for them, so no text
is mistaken for a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autograder.errors import RubricError, inside
from autograder.variants import arithmetic
from autograder.variants.arithmetic import ExpressionError, Value

OPEN, CLOSE = "⟦", "⟧"
_PLACEHOLDER = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")


def has_placeholder(tree: Any) -> bool:
    """Whether a text, or any text inside a table or list, holds a placeholder or half of one."""
    if isinstance(tree, str):
        return OPEN in tree or CLOSE in tree
    if isinstance(tree, Mapping):
        return any(has_placeholder(entry) for entry in (*tree, *tree.values()))
    return isinstance(tree, list | tuple) and any(has_placeholder(entry) for entry in tree)


def fill(text: str, values: Mapping[str, Value], place: str) -> str:
    """The text with every placeholder replaced by its value.

    Raises:
        RubricError: a placeholder names nothing that is drawn (with a suggestion), or is not closed; names
            the place.
    """
    filled = _PLACEHOLDER.sub(lambda found: str(_value(found[1], values, place)), text)
    if OPEN in filled or CLOSE in filled:
        raise RubricError(f"a placeholder is not closed or not opened: {_around(filled)!r}", place)
    return filled


def fill_table(tree: Any, values: Mapping[str, Value], place: str) -> Any:
    """The same for every text of a table. A text that is a placeholder and nothing else becomes the value.

    Raises:
        RubricError: as for `fill`; or a key holds a placeholder.
    """
    if isinstance(tree, str):
        whole = _PLACEHOLDER.fullmatch(tree)
        return _value(whole[1], values, place) if whole else fill(tree, values, place)
    if isinstance(tree, Mapping):
        for key in tree:
            if has_placeholder(key):
                raise RubricError(f"{key!r}: a key cannot be drawn", place)
        return {key: fill_table(entry, values, inside(place, f": {key}", key)) for key, entry in tree.items()}
    if isinstance(tree, list):
        return [fill_table(entry, values, inside(place, "", number)) for number, entry in enumerate(tree)]
    return tree


def _value(expression: str, values: Mapping[str, Value], place: str) -> Value:
    try:
        return arithmetic.value(arithmetic.parsed(expression), values)
    except ExpressionError as error:
        raise RubricError(f"{OPEN}{expression}{CLOSE}: {error}", place) from error


def _around(text: str) -> str:
    at = min(found for found in (text.find(OPEN), text.find(CLOSE)) if found >= 0)
    return text[max(0, at - 20) : at + 20]
