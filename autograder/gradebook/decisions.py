"""One decision for all equal answers: ``decisions.csv``, typed by people, entered as their marks.

What somebody gave in formgrader stays. What came from the file follows the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path

import sqlalchemy as sa
from msgspec import Struct

from autograder.errors import CourseError
from autograder.gradebook import tables
from autograder.gradebook.people import of_class
from autograder.gradebook.roster import assignment_of, points_of, read_rows

COLUMNS = ("assignment", "cell", "group", "points", "comment")

Key = tuple[str, str, str]
"""Student, notebook, cell."""


class Decision(Struct, frozen=True):
    """What all answers of one group get."""

    cell: str
    group: str
    points: Decimal
    comment: str = ""


class Entered(Struct, frozen=True):
    """What became of decisions."""

    written: int
    """Marks that are new or different."""
    kept: tuple[Key, ...]
    """Where somebody gave another mark in formgrader, which stays."""


def read_decisions(
    path: Path, assignment: str, cells: Mapping[str, Decimal], assignments: Collection[str]
) -> tuple[Decision, ...]:
    """Read what was decided about one assignment.

    Args:
        path: of the list.
        assignment: whose lines count.
        cells: the cells that can be decided by group, and their points.
        assignments: all that the course has: a line of another one is misspelt, and would decide nothing.

    Raises:
        CourseError: the list is not a CSV file with these columns, or a line names an assignment that the
            course does not have, a cell that cannot be
            decided, points that it cannot have, or a group for the second time; names the line.
    """
    found: dict[tuple[str, str], Decision] = {}
    for line, row in read_rows(path, "the list of decisions", COLUMNS, needed=COLUMNS[:4]):
        place = f"{path}: line {line}"
        if assignment_of(row, place, assignments) != assignment:
            continue
        cell, group = row["cell"], row["group"]
        if cell not in cells:
            raise CourseError(
                f"{place}: cell: {cell!a} is not decided by people alone; expected one of {', '.join(cells)}"
            )
        points = points_of(row["points"], place)
        if points > cells[cell]:
            raise CourseError(f"{place}: points: expected at most {cells[cell]} for {cell}, got {points}")
        if not group:
            raise CourseError(f"{place}: the group is empty; copy it from the page for marking by hand")
        if (cell, group) in found:
            raise CourseError(f"{place}: the group {group!a} of {cell} stands twice")
        found[cell, group] = Decision(cell, group, points, row["comment"])
    return tuple(found.values())


def enter(connection: sa.Connection, assignment: str, given: Mapping[Key, Decision]) -> Entered:
    """Write decisions as manual marks, where nobody has given another one."""
    grade, table = tables.GRADE, tables.DECIDED
    query = of_class(grade, assignment, grade.c.id, grade.c.manual_score, grade.c.needs_manual_grade)
    rows = {(row[0], row[1], row[2]): row[3:] for row in connection.execute(query)}
    columns = (table.c.student, table.c.notebook, table.c.cell, table.c.points)
    decided = sa.select(*columns).where(table.c.assignment == assignment)
    before = {(row[0], row[1], row[2]): row[3] for row in connection.execute(decided)}
    written, kept = 0, []
    for key, decision in given.items():
        if key not in rows:
            continue
        identifier, manual, pending = rows[key]
        points = float(decision.points)
        if manual not in (None, points, before.get(key)):
            kept.append(key)
        elif (manual, bool(pending)) != (points, False):
            values = {"manual_score": points, "needs_manual_grade": False}
            connection.execute(sa.update(grade).where(grade.c.id == identifier).values(values))
            _remember(connection, assignment, key, points)
            written += 1
    _comment(connection, assignment, {key: one.comment for key, one in given.items() if one.comment})
    return Entered(written, tuple(kept))


def _remember(connection: sa.Connection, assignment: str, key: Key, points: float) -> None:
    """Note that a mark came from the list, so that it follows the list."""
    table = tables.DECIDED
    values = dict(zip(("assignment", "student", "notebook", "cell"), (assignment, *key), strict=True))
    connection.execute(sa.delete(table).where(*(table.c[name] == value for name, value in values.items())))
    connection.execute(sa.insert(table).values(**values, points=points))


def _comment(connection: sa.Connection, assignment: str, texts: Mapping[Key, str]) -> None:
    """Write comments where nobody has written one."""
    comment = tables.COMMENT
    query = of_class(comment, assignment, comment.c.id, comment.c.manual_comment)
    for student, notebook, cell, identifier, stands in connection.execute(query).all():
        text = texts.get((student, notebook, cell))
        if text and not stands:
            connection.execute(
                sa.update(comment).where(comment.c.id == identifier).values(manual_comment=text)
            )
