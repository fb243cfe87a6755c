"""Pictures that may be an answer: next to a blank answer, or in a text but impossible to display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.core.images import build_image_uri
from autograder.core.records import Cell, CellRun, Markdown, Note, Submission
from autograder.core.tables import escape_name
from autograder.notebook.document import join_source

NOT_SHOWN = "picture-not-shown"


class _SavedOutput(Struct):
    data: dict[str, msgspec.Raw] = {}


class _SavedCell(Struct):
    source: Any = ""
    outputs: list[_SavedOutput] = []


class _SavedNotebook(Struct):
    cells: list[_SavedCell] = []


def find_pictures(
    submission: Submission, runs: Sequence[CellRun | None], grade_id: str, saved: frozenset[str]
) -> tuple[int, ...]:
    """Return the positions of the student's own cells with pictures between an answer and its neighbours.

    Args:
        submission: the notebook.
        runs: results of its cells.
        grade_id: of the answer.
        saved: see `read_saved_pictures`.
    """
    answers = [
        position for position, cell in enumerate(submission.cells) if cell.grade_id in submission.answers
    ]
    answer_position = next(
        (position for position in answers if submission.cells[position].grade_id == grade_id), None
    )
    if answer_position is None:
        return ()
    # Pictures beyond the neighbouring answers belong to those.
    start = max((position for position in answers if position < answer_position), default=-1)
    stop = min(
        (position for position in answers if position > answer_position), default=len(submission.cells)
    )
    only_texts = isinstance(submission.cells[answer_position], Cell)
    return tuple(
        position
        for position in range(start + 1, stop)
        if _has_picture(submission.cells[position], runs[position], saved, only_texts=only_texts)
    )


def note_unshown_pictures(submission: Submission) -> Iterator[Note]:
    """Yield a note for each text with pictures that no page can show: SVG, HEIC, or too large."""
    for number, cell in enumerate(submission.cells, start=1):
        pictures = cell.pictures if isinstance(cell, Markdown) else ()
        names = [picture.name for picture in pictures if build_image_uri(picture.mime, picture.data) is None]
        if names:
            listed = escape_name(", ".join(names))
            text = f"A picture of this text cannot be shown ({listed}): look into the notebook handed in."
            yield Note(NOT_SHOWN, text, cell.grade_id or f"cell {number}")


def read_saved_pictures(data: bytes | NotebookError | None) -> frozenset[str]:
    """Return the sources of code cells with a picture among their saved outputs.

    Such a cell may not run here, so its picture would otherwise be missed.
    """
    if not isinstance(data, bytes):
        return frozenset()
    try:
        cells = msgspec.json.decode(data, type=_SavedNotebook).cells
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    shown = (cell for cell in cells if any(_is_picture(output.data) for output in cell.outputs))
    return frozenset((join_source(cell.source) or "").strip() for cell in shown) - {""}


def _is_picture(data: Mapping[str, object]) -> bool:
    return any(mime.startswith("image/") for mime in data)


def _has_picture(
    cell: Cell | Markdown, run: CellRun | None, saved: frozenset[str], *, only_texts: bool
) -> bool:
    """Return whether a cell is the student's own and shows a picture.

    Args:
        cell: of the notebook.
        run: its result.
        saved: see `read_saved_pictures`.
        only_texts: the answer is code, and a plot next to a blank code cell is no answer; a photo of a
            formula is.
    """
    if cell.grade_id:
        return False
    if isinstance(cell, Markdown):
        return bool(cell.pictures)
    if cell.locked or only_texts:
        return False
    is_drawn = any(_is_picture(output.data) for output in (run.outputs if run else ()))
    # A plot drawn with a package that is missing here exists only among the saved outputs.
    return is_drawn or cell.source.strip() in saved
