"""Test submitted files and files written by the notebook, graded by checks against hidden labels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.core.records import ItemResult
from autograder.course import Course
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify import verify
from autograder.grading.verify.papers import with_sources
from autograder.messages import render_message
from autograder.sandbox.pool import Pool
from tests.support.small_course import answer, cell, write_course

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
RUBRIC = """
version = 1
[assignment]
name = "digits"
points = 7
preload = ["numpy"]
languages = ["en"]
[[assignment.notebooks]]
name = "digits"
data = ["examples.csv"]
[[assignment.notebooks.result]]
path = "predictions.csv"
most_mb = 0.1
[[question]]
id = "predictions"
kind = "code"
points = 4
file = "predictions.csv"
[[question]]
id = "model"
kind = "code"
points = 2
[[question]]
id = "losses"
kind = "code"
points = 1
"""
LABELS = [number * number % 3 for number in range(20)]
PREDICTIONS = """
from autograder.checking import assert_equal, check, tiered
from reference.labels import LABELS


@check(points=4, title="The accuracy of your predictions", told="20 predictions, 90 % of them right.")
def accuracy(student, reference, draw):
    predicted = student.read_file("predictions.csv", int)
    assert_equal(predicted.shape, (len(LABELS),))
    tiered((predicted == LABELS).mean(), {0.9: 1, 0.8: 0.5})
"""
MODEL = """
import numpy

from autograder.checking import check, planted, tiered


@check(points=2, title="The accuracy on examples that you do not have")
def accuracy(student, reference, draw):
    examples = draw.permutation(60)
    predicted = numpy.asarray(student.predict(examples))
    tiered((predicted == examples**2 % 3).mean(), {0.9: 1, 0.6: 0.5})


planted("always 1", "def predict(x): return x * 0 + 1", loses=["accuracy"])
"""
LOSSES = """
from autograder.checking import assert_close, check, planted


@check(points=1, title="The losses fall")
def fall(student, reference, draw):
    losses = student.read_file("losses.npy")
    assert losses.shape == (3,) and losses[0] > losses[-1]


planted("nothing is saved", "pass", loses=["fall"])
"""
PREDICT = "def predict(x): return x * x % 3"
SAVE = "import numpy\nnumpy.save('losses.npy', numpy.array([3.0, 2.0, 1.0]))"
CELLS = (
    cell("setup", "import numpy"),
    cell("predictions", "pass", grade=True, points=4),
    answer("model-answer", "# def predict(x): …", PREDICT),
    cell("model", "pass", grade=True, points=2),
    answer("losses-answer", "# save losses.npy", SAVE),
    cell("losses", "pass", grade=True, points=1),
)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return a course whose students submit predictions with the notebook."""
    root = tmp_path_factory.mktemp("files")
    write_course(root, "digits", RUBRIC, {"digits": CELLS}, f"LABELS = {LABELS}\n")
    (root / "reference" / "digits.py").rename(root / "reference" / "labels.py")
    (root / "reference" / "checks").mkdir()
    for name, source in {"predictions": PREDICTIONS, "model": MODEL, "losses": LOSSES}.items():
        (root / "reference" / "checks" / f"{name}.py").write_text(source)
    (root / "assignments/digits/examples.csv").write_text("\n".join(map(str, range(20))))
    (root / "assignments/digits/predictions.csv").write_bytes(table(LABELS))
    course = Course.from_folder(root)
    generate_release(course, "digits")
    return course


def table(rows: list[int]) -> bytes:
    """Return a file of predictions."""
    return "\n".join(map(str, rows)).encode()


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    """Return one grader for all tests."""
    with Pool() as pool:
        yield Grader(load_assignment(course, "digits"), pool)


def results(grader: Grader, files: dict[str, bytes], **answers: str) -> dict[str, ItemResult]:
    """Return the results of one submission by question."""
    release = grader.assignment.release_bytes["digits"]
    notebook = with_sources(release, {f"{name}-answer": source for name, source in answers.items()})
    graded = grader.grade(SubmittedFiles("s", {"digits": notebook}, files))
    return {result.question: result for result in graded.score.items}


WRONG = [(label + 1) % 3 for label in LABELS]
FILES: dict[str, tuple[bytes | None, str]] = {
    "right": (table(LABELS), "4 passed"),
    "a header, and the byte order mark of a spreadsheet": (
        b"\xef\xbb\xbflabel\n" + table(LABELS),
        "4 passed",
    ),
    "ninety percent": (table(LABELS[:18] + WRONG[18:]), "4 passed"),
    "eighty percent": (table(LABELS[:16] + WRONG[16:]), "2 code.told"),
    "less": (table(LABELS[:15] + WRONG[15:]), "0 code.told"),
    "a row is missing": (table(LABELS[1:]), "0 code.told"),
    "one number": (b"1", "0 code.told"),
    "two columns": (b"\n".join(b"%d,1" % label for label in LABELS), "0 code.told"),
    "words": (b"label\ncat\ndog\ncat", "0 code.file"),
    "no text": (bytes(range(256)), "0 code.file"),
    "a header alone": (b"label\n", "0 code.file"),
    "empty": (b"", "0 code.file"),
    "none": (None, "0 file.missing"),
}


@pytest.mark.parametrize(("data", "expected"), FILES.values(), ids=FILES)
def test_predictions_are_graded_by_steps(grader: Grader, data: bytes | None, expected: str) -> None:
    """Predictions earn points in steps; an unreadable file loses the item with a reason."""
    result = results(grader, {} if data is None else {"predictions.csv": data})["predictions"]
    assert expected == f"{result.points.normalize():f} {result.student.code or result.status.value}", (
        result.staff
    )


def test_an_unreadable_file_is_told_with_its_line(grader: Grader) -> None:
    """Students see the line and the reason if a file is unreadable."""
    result = results(grader, {"predictions.csv": b"0\n1\n2,5\n1"})["predictions"]
    assert "predictions.csv:3 could not be read" in render_message(result.student, "en")
    assert "2 columns, and 1 before" in result.staff


PATCHED = """
import builtins, io
builtins.open = lambda *_: io.BytesIO(b"1" * 100)
def predict(x): return x * x % 3
"""


def test_answers_of_code(grader: Grader) -> None:
    """A model is called with hidden examples; a file of the notebook is read after the run."""
    right = results(grader, {}, model=PREDICT, losses=SAVE)
    assert ("passed", "passed") == (right["model"].status.value, right["losses"].status.value)
    wrong = results(grader, {}, model="def predict(x): return x % 3", losses="losses = [3, 2, 1]")
    assert wrong["model"].points == 1
    assert (
        render_message(wrong["losses"].student, "en") == "There is no file losses.npy beside your notebook."
    )


def test_a_changed_open_gains_nothing(grader: Grader) -> None:
    """A patched `open` only changes what is judged as the student's file, and earns nothing."""
    results_by_name = results(grader, {"predictions.csv": table(LABELS)}, model=PATCHED, losses=SAVE)
    assert {"predictions": 0, "model": 2, "losses": 0} == {
        name: result.points for name, result in results_by_name.items()
    }


def test_the_course_verifies(course: Course) -> None:
    """The answer key earns all points, and every planted answer loses its points."""
    with Pool() as pool:
        verification = verify(load_assignment(course, "digits"), pool)
    assert [] == [finding for finding in verification.findings if finding.place != "predictions.accuracy"]
