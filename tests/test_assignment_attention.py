"""The shipped assignment about multi-head attention: notebook, rubric and reference are consistent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import nbformat
import pytest

from autograder.core.records import GradingResult, Status
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from autograder.messages import render_message
from autograder.sandbox.pool import Pool
from tests.authoring.demo.marking import ROOT
from tests.checking.attention_classes import COMPILED, PLAIN

NAME = "attention"
SOURCE = ROOT / "assignments" / NAME / f"{NAME}.ipynb"
NOTEBOOK = nbformat.reads(SOURCE.read_text("utf-8"), as_version=4)
CELLS = {cell.metadata.nbgrader.grade_id: cell.source for cell in NOTEBOOK.cells}
SOLVED = "\n".join(line for line in CELLS["mha-answer"].splitlines() if " SOLUTION" not in line)


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return the grader of the assignment."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    course = Course.from_folder(root)
    generate_release(course, NAME)
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


def grade(grader: Grader, source: str) -> GradingResult:
    """Grade an answer."""
    paper = with_sources(grader.assignment.release_bytes[NAME], {"mha-answer": source})
    return grader.grade(SubmittedFiles("s", {NAME: paper}))


def codes(graded: GradingResult) -> dict[str, str]:
    """Return the codes of the items without full points."""
    return {one.item: one.code for one in graded.score.items if one.points < one.possible}


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        "class MyMultiHeadAttention(nn.MultiheadAttention):\n"
        "    def __init__(self, d_model, n_heads):\n"
        "        super().__init__(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value, mask=None):\n"
        "        return super().forward(query, key, value)[0]",
        "class MyMultiHeadAttention(nn.Module):\n"
        "    def __init__(self, d_model, n_heads):\n"
        "        super().__init__()\n"
        "        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value, mask=None):\n"
        "        return self.attention(query, key, value)[0]",
    ],
    ids=["derived", "wrapped"],
)
def test_the_librarys_class_is_no_answer(answer: str, grader: Grader) -> None:
    """torch's own class earns nothing, and the message says that it is forbidden."""
    results = grade(grader, f"from torch import nn\n{answer}").score.items
    assert {("forbidden.used", Status.FAILED, 0)} == {(one.code, one.status, one.points) for one in results}
    for result in results:
        for language in ("en", "de"):
            assert "MultiheadAttention" in render_message(result.student, language)


@pytest.mark.sandbox
@pytest.mark.slow
def test_names_of_ones_own_cost_only_the_item_about_them(grader: Grader) -> None:
    """Other names of the projections fail one item; the other items are still graded."""
    source = SOLVED.replace("q_proj", "queries").replace("out_proj", "output")
    assert {"parameters"} == set(codes(grade(grader, source)))


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_usual_mistake_is_named(grader: Grader) -> None:
    """The mistake is recognised by its values, independent of the source."""
    results = grade(grader, SOLVED.replace(" / math.sqrt(self.d_head)", "")).score.items
    named = {one.item: render_message(one.student, "de") for one in results if one.code == "code.mistake"}
    assert {"self", "cross"} == set(named)
    assert all("Wurzel der Kopfbreite" in text for text in named.values())


LOUD = {
    "print": "print('line', i, 'x' * 60)",
    "print to standard error": "print('line', i, 'x' * 60, file=sys.stderr)",
    "a logger made in a cell": "LOG.warning('line %d %s', i, 'x' * 60)",
    "the stream of the cell": "OUT.write(f'line {i} {60 * chr(120)}')",
}
LOUD_HEAD = (
    "import logging, sys\nlogging.basicConfig(stream=sys.stdout)\n"
    "LOG, OUT = logging.getLogger(), sys.stdout\n"
)
HARMLESS = {
    **{
        name: LOUD_HEAD
        + PLAIN.replace(
            "        def heads(x):",
            f"        for i in range(10_000):\n            {line}\n        def heads(x):",
            1,
        )
        for name, line in LOUD.items()
    },
    "compiled": COMPILED,
    "compiles itself": PLAIN.replace("\n    def forward(", "        self.compile()\n\n    def forward(", 1),
    "compiled in the cell": PLAIN + "\n\nMyMultiHeadAttention = torch.compile(MyMultiHeadAttention)\n",
}


@pytest.mark.sandbox
@pytest.mark.apart
@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_output_and_compilers_cost_nothing(source: str, grader: Grader) -> None:
    """Ten thousand lines of output per pass and ``torch.compile`` cost no points."""
    assert {} == codes(grade(grader, source))
