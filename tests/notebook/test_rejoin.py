"""Classes and functions that were split into a cell without metadata."""

from __future__ import annotations

import pytest

from autograder.core.records import Cell, Submission
from autograder.notebook.cell_preparation import MOST_HALVES
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

FIRST = "class Width:\n    def __init__(self):\n        self.size = 1"
SECOND = "    def double(self):\n        return 2 * self.size"


def list_code(submission: Submission) -> list[str]:
    """Return the sources of the code cells."""
    return [cell.source for cell in submission.cells if isinstance(cell, Cell)]


def split(cells: Cells, *halves: str, keeps: int = 0) -> None:
    """Write an answer into several cells; one of them keeps the metadata."""
    answer_all(cells)
    at = position(cells, "width")
    marks = cells[at]["metadata"]
    cells[at : at + 1] = [
        {**make_cell(half), "metadata": marks if number == keeps else {}}
        for number, half in enumerate(halves)
    ]


@pytest.mark.parametrize("keeps", [0, 1], ids=["first half keeps the metadata", "second half keeps it"])
@pytest.mark.parametrize(
    "halves",
    [
        (FIRST, SECOND),
        (FIRST, f"    # the rest\n{SECOND}"),
        (FIRST, f"\n# the rest\n\n{SECOND}"),
        (FIRST, SECOND, "    def half(self):\n        return self.size / 2"),
        ("def width(x):", "    return x"),
        ("def width(x):\n    y = x", "    return y"),
    ],
    ids=["method", "indented comment", "comment", "three parts", "body", "middle of a body"],
)
def test_read_joins_the_halves_of_a_split_statement(halves: tuple[str, ...], keeps: int) -> None:
    submission = hand_in(lambda cells: split(cells, *halves, keeps=keeps))
    text = text_of(submission, "width")
    assert all(half.strip() in text for half in halves)
    compile(text, "answer", "exec")
    assert text in list_code(submission)
    assert not lost(submission)
    assert "notebook.rejoined" in {remark.message.code for remark in submission.remarks}


def test_read_leaves_halves_to_manual_review_if_they_are_no_python_together() -> None:
    submission = hand_in(lambda cells: split(cells, FIRST, "  def double(self):\n    return 2"))
    assert lost(submission) == {"width"}
    assert "def double" in text_of(submission, "width")


@pytest.mark.parametrize(
    ("first", "second"),
    [("width = 3", "    print(width)"), (f"{FIRST}", "print(Width())"), (f"{FIRST}\nWidth()", SECOND)],
    ids=["indented by accident", "not indented", "nothing to continue"],
)
def test_read_keeps_cells_apart_that_are_no_halves(first: str, second: str) -> None:
    submission = hand_in(lambda cells: split(cells, first, second))
    assert second in list_code(submission)
    assert not any(remark.message.code == "notebook.rejoined" for remark in submission.remarks)


def test_read_never_appends_to_a_given_cell() -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width-check", "if True:\n    pass")
        cells.insert(position(cells, "width-check") + 1, make_cell(SECOND))

    assert SECOND in list_code(hand_in(change))


def test_read_appends_only_a_few_cells() -> None:
    """Only a few cells are appended, because reading a thousand would take minutes."""
    submission = hand_in(lambda cells: split(cells, FIRST, *[SECOND] * 30))
    assert text_of(submission, "width").count("def double") == MOST_HALVES
