"""A small verifying course of two notebooks without torch, in which tests plant defects."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import nbformat

from autograder import rubric as rubrics
from autograder.course import Course
from autograder.rubric import Rubric

NAME = "small"

RUBRIC = """\
version = 1

[assignment]
name = "small"
points = 13
preload = ["numpy"]
notebooks = [{ name = "formulas" }, { name = "code" }]

[assignment.limits]
cell_seconds = 2
call_seconds = 2

[assignment.symbols]
d_model = { aliases = ["d"] }
n_layers = { aliases = ["L"] }

[[question]]
id = "mlp"
kind = "formula"
notebook = "formulas"
points = 3
answer = "mlp_parameters"

[[question.item]]
id = "formula"
points = 2
text = { en = "Parameters of the MLP" }
accept = ["8*d_model^2", "8*d_model^2 + 5*d_model"]

[[question.item.mistake]]
code = "one-matrix-only"
when = "4*d_model^2"
points = 1
text = { en = "That is one of the two matrices." }

[[question.item]]
id = "why"
points = 1
manual = true
cell = "mlp-why"
text = { en = "How you arrived at it" }

[[question]]
id = "model"
kind = "formula"
notebook = "formulas"
points = 2
answer = "model_parameters"
follows = { own = "mlp.formula" }

[[question.item]]
id = "formula"
points = 2
text = { en = "Parameters of all layers" }
accept = ["8*n_layers*d_model^2"]
follow = ["n_layers*own"]
follow_points = 1.5

[[question]]
id = "layers"
kind = "number"
notebook = "formulas"
points = 1
answer = "layers"

[[question.item]]
id = "number"
points = 1
text = { en = "How many layers there are" }
value = 12

[[question.item.mistake]]
code = "embedding-counted"
when = 13
points = 0.5
text = { en = "The embedding is no layer." }

[[question]]
id = "activation"
kind = "choice"
notebook = "formulas"
points = 1
answer = "activation"
names = ["relu", "gelu", "tanh"]

[[question.item]]
id = "name"
points = 1
text = { en = "The activation" }
right = ["gelu"]

[[question]]
id = "places"
kind = "choice"
notebook = "formulas"
points = 2
answer = "places"
names = ["query", "key", "value"]

[[question.item]]
id = "scored"
points = 1
key = "scored"
text = { en = "What is compared with the query" }
right = ["key"]

[[question.item]]
id = "summed"
points = 1
key = "summed"
text = { en = "What is summed up" }
right = ["value"]

[[question]]
id = "softmax"
kind = "code"
notebook = "code"
points = 3
answer = "softmax"
trials = "small:trials"

[[question]]
id = "thoughts"
kind = "written"
notebook = "code"
points = 1
answer_cell = "thoughts"

[[question.item]]
id = "any"
points = 1
manual = true
text = { en = "What you think" }
"""

SOFTMAX = """\
def softmax(scores):
    weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
"""

REFERENCE = f'''\
import numpy

{SOFTMAX}

RIGHT = """\\
{SOFTMAX}"""


def trials():
    return [
        {{
            "name": "columns",
            "source": RIGHT.replace("axis=-1", "axis=0"),
            "loses": ["rows", "batch", "overflow"],
        }},
        {{
            "name": "second axis",
            "source": RIGHT.replace("axis=-1", "axis=1"),
            "loses": ["batch"],
            "points": {{"batch": 0}},
        }},
        {{
            "name": "largest score kept",
            "source": RIGHT.replace(" - scores.max(axis=-1, keepdims=True)", ""),
            "loses": ["overflow"],
            "points": {{}},
        }},
        {{"name": "other names", "source": RIGHT.replace("weights", "w"), "loses": []}},
    ]
'''

CHECKS = """\
from autograder.checking import assert_close, call, check, solution

solution("small.py")


def compare(student, reference, scores):
    assert_close(call(student.softmax, scores=scores), reference.softmax(scores))


@check(points=2, title="Rows add up to one", seconds=3)
def rows(student, reference, draw):
    compare(student, reference, draw.normal(3, 5))


