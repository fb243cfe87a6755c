"""The cells of an assignment in the gradebook: created from the release and kept up to date.

Cells are created through nbgrader's own API; rows are removed directly in its tables, because the API can
remove only whole notebooks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from autograder.core.errors import GradebookError
from autograder.rubric import Rubric
from autograder.store.gradebook import tables

GRADED = ("GradeCell", "TaskCell")
COMMENTED = ("SolutionCell", "TaskCell")
_SOURCE = "SourceCell"

Wanted = dict[tuple[str, str, str], dict[str, Any]]
"""(notebook, grade_id, type) → the column values of the cell's row."""


class GradebookCell(Struct, frozen=True):
    """One cell that has marks or comments: a row of nbgrader's ``base_cell``."""

    id: str
    name: str
    type: str
    notebook: str
    notebook_id: str


def collect_wanted_cells(rubric: Rubric, releases: Mapping[str, bytes]) -> Wanted:
    """Return the cells that the release notebooks and the rubric require.

    Raises:
        GradebookError: a notebook of the rubric is missing or not JSON, or lacks a grade cell.
    """
    wanted: Wanted = {}
    for notebook in rubric.assignment.notebooks:
        if notebook.name not in releases:
            raise GradebookError(f"notebook {notebook.name!r} of the rubric is not among the released ones")
        points = {
            cell: float(worth)
            for question in rubric.questions
            if question.notebook == notebook.name
            for cell, worth in question.list_cells().items()
        }
        for cell in _parse_release(releases[notebook.name], notebook.name).get("cells", ()):
            wanted |= _build_rows(cell, notebook.name, points)
        for cell in points:
            if not any((notebook.name, cell, kind) in wanted for kind in GRADED):
                raise GradebookError(f"notebook {notebook.name!r} has no cell {cell!r} marked as graded")
    return wanted


def create_cells(
    book: Any,
    assignment: str,
    wanted: Wanted,
    releases: Mapping[str, bytes],
    *,
    keep_sources: bool = False,
) -> None:
    """Create missing rows and update those that differ.

    Args:
        book: the gradebook.
        assignment: its name.
        wanted: see `collect_wanted_cells`.
        releases: notebooks by name.
        keep_sources: leave existing source cells unchanged.
    """
    book.update_or_create_assignment(assignment)
    update = {
        "GradeCell": book.update_or_create_grade_cell,
        "SolutionCell": book.update_or_create_solution_cell,
        "TaskCell": book.update_or_create_task_cell,
        _SOURCE: book.update_or_create_source_cell,
    }
    for notebook in dict.fromkeys(key[0] for key in wanted):
        kernelspec = _parse_release(releases[notebook], notebook).get("metadata", {}).get("kernelspec", {})
        stored = book.update_or_create_notebook(notebook, assignment, kernelspec=json.dumps(kernelspec))
        stored_cells = {
            **{
                (cell.name, cell.type): cell
                for cell in (*stored.grade_cells, *stored.solution_cells, *stored.task_cells)
            },
            **{(cell.name, _SOURCE): cell for cell in stored.source_cells},
        }
        for (notebook_name, cell, kind), values in wanted.items():
            present = stored_cells.get((cell, kind))
            if kind == _SOURCE and keep_sources and present is not None:
                continue  # the existing source has the hidden tests
            if notebook_name == notebook and not _has_values(present, values):
                update[kind](cell, notebook, assignment, **values)
    # Ends the ORM session: the statements that follow use connections of their own.
    book.db.remove()


