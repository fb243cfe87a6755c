"""Split merged cells that contain the complete text of a given cell.

*Merge Cells* keeps the metadata of one cell. An answer that was merged into a given cell would otherwise be
replaced by the release's text, and a given cell merged into an answer would be read as the student's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograder.core.records import Note
from autograder.notebook.document import RawCell, normalize_source
from autograder.notebook.release import Release, ReleaseCell

_SHORTEST = 10
"""Shortest given text, in characters; shorter ones, such as a heading, occur in answers by chance."""

_MOST = 100_000
"""Longest cell, in characters, that is examined, because comparing takes time."""


def split_merged_cells(
    cells: Sequence[RawCell], release: Release
) -> tuple[tuple[RawCell, ...], frozenset[int], list[Note]]:
    """Split every cell that contains a given cell of the release, if that cell is missing.

    Args:
        cells: cells of the submission.
        release: the student's own release.

    Returns:
        The cells, in which the parts of one cell have the same number; the indices of parts that are no given
        text; and a note for each cell that was split.
    """
    present = {normalize_source(cell.source) for cell in cells}
    # Only missing cells can have been merged into others; ordinary notebooks stay untouched.
    missing = [
        cell
        for cell in release.cells
        if not cell.is_answer
        and len(cell.source.strip()) >= _SHORTEST
        and normalize_source(cell.source) not in present
    ]
    if not missing:
        return tuple(cells), frozenset(), []
    claimed = {_read_claim(cell) for cell in cells}
    answers = {cell.grade_id for cell in release.cells if cell.is_answer}
    missing_texts = {normalize_source(cell.source) for cell in missing}
    separated: list[RawCell] = []
    own_parts: set[int] = set()
    notes = []
    for cell in cells:
        # Within an answer, a given text only marks the border to another answer.
        whole = _read_claim(cell) in answers and answers <= claimed
        parts = [cell] if whole or len(cell.source) > _MOST else list(_split_cell(cell, missing))
        if len(parts) > 1:
            text = "Holds the text of given cells beside other text; read as the cells it was merged from."
            notes.append(Note("cell-unmerged", text, f"cell {cell.number}"))
            own_parts |= {
                position
                for position, part in enumerate(parts, len(separated))
                if normalize_source(part.source) not in missing_texts
            }
        separated += parts
    return tuple(separated), frozenset(own_parts), notes


def _read_claim(cell: RawCell) -> str:
    """Return the grade_id that a cell claims; empty if it claims none."""
    claimed = (cell.nbgrader or {}).get("grade_id")
    return claimed if isinstance(claimed, str) else ""


def _split_cell(cell: RawCell, missing: Sequence[ReleaseCell]) -> Iterator[RawCell]:
    """Yield the parts of a cell: given texts in their own cells, and the text between them."""
    lines = cell.source.split("\n")
    blocks = _find_given_blocks(lines, missing)
    if not blocks:
        yield cell
        return
    claimed = _read_claim(cell)
    marks, end = cell, 0
    if any(given_cell.grade_id and given_cell.grade_id == claimed for _, _, given_cell in blocks):
        marks = replace(cell, nbgrader=None, id="")  # the metadata is the given cell's
    for start, stop, given_cell in [*blocks, (len(lines), len(lines), None)]:
        own_text = "\n".join(lines[end:start]).strip("\n")
        if own_text.strip():
            yield replace(marks, source=own_text)
            marks = replace(cell, nbgrader=None, id="")  # one part can be the answer whose metadata it is
        if given_cell is not None:
            kept = cell.nbgrader if given_cell.grade_id and given_cell.grade_id == claimed else None
            yield replace(
                cell, source=given_cell.source, cell_type=given_cell.cell_type, nbgrader=kept, id=""
            )
        end = stop


def _find_given_blocks(
    lines: Sequence[str], missing: Sequence[ReleaseCell]
) -> list[tuple[int, int, ReleaseCell]]:
    """Return the lines of given texts in a cell, in order and without overlaps."""
    text = [line.rstrip() for line in lines]
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        places.setdefault(line, []).append(number)
    blocks: list[tuple[int, int, ReleaseCell]] = []
    for given_cell in missing:
        wanted = normalize_source(given_cell.source.strip("\n")).split("\n")
        starts = (
            start_line
            for start_line in places.get(wanted[0], ())
            if text[start_line : start_line + len(wanted)] == wanted
        )
        start = next(starts, None)
        if start is not None:
            blocks.append((start, start + len(wanted), given_cell))
    apart: list[tuple[int, int, ReleaseCell]] = []
    # The longest text first, so that one within another is dropped.
    for start, stop, given_cell in sorted(blocks, key=lambda block: (block[0], -block[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, stop, given_cell))
    return apart
