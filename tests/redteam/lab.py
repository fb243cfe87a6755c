"""A paper with features that the shipped exam lacks: files, carried-forward results, and hidden data.

Its attackers' paper is completely wrong and earns nothing, so any points of an attack are stolen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
from msgspec import Struct
from safetensors.numpy import save

from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from tests.redteam.attack import PRELUDE, Attack
from tests.redteam.exam import ASKED, LIMITS, loaded, told, with_cells, written
from tests.support.small_course import answer, cell, check

NAME = "lab"
ITEMS = 7
ATTACKS = Path(__file__).parent / "attacks_on_lab"

HEAD = """\
version = 1

[assignment]
name = "lab"
points = 14
preload = ["numpy"]

[[assignment.notebooks]]
name = "lab"
data = ["features.npy"]
starter = ["lm.py"]

[[assignment.notebooks.result]]
path = "predictions.npy"
most_mb = 0.1

[[assignment.notebooks.result]]
path = "model.safetensors"
most_mb = 0.1
"""
QUESTIONS: Mapping[str, str] = {
    "step": 'kind = "code"\nanswer = "step"\nfile = "lm.py"',
    "predictions": 'kind = "code"\nanswer = "predictions"\nfile = "predictions.npy"',
    "weights": 'kind = "code"',
    "attend": 'kind = "code"',
    "apart": 'kind = "code"',
    "predict": 'kind = "code"',
    "checkpoint": 'kind = "code"\nfile = "model.safetensors"',
}
WEIGHTS = """\
def weights(scores):
    powers = numpy.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)
"""
ATTEND = """\
def attend(scores, values):
    return weights(scores) @ values
"""
APART = """\
def apart(scores):
    return 2 * weights(scores)
"""
PREDICT = """\
def predict(rows):
    return numpy.sin(3 * rows[:, 0]) + rows[:, 1] * rows[:, 2]
"""
COMPARE = """
import numpy
from autograder.checking import assert_close, check, solution

solution(given={given!r}, source={source!r})


@check(points=2, title={name!r}, carry={carry!r})
def everything(student, reference, draw):
    given = [draw.normal(*shape) for shape in {shapes}]
    assert_close(student.{name}(*given), reference.{name}(*given))
"""


def _compare(name: str, source: str, *shapes: tuple[int, ...], carry: Sequence[str] = ()) -> str:
    """Return checks that compare a function with the solution for hidden arrays of these shapes."""
    given = "import numpy\n\n\n" + (WEIGHTS if name in {"attend", "apart"} else "")
    return COMPARE.format(name=name, source=source, shapes=shapes, carry=carry, given=given)


CHECKS: Mapping[str, str] = {
    "step": _compare("step", "def step(state):\n    return 2 * state + 1\n", (4,)),
    "weights": _compare("weights", WEIGHTS, (3, 5)),
    "attend": _compare("attend", ATTEND, (3, 4), (4, 2), carry=("weights",)),
    "apart": _compare("apart", APART, (3, 5)),
    "predict": f"""\
import numpy
from autograder.checking import assert_equal, check, tiered

{PREDICT}

@check(points=2, title="predict")
def error(student, reference, draw):
    rows = draw.normal(300, 3)
    outputs = student.predict(rows)
    assert_equal(numpy.shape(outputs), (300,))
    tiered(((outputs - predict(rows)) ** 2).mean(), {{0.1: 0.5, 0.01: 1}}, lower_is_better=True)
""",
    "predictions": """\
import numpy
from autograder.checking import assert_close, check


@check(points=2, title="predictions")
def numbers(student, reference, draw):
    assert_close(student.predictions, numpy.load("features.npy") ** 3)
""",
    "checkpoint": """\
import numpy
from autograder.checking import assert_equal, check, tiered

MATRIX = numpy.random.default_rng(31).normal(size=(3, 4))


@check(points=2, title="checkpoint")
def accuracy(student, reference, draw):
    tensors = student.read_file("model.safetensors")
    assert_equal({name: list(tensor.shape) for name, tensor in tensors.items()}, {"matrix": [3, 4]})
    rows = draw.normal(300, 3)
    hits = (rows @ tensors["matrix"]).argmax(-1) == (rows @ MATRIX).argmax(-1)
    tiered(hits.mean(), {0.6: 0.5, 0.95: 1})
