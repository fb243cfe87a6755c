"""Limit how much of a notebook is kept for staff and pages: all of an honest one, and at most a budget.

Cells of the release stay complete. Of the student's cells the answers come first, then the other cells, then
the pictures in them in the same order, then outputs. A verdict never depends on it: judging is already done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from autograder.core.records import Cell, CellOutput, CellRun, ExecutedNotebook, Markdown, PastedPicture

_OF_OUTPUT = 100
"""Bytes that an output or a picture takes in addition to its texts."""


def fit_to_budget(notebook: ExecutedNotebook, answers: Collection[str], kb: int) -> ExecutedNotebook:
    """Return the notebook cut to its budget; cells with a cut text or missing output are flagged.

    Args:
        notebook: as it was run.
        answers: the ``grade_id`` of cells that hold answers.
        kb: maximum size of the student's texts and outputs as stored.
    """
    budget = kb << 10
    cells: dict[int, Cell | Markdown] = {}
    of_answers = {
        position
        for name in answers
        for position in (*notebook.find_positions(name), *notebook.further.get(name, ()))
    }
    # Answers first (the sort is stable), so that other cells cannot use up their budget.
    order = sorted(range(len(notebook.cells)), key=lambda index: index not in of_answers)
    for index in order:
        cell = notebook.cells[index]
        if isinstance(cell, Cell) and cell.locked:
            cells[index] = cell
            continue
        source, budget = _cut_text(cell.source, budget)
        cells[index] = cell if source == cell.source else replace(cell, source=source, cut=True)
    for index in order:
        cell = cells[index]
        if isinstance(cell, Markdown) and cell.pictures:
            pictures, budget = _keep_pictures(cell.pictures, budget)
            cells[index] = replace(cell, pictures=pictures)
    runs = []
    for run in notebook.runs:
        shown, budget = _keep_outputs(run, budget) if run is not None else (None, budget)
        runs.append(shown)
    return replace(notebook, cells=tuple(cells[index] for index in range(len(cells))), runs=tuple(runs))


def _cut_text(text: str, budget: int) -> tuple[str, int]:
    """Return the part of a text that fits, and the remaining budget."""
    size = count_stored_bytes((text,))
    if size > budget:
        # JSON takes six bytes per character at most (\u0000), and two for quotes.
        text = text[: max(0, budget - 2) // 6]
        size = budget
    return text, budget - size


def _keep_pictures(pictures: Iterable[PastedPicture], budget: int) -> tuple[tuple[PastedPicture, ...], int]:
    kept: list[PastedPicture] = []
    for picture in pictures:
        for kept_picture in (picture, replace(picture, data="")):  # the name shows that it was submitted
            size = _OF_OUTPUT + count_stored_bytes((kept_picture.name, kept_picture.mime, kept_picture.data))
            if size <= budget:
                kept.append(kept_picture)
                budget -= size
                break
    return tuple(kept), budget


def count_pictures(notebook: ExecutedNotebook) -> int:
    """Return how many pictures the texts of a notebook contain; a name without data does not count."""
    texts = (cell for cell in notebook.cells if isinstance(cell, Markdown))
    return sum(bool(picture.data) for cell in texts for picture in cell.pictures)


def _keep_outputs(run: CellRun, budget: int) -> tuple[CellRun, int]:
    kept: list[CellOutput] = []
    for output in run.outputs:
        size = _OF_OUTPUT + count_stored_bytes((*output.data, *output.data.values()))
        if size <= budget:
            kept.append(output)
            budget -= size
    if len(kept) == len(run.outputs):
        return run, budget
    return replace(run, outputs=tuple(kept), truncated=True), budget


def count_stored_bytes(texts: Iterable[str]) -> int:
    """Return the stored size of texts in bytes; an upper bound for texts that UTF-8 cannot encode."""
    size = 0
    for text in texts:
        try:
            size += len(msgspec.json.encode(text))
        except UnicodeEncodeError:
            size += 6 * len(text)
    return size
