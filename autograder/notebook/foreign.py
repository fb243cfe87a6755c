"""Notebooks that never had nbgrader's ids, such as otter's: which of their cells are the release's."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from autograder.notebook.document import RawCell
from autograder.notebook.release import Release


def with_ids(cells: Sequence[RawCell], release: Release) -> tuple[RawCell, ...]:
    """The cells of a submission with the grade_ids of the release.

    A cell is known by the id that Jupyter gave it, and a locked one by its text as well. What neither tells
    is left to `match` and `recover`, as in notebooks whose metadata a tool took away.
    """
    known = release.by_id
    by_cell = {cell.cell_id: name for name, cell in known.items() if cell.cell_id}
    by_text = {cell.source.strip(): name for name, cell in known.items() if cell.is_locked}
    taken: set[str] = set()
    found = []
    for cell in cells:
        name = by_cell.get(cell.id) or by_text.get(cell.source.strip(), "")
        if name and name not in taken and cell.nbgrader is None:
            taken.add(name)
            own = known[name]
            flags = {"grade": own.grade, "solution": own.solution, "locked": own.locked, "task": own.task}
            cell = replace(cell, nbgrader={"grade_id": name, **flags})  # noqa: PLW2901
        found.append(cell)
    return tuple(found)
