"""Test split and copied answer cells, from the file to marks, pages, copies and similarity."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import nbformat
import pytest

from autograder import messages
from autograder.core.records import ExecutedNotebook, GradingResult, Status
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.marking.similarity.works import list_pieces
from autograder.notebook.submission_reader import read_notebook
from autograder.pages.feedback.answers import get_answer_text
from autograder.pages.feedback.student_page import render_cells, render_student_page
from autograder.sandbox.pool import Pool
from autograder.store.gradebook import build_autograded_notebook
from tests.support.small_course import NAME, SOFTMAX, small_course

pytestmark = pytest.mark.sandbox

Cells = list[dict[str, Any]]
HELPER = "def stable(scores):\n    return numpy.exp(scores - scores.max(axis=-1, keepdims=True))"
USES_HELPER = """\
def softmax(scores):
    weights = stable(scores)
    return weights / weights.sum(axis=-1, keepdims=True)"""
WRONG = "def softmax(scores):\n    return scores"


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return a grader of two notebooks: one with code and a text, one with formulas."""
    course = small_course(tmp_path_factory.mktemp("course"))
    generate_release(course, NAME)
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


def split(cells: Cells, grade_id: str, *sources: str) -> None:
    """Split an answer into cells with the same metadata; the last one keeps the cell id."""
    at = next(at for at, cell in enumerate(cells) if marks(cell) == grade_id)
    halves = [{**copy.deepcopy(cells[at]), "source": source} for source in sources]
    for number, half in enumerate(halves[:-1]):
        half["id"] = f"half-{number}"
    cells[at : at + 1] = halves


