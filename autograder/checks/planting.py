"""How trials are written: the answer key's cell with one value changed."""

from __future__ import annotations

from decimal import Decimal

from autograder.checks.literal import answer_literal
from autograder.records import Answer
from autograder.rubric import Question


def assigned(key: Answer, name: str, value: object, entry: str | int | None = None) -> str:
    """The key's cell, in which one variable has another value at the end; a text cell is that value.

    Args:
        key: the answer key's answer.
        name: the variable.
        value: a plain literal.
        entry: the entry of a list or dictionary, where only that is changed.
    """
    if key.cell_type != "code":
        return str(value)
    if entry is None:
        return f"{key.source.rstrip()}\n{name} = {value!r}\n"
    whole = answer_literal(key.source, name)
    if whole is not None and isinstance(whole.value, list | tuple) and isinstance(entry, int):
        parts = list(whole.value)
        parts[entry] = value  # type: ignore[call-overload]  # a plain literal
        return assigned(key, name, type(whole.value)(parts))
    return f"{key.source.rstrip()}\n{name}[{entry!r}] = {value!r}\n"


def as_written(value: object) -> object:
    """A value of a rubric as a student would write it: exact decimals become floating numbers."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, list | tuple):
        return type(value)(as_written(part) for part in value)
    return value


def lost_with(question: Question, item_id: str) -> tuple[str, ...]:
    """An item and those that are worth nothing without it."""
    return (item_id, *(item.id for item in question.items if item_id in item.needs))
