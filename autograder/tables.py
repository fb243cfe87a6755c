"""TOML tables read strictly: nothing is unknown, nothing has another type, and typos get a suggestion."""

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

from autograder import atomic
from autograder.errors import CourseError, RubricError, inside

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


def read(path: Path) -> dict[str, Any]:
    """A file of a course; empty where there is none. Decimals stay exact.

    Raises:
        CourseError: it cannot be read, or is not TOML; names it.
    """
    if not path.exists():
        return {}
    try:
        return tomllib.loads(atomic.read(path).decode("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path}: not valid TOML: {error}") from error


def convert(table: Mapping[str, Any], to: type[T], place: str, also: Collection[str] = ()) -> T:
    """Make a record from a TOML table.

    Args:
        table: as it was read.
        to: the record, a msgspec Struct.
        place: where the table stands, for messages.
        also: keys that stand in the same table of the file and are read elsewhere, to suggest them too.

    Raises:
        RubricError: a key is unknown (with a suggestion), missing, or has the wrong type.
    """
    check_known_keys(table, field_names(to), place, also)
    try:
        return msgspec.convert(table, to, strict=True)
    except msgspec.ValidationError as error:
        raise rubric_error(error, table, to, place) from error


def field_names(to: type[Any]) -> tuple[str, ...]:
    """The keys that a record's table may have. Much quicker than all that msgspec can say of its fields."""
    names: tuple[str, ...] = to.__struct_encode_fields__
    return names


def check_known_keys(
    table: Mapping[str, Any], names: Collection[str], place: str, also: Collection[str] = ()
) -> None:
    """Refuse unknown keys, with a suggestion; see `convert`.

    Raises:
        RubricError: the table has a key that is not among the names.
    """
    for key in table:
        if key not in names:
            raise RubricError(f"unknown key {key!r}; {hint(key, {*names, *also})}", inside(place, "", key))


def hint(name: str, names: Collection[str]) -> str:
    """The nearest known name, or all that are known."""
    close = difflib.get_close_matches(name, names, n=1)
    return (
        f"did you mean {close[0]!r}?"
        if close
        else f"known are: {', '.join(sorted(filter(None, names))) or 'none'}"
    )


def nearest_id(student: str, ids: Collection[str]) -> str:
    """The id that one is probably meant to be, as a sentence."""
    near = hint(student, ids)
    return near if near.startswith("did you mean") else "no id there is like it"


def rubric_error(error: msgspec.ValidationError, table: Any, to: type[Any], place: str) -> RubricError:
    """What msgspec found, in the words of the file and with the keys that lead there."""
    body, steps = _read(error)
    missing = _MISSING.fullmatch(body)
    known_steps = itertools.takewhile(lambda step: step is not None, steps)
    keys = [step for step in known_steps if step is not None] + ([missing[1]] if missing else [])
    return RubricError(explain_error(error, table, to), inside(place, "", *keys))


def _read(error: msgspec.ValidationError) -> tuple[str, list[str | int | None]]:
    """The library's words, and its path: keys and indices, None for some entry of a table."""
    body, _, path = str(error).partition(" - at `")
    return body, [key or (int(index) if index else None) for key, index, _ in _STEP.findall(path.rstrip("`"))]


def name_list(names: Iterable[str], most: int = 20) -> str:
    """Names one after the other; of very many the first ones."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(map(printable_name, known[:most])) + more


def printable_name(name: str) -> str:
    """Return a name as people read it; line ends, codes for terminals and what turns text are escaped."""
    return repr(name)[1:-1].replace("\\\\", "\\")  # a path of Windows reads as it was written


def explain_error(error: msgspec.ValidationError, table: Any, to: type[Any]) -> str:
    """What msgspec found, in the words of the file: the key, what was expected, and what stands there."""
    body, steps = _read(error)
    missing = _MISSING.fullmatch(body)
    if missing:
        return f"{_key([*steps, missing[1]])}: this key is missing"
    value: Any = table
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
    else:
        body, got, _ = body.partition(", got `")
        body += f", got {_short(value)}" if got else ""
    if body.startswith("Invalid enum value"):
        allowed = _allowed(inspect.type_info(to), steps)
        return f"{_key(steps)}: {_short(value)} is not possible; {hint(str(value), allowed)}"
    said = re.sub(
        r"`([\w |]+)`", lambda found: " or ".join(_WORDS.get(one, one) for one in found[1].split(" | ")), body
    )
    where = _key(steps)
    if where in ("text", "title", "aids"):
        said = said.replace(_WORDS["object"], f'a text for each language, {where} = {{ en = "…" }}')
    return f"{where}: {said[:1].lower()}{said[1:]}" if where else said


def _key(steps: list[str | int | None]) -> str:
    """Keys with dots, entries of lists counted from one; None is some entry of a table."""
    said = ""
    for step in steps:
        if isinstance(step, int):
            said += f" {step + 1}"
        elif step is None:
            said += ", one of its entries"
        else:
            said += f".{step}" if said else step
    return said


def _short(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    if isinstance(value, dict | list):
        text = "a table" if isinstance(value, dict) else "a list"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _allowed(kind: inspect.Type, steps: list[str | int | None]) -> list[str]:
    """The words that may stand at a place of a record; none where they cannot be told."""
    if isinstance(kind, inspect.UnionType):
        return [word for one in kind.types for word in _allowed(one, steps)]
    if not steps:
        if isinstance(kind, inspect.LiteralType):
            return [str(value) for value in kind.values]
        return [str(one.value) for one in kind.cls] if isinstance(kind, inspect.EnumType) else []
    first, *rest = steps
    if isinstance(kind, inspect.StructType):
        return [w for field in kind.fields if field.encode_name == first for w in _allowed(field.type, rest)]
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return _allowed(kind.item_type, rest)
    return _allowed(kind.value_type, rest) if isinstance(kind, inspect.DictType) else []
