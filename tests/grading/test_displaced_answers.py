"""Test answers outside their cells, from the file to marks."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from autograder.core.records import Status
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader
from autograder.grading.release_generation import generate_release
from autograder.pages.feedback.student_page import render_cells, render_student_page
from autograder.sandbox.pool import Pool
from tests.grading.test_split_answers import Cells, marks, of_question, sit
from tests.support.small_course import NAME, SOFTMAX, small_course

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return a grader of two notebooks: one with code and a text, one with formulas."""
    course = small_course(tmp_path_factory.mktemp("course"))
    generate_release(course, NAME)
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


def plain(source: str) -> dict[str, Any]:
    """Return a code cell without metadata."""
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


@pytest.mark.parametrize("where", [0, -1, None], ids=["first cell", "last cell", "in another answer"])
def test_grade_judges_formulas_that_stand_in_other_cells(where: int | None, grader: Grader) -> None:
    """Formulas in other cells are found by their names after the run."""
    source = 'mlp_parameters = "8*d_model^2"'

    def change(cells: Cells) -> None:
        if where is None:
            other = next(cell for cell in cells if marks(cell) == "layers-answer")
            other["source"] = f"layers = 12\n{source}"
        else:
            cells.insert(where if where == 0 else len(cells), plain(source))

    graded = sit(grader, "formulas", change)
    assert of_question(graded, "mlp")[0] == Decimal(2)
    if where is None:
        assert (Decimal(1), {Status.PASSED}) == of_question(graded, "layers")


def test_grade_judges_a_function_that_stands_above_everything(grader: Grader) -> None:
    """A function in the first cell counts; the blank answer cell, which would raise, does not undo it."""
    graded = sit(grader, "code", lambda cells: cells.insert(0, plain(f"import numpy\n\n{SOFTMAX}")))
    assert (Decimal(3), {Status.PASSED}) == of_question(graded, "softmax")


@pytest.mark.parametrize(
    ("notebook", "question", "answer"),
    [("code", "softmax", SOFTMAX), ("formulas", "mlp", 'mlp_parameters = "8*d_model^2"')],
)
def test_grade_runs_the_answer_below_a_placeholder(
    notebook: str, question: str, answer: str, grader: Grader
) -> None:
    """An answer counts even if the placeholder statement above it was not deleted."""

    def change(cells: Cells) -> None:
        cell = next(cell for cell in cells if marks(cell) == f"{question}-answer")
        cell["source"] = f"raise NotImplementedError()\n{answer}"

    graded = sit(grader, notebook, change)
    assert Status.PASSED in {result.status for result in graded.score.items if result.question == question}


def test_grade_runs_the_body_below_a_placeholder(grader: Grader) -> None:
    """A placeholder at the beginning of a function is skipped too."""
    head, body = SOFTMAX.split("\n", 1)
    source = f"{head}\n    raise NotImplementedError()\n{body}"

    def change(cells: Cells) -> None:
        next(cell for cell in cells if marks(cell) == "softmax-answer")["source"] = source

    assert (Decimal(3), {Status.PASSED}) == of_question(sit(grader, "code", change), "softmax")


@pytest.mark.parametrize(
    "source", ["8*d_model^2", "d_model = 7\n8*d_model**2", "def rows(a): return a\nprint(rows(3))"]
)
def test_grade_leaves_bare_formulas_and_renamed_functions_to_review(source: str, grader: Grader) -> None:
    """A bare formula or renamed function near the blank answer needs manual review."""

    def change(cells: Cells) -> None:
        at = next(at for at, cell in enumerate(cells) if marks(cell) == "mlp-answer")
        cells.insert(at + 1, plain(source))

    assert of_question(sit(grader, "formulas", change), "mlp")[1] == {"review.cells"}


@pytest.mark.parametrize(
    "text",
    [
        "8*d_model^2, because there are two matrices.",
        r"Formula: $8 \cdot d_{\text{model}}^2$. Two matrices.",
        "8d² for both, d being the width",
        "It is 8 d_model times d_model.",
    ],
)
def test_grade_leaves_a_blank_answer_to_review_if_the_text_of_its_question_has_a_formula(
    text: str, grader: Grader
) -> None:
    """A blank answer needs review if a text of its question has a formula; student and staff see this.

    Questions that build on the answer are judged as after a blank one.
    """
    graded = sit(grader, "formulas", lambda cells: write_text(cells, text))
    items = {f"{item.question}.{item.item}": item for item in graded.score.items}
    assert items["mlp.formula"].code == "review.text-beside"
    assert items["mlp.formula"].points == 0
    (note,) = (note for note in graded.score.notes if note.place == "mlp")
    assert note.code == "answer-unclear"
    assert "(mlp-why)" in note.text
    assert items["model.formula"].status is Status.FAILED


