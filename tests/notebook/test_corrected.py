"""Short answers that are corrected in a later cell, or assigned to an unexpected name."""

from __future__ import annotations

import pytest

from autograder.notebook.duplicate_cells import is_unwritten_cell
from autograder.notebook.release import ReleaseCell
from autograder.questions.base.values.literal import find_answer_literal
from tests.notebook.test_displaced_answers import (
    Cells,
    answer_all,
    hand_in,
    lost,
    make_cell,
    position,
    text_of,
    write,
)


@pytest.mark.parametrize("place", ["directly below", "below the check", "at the end", "in another answer"])
def test_read_counts_the_last_assignment_of_an_answer(place: str) -> None:
    """The last assignment counts, as in Jupyter, for kinds that read the text and kinds that run it."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width", 'width = "4*d"')
        correction = make_cell('width = "8*d"')
        if place == "directly below":
            cells.insert(position(cells, "width") + 1, correction)
        elif place == "below the check":
            cells.insert(position(cells, "width-check") + 1, correction)
        elif place == "at the end":
            cells.append(correction)
        else:
            write(cells, "depth", 'depth = 3\nwidth = "8*d"')

    submission = hand_in(change)
    literal = find_answer_literal(text_of(submission, "width"), "width")
    assert literal is not None
    assert literal.value == "8*d"
    assert "4*d" in text_of(submission, "width")
    assert not lost(submission)
    remarks = [one.position for one in submission.remarks if one.message.code == "notebook.reassigned"]
    assert remarks == list(submission.answer_cells["width"])


@pytest.mark.parametrize("blank", ['width = "..."', 'width = ""', "width = None  # todo", "width = ..."])
@pytest.mark.parametrize("is_above", [True, False], ids=["above", "below"])
def test_read_finds_an_answer_beside_a_cell_that_assigns_nothing(blank: str, is_above: bool) -> None:
    """A placeholder in the answer's cell neither hides nor overwrites an answer in an adjacent cell."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width", blank)
        cells.insert(position(cells, "width") + (not is_above), make_cell("width = 7"))

    submission = hand_in(change)
    assert text_of(submission, "width") == "width = 7"
    assert not lost(submission)
    sources = [cell.source for cell in submission.cells]
    assert sources.index(blank) < sources.index("width = 7")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", True),
        ("# YOUR CODE HERE", True),
        ("x = None\ny = ''", True),
        ("# YOUR CODE HERE\nraise NotImplementedError()\nx = '…'", True),
        ("x = 0", False),
        ("x = False", False),
        ("x = [None]", False),
        ("x = compute()", False),
        ("# 8*d", False),
        ("x =", False),
    ],
)
def test_is_unwritten_knows_placeholders_from_answers(source: str, expected: bool) -> None:
    stub = "# YOUR CODE HERE\nraise NotImplementedError()"
    original = ReleaseCell(1, "code", stub, "x", solution=True)
    assert is_unwritten_cell(source, original) is expected


@pytest.mark.parametrize("source", ["rows = load()", "rows = load()\ncache = None", "total = sum(rows)"])
def test_is_unwritten_takes_given_code_with_a_change_for_an_answer(source: str) -> None:
    """Changed code is an answer, even if the change deletes a line or assigns None."""
    stub = "rows = load()\ncache = {}\ntotal = sum(rows)"
    assert not is_unwritten_cell(source, ReleaseCell(1, "code", stub, "x", solution=True))


@pytest.mark.parametrize("place", ["beside", "beside a placeholder", "at the end"])
def test_read_leaves_a_value_under_another_name_to_manual_review(place: str) -> None:
    """An otherwise unused value under another name may be the blank answer."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        other = make_cell('answer = "8*d"\nprint(answer)')
        if place == "beside a placeholder":
            write(cells, "width", 'width = "..."')
        cells.insert(len(cells) if place == "at the end" else position(cells, "width") + 1, other)

    submission = hand_in(change)
    assert lost(submission) == {"width"}
    assert "8*d" in text_of(submission, "width")


@pytest.mark.parametrize("scratch", ["seed = 3", "size = 3\nprint([0] * size)"])
def test_read_does_not_take_a_value_beside_another_answer_for_a_blank_one(scratch: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        cells.insert(position(cells, "depth") + 1, make_cell(scratch))

    submission = hand_in(change)
    assert not lost(submission)
    assert not text_of(submission, "width")


@pytest.mark.parametrize(
    "source",
    [
        '# width = "8*d"',
        '# width = "8*d"\n# YOUR CODE HERE\nraise NotImplementedError()',
        'raise NotImplementedError("8*d")',
        '"8*d"',
        "8*d",
    ],
)
def test_read_tells_students_whose_answer_has_no_name(source: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width", source)

    submission = hand_in(change)
    [remark] = submission.remarks
    assert remark.message.code == "notebook.unnamed"
    assert remark.message.params["names"] == "width"
    assert "answer-unnamed" in {note.code for note in submission.notes}


@pytest.mark.parametrize("source", ["compute()", "width = 3", "# YOUR CODE HERE", "def width():\n    pass"])
def test_read_says_nothing_about_names_of_other_cells(source: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width", source)

    assert not any(remark.message.code == "notebook.unnamed" for remark in hand_in(change).remarks)
