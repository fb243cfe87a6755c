"""Options of the kind ``table``: its rows, columns and items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.tables import convert_table
from autograder.questions.base.options import locate_question
from autograder.rubric import Question

KEY = "key"
"""The kind of the first column, which names the rows."""


class TableRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the right table."""

    id: str
    aliases: tuple[str, ...] = ()
    """Further names that students may write in the first column."""
    cells: dict[str, Any] = {}
    """By column: the right value, or a table with the options of an item of the column's kind."""
    sum: dict[str, int] | tuple[str, ...] = ()
    """This row is the sum of these rows (each times a factor), also of the student's own."""

    @property
    def factors(self) -> Mapping[str, int]:
        """Row → factor of the sum."""
        return self.sum if isinstance(self.sum, Mapping) else dict.fromkeys(self.sum, 1)


class Column(Struct, frozen=True):
    """One column; ``options`` are those of a question of its kind."""

    id: str
    kind: Literal["key", "number", "shape", "choice"]
    aliases: tuple[str, ...] = ()
    options: dict[str, Any] = {}


class TableQuestion(Struct, frozen=True):
    """Options of a ``table`` question."""

    column: tuple[dict[str, Any], ...] = ()
    row: tuple[TableRow, ...] = ()
    order: Literal["free", "given"] = "free"
    """``given``: the rows must be in the rubric's order."""
    beside: tuple[str, ...] = ()
    """Names of rows that are true but not required, with ``*`` for anything: they cost nothing."""
    config: dict[str, Any] | None = None
    """Argument of the reference, which computes the right values of cells without one in the rubric."""
    following: Literal["", "told", "credited"] = ""
    """How to treat a wrong shape that follows from the student's own of earlier rows: mention it, or give
    credit."""


class TableItem(Struct, frozen=True):
    """Options of an item of a ``table`` question."""

    columns: tuple[str, ...]
    rows: tuple[str, ...] = ()
    """Default: all."""
    credit: Literal["all", "each"] = "each"
    """``each``: an equal part of the points for each cell; ``all``: every cell or nothing."""
    extra: Literal["ignore", "refuse"] = "ignore"
    """``refuse``: an extra row deducts the part of one cell."""


NOT_IN_A_TABLE = ("config",)
"""Options of questions about calls: the cells of a table are written down."""


def read_columns(options: TableQuestion, question: Question) -> tuple[Column, ...]:
    """Return the columns, the first of which names the rows.

    Raises:
        RubricError: there is only the first, one has no kind, or two have the same name.
    """
    columns = []
    column_keys = {field.encode_name for field in msgspec.structs.fields(Column)} - {"options"}
    for number, table in enumerate(options.column, start=1):
        where = locate_question(question).extend(
            f", column {table.get('id', number)!r}", "column", number - 1
        )
        kind_options = {key: value for key, value in table.items() if key not in column_keys}
        for key in NOT_IN_A_TABLE:
            if key in kind_options:
                raise RubricError("cells are written down; nothing is called for them", where, key)
        column_fields = {key: value for key, value in table.items() if key in column_keys}
        columns.append(convert_table({**column_fields, "options": kind_options}, Column, where))
    names = [column.id for column in columns]
    if len(columns) < 2 or [column.kind == KEY for column in columns] != [True] + [False] * (len(names) - 1):
        raise RubricError(
            f"the first one has kind {KEY!r}, further ones follow", locate_question(question), "column"
        )
    if len(set(names)) != len(names):
        raise RubricError("two have one id", locate_question(question), "column")
    return tuple(columns)


def check_rows(options: TableQuestion, columns: tuple[Column, ...], question: Question) -> None:
    """Refuse rows that fit no column, and sums of rows that do not exist.

    Raises:
        RubricError: names question and row.
    """
    rows = [row.id for row in options.row]
    if not rows or len(set(rows)) != len(rows):
        raise RubricError(
            "at least one is needed, each with an id of its own", locate_question(question), "row"
        )
    column_ids = [column.id for column in columns[1:]]
    for row in options.row:
        where = locate_question(question).extend(f", row {row.id!r}", "row", row.id)
        for name in row.cells:
            if name not in column_ids:
                raise RubricError(f"no column {name!r}; known are: {', '.join(column_ids)}", where)
        for name in row.factors:
            if name not in rows or name == row.id:
                raise RubricError(f"no other row {name!r}; known are: {', '.join(rows)}", where, "sum")
