"""A submission over as many boxes as it needs: what is run again, what is lost, when it ends."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from autograder.errors import SandboxFault
from autograder.limits import PATIENCE, Room
from autograder.records import Call, Cell, CellRun, Ending, Limits, Markdown, Observation, Scenario
from autograder.sandbox.base import Box
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.retry import FAULTS
from autograder.sandbox.session import ENDINGS_PER_QUESTION, Session
from tests.sandbox.contract import LIMITS
from tests.support.fake_sandbox import FakeSandbox

CELLS = (Cell("one"), Markdown("# text"), Cell("two"), Cell("  \n"), Cell("three"))
OK = (Observation(ok=True, value=42),)


def scenario(name: str) -> Scenario:
    """One call."""
    return Scenario(name, (Call("f"),))


def session(fake: FakeSandbox, **limits: float) -> Session:
    """The cells above on a fake sandbox."""
    return Session(fake, CELLS, msgspec.structs.replace(Limits(), **limits), seed=3, files={"a": b"1"})


def logs(fake: FakeSandbox) -> list[list[str]]:
    """What each box was given, in order."""
    return [box.log for box in fake.boxes]


def test_code_cells_run_in_order_in_one_box() -> None:
    """Markdown and empty cells have no run; the box gets the seed and the files."""
    fake = FakeSandbox({"two": CellRun(error="ValueError")})
    with session(fake) as running:
        runs = running.run()
    assert [["one", "two", "three"]] == logs(fake)
    assert [CellRun(), None, CellRun(error="ValueError"), None, CellRun()] == runs
    assert (3, {"a": b"1"}) == (fake.boxes[0].seed, fake.boxes[0].files)
    assert [] == running.notes


def test_a_cell_that_ends_the_box_is_left_out_of_the_next() -> None:
    """The others run again, the first results stand, and staff is told which cell it was."""
    fake = FakeSandbox({"two": Ending.MEMORY})
    with session(fake) as running:
        runs = running.run()
    assert [["one", "two"], ["one", "three"]] == logs(fake)
    assert CellRun(ending=Ending.MEMORY) == runs[2]
    assert [("cell-ended-box", "cell 3")] == [(note.code, note.place) for note in running.notes]


def test_running_twice_runs_once() -> None:
    """The box stays open between run and ask."""
    fake = FakeSandbox(answers={"q": OK})
    with session(fake) as running:
        running.run()
        running.run()
        assert [OK] == running.ask([scenario("q")])
    assert [["one", "two", "three", "q"]] == logs(fake)


def test_a_scenario_that_ends_the_box_loses_only_itself() -> None:
    """The scenarios after it are asked in a new box in which the cells have run again."""
    fake = FakeSandbox(answers={"a": OK, "bad": Ending.CRASHED, "b": OK})
    with session(fake) as running:
        answers = running.ask([scenario("a"), scenario("bad"), scenario("b")])
    assert [None, Ending.CRASHED, None] == [one[0].ending for one in answers]
    assert [42, None, 42] == [one[0].value for one in answers]
    assert [["one", "two", "three", "a", "bad"], ["one", "two", "three", "b"]] == logs(fake)


def test_after_two_endings_a_question_is_not_tried_further() -> None:
    """Its remaining scenarios say that they were not asked; the next question starts afresh."""
    assert 2 == ENDINGS_PER_QUESTION
    fake = FakeSandbox(answers={"x": Ending.EXITED, "y": Ending.CALL_TIME, "z": OK, "next": OK})
    with session(fake) as running:
        answers = running.ask([scenario("x"), scenario("y"), scenario("z"), scenario("z")])
        assert [Ending.EXITED, Ending.CALL_TIME, Ending.NOT_ASKED, Ending.NOT_ASKED] == [
            one[0].ending for one in answers
        ]
        assert [OK] == running.ask([scenario("next")])
    assert 3 == len(fake.boxes)


def test_restarts_are_bounded() -> None:
    """After the last restart nothing is opened; every further answer says that it is for that."""
    fake = FakeSandbox(dict.fromkeys(("one", "two", "three"), Ending.CRASHED))
    with session(fake, restarts=1) as running:
        runs = running.run()
        answers = running.ask([scenario("q")])
    assert 2 == len(fake.boxes)
    assert [Ending.CRASHED, None, Ending.CRASHED, None, None] == [run.ending if run else None for run in runs]
    assert [(Ending.RESTARTS, "1")] == [(one[0].ending, one[0].limit) for one in answers]
    assert ["cell-ended-box", "cell-ended-box", "gave-up", "call-ended-box"] == [
        note.code for note in running.notes
    ]


def test_faults_of_ours_are_made_up_for_and_cost_no_restart() -> None:
    """Up to `FAULTS` in one submission, each with a note for staff; the one after them is raised."""
    fake = FakeSandbox(answers={"q": OK}, faults=FAULTS)
    with session(fake, restarts=0) as running:
        assert [OK] == running.ask([scenario("q")])
        assert ["run-again"] * FAULTS == [note.code for note in running.notes]
    fake = FakeSandbox(faults=FAULTS + 1)
    with session(fake) as running, pytest.raises(SandboxFault, match="canned"):
        running.run()


def test_time_that_a_fault_of_ours_took_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box that is lost late leaves the next one as much time as it had itself."""
    fake = FakeSandbox()
    slow = fake.open

    def late(limits: Limits, **options: Any) -> Any:
        if not fake.faults:
            return slow(limits, **options)
        time.sleep(0.3)
        return slow(limits, **options)

    fake.faults = 1
    monkeypatch.setattr(fake, "open", late)
    with session(fake, submission_seconds=0.25, cell_seconds=9) as running:
        assert [None, None] == [run.ending for run in running.run() if run][:2]
    assert 0.2 < fake.boxes[0].seconds[0] <= 0.25


