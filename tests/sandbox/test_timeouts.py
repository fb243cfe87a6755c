"""Known timeouts are not run again, and give the same results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from autograder.core.records import Call, Cell, CellOutcome, CellTest, Ending, Limits, Observation
from autograder.sandbox.base import Box
from autograder.sandbox.judge_session import CellTester, ItemKey, create_visit
from autograder.sandbox.session import Session, Visit
from autograder.sandbox.timeouts import NewTimeout, SubmissionTimeouts, Timeouts
from tests.sandbox.fake_sandbox import FakeSandbox

CELLS = (Cell("one"), Cell("loop"), Cell("three"))
OK = Observation(ok=True, value=42)
FIRST, ENDLESS, LAST = (Call(name) for name in ("first", "endless", "last"))


def fake_sandbox() -> FakeSandbox:
    """Return a fake sandbox in which a cell and a call never end."""
    return FakeSandbox({"loop": Ending.CELL_TIME}, {"first": OK, "endless": Ending.CALL_TIME, "last": OK})


def run_session(
    fake: FakeSandbox,
    timeouts: Timeouts,
    calls: Sequence[Call] = (FIRST, ENDLESS, LAST),
    visits: dict[int, Visit] | None = None,
) -> str:
    """Run the cells and calls; return everything that judging sees."""
    with Session(fake, CELLS, Limits(), timeouts=timeouts, visits=visits) as session:
        runs = session.run()
        answers = session.ask(calls)
    return repr((runs, answers, session.notes))


def run_and_ask(session: Session) -> None:
    """Run the cells, ask, and close the session."""
    with session:
        session.run()
        session.ask([FIRST, ENDLESS, LAST])


def run_until_first_timeout(timeouts: SubmissionTimeouts, *, tests: bool = False) -> FakeSandbox:
    """Run a session that stops at a new timeout; return its boxes."""
    fake, found = fake_sandbox(), timeouts.get_notebook_timeouts("x".encode)
    runner, outcomes = cast("CellTester", FakeRunner()), dict[ItemKey, CellOutcome]()
    endless = {("q", "endless"): CellTest("endless", "code", seconds=5)}
    visits = {0: create_visit(runner, endless, outcomes, found, b"tests")} if tests else None
    with pytest.raises(NewTimeout):
        run_and_ask(Session(fake, CELLS, Limits(), timeouts=found, visits=visits))
    timeouts.met |= found.met
    return fake


def count_runs(fake: FakeSandbox, name: str) -> int:
    """Return how often a cell or a call was run."""
    return sum(box.log.count(name) for box in fake.boxes)


def code_of(text: str) -> Timeouts:
    """Return the timeouts recorded for this code."""
    return Timeouts(text.encode)


def test_known_timeouts_are_not_run_again_and_come_out_the_same() -> None:
    """Neither the endless cell nor the endless call is run again; everything else is run as before."""
    first, met = fake_sandbox(), code_of("x")
    seen = run_session(first, met)
    again, known = fake_sandbox(), Timeouts("x".encode, met.met)
    assert run_session(again, known) == seen
    assert [count_runs(first, name) for name in ("loop", "endless")] == [1, 1]
    assert [count_runs(again, name) for name in ("loop", "endless")] == [0, 0]
    assert [count_runs(again, name) for name in ("first", "last")] == [1, 1]
    assert known.met == met.met  # so that the run after the next one knows them too


@pytest.mark.parametrize("basis", ["x", "y"], ids=["the same code", "other code"])
@pytest.mark.parametrize(
    "calls",
    [
        (FIRST, ENDLESS, LAST),
        (ENDLESS, LAST),
        (LAST, ENDLESS),
        (FIRST, Call("endless", args=(1,)), LAST),
    ],
    ids=["asked as before", "less is asked before it", "something else is asked before it", "other inputs"],
)
def test_known_timeouts_are_run_again_when_anything_they_depend_on_changed(
    basis: str, calls: Sequence[Call]
) -> None:
    """They depend on code, inputs, and the earlier requests to the box."""
    met = code_of("x")
    run_session(fake_sandbox(), met)
    fake = fake_sandbox()
    run_session(fake, Timeouts(basis.encode, met.met), calls)
    same = basis == "x" and list(calls) == [FIRST, ENDLESS, LAST]
    assert count_runs(fake, "loop") == int(basis != "x")
    assert count_runs(fake, "endless") == int(not same)


def test_known_timeouts_of_calls_are_run_again_when_tests_run_between_cells() -> None:
    """A test may change the state for later calls, and is not part of a timeout's key."""
    met = code_of("x")
    run_session(fake_sandbox(), met)
    fake = fake_sandbox()
    run_session(fake, Timeouts("x".encode, met.met), visits={0: lambda box, left, skipped: None})
    assert [count_runs(fake, name) for name in ("loop", "endless")] == [0, 1]


@pytest.mark.parametrize("submission_seconds", [15.0, 70.0])
def test_known_timeouts_use_up_the_submissions_time(submission_seconds: float) -> None:
    """Otherwise a submission would get further at its second grading than at its first."""
    met = code_of("x")
    run_session(fake_sandbox(), met)
    known = Timeouts("x".encode, met.met)
    limits = Limits(cell_seconds=10, call_seconds=10, submission_seconds=submission_seconds)
    with Session(fake_sandbox(), CELLS, limits, timeouts=known) as session:
        session.run()
        answers = session.ask([FIRST, ENDLESS, LAST, FIRST])
    spent = 20 if submission_seconds > 20 else 10  # the fake's own loops take no time
    assert session._compute_time_left() == pytest.approx(submission_seconds - spent, abs=2)
    in_time = submission_seconds > 20  # otherwise the call ends before its own limit
    assert answers[1].ending is (Ending.CALL_TIME if in_time else Ending.SUBMISSION_TIME)


