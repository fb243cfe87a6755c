"""A course with one repair question, and students who hand in texts for it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat

from autograder import assignment as assignments
from autograder.course import Course
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.records import ItemResult
from autograder.sandbox.pool import Pool
from reference.faults.decoder import EXAM, listing
from reference.listings import GIVEN, RIGHT
from tests.support.repair_question import asked

NAME = "decoder"
ROOT = Path(__file__).parent.parent.parent
RUBRIC = """
version = 1
[assignment]
name = "{name}"
points = {points}
preload = ["torch"]
[[question]]
id = "repair"
kind = "repair"
points = {points}
answer = "Decoder"
reference = "decoder:Decoder"
{items}
"""


class RepairCourse:
    """A course with the one question, and students who hand in texts for it."""

    def __init__(self, root: Path, pool: Pool, faults: Sequence[str] = EXAM) -> None:
        for folder in ("rubrics", f"assignments/{NAME}"):
            (root / folder).mkdir(parents=True)
        shutil.copytree(ROOT / "reference", root / "reference", ignore=shutil.ignore_patterns("__pycache__"))
        rubric = RUBRIC.format(name=NAME, points=len(faults), items=asked(faults))
        (root / "rubrics" / f"{NAME}.toml").write_text(rubric, encoding="utf-8")
        nbformat.write(_notebook(faults), root / "assignments" / NAME / f"{NAME}.ipynb")
        course = Course.at(root)
        generate(course, NAME)
        self._assignment = assignments.load(course, NAME)
        self._grader = Grader(self._assignment, pool)
        self.processor_seconds = 0.0
        """Of the box of the submission that was graded last."""

    def sit(self, source: str | None, later: str = "") -> dict[str, ItemResult]:
        """The results of a student who writes this into the answer cell, or leaves it alone.

        Args:
            source: of the answer cell.
            later: of a cell that is run after it.
        """
        notebook = nbformat.reads(self._assignment.release_bytes[NAME].decode(), as_version=4)
        if source is not None:
            notebook.cells[1].source = source
        if later:
            notebook.cells.insert(2, nbformat.v4.new_code_cell(later))
        data = nbformat.writes(notebook).encode()
        graded = self._grader.grade(SubmittedFiles("student", {NAME: data}))
        self.processor_seconds = graded.spent.processor_seconds
        return {item.item: item for item in graded.score.items}


def _cell(grade_id: str, source: str, **flags: object) -> nbformat.NotebookNode:
    plain = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}
    metadata = {"nbgrader": {**plain, "grade_id": grade_id, **flags}}
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def _notebook(faults: Sequence[str]) -> nbformat.NotebookNode:
    answer = f"{listing(faults)}\n### BEGIN SOLUTION\n{RIGHT}### END SOLUTION\n"
    check = 'from coursecheck import check\n\ncheck("repair")'
    cells = [
        _cell("given", GIVEN),
        _cell("repair-answer", answer, solution=True, locked=False),
        _cell("repair", check, grade=True, points=len(faults)),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
