"""Item points, remarks and flags behind people's marks, in tables of our own in nbgrader's database.

nbgrader stores one score per cell. Item points are stored with the score they add up to, and count only as
long as the cell has that score: a different score entered in formgrader is a mark for the whole cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import sqlalchemy as sa
from msgspec.structs import replace

from autograder.grading.grades import CellName, PersonMark
from autograder.grading.store import AnswerName
from autograder.store.gradebook import tables


def _make_key_columns() -> Iterator[sa.Column[str]]:
    for name in ("assignment", "student", "notebook", "cell"):
        yield sa.Column(name, sa.String(128), primary_key=True)


_ITEM = sa.Table(
    "autograder_item_mark",
    tables.RECORDED.metadata,
    *_make_key_columns(),
    sa.Column("item", sa.String(128), primary_key=True),
    sa.Column("points", sa.String(40), nullable=False),
    sa.Column("worth", sa.String(40)),
    sa.Column("of_score", sa.Float, nullable=False),
)
"""Points, the item's worth, and the score of the cell that all its item points add up to."""
_REMARK = sa.Table(
    "autograder_item_remark",
    tables.RECORDED.metadata,
    *_make_key_columns(),
    sa.Column("item", sa.String(128), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
"""Remarks of people on single items."""
_FLAG = sa.Table("autograder_flag", tables.RECORDED.metadata, *_make_key_columns())


def write_items(connection: sa.Connection, assignment: str, answer: AnswerName, mark: PersonMark) -> None:
    """Store a mark's item points, remarks and flag, replacing the earlier ones."""
    key_values = dict(zip(("assignment", "student", "notebook", "cell"), (assignment, *answer), strict=True))
    for table in (_ITEM, _REMARK, _FLAG):
        connection.execute(
            sa.delete(table).where(*(table.c[name] == value for name, value in key_values.items()))
        )
    if mark.flagged:
        connection.execute(sa.insert(_FLAG).values(key_values))
    if mark.remarks:
        said = [{**key_values, "item": item, "text": text} for item, text in mark.remarks.items()]
        connection.execute(sa.insert(_REMARK), said)
    if mark.items and mark.points is not None:
        rows = [
            {
                **key_values,
                "item": item,
                "points": str(points),
                "worth": str(mark.worth[item]) if item in mark.worth else None,
                "of_score": float(mark.points),
            }
            for item, points in mark.items.items()
        ]
        connection.execute(sa.insert(_ITEM), rows)


def complete_marks(
    connection: sa.Connection, assignment: str, marks: dict[str, dict[CellName, PersonMark]]
) -> dict[str, dict[CellName, PersonMark]]:
    """Add item points, remarks and flags to the marks read from nbgrader's tables."""
    for row in connection.execute(sa.select(_ITEM).where(_ITEM.c.assignment == assignment)):
        cells, name = marks.get(row.student, {}), (row.notebook, row.cell)
        mark = cells.get(name)
        # The score was changed in formgrader: the stored item points no longer explain it.
        if mark is None or mark.points is None or float(mark.points) != row.of_score:
            continue
        worth = {} if row.worth is None else {row.item: Decimal(row.worth)}
        items = {**mark.items, row.item: Decimal(row.points)}
        cells[name] = replace(mark, items=items, worth={**mark.worth, **worth})
    # Remarks and flags may exist for cells without a mark.
    for row in connection.execute(sa.select(_REMARK).where(_REMARK.c.assignment == assignment)):
        cells, name = marks.setdefault(row.student, {}), (row.notebook, row.cell)
        mark = cells.get(name, PersonMark())
        cells[name] = replace(mark, remarks={**mark.remarks, row.item: row.text})
    for row in connection.execute(sa.select(_FLAG).where(_FLAG.c.assignment == assignment)):
        cells = marks.setdefault(row.student, {})
        cells[row.notebook, row.cell] = replace(
            cells.get((row.notebook, row.cell), PersonMark()), flagged=True
        )
    return marks
