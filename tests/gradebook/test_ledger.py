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
from autograder.records import Graded
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
