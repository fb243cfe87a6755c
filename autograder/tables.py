"""TOML tables read strictly: nothing is unknown, nothing has another type, and slips get a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from autograder.errors import RubricError

T = TypeVar("T")


def convert(table: Mapping[str, Any], to: type[T], place: str) -> T:
    """Make a record from a TOML table.

    Raises:
        RubricError: a key is unknown (with a suggestion), missing, or has the wrong type.
    """
    known(table, msgspec.structs.fields(to), place)  # type: ignore[arg-type]
    try:
        return msgspec.convert(table, to, strict=True)
    except msgspec.ValidationError as error:
        raise RubricError(f"{place}: {error}") from error


def known(table: Mapping[str, Any], fields: Iterable[Any], place: str) -> None:
    """Refuse unknown keys, with a suggestion.

    Raises:
        RubricError: the table has a key that is not a field.
    """
    names = [field if isinstance(field, str) else field.encode_name for field in fields]
    for key in table:
        if key not in names:
            raise RubricError(f"{place}: unknown key {key!r}; {hint(key, names)}")


def hint(name: str, names: Collection[str]) -> str:
    """The nearest known name, or all that are known."""
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(names)) or 'none'}"
