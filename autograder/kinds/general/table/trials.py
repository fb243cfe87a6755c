"""Planted answers to a table question, made from the table of the answer key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.checks.base import Trial
from autograder.checks.planning.planting import assigned
from autograder.checks.values.literal import answer_literal
from autograder.records import Answer

Rows = list[list[Any]]


class Asked(Struct, frozen=True):
    """What the items of a table question judge."""

    answer: str
    """The variable."""
    columns: tuple[str, ...]
    """All columns, that of the names first."""
    cells: Mapping[str, tuple[tuple[str, str], ...]]
    """Item → its cells, as row and column."""
    refusing: frozenset[str]
    """Items that lose points by rows too many."""
    ordered: bool
    """Whether the order counts."""
    sums: Mapping[str, Mapping[str, int]]
    """Row → the rows it is the sum of, with their factors."""
    partly: frozenset[str]
    """Items to which a sum of wrong rows is worth less than a right one."""

    def losing(self, row: str, column: str = "") -> tuple[str, ...]:
        """The items with a cell in this row; with this one, where the column is given."""
        return tuple(
            item
            for item, cells in self.cells.items()
            if any(one == row and column in ("", other) for one, other in cells)
        )


def trials(
    key: Answer, asked: Asked, row_of: Callable[[str], str], wrong: Mapping[str, Any]
) -> Iterator[Trial]:
    """One trial for every cell and row, and the table in other notations, which must be accepted.

    There are none where the key's table is not a list of tuples in the source.

    Args:
        key: the answer key's cell.
        asked: what is judged.
        row_of: the row's id by its name in the table.
        wrong: column → an entry that is wrong in every row, whatever is right there.
    """
    literal = answer_literal(key.source, asked.answer)
    if literal is None or not isinstance(literal.value, list):
        return

    def plant(name: str, value: object, loses: tuple[str, ...]) -> Trial:
        return Trial(name, assigned(key, asked.answer, value), loses)

    rows: Rows = [list(row) for row in literal.value if isinstance(row, tuple | list)]
    names = asked.columns[0]
    for place, row in enumerate(rows):
        found = row_of(str(row[0]))
        for at, column in enumerate(asked.columns[1 : len(row)], start=1):
            if asked.losing(found, column):
                changed = [*row[:at], wrong[column], *row[at + 1 :]]
                lost = asked.losing(found, column)
                yield plant(f"{row[0]}, {column}: wrong", _with(rows, place, changed), lost)
        yield plant(f"{row[0]}: row missing", _with(rows, place, None), asked.losing(found))
    yield plant("a row too many", [*rows, ["no such row", *rows[0][1:]]], tuple(asked.refusing))
    ids = [row_of(str(row[0])) for row in rows]
    for total, factors in asked.sums.items():
        for at, column in enumerate(asked.columns[1:], start=1):
            part, summed = _own_sum(rows, ids, at, total, factors)
            if part:
                less = asked.partly & {*asked.losing(total, column)}
                loses = tuple(dict.fromkeys((*asked.losing(part, column), *less)))
                yield plant(f"{total}, {column}: sum of a wrong row", summed, loses)
    by_name = tuple(item for item, cells in asked.cells.items() if any(cell[1] == names for cell in cells))
    yield plant("the rows reversed", rows[::-1], by_name if asked.ordered else ())
    by_row = {str(row[0]): row[1] if len(row) == 2 else tuple(row[1:]) for row in rows}
    yield plant("as a dictionary", by_row, ())
    lines = (" | ".join(str(entry) for entry in row) for row in rows)
    yield plant("as Markdown", "\n".join(lines), ())


def _own_sum(
    rows: Rows, ids: Sequence[str], at: int, total: str, factors: Mapping[str, int]
) -> tuple[str, Rows]:
    """A row of a sum with one more, and the sum of that; empty where they are no whole numbers."""
    places = {
        name: place for place, name in enumerate(ids) if [int] == [*map(type, rows[place][at : at + 1])]
    }
    part = next((name for name in factors if name in places), "")
    changed = [list(row) for row in rows]
    if not part or total not in places:
        return "", changed
    changed[places[part]][at] += 1
    changed[places[total]][at] += factors[part]
    return part, changed


def _with(rows: Rows, place: int, row: list[Any] | None) -> Rows:
    return [*rows[:place], *([row] if row is not None else []), *rows[place + 1 :]]
