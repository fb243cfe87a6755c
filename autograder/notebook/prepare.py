"""Prepare the cells of a submission for matching: split merged cells, join split ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Note
from autograder.notebook.additions import take_additions_out
from autograder.notebook.displaced import take_details_apart
from autograder.notebook.document import RawCell, normalize_source
from autograder.notebook.pictures import attach_files
from autograder.notebook.rejoin import join_split_cells
from autograder.notebook.release import Release
from autograder.notebook.unmerge import split_merged_cells

_FENCED = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)(?:^```[ \t]*(?:\n|\Z)|\Z)", re.MULTILINE | re.DOTALL)


class PreparedCells(Struct, frozen=True):
    """Prepared cells, and the changes made to them."""

    cells: tuple[RawCell, ...]
    taken_apart: frozenset[int]
    """Indices of cells that were in one cell with given text."""
    joined: Collection[int]
    """Numbers of cells to which the rest of a split statement was appended."""
    notes: tuple[Note, ...]


def prepare_cells(
    cells: Sequence[RawCell],
    release: Release,
    names_asked: Mapping[str, Collection[str]],
    pictures: Mapping[str, bytes],
) -> PreparedCells:
    """Give every answer and every addition to given text its own cell.

    Args:
        cells: cells as submitted.
        release: the student's own release.
        names_asked: grade_id → names that the rubric asks for.
        pictures: pictures that were submitted with the notebook, by path; texts may show them.
    """
    shown = _show_pictures(cells, release, pictures)
    identified = _restore_ids(shown, release) if release.foreign else shown
    unfenced = tuple(_remove_fences(cell, release) for cell in identified)
    rejoined = join_split_cells(take_details_apart(unfenced, names_asked), release)
    unmerged, taken_apart, notes = split_merged_cells(rejoined.cells, release)
    apart, taken_apart = take_additions_out(unmerged, taken_apart, release, names_asked)
    return PreparedCells(apart, taken_apart, frozenset(rejoined.joined), (*rejoined.notes, *notes))


def _show_pictures(
    cells: Iterable[RawCell], release: Release, files: Mapping[str, bytes]
) -> tuple[RawCell, ...]:
    """Return the cells with texts that show the pictures belonging to them.

    In a text without any word of the student the attached pictures are the answer.

    Args:
        cells: cells of the notebook.
        release: the notebook as it was released.
        files: pictures in separate files, by path.
    """
    blank = {"", *(normalize_source(cell.source) for cell in release.cells if cell.is_answer)}
    shown = []
    for cell in cells:
        if cell.cell_type == "code":
            shown.append(cell)
        elif cell.pictures and normalize_source(cell.source) in blank:
            addresses = (f"![](attachment:{quote(picture.name)})" for picture in cell.pictures)
            shown.append(replace(cell, source="\n\n".join(addresses)))
        else:
            source, pictures = attach_files(cell.source, cell.pictures, files)
            shown.append(replace(cell, source=source, pictures=pictures))
    return tuple(shown)


def _remove_fences(cell: RawCell, release: Release) -> RawCell:
    """Return the code of a code answer that was turned to text and fenced; other lines become comments."""
    grade_id = (cell.nbgrader or {}).get("grade_id")
    original = release.by_id.get(grade_id) if isinstance(grade_id, str) else None
    if cell.cell_type == "code" or original is None or not original.is_answer or original.cell_type != "code":
        return cell
    parts = _FENCED.split(cell.source)  # text and code in turn
    if len(parts) == 1:
        return cell
    # Even entries are the text between the code blocks.
    for number in range(0, len(parts), 2):
        parts[number] = "\n".join(f"# {line}" for line in parts[number].split("\n") if line.strip())
    return replace(cell, source="\n".join(part.rstrip("\n") for part in parts if part))


def _restore_ids(cells: Sequence[RawCell], release: Release) -> tuple[RawCell, ...]:
    """Add the release's ids to cells of a submission that never had nbgrader's ids, such as otter's.

    A cell is recognised by the id that Jupyter gave it, and a locked one also by its text. The rest is left
    to `match_cells` and `recover_answers`, as in notebooks from which a tool removed the metadata.
    """
    cell_by_grade_id = release.by_id
    by_cell = {cell.cell_id: name for name, cell in cell_by_grade_id.items() if cell.cell_id}
    by_text = {cell.source.strip(): name for name, cell in cell_by_grade_id.items() if cell.is_locked}
    taken: set[str] = set()
    identified = []
    for cell in cells:
        name = by_cell.get(cell.id) or by_text.get(cell.source.strip(), "")
        if name and name not in taken and cell.nbgrader is None:
            taken.add(name)
            original = cell_by_grade_id[name]
            flags = {
                "grade": original.grade,
                "solution": original.solution,
                "locked": original.locked,
                "task": original.task,
            }
            cell = replace(cell, nbgrader={"grade_id": name, **flags})  # noqa: PLW2901
        identified.append(cell)
    return tuple(identified)
