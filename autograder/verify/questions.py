"""What is looked at besides the marks of papers: visible checks.

They must pass for the answer key in the notebook's own box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograder.errors import SandboxError
from autograder.grading.pipeline import Grader
from autograder.notebook.student_check import FILE_NAME
from autograder.records import Call, Cell, Scenario
from autograder.rubric import NotebookFile
from autograder.verify.findings import VerifyFinding
from autograder.verify.papers import KEY, AnswerKey

_NAME = "_not_as_visible"


def of_visible(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """What the visible checks of the rubric say about the answer key, other than that all is well."""
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
    """What the file that students get finds, after all cells of the key have run."""
    assignment = grader.assignment
    limits = assignment.rubric.assignment.limits
    environment = assignment.environment(notebook)
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
        read = Scenario("visible", (Call(_NAME, read=True),))
        observed = box.ask((read,), seconds=limits.call_seconds)[0][0]
    except SandboxError as error:
        return [f"{', '.join(questions)}: could not be run: {error}"]
    finally:
        box.close()
    if not observed.ok or not isinstance(observed.value, list | tuple):
        return [f"{', '.join(questions)}: could not be run: {observed.error} {observed.message}"]
    return [str(line) for line in observed.value]
