"""An answer whose cell lost its id is accepted only if it is unambiguous."""

from __future__ import annotations

import pytest

from autograder.core.records import Submission
from autograder.notebook.cell_matching import LOST
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook
from tests.notebook.test_displaced_answers import make_cell, make_notebook

STUB = "def double(x):\n    raise NotImplementedError()"
OWN = "def double(x):\n    return x + x"
OTHER = "def double(x):\n    return 2 * x"


def hand_in(released: tuple[str, ...], written: tuple[str, ...]) -> Submission:
    """Submit given cells and answer cells without ids for these released answers."""
    first, last = make_cell("import math", "first"), make_cell("double(2)", "last")
    answers = [make_cell(STUB + f"  # {name}", name, answer=True) for name in released]
    release = load_release(make_notebook([first, *answers, last]), "nb")
    submitted = make_notebook([first, *map(make_cell, written), last])
    return read_notebook(submitted, release, student="s", assignment="a")


def notes(released: tuple[str, ...], written: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the notes about the answers."""
    found = hand_in(released, written).notes
    return sorted((note.code, note.place) for note in found if note.place in released)


@pytest.mark.parametrize(
    ("released", "written", "expected"),
    [
        (("one",), (OWN,), [("answer-recovered", "one")]),
        (("one",), (OWN, OTHER), [(LOST, "one")]),
        (("one", "two"), (OWN,), [(LOST, "one"), (LOST, "two")]),
        (("one", "two"), (OWN, OTHER), [("answer-recovered", "one"), ("answer-recovered", "two")]),
    ],
)
def test_what_two_could_be_is_taken_for_neither(
    released: tuple[str, ...], written: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    """Two cells for one answer, or one cell for two answers, need manual review."""
    assert expected == notes(released, written)


@pytest.mark.parametrize(
    ("released", "written", "code"),
    [
        (("one",), (OWN, OTHER), "notebook.unsure.missing"),
        (("one", "two"), (OWN,), "notebook.unsure.one"),
    ],
    ids=["several cells", "one cell"],
)
def test_students_are_told_which_cells_may_be_a_missing_answer(
    released: tuple[str, ...], written: tuple[str, ...], code: str
) -> None:
    """The message does not mention a contradiction, because the cells may be consistent."""
    assert {remark.message.code for remark in hand_in(released, written).remarks} == {code}


@pytest.mark.parametrize("written", [("y = 1", OWN), (OWN, "y = 1")])
def test_what_defines_the_name_is_the_answer(written: tuple[str, ...]) -> None:
    """A helper cell does not affect which cell is the answer."""
    assert notes(("one",), written) == [("answer-recovered", "one")]
