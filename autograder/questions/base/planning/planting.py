"""Construction of trials: the answer key's cell with one value, or one cell of its table, changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Answer
from autograder.questions.base.base import Trial
from autograder.questions.base.values.literal import find_answer_literal
from autograder.rubric import Item, Question


def assign_value(key: Answer, name: str, value: object, entry: str | int | None = None) -> str:
    """Return the key's cell with another final value of one variable; a text cell becomes that value.

    Args:
        key: the answer in the answer key.
        name: the variable.
        value: a plain literal.
        entry: the entry of a list or dictionary, if only that changes.
    """
    if key.cell_type != "code":
        is_quantity = isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)
        return " ".join(map(str, value)) if is_quantity else str(value)  # type: ignore[call-overload]
    if entry is None:
        return f"{key.source.rstrip()}\n{name} = {value!r}\n"
    whole = find_answer_literal(key.source, name)
    if whole is not None and isinstance(whole.value, list | tuple) and isinstance(entry, int):
        # A tuple cannot be changed by an assignment to its entry, so the whole value is written anew.
        parts = list(whole.value)
        parts[entry] = value  # type: ignore[call-overload]  # a plain literal
        return assign_value(key, name, type(whole.value)(parts))
    return f"{key.source.rstrip()}\n{name}[{entry!r}] = {value!r}\n"


def as_written(value: object) -> object:
    """Return a value of a rubric as a student would write it: exact decimals become floats."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, list | tuple):
        return type(value)(as_written(part) for part in value)
    return value


class ReadPlace(Struct, frozen=True):
    """The value that an item reads: a variable, or one entry of it."""

    name: str
    entry: str | int | None = None

    def is_affected_by(self, other: ReadPlace) -> bool:
        """Return whether changing one of them may change the other."""
        return self.name == other.name and (None in (self.entry, other.entry) or self.entry == other.entry)


class Planter(Struct, frozen=True):
    """Makes the trials of one item.

    Attributes:
        question: of the item.
        item: the item.
        reads: the values that every automatic item of the question reads.
        key: the answer in the answer key.
    """

    question: Question
    item: Item
    reads: Mapping[str, ReadPlace]
    key: Answer

    def make_trial(self, name: str, value: object, points: Decimal | None = None, *, code: str = "") -> Trial:
        """Return an answer that loses the item, or, if it earns all points, loses nothing.

        Args:
            name: a description of the planted answer.
            value: a plain literal.
            points: points that the item still earns; None if unknown.
            code: of the result; empty if unknown.
        """
        if points is not None and points == self.item.points > 0:
            return self.make_right(name, value)
        item = self.item.id
        trial = self._build_trial(name, value, (item, *self._list_dependents((item,))))
        points_by_item = {item: points} if points is not None and self.item.points > 0 else {}
        return replace(trial, points=points_by_item, codes={item: code} if code else {})

    def make_right(self, name: str, value: object) -> Trial:
        """Return an answer that loses nothing."""
        return self._build_trial(name, value, ())

    def to_family(self, family: str, trial: Trial) -> Trial:
        """Return the trial as a member of a family, which is shown in one line."""
        return replace(trial, family=f"{self.item.id}: {family}")

    def _build_trial(self, name: str, value: object, loses: tuple[str, ...]) -> Trial:
        item, read = self.item.id, self.reads[self.item.id]
        affected = [name for name, other in self.reads.items() if name != item and read.is_affected_by(other)]
        unstated = dict.fromkeys((*affected, *self._list_dependents(affected)))
        return Trial(
            f"{item}: {name}",
            assign_value(self.key, read.name, value, read.entry),
            loses,
            unstated=tuple(item_id for item_id in unstated if item_id not in loses),
        )

    def _list_dependents(self, items: Collection[str]) -> tuple[str, ...]:
        """Return the items that are worth nothing without one of these."""
        return tuple(dependent.id for dependent in self.question.items if set(items) & set(dependent.needs))


Rows = list[list[Any]]


