"""A small class, without torch, whose right answers can have a second round."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import nbformat

from autograder.app import classes
from autograder.course import Course
from autograder.generate import generate
from autograder.notebook.build import with_answer
from autograder.sandbox.levels import Isolation

NAME = "sheet"
RUBRIC = """\
version = 1
[assignment]
name = "sheet"
points = 4
languages = ["en", "de"]
preload = ["numpy"]
[assignment.symbols]
d_model = {}
h = { aliases = ["n_heads"] }

[[question]]
id = "soften"
kind = "behaviour"
points = 3
title = { en = "A masked softmax", de = "Ein maskierter Softmax" }
answer = "soften"
reference = "right:soften"
library = "numpy"
[[question.case]]
name = "plain"
args = [{ draw = "normal", shape = [3, 4] }]
[[question.case]]
name = "masked"
args = [{ draw = "normal", shape = [3, 4] }, { draw = "mask", shape = [3, 4] }]
[[question.item]]
id = "plain"
points = 2
text = { en = "Without a mask", de = "Ohne Maske" }
cases = ["plain"]
[[question.item]]
id = "masked"
points = 1
text = { en = "With a mask", de = "Mit Maske" }
cases = ["masked"]

[[question]]
id = "weights"
kind = "symbolic"
points = 1
title = { en = "Weights", de = "Gewichte" }
answer = "weights"
[[question.item]]
id = "formula"
points = 1
text = { en = "Weights of attention", de = "Gewichte von Attention" }
accept = ["4*d_model^2"]
[question.second_round]
text = { en = "Four heads share their keys.", de = "Vier Köpfe teilen sich Keys." }
solution = 'weights = "3*d_model^2 + d_model^2/4"'
[[question.second_round.item]]
id = "formula"
points = 1
text = { en = "Weights with shared keys", de = "Gewichte mit geteilten Keys" }
accept = ["3*d_model^2 + d_model^2/4"]
"""
RIGHT = """\
import numpy as np


def soften(x, mask=None):
    if mask is not None:
        x = np.where(mask, x, -np.inf)
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
"""
IN_STEPS = """\
import numpy
# mine
def soften(scores, allowed=None):
    rows = []
    for number in range(len(scores)):
        row = numpy.array(scores[number])  # a copy
        if allowed is not None:
            row[~allowed[number]] = float("-inf")
        row = numpy.exp(row)
        rows.append(row / numpy.sum(row))
    return numpy.array(rows)
"""
WRONG = "import numpy as np\n\ndef soften(x, mask=None):\n    return np.exp(x) / np.exp(x).sum()\n"
FORMULA = 'weights = "4*d_model**2"'


def _cell(source: str, grade_id: str, *, points: float | None = None, solution: bool = False) -> object:
    flags = {"schema_version": 3, "grade_id": grade_id, "grade": points is not None, "solution": solution}
    worth = {} if points is None else {"points": points}
    metadata = {"nbgrader": {**flags, "locked": not solution, "task": False, **worth}}
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def _key(source: str) -> str:
    return f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"


def made(root: Path, answers: Mapping[str, tuple[str, str]]) -> Course:
    """A course whose class has handed in.

    Args:
        root: an empty folder.
        answers: student → code and formula.
    """
    for folder in ("rubrics", f"assignments/{NAME}", "reference"):
        (root / folder).mkdir(parents=True)
    (root / "rubrics" / f"{NAME}.toml").write_text(RUBRIC)
    (root / "reference" / "__init__.py").write_text("")
    (root / "reference" / "right.py").write_text(RIGHT)
    cells = [
        _cell("from coursecheck import check", "setup"),
        nbformat.v4.new_markdown_cell("Write `soften`."),
        _cell(_key(RIGHT), "soften-answer", solution=True),
        _cell('check("soften")', "soften", points=3),
        nbformat.v4.new_markdown_cell("How many `weights`?"),
        _cell(_key(FORMULA), "weights-answer", solution=True),
        _cell('check("weights")', "weights", points=1),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "assignments" / NAME / f"{NAME}.ipynb")
    course = Course.at(root)
    course.private.mkdir(mode=0o700)
    (course.private / "secret").write_bytes(bytes(range(32)))
    (course.private / "secret").chmod(0o600)
    generate(course, NAME, "")
    release = (course.release(NAME) / f"{NAME}.ipynb").read_bytes()
    for student, (code, formula) in answers.items():
        answered = with_answer(with_answer(release, "soften-answer", code), "weights-answer", formula)
        hand_in(course, student, NAME, answered)
    return course


def hand_in(course: Course, student: str, name: str, notebook: bytes) -> None:
    """Lay a notebook where submissions lie."""
    folder = course.root / "submitted" / student / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ipynb").write_bytes(notebook)


def graded(course: Course, name: str) -> None:
    """Grade the class."""
    classes.grade(course, name, workers=2, isolation=Isolation.NAMESPACES)