@pytest.mark.parametrize(
    "text",
    [
        "Two matrices of equal size lead from `d_model` numbers to the inner width and back.",
        "I have no idea.",
    ],
)
def test_grade_leaves_no_blank_answer_to_review_for_an_explanation(text: str, grader: Grader) -> None:
    """An explanation without a formula does not make a blank answer need review."""
    graded = sit(grader, "formulas", lambda cells: write_text(cells, text))
    assert "no-answer" in {item.code for item in graded.score.items if item.question == "mlp"}


def write_text(cells: Cells, text: str) -> None:
    """Leave a formula blank, write a text next to it, and answer the dependent question wrongly."""
    for cell in cells:
        if marks(cell) == "model-answer":
            cell["source"] = 'model_parameters = "9*n_layers*d_model^2"'
        if marks(cell) == "mlp-why":
            cell["source"] = text


def test_grade_leaves_a_blank_written_answer_to_a_person_who_sees_the_text(grader: Grader) -> None:
    """A blank written answer needs review if there is an unassigned text, which the page shows."""
    text = {"cell_type": "markdown", "metadata": {}, "source": "Large scores overflow in the exponential."}
    graded = sit(grader, "code", lambda cells: cells.insert(0, text))
    assert of_question(graded, "thoughts")[1] == {"review.cells"}
    question = next(
        candidate for candidate in grader.assignment.rubric.questions if candidate.id == "thoughts"
    )
    page = render_cells(graded, grader.assignment.rubric, "code", {question.answer_cell}, "en")
    assert text["source"] in page
    assert "may contain an answer" in render_student_page(graded, grader.assignment.rubric)


def test_grade_gives_a_blank_notebook_with_scratch_code_no_review(grader: Grader) -> None:
    """Scratch code that cannot be an answer leaves a blank notebook without review."""
    graded = sit(grader, "code", lambda cells: cells.insert(0, plain("import numpy\nprint(numpy.ones(3))")))
    assert Status.NEEDS_REVIEW not in {item.status for item in graded.score.items}


DRAWS = """\
class Sketch:
    def _repr_png_(self):
        import base64
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )

Sketch()"""


@pytest.mark.parametrize(
    ("source", "written", "is_named"),
    [(DRAWS, False, True), ("print('nothing to see')", False, False), (DRAWS, True, False)],
    ids=["a picture and no text", "no picture", "a picture and a text"],
)
def test_grade_names_a_picture_that_only_code_shows(
    source: str, *, written: bool, is_named: bool, grader: Grader
) -> None:
    """A note names code next to a blank written answer if it draws a picture."""

    def change(cells: Cells) -> None:
        at = next(at for at, cell in enumerate(cells) if marks(cell) == "thoughts")
        if written:
            cells[at]["source"] = "Large scores overflow in the exponential."
        cells.insert(at + 1, plain(source))

    graded = sit(grader, "code", change)
    notes = [note for note in graded.score.notes if note.code == "picture-beside"]
    assert [note.place for note in notes] == (["thoughts"] if is_named else [])
    assert all("picture beside it: cell" in note.text for note in notes)
    assert is_named == ("review.picture" in of_question(graded, "thoughts")[1])


PICTURE = DRAWS.partition('b64decode(\n            "')[2].partition('"')[0]


@pytest.mark.parametrize(
    ("question", "kind", "is_review"),
    [
        ("thoughts", "saved", True),
        ("thoughts", "attached", True),
        ("softmax", "attached", True),
    ],
)
def test_grade_reviews_a_blank_answer_with_a_picture_beside_it(
    question: str, kind: str, *, is_review: bool, grader: Grader
) -> None:
    """A blank answer with a picture next to it needs review, for a saved output or an attached photo."""
    saved = {"output_type": "display_data", "metadata": {}, "data": {"image/png": PICTURE}}
    beside = {
        "saved": {**plain("show_photo()"), "outputs": [saved]},
        "attached": {
            "cell_type": "markdown",
            "metadata": {},
            "source": "![](attachment:a.png)",
            "attachments": {"a.png": {"image/png": PICTURE}},
        },
    }[kind]

    def change(cells: Cells) -> None:
        for other in cells:
            if marks(other) == "thoughts" != question:
                other["source"] = "Large scores overflow in the exponential."
        place = max(at for at, cell in enumerate(cells) if marks(cell) == question)
        cells.insert(place + 1, beside)

    statuses = {
        result.status for result in sit(grader, "code", change).score.items if result.question == question
    }
    assert is_review == (Status.NEEDS_REVIEW in statuses)
