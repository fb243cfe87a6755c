"""The kind ``score`` in the real sandbox: three rounds, hostile models, and files that were handed in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest

from autograder import assignment, generate
from autograder.authoring import start
from autograder.course import Course
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.messages import render
from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from autograder.verify import verify

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
Sit = Callable[..., ItemResult]


def course_at(folder: Path, old: str = "", new: str = "") -> Course:
    """A course with the template's question, of which the rubric may be changed."""
    start(folder, "one", ["score"])
    course = Course.at(folder)
    path = course.rubric("one")
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    generate.generate(course, "one")
    return course


def sitting(course: Course, pool: Pool) -> Sit:
    """Grades answers to the question."""
    grader = Grader(assignment.load(course, "one"), pool)
    release = (course.release("one") / "one.ipynb").read_text("utf-8")

    def sit(source: str, **files: bytes) -> ItemResult:
        notebook = nbformat.reads(release, nbformat.NO_CONVERT)
        for cell in notebook.cells:
            meta = cell.metadata.get("nbgrader", {})
            if meta.get("solution") and source:
                cell.source = source
        named = {name.replace("_", "."): data for name, data in files.items()}
        handed = SubmittedFiles("s", {"one": nbformat.writes(notebook).encode()}, named)
        (result,) = grader.grade(handed).score.items
        return result

    return sit


def test_the_template_proves_itself(tmp_path: Path, pool: Pool) -> None:
    """The key has all points, and every planted output loses them with the sentence that it names."""
    course = course_at(tmp_path)
    verified = verify(assignment.load(course, "one"), pool)
    assert () == tuple(verified.findings)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, pool: Pool) -> Sit:
    """The template's question, where the printed number is compared."""
    folder = tmp_path_factory.mktemp("score")
    return sitting(course_at(folder, 'reported = "perplexity"', 'printed = "perplexity"'), pool)


EVEN = (
    "import numpy\ndef predict(c):\n"
    "    return numpy.full((len(c), 6), 1 / 6) + 1e-5 * c[:, -1:] * numpy.array([-1, 1] * 3)\n"
)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (EVEN, "score.floor"),
        ("def predict(c):\n    while True: pass", "ending.call-time"),
        ("import os\ndef predict(c): os._exit(0)", "ending.exited"),
        (
            "import numpy\nclass Lie(numpy.ndarray):\n    shape = (1, 6)\ndef predict(c): return c.view(Lie)",
            "score.shape",
        ),
        (
            "import numpy\nnumpy.random.default_rng = None\nnumpy.log = abs\ndef predict(c): return 5",
            "value.form",
        ),
        ("predict = 5", "raised.withheld"),
        ("x = 5", "name.missing"),
        ("", "no-answer"),
    ],
)
def test_hostile_models(model: Sit, source: str, code: str) -> None:
    """Whatever a model does, it is told, and neither the reference nor the marks notice."""
    result = model(source)
    assert code == result.student.code, result.staff
    assert Status.NEEDS_REVIEW is not result.status
    assert result.points == 0


def test_what_is_printed_is_compared(model: Sit) -> None:
    """A number that nothing was computed for is told beside the measured one."""
    told = render(model(f"{EVEN}print('perplexity:', 1.5)").student, "en")
    assert "Your notebook arrives at 1.5." in told


def test_files_that_were_handed_in(tmp_path: Path, pool: Pool) -> None:
    """A table beside the notebook is measured, whatever stands in the answer cell; none is no answer."""
    asks = 'asks = "file"\nreads = "p.csv"\n'
    course = course_at(tmp_path, "batch = 100 ", f"{asks}# ")
    path = course.rubric("one")
    notebooks = '[[assignment.notebooks]]\nname = "one"\ntake_along = ["p.csv"]\n\n[[question]]'
    path.write_text(path.read_text("utf-8").replace("[[question]]", notebooks, 1), "utf-8")
    generate.generate(course, "one")
    sit = sitting(course, pool)
    shares = np.random.default_rng(0).dirichlet(np.ones(6), 1000)
    table = "\n".join(",".join(f"{share:.8f}" for share in row) for row in shares)
    assert "score.floor" == sit("", p_csv=table.encode()).student.code
    assert "score.sum" == sit("", p_csv=table.replace("0.1", "0.2").encode()).student.code
    assert "score.file" == sit("", p_csv=b"a,b\n").student.code
    assert "score.no-file" == sit("").student.code
    written = "import numpy\nnumpy.savetxt('p.csv', numpy.full((1000, 6), 1 / 6), delimiter=',')\n"
    assert "score.constant" == sit(written).student.code