def marks(cell: dict[str, Any]) -> str:
    """Return the grade_id of a cell."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def paper(grader: Grader, notebook: str, change: Callable[[Cells], object], *, ids: bool = True) -> bytes:
    """Return a released notebook after a change to its cells."""
    tree = json.loads(grader.assignment.release_bytes[notebook])
    change(tree["cells"])
    if not ids:
        tree["nbformat_minor"] = 4
        for cell in tree["cells"]:
            cell.pop("id", None)
    return json.dumps(tree).encode()


def sit(
    grader: Grader, notebook: str, change: Callable[[Cells], object], *, ids: bool = True
) -> GradingResult:
    """Grade one notebook after a change to its cells; the other one stays unchanged."""
    handed = {**grader.assignment.release_bytes, notebook: paper(grader, notebook, change, ids=ids)}
    return grader.grade(SubmittedFiles("ada", handed))


def of_question(graded: GradingResult, question: str) -> tuple[Decimal, set[str]]:
    """Return the points of a question, and the code of each item or its status if there is none."""
    items = [item for item in graded.score.items if item.question == question]
    return sum((item.points for item in items), Decimal(0)), {item.code or item.status for item in items}


def executed(graded: GradingResult, name: str) -> ExecutedNotebook:
    """Return one of the executed notebooks."""
    return next(notebook for notebook in graded.notebooks if notebook.name == name)


@pytest.mark.parametrize("ids", [True, False], ids=["with cell ids", "without"])
@pytest.mark.parametrize(
    "halves",
    [(HELPER, USES_HELPER), ("", SOFTMAX), ("# nothing yet", SOFTMAX), (USES_HELPER, HELPER)],
    ids=["helper above", "empty half", "comment above", "helper below"],
)
def test_grade_gives_all_points_to_a_split_answer(halves: tuple[str, str], ids: bool, grader: Grader) -> None:
    """Both halves of a split answer are run, whichever of them defines the helper."""
    graded = sit(grader, "code", lambda cells: split(cells, "softmax-answer", *halves), ids=ids)
    assert (Decimal(3), {Status.PASSED}) == of_question(graded, "softmax")


def test_grade_takes_the_original_below_a_first_attempt(grader: Grader) -> None:
    """The cell id of the release identifies the answer among several attempts."""
    graded = sit(grader, "code", lambda cells: split(cells, "softmax-answer", WRONG, SOFTMAX))
    assert (Decimal(3), {Status.PASSED}) == of_question(graded, "softmax")


@pytest.mark.parametrize("ids", [True, False], ids=["with cell ids", "without"])
def test_grade_reads_formulas_from_both_halves(ids: bool, grader: Grader) -> None:
    """Formulas are read from both halves, also below texts."""
    halves = ("# the width squared, eight times", 'mlp_parameters = "8*d_model^2"')
    graded = sit(grader, "formulas", lambda cells: split(cells, "mlp-answer", *halves), ids=ids)
    assert of_question(graded, "mlp")[0] == Decimal(2)


def test_grade_leaves_formulas_in_several_text_cells_to_a_person(grader: Grader) -> None:
    """Formulas in several text cells need manual review."""

    def change(cells: Cells) -> None:
        split(cells, "mlp-answer", "First I had $4 d_{model}^2$", "and now $8 d_{model}^2$")
        for cell in cells:
            if marks(cell) == "mlp-answer":
                cell["cell_type"] = "markdown"

    graded = sit(grader, "formulas", change)
    codes = {item.item: item.code for item in graded.score.items if item.question == "mlp"}
    assert codes["formula"] == "review.cells"


@pytest.mark.parametrize("language", ["en", "de"])
def test_grade_leaves_contradicting_cells_to_a_person_who_sees_both(language: str, grader: Grader) -> None:
    """Contradicting cells need manual review; pages and nbgrader's copy show both."""
    graded = sit(grader, "code", lambda cells: split(cells, "softmax-answer", WRONG, SOFTMAX), ids=False)
    assert (Decimal(0), {"review.cells"}) == of_question(graded, "softmax")
    question = next(
        candidate for candidate in grader.assignment.rubric.questions if candidate.id == "softmax"
    )
    for page in (
        render_student_page(graded, grader.assignment.rubric, language=language),
        render_cells(graded, grader.assignment.rubric, "code", {question.answer_cell}, language),
    ):
        assert page.count("softmax-answer") >= 2
    copied = build_autograded_notebook(executed(graded, "code"), grader.assignment.release_bytes["code"])
    sources = [cell["source"] for cell in json.loads(copied)["cells"]]
    assert WRONG in sources
    assert SOFTMAX in sources


def test_grade_keeps_both_questions_when_a_copied_cell_is_a_helper(grader: Grader) -> None:
    """An answer cell that is copied as a helper of another question costs no points."""

    def change(cells: Cells) -> None:
        for grade_id, source in (("layers-answer", "layers = 12"), ("places-answer", "places = dict(pairs)")):
            next(cell for cell in cells if marks(cell) == grade_id)["source"] = source
        taken = copy.deepcopy(next(cell for cell in cells if marks(cell) == "layers-answer"))
        at = next(at for at, cell in enumerate(cells) if marks(cell) == "places-answer")
        helper = 'pairs = [("scored", "key"), ("summed", "value")]'
        cells.insert(at, {**taken, "id": "copied", "source": helper})

    for ids in (True, False):
        graded = sit(grader, "formulas", change, ids=ids)
        assert of_question(graded, "layers")[0] == Decimal(1)
        assert of_question(graded, "places")[0] == Decimal(2)


def test_marker_reads_both_halves_of_a_written_answer(grader: Grader) -> None:
    """A split written answer is shown as one text on marking pages, in nbgrader's copy and in feedback."""

    def change(cells: Cells) -> None:
        next(cell for cell in cells if marks(cell) == "softmax-answer")["source"] = SOFTMAX
        split(cells, "thoughts", "First half.", "Second half.")

    graded = sit(grader, "code", change)
    question = next(
        candidate for candidate in grader.assignment.rubric.questions if candidate.id == "thoughts"
    )
    assert get_answer_text(graded, question, question.items[0]) == "First half.\n\nSecond half."
    copied = build_autograded_notebook(executed(graded, "code"), grader.assignment.release_bytes["code"])
    nbformat.validate(nbformat.reads(copied.decode(), as_version=4))
    cells = json.loads(copied)["cells"]
    assert [cell["source"] for cell in cells if "half" in cell["source"]] == ["First half.\n\nSecond half."]
    assert [marks(cell) for cell in cells].count("thoughts") == 1
    page = render_student_page(graded, grader.assignment.rubric, releases=grader.assignment.releases)
    assert page.index("First half.") < page.index("Second half.")
    assert "are read together" in page


