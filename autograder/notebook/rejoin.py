"""Join a class or function that *Split Cell* cut in two, with the second half in a cell without metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Note
from autograder.notebook.copies import parse_cell
from autograder.notebook.document import MAX_SOURCE, RawCell
from autograder.notebook.match import LOST
from autograder.notebook.release import Release, ReleaseCell

MOST_HALVES = 10
"""Most cells that are appended to one; parsing the growing text for each of a thousand would take minutes."""


class RejoinedCells(Struct, frozen=True):
    """Cells of a notebook with split statements joined."""

    cells: tuple[RawCell, ...]
    joined: Mapping[int, tuple[int, ...]]
    """Number of a cell → numbers of the cells that were appended to it."""
    notes: tuple[Note, ...]


def join_split_cells(cells: Sequence[RawCell], release: Release) -> RejoinedCells:
    """Append cells that begin with indented code to the code cell directly above.

    The second half of a class runs without an error, because IPython removes the indentation, but its methods
    are missing from the class.
    """
    cell_by_id = release.by_id
    joined: dict[int, tuple[int, ...]] = {}
    notes: list[Note] = []
    result: list[RawCell] = []
    for cell in cells:
        above = result[-1] if result else None
        if above is None or not _may_continue(above, cell, cell_by_id):
            result.append(cell)
            continue
        whole = f"{above.source.rstrip()}\n\n{cell.source}"
        owner = _find_grade_id(above) or _find_grade_id(cell)
        is_valid = parse_cell(whole) is not None
        is_long = len(whole) > MAX_SOURCE or len(joined.get(above.number, ())) >= MOST_HALVES
        # Invalid code that belongs to an answer is joined as well, because a human must see the whole.
        if is_long or not (is_valid or owner):
            result.append(cell)
            continue
        marked = above if _find_grade_id(above) else replace(above, nbgrader=cell.nbgrader, id=cell.id)
        result[-1] = replace(marked, source=whole)
        joined[above.number] = (*joined.get(above.number, ()), cell.number)
        text = f"Cell {cell.number} begins with indented code and is read as the rest of cell {above.number}"
        if is_valid:
            notes.append(Note("answer-rejoined", f"{text}.", owner or f"cell {above.number}"))
        else:
            notes.append(Note(LOST, f"{text}, but together they are not valid Python: manual review.", owner))
    return RejoinedCells(tuple(result), joined, tuple(notes))


def _may_continue(above: RawCell, below: RawCell, cell_by_id: Mapping[str, ReleaseCell]) -> bool:
    """Decide whether a cell looks like the rest of the one above; a cell of the release never does."""
    if above.cell_type != "code" or below.cell_type != "code":
        return False
    ids = [name for cell in (above, below) if (name := _find_grade_id(cell))]
    if len(ids) > 1 or any(name not in cell_by_id or not cell_by_id[name].is_answer for name in ids):
        return False
    given_sources = {original.source.strip() for original in cell_by_id.values()}
    if above.source.strip() in given_sources or below.source.strip() in given_sources:
        return False
    code = [line for line in below.source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    lines = above.source.rstrip().split("\n")
    # Indented code is only valid below an indented line or a line that opens a block.
    return bool(code) and code[0][0] in " \t" and (lines[-1][:1] in (" ", "\t") or lines[-1].endswith(":"))


def _find_grade_id(cell: RawCell) -> str:
    """Return the grade_id that a cell carries; empty if it has none."""
    grade_id = (cell.nbgrader or {}).get("grade_id")
    return grade_id if isinstance(grade_id, str) else ""
