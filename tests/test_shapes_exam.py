"""An assignment with shapes and quantities of every form: its key sits the exam, in the real sandbox."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.generate import generate_release
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify import verify
from autograder.sandbox.pool import Pool

pytestmark = pytest.mark.sandbox

RUBRIC = """
version = 1
[assignment]
name = "sizes"
points = 4
[assignment.symbols]
batch = { aliases = ["b"] }
n_heads = { aliases = ["h"] }
seq = { aliases = ["s"] }
d_head = {}
d_model = {}
[assignment.assume]
heads = "d_model = n_heads*d_head"
[[question]]
id = "queries"
kind = "shape"
points = 1
answer = "query_shape"
[[question.item]]
id = "shape"
points = 1
text = { en = "The shape of the queries" }
value = ["batch", "n_heads", "seq", "d_head"]
assume = ["heads"]
[[question.item.mistake]]
code = "order"
when = "diagnosis:permuted"
points = 0.5
text = { en = "Think about the order." }
[[question]]
id = "scores"
kind = "shape"
points = 1
answer = "score_shape"
[[question.item]]
id = "shape"
points = 1
text = { en = "The shape of the scores" }
value = [8, 12, 128, 128]
axes = ["batch", "heads", "queries", "keys"]
[[question]]
id = "memory"
kind = "number"
points = 1
answer = "memory"
unit = "MB"
units = "required"
[[question.item]]
id = "weights"
points = 1
text = { en = "Memory of the weights" }
value = 497.759232
[[question]]
id = "share"
kind = "number"
points = 1
answer_cell = "share"
answer = "share"
unit = "%"
tolerance = { digits = 3 }
[[question.item]]
id = "share"
points = 1
text = { en = "The share of the embeddings" }
value = "100*38597376/124439808 %"
"""
KEY = {
    "queries": 'query_shape = "b × h × s × (d_model/h)"',
    "scores": "import torch\nscore_shape = torch.zeros(8, 12, 128, 128).shape",
    "memory": 'memory = f"{124439808 * 4 / 1e6} MB"',
    "share": "$31{,}0\\,\\%$",
}
STUDENT = {
    "queries": 'query_shape = ("batch", "seq", "n_heads", "d_head")',
    "scores": "score_shape = (8, 12, 128)",
    "memory": 'memory = "474.7 MiB"',
    "share": "0.31 %",
}


def cell(kind: str, source: str, **marks: Any) -> dict[str, Any]:
    """One cell with nbgrader's marks."""
    nbgrader = {
        "grade": False,
        "solution": False,
        "locked": False,
        "task": False,
        "schema_version": 3,
        **marks,
    }
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    identifier = marks["grade_id"]
    return {"cell_type": kind, "id": identifier, "metadata": {"nbgrader": nbgrader}, "source": source, **code}


def source_notebook() -> str:
    """A notebook with an answer cell and a check cell for each question, and the key in it."""
    cells = []
    for name, solution in KEY.items():
        points = 1
        written = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
        if name == "share":
            marks = {"grade_id": name, "solution": True, "grade": True, "points": points}
            cells.append(cell("markdown", solution, **marks))
            continue
        cells.append(cell("code", written, grade_id=f"{name}-answer", solution=True))
        cells.append(cell("code", f"check_{name} = 1", grade_id=name, grade=True, locked=True, points=points))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with this one assignment, released."""
    files = {
        "rubrics/sizes.toml": RUBRIC,
        "assignments/sizes/sizes.ipynb": source_notebook(),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    made = Course.from_folder(tmp_path)
    generate_release(made, "sizes")
    return made


@pytest.mark.slow
def test_the_key_earns_everything_and_a_student_parts(course: Course) -> None:
    """Shapes as text and from torch, quantities from text and Markdown: the key scores all of it.

    A student with one misconception in each answer gets what the rubric states for it.
    """
    assignment = assignments.load_assignment(course, "sizes")
    release = json.loads(assignment.release_bytes["sizes"])
    for one in release["cells"]:
        name = one["metadata"].get("nbgrader", {}).get("grade_id", "").removesuffix("-answer")
        if one["metadata"]["nbgrader"]["solution"]:
            one["source"] = STUDENT[name]
    with Pool() as pool:
        assert () == verify(assignment, pool).findings
        handed = SubmittedFiles("ada", {"sizes": json.dumps(release).encode()})
        items = Grader(assignment, pool).grade(handed).score.items
    assert [
        ("queries", "order", Decimal("0.5"), "(batch, seq, n_heads, d_head)"),
        ("scores", "shape.missing", Decimal(0), ""),
        ("memory", "number.digits", Decimal(0), "474.7 MiB"),
        ("share", "number.percent", Decimal(0), "0.31 %"),
    ] == [(item.question, item.code, item.points, item.reading) for item in items]