@pytest.mark.parametrize("tests", [False, True], ids=["cell", "test between cells"])
def test_run_stops_at_its_first_new_timeout_and_closes_its_boxes(*, tests: bool) -> None:
    timeouts = SubmissionTimeouts(stop_at_new=True)
    fake = run_until_first_timeout(timeouts, tests=tests)
    assert len(timeouts.met) == 1
    assert count_runs(fake, "three") == count_runs(fake, "first") == 0
    assert [box.closed for box in fake.boxes] == [True] * len(fake.boxes)


def test_stopped_run_comes_out_the_same_as_one_that_was_not_stopped() -> None:
    """Each timeout is run once in total: after a stop it is known."""
    timeouts = SubmissionTimeouts(stop_at_new=True)
    stopped = run_until_first_timeout(timeouts)
    again, known = fake_sandbox(), SubmissionTimeouts(timeouts.met).get_notebook_timeouts("x".encode)
    patient = fake_sandbox(), code_of("x")
    assert run_session(again, known) == run_session(*patient)
    assert known.met == patient[1].met
    runs = [count_runs(stopped, name) + count_runs(again, name) for name in ("loop", "endless")]
    assert runs == [count_runs(patient[0], name) for name in ("loop", "endless")] == [1, 1]


def test_run_stops_at_a_new_call_but_at_no_known_cell() -> None:
    known = code_of("x")
    run_session(fake_sandbox(), known, calls=())
    timeouts = SubmissionTimeouts(known.met, stop_at_new=True)
    fake = run_until_first_timeout(timeouts)
    assert [count_runs(fake, name) for name in ("loop", "first", "endless", "last")] == [0, 1, 1, 0]
    assert len(timeouts.met) == 2


class FakeRunner:
    """A stand-in for a judge's box in which the test called endless never ends."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, test: CellTest, student: Box, left: float) -> CellOutcome:
        """Return the outcome of a test."""
        del student, left
        self.ran.append(test.name)
        return CellOutcome(ending=Ending.CALL_TIME) if test.name == "endless" else CellOutcome(value=1.0)


def run_tests(
    timeouts: Timeouts, basis: bytes = b"tests", *, names: Sequence[str] = ("one", "endless", "last")
) -> tuple[list[str], str, float]:
    """Run tests after the cells; return the tests that ran, what judging sees, and the remaining time."""
    runner, found = FakeRunner(), dict[ItemKey, CellOutcome]()
    tests = {("q", name): CellTest(name, "code", seconds=5) for name in names}
    visits = {len(CELLS): create_visit(cast("CellTester", runner), tests, found, timeouts, basis)}
    with Session(fake_sandbox(), CELLS, Limits(), timeouts=timeouts, visits=visits) as session:
        runs = session.run()
        left = session._compute_time_left()
    return runner.ran, repr((runs, found, session.notes)), left


def test_one_endless_function_leaves_time_for_other_questions() -> None:
    """After two endings the other tests of the question are not run."""
    found = dict[ItemKey, CellOutcome]()
    keys = [("q", "one"), ("q", "endless"), ("q", "endless again"), ("q", "last"), ("r", "first")]
    tests = {key: CellTest(key[1].split()[0], "code", seconds=5, shared=False) for key in keys}
    runner = FakeRunner()
    visits = {len(CELLS): create_visit(cast("CellTester", runner), tests, found, code_of("x"))}
    with Session(fake_sandbox(), CELLS, Limits(), visits=visits) as session:
        session.run()
    assert runner.ran == ["one", "endless", "endless", "first"]
    assert [outcome.ending for outcome in found.values()] == [
        None,
        Ending.CALL_TIME,
        Ending.CALL_TIME,
        Ending.NOT_ASKED,
        None,
    ]


def test_known_timeouts_of_tests_are_not_run_again_and_come_out_the_same() -> None:
    """The tests before and after it run, and the remaining time is the same as if it had run."""
    met = code_of("x")
    ran, seen, left = run_tests(met)
    known = Timeouts("x".encode, met.met)
    again, seen_again, left_again = run_tests(known)
    assert (ran, again) == (["one", "endless", "last"], ["one", "last"])
    assert seen_again == seen
    assert known.met == met.met
    assert left_again == pytest.approx(left - 30 - 5, abs=2)  # the fake's own loops take no time


@pytest.mark.parametrize(
    ("code", "basis", "names"),
    [
        ("y", b"tests", ("one", "endless", "last")),
        ("x", b"other tests", ("one", "endless", "last")),
        ("x", b"tests", ("endless", "one", "last")),
    ],
    ids=["other code", "another test was changed", "other tests ran before it"],
)
def test_known_timeouts_of_tests_are_run_again_when_anything_they_depend_on_changed(
    code: str, basis: bytes, names: Sequence[str]
) -> None:
    """They also depend on earlier tests of the same notebook, which may have left some state behind."""
    met = code_of("x")
    run_tests(met)
    assert "endless" in run_tests(Timeouts(code.encode, met.met), basis, names=names)[0]
