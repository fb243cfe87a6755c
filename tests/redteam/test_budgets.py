"""The red team's measuring: whoever costs the grader or a classmate something is found, and named."""

from __future__ import annotations

import os
import sqlite3
import time
from decimal import Decimal
from pathlib import Path

from autograder.records import CellRun, Ending, ExecutedNotebook, Graded, ItemResult, Message, Score, Status
from tests.redteam import budgets
from tests.redteam.budgets import Meter, Stay
from tests.redteam.strained import Loss, accused, lost


def test_time_of_the_graders_processor_is_laid_at_the_door_of_whose_submission_it_was() -> None:
    """What a thread computes is its submission's; what it sleeps is nobody's."""
    meter = Meter()
    with meter.measuring("busy"):
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
    with meter.measuring("idle"):
        time.sleep(0.1)
    assert meter.stays["busy"].processor_seconds >= 0.1
    assert meter.stays["idle"].processor_seconds < 0.05
    assert meter.stays["idle"].end - meter.stays["idle"].begin >= 0.1


def test_memory_is_laid_at_the_doors_of_all_who_are_graded_meanwhile() -> None:
    """Whoever has left by then has nothing to do with it."""
    meter = Meter()
    with meter.sampling():
        with meter.measuring("before"):
            time.sleep(0.2)
        first = meter.stays["before"].memory_mb
        with meter.measuring("large"):
            held = bytearray(os.urandom(1 << 10)) * (200 << 10)
            time.sleep(0.2)
        assert len(held) == 200 << 20
    assert first > 0
    assert meter.stays["large"].memory_mb >= first + 150
    assert meter.stays["before"].memory_mb == first


def test_a_loss_is_laid_at_the_doors_of_those_who_were_there() -> None:
    """Not of those who had left before it began, or came when it was over."""
    stays = {"early": Stay("early", 0, 1), "there": Stay("there", 2, 4), "late": Stay("late", 5, 6)}
    loss = Loss(Stay("strained", 1.5, 4.5), Decimal(2), "EOFError", late=False)
    assert [("there", loss)] == accused([loss], Meter(stays=stays))


def graded(points: int, *runs: CellRun, staff: str = "right") -> Graded:
    """A submission of one item."""
    status = Status.PASSED if points else Status.FAILED
    item = ItemResult("q", "i", status, Decimal(points), Decimal(1), Message("right"), staff)
    return Graded(Score("x", "a", 1, (item,)), (ExecutedNotebook("a", (), runs),))


def test_what_a_classmate_does_not_get_is_a_loss() -> None:
    """Fewer points, an exception or an ending that is not there alone; nothing else."""
    alone, stay = {"q.i": Decimal(1)}, Stay("strained", 0, 1)
    assert lost(alone, stay, graded(1, CellRun())) is None
    fewer = lost(alone, stay, graded(0, CellRun(), staff="EOFError"))
    assert fewer is not None
    assert (Decimal(1), False) == (fewer.points, fewer.late)
    assert "EOFError" in fewer.said
    ended = lost(alone, stay, graded(1, CellRun(ending=Ending.CELL_TIME)))
    assert ended is not None
    assert (Decimal(0), True) == (ended.points, ended.late)
    raised = lost(alone, stay, graded(1, CellRun(error="EOFError")))
    assert raised is not None
    assert not raised.late


def test_a_page_that_takes_long_is_its_students(tmp_path: Path) -> None:
    """Pages are written one after the other; the time between two is that of the second."""
    pages = {name: tmp_path / name for name in ("a", "b", "c")}
    for (name, path), moment in zip(pages.items(), (100, 101, 120), strict=True):
        path.write_text(name)
        os.utime(path, (moment, moment))
    assert {"b": 1.0, "c": 19.0} == budgets.page_seconds({**pages, "gone": tmp_path / "gone"})


def test_bytes_of_pages_and_of_the_gradebook_are_counted(tmp_path: Path) -> None:
    """By student; links are not followed."""
    for folder in ("feedback", "autograded"):
        (tmp_path / folder / "ada").mkdir(parents=True)
        (tmp_path / folder / "ada" / "page").write_bytes(bytes(100))
    (tmp_path / "feedback" / "ada" / "link").symlink_to(Path(__file__))
    assert {"ada": 200, "eve": 0} == budgets.pages(tmp_path, ["ada", "eve"])
    database = sqlite3.connect(tmp_path / "gradebook.db")
    database.executescript(
        "CREATE TABLE autograder_result (student, graded);"
        "CREATE TABLE comment (auto_comment, notebook_id);"
        "CREATE TABLE submitted_notebook (id, assignment_id);"
        "CREATE TABLE submitted_assignment (id, student_id);"
        "INSERT INTO autograder_result VALUES ('ada', zeroblob(7)), ('ada', zeroblob(3));"
        "INSERT INTO autograder_result VALUES ('eve', zeroblob(1));"
        "INSERT INTO submitted_assignment VALUES (1, 'ada'); INSERT INTO submitted_notebook VALUES (2, 1);"
        "INSERT INTO comment VALUES ('four', 2), (NULL, 2);"
    )
    database.commit()
    database.close()
    assert {"ada": 14, "eve": 1} == budgets.stored(tmp_path / "gradebook.db")
