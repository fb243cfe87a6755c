"""Limit how much of a notebook is kept for staff and pages: all of an honest one, and at most a budget.

Cells of the release stay complete. Of the student's cells the answers come first, then the other cells, then
the pictures in them in the same order, then outputs. A verdict never depends on it: judging is already done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from autograder.records import Cell, CellOutput, CellRun, ExecutedNotebook, Markdown, PastedPicture

_OF_OUTPUT = 100
"""Bytes that an output or a picture takes in addition to its texts."""


def fit_to_budget(notebook: ExecutedNotebook, answers: Collection[str], kb: int) -> ExecutedNotebook:
    """Return the notebook cut to its budget; cells with a cut text or missing output are flagged.

    Args:
        notebook: as it was run.
        answers: the ``grade_id`` of cells that hold answers.
        kb: maximum size of the student's texts and outputs as stored.
    """
    left = kb << 10
    kept: dict[int, Cell | Markdown] = {}
    of_answers = {
        position
        for name in answers
        for position in (*notebook.positions(name), *notebook.further.get(name, ()))
    }
    # Answers first (the sort is stable), so that other cells cannot use up their budget.
    places = sorted(range(len(notebook.cells)), key=lambda place: place not in of_answers)
    for place in places:
        cell = notebook.cells[place]
        if isinstance(cell, Cell) and cell.locked:
            kept[place] = cell
            continue
        source, left = _cut(cell.source, left)
        kept[place] = cell if source == cell.source else replace(cell, source=source, cut=True)
    for place in places:
        cell = kept[place]
        if isinstance(cell, Markdown) and cell.pictures:
            pictures, left = _pictures(cell.pictures, left)
            kept[place] = replace(cell, pictures=pictures)
    runs = []
    for run in notebook.runs:
        shown, left = _outputs(run, left) if run is not None else (None, left)
        runs.append(shown)
    return replace(notebook, cells=tuple(kept[place] for place in range(len(kept))), runs=tuple(runs))


def _cut(text: str, left: int) -> tuple[str, int]:
    """Return the part of a text that fits, and the remaining budget."""
    size = stored_bytes((text,))
    if size > left:
        # JSON takes six bytes per character at most (\u0000), and two for quotes.
        text = text[: max(0, left - 2) // 6]
        size = left
    return text, left - size


def _pictures(pictures: Iterable[PastedPicture], left: int) -> tuple[tuple[PastedPicture, ...], int]:
    kept: list[PastedPicture] = []
    for picture in pictures:
        for kept_picture in (picture, replace(picture, data="")):  # the name shows that it was submitted
            size = _OF_OUTPUT + stored_bytes((kept_picture.name, kept_picture.mime, kept_picture.data))
            if size <= left:
                kept.append(kept_picture)
                left -= size
                break
    return tuple(kept), left


def count_pictures(notebook: ExecutedNotebook) -> int:
    """Return how many pictures the texts of a notebook contain; a name without data does not count."""
    texts = (cell for cell in notebook.cells if isinstance(cell, Markdown))
    return sum(bool(picture.data) for cell in texts for picture in cell.pictures)


def _outputs(run: CellRun, left: int) -> tuple[CellRun, int]:
    kept: list[CellOutput] = []
    for output in run.outputs:
        size = _OF_OUTPUT + stored_bytes((*output.data, *output.data.values()))
        if size <= left:
            kept.append(output)
            left -= size
    if len(kept) == len(run.outputs):
        return run, left
    return replace(run, outputs=tuple(kept), truncated=True), left


def stored_bytes(texts: Iterable[str]) -> int:
    """Return the stored size of texts in bytes; an upper bound for texts that UTF-8 cannot encode."""
    size = 0
    for text in texts:
        try:
            size += len(msgspec.json.encode(text))
        except UnicodeEncodeError:
            size += 6 * len(text)
    return size
