"""Pictures that may be an answer: beside a blank one, or in a text and not to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograder.errors import NotebookError
from autograder.feedback.sanitise import image_uri
from autograder.notebook.document import joined
from autograder.records import Cell, CellRun, ItemResult, Markdown, Message, Note, Status, Submission
from autograder.rubric import Rubric
from autograder.tables import printable_name

CODE = "picture-beside"
NOT_SHOWN = "picture-not-shown"


class _SavedOutput(Struct):
    data: dict[str, msgspec.Raw] = {}


class _SavedCell(Struct):
    source: Any = ""
    outputs: list[_SavedOutput] = []


class _SavedNotebook(Struct):
    cells: list[_SavedCell] = []


def review_pictures(
    rubric: Rubric,
    submission: Submission,
    runs: Sequence[CellRun | None],
    results: dict[str, tuple[ItemResult, ...]],
    data: bytes | NotebookError | None,
) -> tuple[Note, ...]:
    """Leave each blank answer beside which the student has a picture to manual review, and return notes.

    Args:
        rubric: of the assignment.
        submission: the notebook.
        runs: what its cells did.
        results: by question id; those of such answers are replaced.
        data: the notebook as it was handed in; its saved outputs may show what does not run here.
    """
    notes: list[Note] = []
    saved = _saved_pictures(data) if isinstance(data, bytes) else frozenset()
    answers = [at for at, cell in enumerate(submission.cells) if cell.grade_id in submission.answers]
    for question in rubric.questions:
        cell_of = {item.id: (item.manual and item.cell) or question.answer_cell for item in question.items}
        for place in answers:
            name = submission.cells[place].grade_id
            blank = {
                result.item
                for result in results.get(question.id, ())
                if result.status is Status.NO_ANSWER and cell_of.get(result.item) == name
            }
            cells = _cells_with_pictures(submission, runs, answers, place, saved) if blank else ()
            if not cells:
                continue
            numbers = ", ".join(str(at + 1) for at in cells)
            staff = f"The answer is blank, but there is a picture beside it: cell {numbers}."
            message = Message("review.picture", {"cells": numbers})
            results[question.id] = tuple(
                _in_review(result, message, staff) if result.item in blank else result
                for result in results[question.id]
            )
            notes.append(Note(CODE, staff, name))
    return tuple(notes)


def _cells_with_pictures(
    submission: Submission,
    runs: Sequence[CellRun | None],
    answers: Sequence[int],
    place: int,
    saved: frozenset[str],
) -> tuple[int, ...]:
    """Return the positions of the student's own cells with pictures between an answer and its neighbours."""
    start = max((at for at in answers if at < place), default=-1)
    stop = min((at for at in answers if at > place), default=len(submission.cells))
    only_texts = isinstance(submission.cells[place], Cell)
    return tuple(
        at
        for at in range(start + 1, stop)
        if _shows_picture(submission.cells[at], runs[at], saved, only_texts=only_texts)
    )


def note_unshown_pictures(submission: Submission) -> Iterator[Note]:
    """Yield a note for each text with pictures that no page can show: SVG, HEIC, or too large."""
    for number, cell in enumerate(submission.cells, start=1):
        pictures = cell.pictures if isinstance(cell, Markdown) else ()
        names = [one.name for one in pictures if image_uri(one.mime, one.data) is None]
        if names:
            listed = printable_name(", ".join(names))
            text = f"A picture of this text cannot be shown ({listed}): look into the notebook handed in."
            yield Note(NOT_SHOWN, text, cell.grade_id or f"cell {number}")


def _in_review(result: ItemResult, message: Message, staff: str) -> ItemResult:
    return replace(
        result,
        status=Status.NEEDS_REVIEW,
        student=message,
        staff=f"{staff} {result.staff}",
        code=message.code,
    )


def _saved_pictures(data: bytes) -> frozenset[str]:
    """Return the sources of code cells whose saved outputs contain a picture, which may not run here."""
    try:
        cells = msgspec.json.decode(data, type=_SavedNotebook).cells
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    shown = (one for one in cells if any(_is_picture(output.data) for output in one.outputs))
    return frozenset((joined(one.source) or "").strip() for one in shown) - {""}


def _is_picture(data: Mapping[str, object]) -> bool:
    return any(mime.startswith("image/") for mime in data)


def _shows_picture(
    cell: Cell | Markdown, run: CellRun | None, saved: frozenset[str], *, only_texts: bool
) -> bool:
    """Return whether a cell is the student's own and shows a picture.

    Args:
        cell: of the notebook.
        run: what it did.
        saved: see `_saved_pictures`.
        only_texts: a plot beside a blank answer in code is no answer; a photo of a formula is.
    """
    if cell.grade_id:
        return False
    if isinstance(cell, Markdown):
        return bool(cell.pictures)
    if cell.locked or only_texts:
        return False
    is_drawn = any(_is_picture(output.data) for output in (run.outputs if run else ()))
    return is_drawn or cell.source.strip() in saved
