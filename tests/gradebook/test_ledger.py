"""The ledger keeps results by all that they depend on, exactly and once."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from autograder.gradebook import ledger as ledgers
from autograder.gradebook.ledger import Key, Ledger
from autograder.limits import Budgets
from autograder.records import Cell, ExecutedNotebook, Graded, Note
from tests.feedback.examples import RUBRIC, good, hostile, middling

MOMENT = datetime.datetime(2031, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    """A database in a file."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/gradebook.db")
    yield engine
    engine.dispose()


def key(graded: Graded, environment: str = "e" * 64) -> Key:
    """The key of a result under the example rubric."""
    return Key.of(graded.score.student, graded.digest, RUBRIC, environment)


def rows(engine: sa.Engine) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of the ledger."""
    with engine.connect() as connection:
        return {
            name: [tuple(row) for row in connection.execute(sa.select(table))]
            for name, table in ledgers.METADATA.tables.items()
        }


@pytest.mark.parametrize("graded", [good(), middling()], ids=["good", "middling"])
def test_round_trip_is_exact(engine: sa.Engine, graded: Graded) -> None:
    """A result comes back as it was recorded: decimals, statuses, endings, cells and all."""
    ledger = Ledger(engine)
    ledger.record(key(graded), graded)
    assert graded == ledger.find(key(graded))


def test_decimals_keep_their_digits(engine: sa.Engine) -> None:
    """A half point of 0.50 stays 0.50."""
    graded = good()
    items = (msgspec.structs.replace(graded.score.items[0], points=Decimal("0.50")),)
    graded = msgspec.structs.replace(graded, score=msgspec.structs.replace(graded.score, items=items))
    ledger = Ledger(engine)
    ledger.record(key(graded), graded)
    found = ledger.find(key(graded))
    assert found is not None
    assert "0.50" == str(found.score.items[0].points)


def test_lone_surrogates_are_replaced(engine: sa.Engine) -> None:
    """Texts that UTF-8 cannot carry are stored with U+FFFD, and everything else as it was."""
    graded = hostile()
    ledger = Ledger(engine)
    ledger.record(key(graded), graded)
    found = ledger.find(key(graded))
    assert found is not None
    assert (
        graded.notebooks[0].cells[1].source.replace("\ud800", "\ufffd") == found.notebooks[0].cells[1].source
    )
    assert graded.score.points == found.score.points


@pytest.mark.parametrize("field", ["student", "assignment", "submission", "rubric", "environment"])
def test_every_part_of_the_key_matters(engine: sa.Engine, field: str) -> None:
    """A result is found under exactly its own key."""
    ledger = Ledger(engine)
    ledger.record(key(good()), good())
    assert ledger.find(msgspec.structs.replace(key(good()), **{field: "other"})) is None


def test_a_new_rubric_version_is_another_result(engine: sa.Engine) -> None:
    """The rubric's version is part of the key."""
    ledger = Ledger(engine)
    ledger.record(key(good()), good())
    assert ledger.find(msgspec.structs.replace(key(good()), rubric_version=4)) is None


def test_recording_again_changes_nothing(engine: sa.Engine) -> None:
    """The same result recorded twice leaves the same rows, times included."""
    ledger = Ledger(engine)
    ledger.record(key(good()), good(), submitted_at=MOMENT)
    before = rows(engine)
    ledger.record(key(good()), good(), submitted_at=MOMENT)
    assert before == rows(engine)
    assert 1 == len(before["autograder_result"])


def test_a_repeated_grading_replaces_its_own_result(engine: sa.Engine) -> None:
    """Under one key there is one result: the latest."""
    ledger = Ledger(engine)
    ledger.record(key(good()), middling())
    ledger.record(key(good()), good())
    assert good() == ledger.find(key(good()))
    assert 1 == len(rows(engine)["autograder_result"])


def test_the_current_result_is_the_last_one_recorded(engine: sa.Engine) -> None:
    """Of two submissions the later counts; handing in the earlier one again makes it count again."""
    ledger = Ledger(engine)
    first, second = good(), msgspec.structs.replace(good(), digest="f" * 64)
    for graded in (first, second):
        ledger.record(key(graded), graded)
    assert {"ada": second} == ledger.current("exam")
    ledger.record(key(first), first)
    assert {"ada": first} == ledger.current("exam")


