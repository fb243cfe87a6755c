"""An answer whose cell lost its identity is taken only where no other cell could be it as well."""

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
    """Given cells around answers in the release, and around cells without any id in what was handed in."""
    first, last = make_cell("import math", "first"), make_cell("double(2)", "last")
    answers = [make_cell(STUB + f"  # {name}", name, answer=True) for name in released]
    release = load_release(make_notebook([first, *answers, last]), "nb")
    submitted = make_notebook([first, *map(make_cell, written), last])
    return read_notebook(submitted, release, student="s", assignment="a")


def notes(released: tuple[str, ...], written: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return what is noted about the answers."""
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
    """Two cells that define what one answer asks for, or one cell for two answers: a person looks."""
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
    """Nothing is said of a contradiction, because the cells need not contradict each other."""
    assert {remark.message.code for remark in hand_in(released, written).remarks} == {code}


@pytest.mark.parametrize("written", [("y = 1", OWN), (OWN, "y = 1")])
def test_what_defines_the_name_is_the_answer(written: tuple[str, ...]) -> None:
    """A helper cell beside it changes nothing."""
    assert notes(("one",), written) == [("answer-recovered", "one")]