""",
}
STARTER = "def step(state):\n    ### BEGIN SOLUTION\n    return 2 * state + 1\n    ### END SOLUTION\n"
RIGHT: Mapping[str, str] = {"weights": WEIGHTS, "attend": ATTEND, "apart": APART, "predict": PREDICT}
WRONG: Mapping[str, str] = {
    "weights": WEIGHTS.replace("axis=-1", "axis=0"),
    "attend": "def attend(scores, values):\n    return weights(scores)[:, :1] * values[:1]\n",
    "apart": "def apart(scores):\n    return globals().get('stolen', weights)(scores)\n",
    "predict": "def predict(rows):\n    return -3 * rows[:, 0]\nloss_history = [9.0]\n",
}
WRONG_FILES: Mapping[str, bytes] = {"lm.py": b"def step(state):\n    return state\n"}


class Lab(Struct, frozen=True):
    """The paper, ready to be graded."""

    assignment: Assignment
    manual: frozenset[str] = frozenset()
    """No item of it needs manual review."""

    @property
    def course(self) -> Course:
        """Return the course of the paper."""
        return self.assignment.course

    @property
    def full(self) -> Decimal:
        """Return the possible points."""
        return self.assignment.rubric.assignment.points

    @classmethod
    def made(cls, root: Path) -> Lab:
        """Write the course into an empty folder and generate its release."""
        for folder in ("rubrics", f"assignments/{NAME}", "reference"):
            (root / folder).mkdir(parents=True)
        limits = [f"{name} = {getattr(LIMITS, name)}" for name in LIMITS.__struct_fields__]
        rubric = "\n".join((HEAD, "[assignment.limits]", *limits, *map(_question, QUESTIONS)))
        (root / "rubrics" / f"{NAME}.toml").write_text(rubric, encoding="utf-8")
        (root / "reference" / "__init__.py").touch()
        (root / "reference" / "checks").mkdir()
        for name, source in CHECKS.items():
            (root / "reference" / "checks" / f"{name}.py").write_text(source, encoding="utf-8")
        folder = root / "assignments" / NAME
        (folder / "lm.py").write_text(STARTER, encoding="utf-8")
        np.save(folder / "features.npy", np.arange(1.0, 20.0))
        for path, data in right_files().items():
            if path != "lm.py":
                (folder / path).write_bytes(data)
        nbformat.write(_notebook(), folder / f"{NAME}.ipynb")
        course = Course.from_folder(root)
        generate_release(course, NAME)
        return cls(assignments.load_assignment(course, NAME))

    def hand_in(self, folder: Path, attack: Attack | None = None, right: bool = False) -> None:
        """Write a paper into a student's folder: completely wrong with an attack, or right.

        Args:
            folder: the folder to create.
            attack: the attack; if it names a question, its last cell is the answer.
            right: whether to write the answer key.
        """
        answers, own = dict(RIGHT if right else WRONG), list(attack.cells if attack else ())
        if attack and attack.answers:
            answers[attack.answers] = own.pop()
        sources = {f"{name}-answer": source for name, source in answers.items()}
        paper = loaded(with_sources(self.assignment.release_bytes[NAME], sources))
        folder.mkdir(parents=True)
        asked = (PRELUDE + told({"files": self.worth_reading()}), *own) if attack else ()
        (folder / f"{NAME}.ipynb").write_bytes(with_cells(paper, asked, (ASKED,) if attack else ()))
        for path, data in (right_files() if right else WRONG_FILES).items():
            (folder / path).write_bytes(data)

    def right_paper(self) -> SubmittedFiles:
        """Return the answer key, as graded."""
        return self._paper(RIGHT, right_files())

    def wrong_paper(self) -> SubmittedFiles:
        """Return the attackers' paper without any attack, as graded."""
        return self._paper(WRONG, WRONG_FILES)

    def _paper(self, answers: Mapping[str, str], files: Mapping[str, bytes]) -> SubmittedFiles:
        sources = {f"{name}-answer": source for name, source in answers.items()}
        paper = written(loaded(with_sources(self.assignment.release_bytes[NAME], sources)))
        return SubmittedFiles("paper", {NAME: paper}, dict(files))

    def worth_reading(self) -> list[str]:
        """Return paths that no student may read."""
        course = self.assignment.course
        return [str(course.reference / "checks/predict.py"), str(course.sources / NAME / f"{NAME}.ipynb")]


def right_files() -> dict[str, bytes]:
    """Return the files of the answer key."""
    return {
        "lm.py": STARTER.replace("    ### BEGIN SOLUTION\n", "")
        .replace("    ### END SOLUTION\n", "")
        .encode(),
        "predictions.npy": npy(np.arange(1.0, 20.0) ** 3),
        "model.safetensors": save({"matrix": np.random.default_rng(31).normal(size=(3, 4))}),
    }


def npy(array: np.ndarray) -> bytes:
    """Return the file of an array; objects are pickled."""
    file = BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _question(name: str) -> str:
    return f'\n[[question]]\nid = "{name}"\npoints = 2\n{QUESTIONS[name]}\n'


def _notebook() -> nbformat.NotebookNode:
    cells = [
        nbformat.v4.new_markdown_cell("# A lab"),
        cell("setup", "import numpy\nfrom coursecheck import check"),
        cell("step", "from lm import step", grade=True, points=2),
        cell("predictions", 'predictions = numpy.load("predictions.npy")', grade=True, points=2),
    ]
    for name, source in RIGHT.items():
        cells += [answer(f"{name}-answer", f"# def {name}(...): ...", source), check(name, 2)]
    cells.append(cell("checkpoint", "# The file is measured.", grade=True, points=2))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
