"""Strict reading of TOML tables: unknown keys and wrong types are errors, and typos get a suggestion."""

from __future__ import annotations

import difflib
import itertools
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from autograder.core import atomic
from autograder.core.errors import CourseError, RubricError, extend_place

T = TypeVar("T")

_WORDS = {
    "array": "a list in [ ]",
    "object": "a table in { }",
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_MISSING = re.compile(r"Object missing required field `(.+)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_SHOWN = 60
"""Characters of a value that a message repeats."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of a course; empty if it does not exist. Decimals stay exact.

    Raises:
        CourseError: it cannot be read, or is not TOML; names it.
    """
    if not path.exists():
        return {}
    try:
        # Decimal, because points are exact: 0.1 as a float would not be.
        return tomllib.loads(atomic.read_bytes(path).decode("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path}: not valid TOML: {error}") from error


def convert_table(table: Mapping[str, Any], to: type[T], place: str, also: Collection[str] = ()) -> T:
    """Make a record from a TOML table.

    Args:
        table: as it was read.
        to: the record, a msgspec Struct.
        place: position of the table, for messages.
        also: further keys of the same table in the file that are read elsewhere; they are suggested too.

    Raises:
        RubricError: a key is unknown (with a suggestion), missing, or has the wrong type.
    """
    # First, because msgspec ignores unknown keys, or reports them without a suggestion.
    check_known_keys(table, list_field_names(to), place, also)
    try:
        # strict: a number in quotes is an error of the rubric, not a number.
        return msgspec.convert(table, to, strict=True)
    except msgspec.ValidationError as error:
        raise to_rubric_error(error, table, to, place) from error


def list_field_names(to: type[Any]) -> tuple[str, ...]:
    """Return the keys that a record's table may have; much faster than msgspec's full type information."""
    names: tuple[str, ...] = to.__struct_encode_fields__
    return names


def check_known_keys(
    table: Mapping[str, Any], names: Collection[str], place: str, also: Collection[str] = ()
) -> None:
    """Refuse unknown keys, with a suggestion; see `convert_table`.

    Raises:
        RubricError: the table has a key that is not among the names.
    """
    for key in table:
        if key not in names:
            raise RubricError(
                f"unknown key {key!r}; {suggest_name(key, {*names, *also})}", extend_place(place, "", key)
            )


def suggest_name(name: str, names: Collection[str]) -> str:
    """Return a suggestion of the nearest known name, or else the list of known names."""
    close = difflib.get_close_matches(name, names, n=1)
    return (
        f"did you mean {close[0]!r}?"
        if close
        else f"known are: {', '.join(sorted(filter(None, names))) or 'none'}"
    )


def suggest_id(student: str, ids: Collection[str]) -> str:
    """Return a suggestion of the id that a wrong one probably means, as a sentence."""
    near = suggest_name(student, ids)
    return near if near.startswith("did you mean") else "no id there is like it"


def to_rubric_error(error: msgspec.ValidationError, table: Any, to: type[Any], place: str) -> RubricError:
    """Convert an error of msgspec to one in the terms of the file, with the keys that lead there."""
    body, steps = _split_message(error)
    missing = _MISSING.fullmatch(body)
    # msgspec does not name the keys of dictionaries, so the known path ends at the first of them.
    known_steps = itertools.takewhile(lambda step: step is not None, steps)
    keys = [step for step in known_steps if step is not None] + ([missing[1]] if missing else [])
    return RubricError(explain_error(error, table, to), extend_place(place, "", *keys))


def _split_message(error: msgspec.ValidationError) -> tuple[str, list[str | int | None]]:
    """Split msgspec's message into its text and its path: keys and indices, None for any entry of a table."""
    body, _, path = str(error).partition(" - at `")
    return body, [key or (int(index) if index else None) for key, index, _ in _STEP.findall(path.rstrip("`"))]


def join_names(names: Iterable[str], most: int = 20) -> str:
    """Join names with commas; of very many only the first ones."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(map(escape_name, listed[:most])) + more


def escape_name(name: str) -> str:
    """Return a name for display; line ends, terminal codes and bidirectional controls are escaped."""
    return repr(name)[1:-1].replace("\\\\", "\\")  # a Windows path keeps its single backslashes


def explain_error(error: msgspec.ValidationError, table: Any, to: type[Any]) -> str:
    """Explain an error of msgspec in the terms of the file: key, expected type and actual value."""
    body, steps = _split_message(error)
    missing = _MISSING.fullmatch(body)
    if missing:
        return f"{_format_path([*steps, missing[1]])}: this key is missing"
    value: Any = table
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
    else:
        body, got, _ = body.partition(", got `")
        # msgspec names only the type that it got; the value itself is more useful.
        body += f", got {_format_short(value)}" if got else ""
    if body.startswith("Invalid enum value"):
        allowed = _list_allowed(inspect.type_info(to), steps)
        return (
            f"{_format_path(steps)}: {_format_short(value)} is not possible; "
            f"{suggest_name(str(value), allowed)}"
        )
    explanation = re.sub(
        r"`([\w |]+)`",
        lambda match: " or ".join(_WORDS.get(type_name, type_name) for type_name in match[1].split(" | ")),
        body,
    )
    key = _format_path(steps)
    if key in ("text", "title", "aids"):
        explanation = explanation.replace(
            _WORDS["object"], f'a text for each language, {key} = {{ en = "…" }}'
        )
    return f"{key}: {explanation[:1].lower()}{explanation[1:]}" if key else explanation


def _format_path(steps: list[str | int | None]) -> str:
    """Format a path: keys joined with dots, list entries counted from one; None is any entry of a table."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f" {step + 1}"
        elif step is None:
            path += ", one of its entries"
        else:
            path += f".{step}" if path else step
    return path


def _format_short(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    if isinstance(value, dict | list):
        text = "a table" if isinstance(value, dict) else "a list"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _list_allowed(kind: inspect.Type, steps: list[str | int | None]) -> list[str]:
    """Return the words that are allowed at a path of a record; none if they cannot be determined."""
    if isinstance(kind, inspect.UnionType):
        return [word for member in kind.types for word in _list_allowed(member, steps)]
    if not steps:
        if isinstance(kind, inspect.LiteralType):
            return [str(value) for value in kind.values]
        return [str(member.value) for member in kind.cls] if isinstance(kind, inspect.EnumType) else []
    first, *remaining = steps
    if isinstance(kind, inspect.StructType):
        return [
            w
            for field in kind.fields
            if field.encode_name == first
            for w in _list_allowed(field.type, remaining)
        ]
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return _list_allowed(kind.item_type, remaining)
    return _list_allowed(kind.value_type, remaining) if isinstance(kind, inspect.DictType) else []