def load_cells(connection: sa.Connection, assignment: str) -> tuple[GradebookCell, ...]:
    """Load the cells of an assignment that have marks or comments."""
    query = (
        sa.select(
            tables.CELL.c.id,
            tables.CELL.c.name,
            tables.CELL.c.type,
            tables.NOTEBOOK.c.name,
            tables.NOTEBOOK.c.id,
        )
        .join(tables.NOTEBOOK, tables.NOTEBOOK.c.id == tables.CELL.c.notebook_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == tables.NOTEBOOK.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
        .order_by(tables.NOTEBOOK.c.name, tables.CELL.c.name, tables.CELL.c.type)
    )
    return tuple(GradebookCell(*row) for row in connection.execute(query))


def list_commented_cells(places: Collection[GradebookCell]) -> frozenset[tuple[str, str]]:
    """Return the (notebook, cell) pairs that have a comment in nbgrader."""
    return frozenset((place.notebook, place.name) for place in places if place.type in COMMENTED)


def remove_obsolete_cells(
    connection: sa.Connection, assignment: str, wanted: Collection[tuple[str, str, str]]
) -> None:
    """Remove cells that the release no longer has, with their automatic marks.

    Raises:
        GradebookError: a person entered a mark or comment on one of them.
    """
    places = load_cells(connection, assignment)
    gone = [place for place in places if (place.notebook, place.name, place.type) not in wanted]
    for place in gone:
        if _has_human_marks(connection, place.id):
            raise GradebookError(
                f"cell {place.name!r} is no longer in the release, but has manual marks or comments; "
                "restore the cell, or export the marks and remove them in formgrader first"
            )
    # Rows that refer to a cell go first: PostgreSQL checks the foreign keys.
    identifiers = [place.id for place in gone]
    for table in (tables.GRADE, tables.COMMENT):
        connection.execute(sa.delete(table).where(table.c.cell_id.in_(identifiers)))
    for table in (*tables.CELL_DETAILS, tables.CELL):
        connection.execute(sa.delete(table).where(table.c.id.in_(identifiers)))
    # Source cells have no marks, so obsolete ones are removed without a check.
    for notebook_id, notebook in {place.notebook_id: place.notebook for place in places}.items():
        names = [cell for where, cell, kind in wanted if where == notebook and kind == _SOURCE]
        source = tables.SOURCE_CELL
        connection.execute(
            sa.delete(source).where(source.c.notebook_id == notebook_id, source.c.name.not_in(names))
        )


def _has_human_marks(connection: sa.Connection, cell_id: str) -> bool:
    grade, comment = tables.GRADE, tables.COMMENT
    marked = sa.exists().where(
        grade.c.cell_id == cell_id, grade.c.manual_score.is_not(None) | grade.c.extra_credit.is_not(None)
    )
    commented = sa.exists().where(comment.c.cell_id == cell_id, comment.c.manual_comment.is_not(None))
    return bool(connection.execute(sa.select(marked | commented)).scalar_one())


def _parse_release(release: bytes, notebook: str) -> dict[str, Any]:
    try:
        parsed = json.loads(release)
    except ValueError as error:
        raise GradebookError(f"the released notebook {notebook!r} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise GradebookError(f"the released notebook {notebook!r} is not a notebook")
    return parsed


def _build_rows(cell: Mapping[str, Any], notebook: str, points: Mapping[str, float]) -> Wanted:
    marks = cell.get("metadata", {}).get("nbgrader", {})
    grade_id, kind = marks.get("grade_id"), cell.get("cell_type")
    if not grade_id:
        return {}
    rows: Wanted = {}
    graded, solution = bool(marks.get("grade")), bool(marks.get("solution"))
    if marks.get("task") and grade_id in points:
        rows[notebook, grade_id, "TaskCell"] = {"max_score": points[grade_id], "cell_type": kind}
    if graded and grade_id in points:
        rows[notebook, grade_id, "GradeCell"] = {"max_score": points[grade_id], "cell_type": kind}
    if solution:
        rows[notebook, grade_id, "SolutionCell"] = {}
    locked = not solution and (graded or bool(marks.get("locked")))
    if graded or solution or locked:
        source = cell.get("source", "")
        rows[notebook, grade_id, _SOURCE] = {
            "cell_type": kind,
            "locked": locked,
            "source": source if isinstance(source, str) else "".join(source),
            "checksum": marks.get("checksum"),
        }
    return rows


def _has_values(stored: object | None, values: Mapping[str, Any]) -> bool:
    return stored is not None and all(getattr(stored, name) == value for name, value in values.items())
