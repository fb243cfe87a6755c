"""Run the visible checks of a rubric, which the answer key must pass in the notebook's own sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograder.errors import SandboxError
from autograder.grading.pipeline import Grader
from autograder.notebook.student_check import FILE_NAME
from autograder.records import Call, Cell
from autograder.rubric import NotebookFile
from autograder.verify.findings import VerifyFinding
from autograder.verify.papers import KEY, AnswerKey

_NAME = "_not_as_visible"
"""Variable in the sandbox that holds the failed checks."""


def of_visible(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """Report visible checks of the rubric that the answer key does not pass."""
    rubric = grader.assignment.rubric
    for notebook in rubric.assignment.notebooks:
        asked = [one.id for one in rubric.questions if one.notebook == notebook.name and one.visible]
        for line in _failing(grader, key, notebook, asked) if asked else ():
            place, _, text = line.partition(": ")
            yield VerifyFinding(
                KEY,
                f"{place}, visible",
                "visible checks that pass",
                text,
                "correct [[question.visible]], or the key; students would be misled",
            )


def _failing(
    grader: Grader, key: AnswerKey, notebook: NotebookFile, questions: Sequence[str]
) -> Sequence[str]:
    """Run the students' check file after all cells of the key, and return its complaints."""
    assignment = grader.assignment
    limits = assignment.rubric.assignment.limits
    environment = assignment.environment(notebook)
    # The released check file replaces the one of the grading environment.
    others = tuple(file for file in environment.files if file[0] != FILE_NAME)
    file = (FILE_NAME, assignment.course.release(assignment.name) / FILE_NAME)
    own = {path: data for path, data in key.files.items() if path in notebook.own}
    sandbox = grader.pool.persistent(replace(environment, files=(file, *others)))
    box = sandbox.open(limits, seed=grader.seed, files=own)
    try:
        for cell in key.submissions[notebook.name].cells:
            if isinstance(cell, Cell) and cell.source.strip():
                box.run_cell(cell.source, seconds=limits.cell_seconds)
        look = f"import coursecheck\n{_NAME} = coursecheck.failing(globals(), {list(questions)!r})"
        box.run_cell(look, seconds=limits.cell_seconds)
        (observed,) = box.ask([Call(_NAME, read=True)], seconds=limits.call_seconds)
    except SandboxError as error:
        return [f"{', '.join(questions)}: could not be run: {error}"]
    finally:
        box.close()
    if not observed.ok or not isinstance(observed.value, list | tuple):
        return [f"{', '.join(questions)}: could not be run: {observed.error} {observed.message}"]
    return [str(line) for line in observed.value]
