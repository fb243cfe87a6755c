"""Our tables in nbgrader's database: each result by all its inputs, once, exact and of bounded size."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from autograder.core.limits import Budgets
from autograder.core.records import Cell, ExecutedNotebook, FileState, GradingResult, Note, SubmissionFile
from autograder.grading.store import decode_result, encode_bounded
from autograder.store.gradebook import Gradebook
from tests.pages.examples import RUBRIC, good, release
from tests.store.examples import entry, keep
from tests.store.gradebook.test_gradebook import MOMENT, dump, rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the gradebook."""
    return tmp_path / "gradebook.db"


@pytest.fixture
def book(path: Path) -> Iterator[Gradebook]:
    """Return an open gradebook with the exam prepared."""
    with Gradebook(path) as opened:
        opened.prepare_assignment(RUBRIC, {"exam": release()})
        yield opened


def test_a_row_of_another_version_is_graded_again(book: Gradebook, path: Path) -> None:
    """A stored result that cannot be decoded is ignored, graded again and replaced."""
    keep(book, good(), RUBRIC)
    rows(path, "UPDATE autograder_result SET graded = ?", b'{"score": 1}')
    key = entry(good(), RUBRIC).key
    assert book.find_result(key) is None
    assert {} == book.load_results("exam")
    keep(book, good(), RUBRIC)
    assert good() == book.find_result(key)


def attempt(number: int, size: int = 0) -> GradingResult:
    """Return one of a student's submissions, with a cell of some length."""
    cells = (Cell("x" * size or "x = 1"),)
    notebook = ExecutedNotebook("exam", cells, (None,))
    return msgspec.structs.replace(good(), digest=f"{number:064}", notebooks=(notebook,))


def test_older_attempts_keep_their_marks_and_lose_their_notebooks(book: Gradebook, path: Path) -> None:
    """Old attempts lose their notebooks to save space; the counting and the latest ones keep them."""
    graded = [attempt(number, 100_000) for number in range(8)]
    for one in graded:
        keep(book, one, RUBRIC)
    kept = [one for one in graded if book.find_result(entry(one, RUBRIC).key) == one]
    assert graded[-Budgets().attempts :] == kept
    stored = [data for (data,) in rows(path, "SELECT graded FROM autograder_result ORDER BY id")]
    assert 8 == len(stored)
    assert sum(map(len, stored)) < 100_000 * (Budgets().attempts + 1)
    marks = [msgspec.json.decode(data.removeprefix(b"pruned:"), type=GradingResult) for data in stored]
    assert [one.score for one in graded] == [one.score for one in marks]


def test_a_result_that_is_too_large_keeps_its_marks() -> None:
    """Notebooks, long texts and excess notes are dropped with a note; marks are unchanged."""
    honest = attempt(0, 5 << 20)
    notes = tuple(Note("kernel", "n" * 9000) for _ in range(2000))
    files = (SubmissionFile("exam", "a.csv", FileState.HANDED_IN, text="x" * (5 << 20)),)
    large = msgspec.structs.replace(
        honest, score=msgspec.structs.replace(honest.score, notes=notes), files=files
    )
    stored = encode_bounded(large, 4)
    found = decode_result(stored)
    assert len(stored) < 4 << 20
    assert found is not None
    assert [one.points for one in honest.score.items] == [one.points for one in found.score.items]
    assert "result-cut" == found.score.notes[-1].code
    assert ((), ()) == (found.notebooks, found.files)
    assert honest == decode_result(encode_bounded(honest, 8))


def test_the_store_is_whole_after_a_kill(path: Path) -> None:
    """A connection closed within a group leaves no part of the group in the database."""
    with Gradebook(path) as book:
        book.prepare_assignment(RUBRIC, {"exam": release()})
        before = dump(path)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO student (id) VALUES ('half')")
        connection.close()
        assert before == dump(path)
        keep(book, good(), RUBRIC)
        assert {"ada": good()} == book.load_results("exam")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a comment": lambda path: rows(path, "UPDATE comment SET auto_comment = 'No response.'"),
    "a copy": lambda path: copy_of(path).write_text("{}"),
    "no copy": lambda path: copy_of(path).unlink(),
    "the submission": lambda path: rows(path, "DELETE FROM submitted_assignment"),
    "who wrote it": lambda path: rows(path, "UPDATE autograder_written SET signature = 'other'"),
}


def copy_of(path: Path) -> Path:
    """Return the path of the notebook that formgrader shows."""
    return path.parent / "autograded" / "ada" / "exam" / "exam.ipynb"


def known_again(path: Path, moment: datetime = MOMENT, language: str = "") -> bool:
    """Record a known result in a later run unless it is unchanged; return whether anything was written."""
    written: list[object] = []
    with Gradebook(path) as book:
        book.prepare_assignment(RUBRIC, {"exam": release()})
        mark = book._write_marks

        def counted(*arguments: Any) -> dict[str, int]:
            written.append(arguments)
            return mark(*arguments)

        book._write_marks = counted  # type: ignore[method-assign]
        known = msgspec.structs.replace(entry(good(), RUBRIC), submitted_at=moment)
        stands = book.find_unchanged_students([known], language)
        assert {} == book.record_results([] if stands else [known], language=language)
    return bool(written)


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_written_is_not_written_again_unless_it_changed(
    book: Gradebook, path: Path, change: str
) -> None:
    """A run over known submissions writes nothing, but repairs overwritten rows and files."""
    keep(book, good(), RUBRIC, MOMENT)
    copy, whole = copy_of(path).read_bytes(), dump(path)
    assert not known_again(path)
    CHANGES[change](path)
    assert known_again(path)
    assert copy == copy_of(path).read_bytes()
    if change != "the submission":  # the new one has other ids
        assert whole == dump(path)
    assert not known_again(path)


def test_another_time_or_language_is_written(book: Gradebook, path: Path) -> None:
    """A change of any input of rows and comments is written."""
    keep(book, good(), RUBRIC, MOMENT)
    assert known_again(path, MOMENT + timedelta(minutes=1))
    assert known_again(path, MOMENT + timedelta(minutes=1), "de")
    assert not known_again(path, MOMENT + timedelta(minutes=1), "de")
