"""How trials are written: the answer key's cell with one value changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Trial
from autograder.checks.values.literal import answer_literal
from autograder.records import Answer
from autograder.rubric import Item, Question


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


class Read(Struct, frozen=True):
    """What an item reads: a variable, or one entry of it."""

    name: str
    entry: str | int | None = None

    def meets(self, other: Read) -> bool:
        """Whether changing one of them may change the other."""
        return self.name == other.name and (None in (self.entry, other.entry) or self.entry == other.entry)


class Planter(Struct, frozen=True):
    """Makes the trials of one item.

    Attributes:
        question: its question.
        item: the item.
        reads: what every automatic item of the question reads.
        key: the answer key's answer.
    """

    question: Question
    item: Item
    reads: Mapping[str, Read]
    key: Answer

    def trial(self, name: str, value: object, points: Decimal | None = None, *, code: str = "") -> Trial:
        """An answer that loses the item; with all points, one that loses nothing.

        Args:
            name: what was planted.
            value: a plain literal.
            points: what the item still earns; None where that is not known.
            code: of the result; empty where that is not known.
        """
        if points is not None and points == self.item.points > 0:
            return self.right(name, value)
        item = self.item.id
        made = self._made(name, value, (item, *self._needing((item,))))
        known = {item: points} if points is not None and self.item.points > 0 else {}
        return replace(made, points=known, codes={item: code} if code else {})

    def right(self, name: str, value: object) -> Trial:
        """An answer that loses nothing."""
        return self._made(name, value, ())

    def of_family(self, family: str, trial: Trial) -> Trial:
        """The trial as one of many that are shown as one line."""
        return replace(trial, family=f"{self.item.id}: {family}")

    def _made(self, name: str, value: object, loses: tuple[str, ...]) -> Trial:
        item, read = self.item.id, self.reads[self.item.id]
        others = [name for name, other in self.reads.items() if name != item and read.meets(other)]
        unstated = dict.fromkeys((*others, *self._needing(others)))
        return Trial(
            f"{item}: {name}",
            assigned(self.key, read.name, value, read.entry),
            loses,
            unstated=tuple(one for one in unstated if one not in loses),
        )

    def _needing(self, items: Collection[str]) -> tuple[str, ...]:
        """The items that are worth nothing without one of these."""
        return tuple(one.id for one in self.question.items if set(items) & set(one.needs))
