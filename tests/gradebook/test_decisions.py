"""One decision for all equal answers: read from a list, entered as people's marks."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from autograder.grading.store import Decision
from autograder.store.gradebook import Gradebook
from tests.feedback.examples import RUBRIC, middling, release
from tests.gradebook.test_gradebook import MOMENT, grades, mark
from tests.store.examples import keep

KEY = ("grace", "exam", "task3-b-why")
CELLS = {"task3-b-why": Decimal(1)}
HEAD = "assignment,cell,group,points,comment\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the gradebook lies."""
    return tmp_path / "gradebook.db"


@pytest.fixture
def book(path: Path) -> Iterator[Gradebook]:
    """A gradebook with one submission."""
    with Gradebook(path) as opened:
        opened.prepare_assignment(RUBRIC, {"exam": release()})
        keep(opened, middling(), RUBRIC, MOMENT)
        yield opened


def decision(points: str, comment: str = "") -> dict[tuple[str, str, str], Decision]:
    """What the list says of Grace's answer."""
    return {KEY: Decision("task3-b-why", "0123456789", Decimal(points), comment)}


def test_a_decision_is_a_persons_mark(book: Gradebook, path: Path) -> None:
    """It closes the cell, with its comment; entering it again changes nothing, and a correction follows."""
    assert (1, ()) == msgspec.structs.astuple(book.apply_decisions("exam", decision("0.5", "Which two?")))
    assert (None, 0.5, 0) == grades(path, "grace")["task3-b-why"]
    found = book.load_marks("exam")["grace"]["exam", "task3-b-why"]
    assert (Decimal("0.5"), False, "Which two?") == (found.points, found.again, found.comment)
    assert 0 == book.apply_decisions("exam", decision("0.5")).written
    assert 1 == book.apply_decisions("exam", decision("1")).written
    assert (None, 1.0, 0) == grades(path, "grace")["task3-b-why"]


def test_what_somebody_gave_in_formgrader_stays(book: Gradebook, path: Path) -> None:
    """Before or after the list was entered: the mark of one answer is a closer look than that of a group."""
    mark(path, "task3-b-why", 0.25)
    assert (0, (KEY,)) == msgspec.structs.astuple(book.apply_decisions("exam", decision("1")))
    assert (None, 0.25, 0) == grades(path, "grace")["task3-b-why"]
    mark(path, "task3-b-why", 1.0)
    book.apply_decisions("exam", decision("1"))
    mark(path, "task3-b-why", 0.75)
    assert (KEY,) == book.apply_decisions("exam", decision("1")).kept


def test_a_new_submission_with_the_same_answer_is_decided_at_once(book: Gradebook, path: Path) -> None:
    """Otherwise it is to be looked at again, as any mark under which the submission changed."""
    book.apply_decisions("exam", decision("0.5"))
    keep(book, msgspec.structs.replace(middling(), digest="f" * 64), RUBRIC, MOMENT)
    assert (None, 0.5, 1) == grades(path, "grace")["task3-b-why"]
    book.apply_decisions("exam", {})
    assert (None, 0.5, 1) == grades(path, "grace")["task3-b-why"]
    book.apply_decisions("exam", decision("1"))
    assert (None, 1.0, 0) == grades(path, "grace")["task3-b-why"]
