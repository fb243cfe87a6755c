"""Run the visible checks of a rubric, which the answer key must pass in the notebook's own sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograder.core.errors import SandboxError
from autograder.core.records import Call, Cell
from autograder.grading.pipeline import Grader
from autograder.grading.verify.findings import VerifyFinding
from autograder.grading.verify.papers import KEY, AnswerKey
from autograder.notebook.student_check import FILE_NAME
from autograder.rubric import NotebookFile

_NAME = "_not_as_visible"
"""Variable in the sandbox that holds the failed checks."""


def check_visible(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """Report visible checks of the rubric that the answer key does not pass."""
    rubric = grader.assignment.rubric
    for notebook in rubric.assignment.notebooks:
        visible = [
            question.id
            for question in rubric.questions
            if question.notebook == notebook.name and question.visible
        ]
        for line in _find_failing(grader, key, notebook, visible) if visible else ():
            place, _, text = line.partition(": ")
            yield VerifyFinding(
                KEY,
                f"{place}, visible",
                "visible checks that pass",
                text,
                "correct [[question.visible]], or the key; students would be misled",
            )


def _find_failing(
    grader: Grader, key: AnswerKey, notebook: NotebookFile, questions: Sequence[str]
) -> Sequence[str]:
    """Run the students' check file after all cells of the key, and return its complaints."""
    assignment = grader.assignment
    limits = assignment.rubric.assignment.limits
    environment = assignment.build_environment(notebook)
    # The released check file replaces the one of the grading environment.
    other_files = tuple(file for file in environment.files if file[0] != FILE_NAME)
    file = (FILE_NAME, assignment.course.locate_release(assignment.name) / FILE_NAME)
    own_files = {path: data for path, data in key.files.items() if path in notebook.own}
    sandbox = grader.pool.create_persistent(replace(environment, files=(file, *other_files)))
    box = sandbox.open(limits, seed=grader.seed, files=own_files)
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
