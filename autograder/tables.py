"""TOML tables read strictly: nothing is unknown, nothing has another type, and slips get a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from autograder.errors import RubricError

T = TypeVar("T")


def convert(table: Mapping[str, Any], to: type[T], place: str) -> T:
    """Make a record from a TOML table.

    Raises:
        RubricError: a key is unknown (with a suggestion), missing, or has the wrong type.
    """
    known(table, field_names(to), place)
    try:
        return msgspec.convert(table, to, strict=True)
    except msgspec.ValidationError as error:
        raise RubricError(f"{place}: {error}") from error


def field_names(to: type[Any]) -> tuple[str, ...]:
    """The keys that a record's table may have. Much quicker than all that msgspec can say of its fields."""
    names: tuple[str, ...] = to.__struct_encode_fields__
    return names


def known(table: Mapping[str, Any], names: Collection[str], place: str) -> None:
    """Refuse unknown keys, with a suggestion.

    Raises:
        RubricError: the table has a key that is not among the names.
    """
    for key in table:
        if key not in names:
            raise RubricError(f"{place}: unknown key {key!r}; {hint(key, names)}")


def hint(name: str, names: Collection[str]) -> str:
    """The nearest known name, or all that are known."""
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(names)) or 'none'}"