@check(points=1, title="Of a batch as well", needs="rows", seconds=3)
def batch(student, reference, draw):
    compare(student, reference, draw.normal(2, 3, 5))


@check(points=-0.5, title="Large scores", seconds=3)
def overflow(student, reference, draw):
    compare(student, reference, 800 + 1200 * draw.uniform(3, 5))
"""

_CODE = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}


def answer(grade_id: str, stub: str, solution: str) -> nbformat.NotebookNode:
    """Return a code cell with a solution between nbgrader's markers."""
    source = f"{stub}\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION\n"
    return cell(grade_id, source, solution=True, locked=False)


def cell(grade_id: str, source: str, **flags: object) -> nbformat.NotebookNode:
    """Return a code cell with nbgrader's metadata, locked by default."""
    metadata = {"nbgrader": {**_CODE, "grade_id": grade_id, **flags}}
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def check(question: str, points: float) -> nbformat.NotebookNode:
    """Return the cell with the points of a question."""
    return cell(question, f'check("{question}")', grade=True, points=points)


def text(grade_id: str, source: str, points: float) -> nbformat.NotebookNode:
    """Return a written answer cell."""
    flags = {**_CODE, "grade_id": grade_id, "grade": True, "solution": True, "locked": False}
    return nbformat.v4.new_markdown_cell(source, metadata={"nbgrader": {**flags, "points": points}})


FORMULAS = (
    cell("setup", "from coursecheck import check"),
    answer("mlp-answer", '# mlp_parameters = "..."', 'mlp_parameters = "8*d_model^2"'),
    check("mlp", 2),
    text("mlp-why", "Two matrices of equal size.", 1),
    answer("model-answer", '# model_parameters = "..."', 'model_parameters = "8*n_layers*d_model^2"'),
    check("model", 2),
    answer("layers-answer", "# layers = ...", "layers = 12"),
    check("layers", 1),
    answer("activation-answer", '# activation = "..."', 'activation = "gelu"'),
    check("activation", 1),
    answer("places-answer", "# places = ...", 'places = {"scored": "key", "summed": "value"}'),
    check("places", 2),
)
CODE = (
    cell("setup", "import numpy\nfrom coursecheck import check"),
    answer("softmax-answer", "# def softmax(scores): ...", SOFTMAX),
    check("softmax", 3),
    text("thoughts", "Much could be said about this.", 1),
)


def write_course(
    root: Path,
    name: str,
    rubric: str,
    notebooks: Mapping[str, Iterable[nbformat.NotebookNode]],
    reference: str,
    *,
    checks: Mapping[str, str] = {},
) -> Course:
    """Write an assignment into a folder, which may contain others.

    Args:
        root: the folder of the course.
        name: of the assignment, and of the module of its reference.
        rubric: as text.
        notebooks: their cells, with solutions, by the name of the notebook.
        reference: the source of the module.
        checks: question → the source of its checks.
    """
    folder = root / "assignments" / name
    texts = {f"rubrics/{name}.toml": rubric, "reference/__init__.py": "", f"reference/{name}.py": reference}
    texts |= {f"reference/checks/{question}.py": text for question, text in checks.items()}
    for path in (folder / name, *(root / text for text in texts)):
        path.parent.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        (root / path).write_text(text, encoding="utf-8")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for title, cells in notebooks.items():
        notebook = nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": kernel})
        nbformat.write(notebook, folder / f"{title}.ipynb")
    return Course.from_folder(root)


def small_course(root: Path) -> Course:
    """Write the course into a folder, which may contain other assignments."""
    notebooks = {"formulas": FORMULAS, "code": CODE}
    return write_course(root, NAME, RUBRIC, notebooks, REFERENCE, checks={"softmax": CHECKS})


def load_rubric() -> Rubric:
    """Return the rubric with the items of its checks."""
    with tempfile.TemporaryDirectory() as folder:
        return rubrics.load_rubric(small_course(Path(folder)).locate_rubric(NAME))


def changed(path: Path, old: str, new: str) -> None:
    """Replace one text in a file of the course."""
    content = path.read_text(encoding="utf-8")
    assert 1 == content.count(old), (path, old, content.count(old))
    path.write_text(content.replace(old, new), encoding="utf-8")