def test_attempts_are_the_distinct_submissions(engine: sa.Engine) -> None:
    """An attempt is one submission, however often and by whatever rubric it is graded; times are UTC."""
    ledger = Ledger(engine)
    ledger.record(key(good()), good(), submitted_at=MOMENT)
    ledger.record(key(good(), "other"), good(), submitted_at=MOMENT)
    later = msgspec.structs.replace(good(), digest="f" * 64)
    ledger.record(key(later), later)
    attempts = ledger.attempts("ada", "exam")
    assert [good().digest, "f" * 64] == [attempt.submission for attempt in attempts]
    assert [MOMENT.replace(tzinfo=None), None] == [attempt.submitted_at for attempt in attempts]


def test_a_row_of_another_version_is_graded_again(engine: sa.Engine) -> None:
    """A stored result that no longer decodes is not found, not current, and is replaced."""
    ledger = Ledger(engine)
    ledger.record(key(good()), good())
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE autograder_result SET graded = ?", (b'{"score": 1}',))
    assert ledger.find(key(good())) is None
    assert {} == ledger.current("exam")
    ledger.record(key(good()), good())
    assert good() == ledger.find(key(good()))


def test_a_rolled_back_transaction_leaves_nothing(engine: sa.Engine) -> None:
    """What is recorded within a transaction that fails is not there afterwards."""
    ledger = Ledger(engine)

    def killed() -> None:
        with ledgers.transaction(engine) as connection:
            ledger.record(key(good()), good(), within=connection)
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        killed()
    assert ledger.find(key(good())) is None


def test_a_run_without_end_was_interrupted(engine: sa.Engine) -> None:
    """Runs are numbered; one that never finished is told."""
    ledger = Ledger(engine)
    first, second = (ledger.begin(RUBRIC, "e" * 64, "namespaces") for _ in range(2))
    ledger.finish(first)
    assert (second,) == ledger.interrupted("exam")


def test_opening_twice_keeps_the_results(engine: sa.Engine) -> None:
    """The tables are made once."""
    Ledger(engine).record(key(good()), good())
    assert good() == Ledger(engine).find(key(good()))


def attempt(number: int, size: int = 0) -> Graded:
    """One of several submissions of a student, with a cell of so many characters."""
    cells = (Cell("x" * size or "x = 1"),)
    notebook = ExecutedNotebook("exam", cells, (None,))
    return msgspec.structs.replace(good(), digest=f"{number:064}", notebooks=(notebook,))


def test_older_attempts_keep_their_marks_and_lose_their_notebooks(engine: sa.Engine) -> None:
    """The database does not grow with every attempt; what counts, and the latest, are as they were."""
    ledger = Ledger(engine)
    graded = [attempt(number, 100_000) for number in range(8)]
    for one in graded:
        ledger.record(key(one), one)
    kept = [one for one in graded if ledger.find(key(one)) == one]
    assert graded[-Budgets().attempts :] == kept
    stored = rows(engine)["autograder_result"]
    assert 8 == len(stored)
    assert sum(len(row[-1]) for row in stored) < 100_000 * (Budgets().attempts + 1)
    marks = [msgspec.json.decode(row[-1].removeprefix(b"pruned:"), type=Graded) for row in stored]
    assert [one.score for one in graded] == [one.score for one in marks]
    assert 8 == len(ledger.attempts(graded[0].score.student, graded[0].score.assignment))


def test_the_attempt_that_counts_stays_however_old(engine: sa.Engine) -> None:
    """An earlier attempt that was made the current one again is not touched by later recordings of others."""
    ledger = Ledger(engine)
    graded = [attempt(number) for number in range(6)]
    for one in graded:
        ledger.record(key(one), one)
    ledger.record(key(graded[0]), graded[0])
    assert graded[0] == ledger.find(key(graded[0]))
    assert {graded[0].score.student: graded[0]} == ledger.current(graded[0].score.assignment)


def test_a_result_that_is_too_large_keeps_its_marks() -> None:
    """Notebooks, long texts and too many notes go, and a note says so; no mark changes."""
    honest = attempt(0, 5 << 20)
    notes = tuple(Note("kernel", "n" * 9000) for _ in range(2000))
    large = msgspec.structs.replace(honest, score=msgspec.structs.replace(honest.score, notes=notes))
    stored = ledgers.bounded(large, 4)
    found = ledgers.decode(stored)
    assert len(stored) < 4 << 20
    assert found is not None
    assert [one.points for one in honest.score.items] == [one.points for one in found.score.items]
    assert "result-cut" == found.score.notes[-1].code
    assert honest == ledgers.decode(ledgers.bounded(honest, 8))