def test_nbgraders_copy_has_a_box_for_marks_when_the_cell_is_missing(grader: Grader) -> None:
    """A written answer without metadata gets a cell for marks in nbgrader's copy."""

    def change(cells: Cells) -> None:
        cells[-1:] = [
            {"cell_type": "markdown", "metadata": {}, "source": source, "id": f"own-{number}"}
            for number, source in enumerate(("One text.", "Another text."))
        ]

    graded = sit(grader, "code", change)
    copied = build_autograded_notebook(executed(graded, "code"), grader.assignment.release_bytes["code"])
    nbformat.validate(nbformat.reads(copied.decode(), as_version=4))
    (box,) = (cell for cell in json.loads(copied)["cells"] if marks(cell) == "thoughts")
    assert box["source"] == "One text.\n\nAnother text."


def test_similarity_compares_a_split_answer_as_one_piece(grader: Grader) -> None:
    """Similarity compares the joined parts of a split answer."""
    data = paper(grader, "code", lambda cells: split(cells, "softmax-answer", HELPER, USES_HELPER))
    submission = read_notebook(data, grader.assignment.releases["code"], student="ada", assignment=NAME)
    pieces = list_pieces("code", submission.cells, submission.answer_cells)
    (piece,) = (candidate for candidate in pieces if candidate.place == "code/softmax-answer")
    assert piece.source == f"{HELPER}\n\n{USES_HELPER}"


def test_generate_writes_the_ids_of_cells_and_reading_keeps_them(grader: Grader) -> None:
    """Releases have unique cell ids, which distinguish original cells from copies."""
    for name, data in grader.assignment.release_bytes.items():
        tree = json.loads(data)
        ids = [cell["id"] for cell in tree["cells"]]
        assert (4, 5) == (tree["nbformat"], tree["nbformat_minor"])
        assert len(set(ids)) == len(ids)
        assert ids == [cell.cell_id for cell in grader.assignment.releases[name].cells]


@pytest.mark.parametrize("language", ["en", "de"])
def test_marker_reads_a_text_that_belongs_to_no_answer(language: str, grader: Grader) -> None:
    """A text that belongs to no answer is shown below the answer on marking pages and in feedback."""
    more = "The rest stands one cell too far down, behind some scratch code."

    def change(cells: Cells) -> None:
        at = next(at for at, cell in enumerate(cells) if marks(cell) == "thoughts")
        cells[at]["source"] = "Softmax turns scores into weights."
        cells[at + 1 : at + 1] = [
            {"cell_type": "code", "metadata": {}, "source": "1 + 1", "outputs": [], "execution_count": None},
            {"cell_type": "markdown", "metadata": {}, "source": more},
        ]

    graded = sit(grader, "code", change)
    question = next(
        candidate for candidate in grader.assignment.rubric.questions if candidate.id == "thoughts"
    )
    text = get_answer_text(graded, question, question.items[0])
    assert text.startswith("Softmax turns scores into weights.\n\n[Further text of the student, cell ")
    assert text.endswith(more)
    page = render_student_page(
        graded, grader.assignment.rubric, releases=grader.assignment.releases, language=language
    )
    assert more in page
    [remark] = [note for note in executed(graded, "code").remarks if note.message.code == "notebook.further"]
    assert str(messages.render_message(remark.message, language)) in page