def test_a_fault_while_asking_asks_again_from_where_it_was() -> None:
    """Answers before the fault stand; the rest is asked in a new box."""
    fake = FakeSandbox(answers={"a": OK, "b": OK})
    with session(fake) as running:
        assert [OK] == running.ask([scenario("a")])
        fake.boxes[0].closed = True  # as if our side had lost it
        assert [OK] == running.ask([scenario("b")])
    assert ["one", "two", "three", "b"] == fake.boxes[1].log


def test_every_box_is_closed_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the submission's time runs out between two cells."""
    fake = FakeSandbox({"two": Ending.EXITED})
    with session(fake) as running:
        running.run()
    assert [True, True] == [box.closed for box in fake.boxes]
    fake = FakeSandbox()
    with session(fake, submission_seconds=0.05 / PATIENCE) as running:
        monkeypatch.setattr(fake, "cells", _Slow())
        runs = running.run()
    assert [Ending.SUBMISSION_TIME] == [run.ending for run in runs if run and run.ending]
    assert [True] == [box.closed for box in fake.boxes]


class _Slow(dict[str, CellRun]):
    def get(self, source: str, default: object = None) -> CellRun:  # type: ignore[override]
        time.sleep(0.04)
        return CellRun()


def test_no_cell_and_no_call_gets_more_than_what_is_left() -> None:
    """Seconds are the smaller of the cell's or call's limit and the submission's rest."""
    fake = FakeSandbox(answers={"q": OK})
    with session(fake, submission_seconds=5, cell_seconds=2, call_seconds=9) as running:
        running.run()
        running.ask([scenario("q")])
    assert [2, 2, 2] == fake.boxes[0].seconds[:3]
    assert 4 < fake.boxes[0].seconds[3] <= 5


def test_many_slow_scenarios_end_with_the_submissions_time() -> None:
    """However many scenarios take nearly their whole time, the submission's deadline holds."""
    slow = [scenario(str(number)) for number in range(100)]
    fake = FakeSandbox(answers={one.name: OK for one in slow})

    class SlowBox:
        def __init__(self, box: Box) -> None:
            self.overhead = 0.0
            self.run_cell, self.close, self.computed = box.run_cell, box.close, box.computed
            self._box = box

        def ask(
            self, scenarios: list[Scenario], *, seconds: float, total: float, room: Room
        ) -> list[tuple[Observation, ...]]:
            del room
            within = min(0.9 * seconds * len(scenarios), PATIENCE * total)
            time.sleep(within)
            done = self._box.ask(scenarios[: int(within / (0.9 * seconds))], seconds=seconds)
            late = tuple(Observation(ok=False, ending=Ending.CALL_TIME) for _ in scenarios[0].calls)
            self._box.close()
            return [*done, late] if len(done) < len(scenarios) else done

    opened = fake.open
    fake.open = lambda *a, **k: SlowBox(opened(*a, **k))  # type: ignore[method-assign, assignment, return-value]
    started = time.monotonic()
    with session(fake, submission_seconds=0.5 / PATIENCE, call_seconds=0.1) as running:
        answers = running.ask(slow)
    assert time.monotonic() - started < 4  # all of them would take nine seconds
    assert 100 == len(answers)
    assert Ending.SUBMISSION_TIME is answers[-1][0].ending


@pytest.mark.sandbox
def test_a_real_submission_loses_only_what_it_broke(plain_sandbox: NamespaceSandbox) -> None:
    """A cell that exits, a function that hangs and an honest one between them."""
    cells = (
        Cell("x = 1"),
        Cell("import os\nx = 2\nos._exit(0)"),
        Cell("def honest():\n    return x"),
        Cell("def hangs():\n    while True: pass"),
    )
    limits = msgspec.structs.replace(LIMITS, call_seconds=0.5)
    with Session(plain_sandbox, cells, limits) as running:
        answers = running.ask(
            [Scenario(name, (Call(name),)) for name in ("honest", "hangs", "honest", "hangs", "honest")]
        )
    assert [1, None, 1, None, None] == [one[0].value for one in answers]
    assert [None, Ending.CALL_TIME, None, Ending.CALL_TIME, Ending.NOT_ASKED] == [
        one[0].ending for one in answers
    ]
    assert Ending.EXITED is (running.runs[1] or CellRun()).ending
    assert running.seconds_in_sandbox > 0


@pytest.mark.sandbox
def test_a_process_that_ends_later_is_noticed(plain_sandbox: NamespaceSandbox) -> None:
    """A thread that ends the process after its cell has returned ends the box for the next request."""
    late = "import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()\ndef f():\n    return 1"
    with Session(plain_sandbox, (Cell(late),), LIMITS) as running:
        running.run()
        time.sleep(0.5)
        answers = running.ask([scenario("late")])
    assert Ending.EXITED is answers[0][0].ending
