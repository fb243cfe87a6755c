"""Marks for groups of equal answers: whose they are, and which lines of the list are never applied."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.app.decisions import DecisionReport, enter_decisions
from autograder.feedback.answers import MarkedCell, marked_cells
from autograder.gradebook import Gradebook
from autograder.records import Graded
from autograder.store import Decision
from autograder.store.examples import keep
from tests.feedback.examples import release
from tests.feedback.test_marking import EXAM, SECRET, wrote
from tests.gradebook.test_gradebook import MOMENT, grades

CELL = "task3-b-why"
GOOD = "One matrix up, one back."


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    """An empty gradebook."""
    with Gradebook(tmp_path / "gradebook.db") as opened:
        opened.prepare(EXAM, {"exam": release()})
        yield opened


def cell() -> MarkedCell:
    """The cell that people mark."""
    return next(one for one in marked_cells(EXAM, SECRET) if one.name == CELL)


def decide(book: Gradebook, group: str, *results: Graded) -> DecisionReport:
    """Record results, and enter one point for a group."""
    for one in results:
        keep(book, one, EXAM, MOMENT)
    return enter_decisions(EXAM, book, [Decision(CELL, group, Decimal(1))], results, SECRET)


def mark(folder: Path, student: str) -> float | None:
    """What a person gave a student."""
    return grades(folder / "gradebook.db", student)[CELL][1]


def test_a_text_made_to_share_a_short_name_gets_nothing(book: Gradebook, tmp_path: Path) -> None:
    """With names of the text alone, a counter behind nonsense is soon found; with the secret it is not."""

    def short(text: str) -> str:  # three characters of what an earlier version cut to ten
        return cell().group_before(text)[:3]

    nonsense = next(text for n in itertools.count() if short(text := f"A number, {n}.") == short(GOOD))
    group = cell().group(GOOD)
    assert group != cell().group(nonsense)
    applied = decide(book, group, wrote("ada", GOOD), wrote("mallory", nonsense))
    assert not applied.attention
    assert (1.0, None) == (mark(tmp_path, "ada"), mark(tmp_path, "mallory"))
    assert "decisions.csv: marks entered: 1; groups of equal answers: 1" in applied.lines


def test_names_are_long_and_follow_from_the_secret() -> None:
    """128 bits, none of which can be computed from cell and text."""
    names = {cell().group(f"text {n}") for n in range(100)}
    assert 100 == len(names)
    assert {32} == {len(name) for name in names}
    plain = hashlib.sha256(f"exam\0{CELL}\0text 0".encode()).hexdigest()
    assert not any(name.startswith(plain[:8]) for name in names)


def test_a_name_of_an_earlier_version_is_told_and_never_applied(book: Gradebook, tmp_path: Path) -> None:
    """Its line says whose answer it was and how it begins now; marks that it gave before stand."""
    short = cell().group_before(GOOD)
    assert short == hashlib.sha256(f"exam\0{CELL}\0one matrix up one back".encode()).hexdigest()[:10]
    applied = decide(book, short, wrote("ada", GOOD))
    assert applied.attention
    assert mark(tmp_path, "ada") is None
    said = applied.lines[-1]
    assert f"{CELL},{short}: not applied: a short name of an earlier version" in said
    assert (
        f"(ada). If it is the answer you mean, begin the line with exam,{CELL},{cell().group(GOOD)}," in said
    )
    applied = decide(book, "0123456789", wrote("ada", GOOD))
    assert applied.attention
    assert "nobody gave this answer, and the line can go" in applied.lines[-1]


@pytest.mark.parametrize("names", ["group", "group_before"])
def test_a_name_that_stands_for_different_texts_decides_nothing(
    names: str,
    book: Gradebook,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However it came about: both answers wait for a person, who is told whose they are."""
    one = {"group": "f" * 32, "group_before": "f" * 10}[names]
    monkeypatch.setattr(MarkedCell, names, lambda *_: one)
    applied = decide(book, one, wrote("ada", GOOD), wrote("mallory", "A number."))
    assert applied.attention
    assert (None, None) == (mark(tmp_path, "ada"), mark(tmp_path, "mallory"))
    said = applied.lines[-1]
    assert "not applied" in said
    assert "stands for different texts" in said
    assert "ada, mallory" in said