class PlantedTable(Struct, frozen=True):
    """The parts of a table that the items of a question judge."""

    answer: str
    """The variable."""
    columns: tuple[str, ...]
    """All columns, the column of the row names first."""
    cells: Mapping[str, tuple[tuple[str, str], ...]]
    """Item → its cells, as row and column."""
    refusing: frozenset[str]
    """Items that lose points for extra rows."""
    ordered: bool
    """Whether the order counts."""
    sums: Mapping[str, Mapping[str, int]]
    """Row → the rows that it is the sum of, with their factors."""

    def list_losing(self, row: str, column: str = "") -> tuple[str, ...]:
        """Return the items with a cell in this row and, if a column is given, in this column."""
        return tuple(
            item
            for item, cells in self.cells.items()
            if any(cell_row == row and column in ("", other) for cell_row, other in cells)
        )


def make_table_trials(
    key: Answer, table: PlantedTable, row_of: Callable[[str], str], wrong: Mapping[str, Any]
) -> Iterator[Trial]:
    """Yield one trial for every cell and row, and the table in other notations, which must be accepted.

    There are none if the key's table is not a list of tuples in the source.

    Args:
        key: the cell of the answer key.
        table: the judged parts of the table.
        row_of: finds the row's id by its name in the table.
        wrong: column → an entry that is wrong in every row.
    """
    literal = find_answer_literal(key.source, table.answer)
    if literal is None or not isinstance(literal.value, list):
        return

    def plant(name: str, value: object, loses: tuple[str, ...]) -> Trial:
        return Trial(name, assign_value(key, table.answer, value), loses)

    rows: Rows = [list(row) for row in literal.value if isinstance(row, tuple | list)]
    names = table.columns[0]
    for index, row in enumerate(rows):
        row_id = row_of(str(row[0]))
        for position, column in enumerate(table.columns[1 : len(row)], start=1):
            if table.list_losing(row_id, column):
                changed = [*row[:position], wrong[column], *row[position + 1 :]]
                lost = table.list_losing(row_id, column)
                yield plant(f"{row[0]}, {column}: wrong", _replace_row(rows, index, changed), lost)
        yield plant(f"{row[0]}: row missing", _replace_row(rows, index, None), table.list_losing(row_id))
    yield plant("a row too many", [*rows, ["no such row", *rows[0][1:]]], tuple(table.refusing))
    ids = [row_of(str(row[0])) for row in rows]
    for total, factors in table.sums.items():
        for position, column in enumerate(table.columns[1:], start=1):
            part, summed = _change_sum(rows, ids, position, total, factors)
            if part:
                loses = table.list_losing(part, column)
                yield plant(f"{total}, {column}: sum of a wrong row", summed, loses)
    by_name = tuple(item for item, cells in table.cells.items() if any(cell[1] == names for cell in cells))
    yield plant("the rows reversed", rows[::-1], by_name if table.ordered else ())
    by_row = {str(row[0]): row[1] if len(row) == 2 else tuple(row[1:]) for row in rows}
    yield plant("as a dictionary", by_row, ())
    lines = (" | ".join(str(entry) for entry in row) for row in rows)
    yield plant("as Markdown", "\n".join(lines), ())


def _change_sum(
    rows: Rows, ids: Sequence[str], column: int, total: str, factors: Mapping[str, int]
) -> tuple[str, Rows]:
    """Return a row of a sum, and the table with that row and the sum increased.

    Empty if they are not integers.
    """
    # By exact type, so that booleans are no integers.
    places = {
        name: index
        for index, name in enumerate(ids)
        if [int] == [*map(type, rows[index][column : column + 1])]
    }
    part = next((name for name in factors if name in places), "")
    changed = [list(row) for row in rows]
    if not part or total not in places:
        return "", changed
    changed[places[part]][column] += 1
    changed[places[total]][column] += factors[part]
    return part, changed


def _replace_row(rows: Rows, index: int, row: list[Any] | None) -> Rows:
    return [*rows[:index], *([row] if row is not None else []), *rows[index + 1 :]]
