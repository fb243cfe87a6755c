"""Pictures that only code shows beside a blank written answer: staff are told, because one may be it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.records import Cell, CellRun, ItemResult, Note, Status, Submission
from autograder.rubric import Rubric

CODE = "picture-in-output"


def note_output_pictures(
    rubric: Rubric,
    submission: Submission,
    runs: Sequence[CellRun | None],
    results: Mapping[str, Sequence[ItemResult]],
) -> tuple[Note, ...]:
    """Return a note for each blank written answer beside which the student's own code shows a picture.

    Args:
        rubric: of the assignment.
        submission: the notebook.
        runs: what its cells did.
        results: by question id.
    """
    answers = [at for at, cell in enumerate(submission.cells) if cell.grade_id in submission.answers]
    notes = []
    for question in rubric.questions:
        place = next((at for at in answers if submission.cells[at].grade_id == question.answer_cell), None)
        found = results.get(question.id, ())
        blank = [result for result in found if result.status is Status.NO_ANSWER]
        if place is None or not blank or isinstance(submission.cells[place], Cell):
            continue
        start = max((at for at in answers if at < place), default=-1)
        stop = min((at for at in answers if at > place), default=len(submission.cells))
        numbers = [str(at + 1) for at in range(start + 1, stop) if _shows_picture(submission, runs, at)]
        if numbers:
            text = f"The answer is blank, but code beside it shows a picture: cell {', '.join(numbers)}."
            notes.append(Note(CODE, text, question.id))
    return tuple(notes)


def _shows_picture(submission: Submission, runs: Sequence[CellRun | None], position: int) -> bool:
    """Return whether a cell is code of the student's own and shows a picture when it runs."""
    cell, run = submission.cells[position], runs[position]
    if not isinstance(cell, Cell) or cell.locked or cell.grade_id or run is None:
        return False
    return any(mime.startswith("image/") for output in run.outputs for mime in output.data)
