"""A session: which cells and calls run again after a box ends, what is lost, and when the session ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from autograder.core.errors import BoxEnded, BoxLost, RepeatedBoxLoss, SandboxFault
from autograder.core.limits import CLOCK_FACTOR, MemoryBudget
from autograder.core.records import Call, Cell, CellRun, Ending, Limits, Markdown, Observation
from autograder.sandbox.base import Box
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.retry import MAX_FAULTS, MAX_LOST_BOXES
from autograder.sandbox.session import ENDINGS_PER_QUESTION, LEFT_OUT, Session
from tests.sandbox.contract import LIMITS
from tests.sandbox.fake_sandbox import FakeBox, FakeSandbox

CELLS = (Cell("one"), Markdown("# text"), Cell("two"), Cell("  \n"), Cell("three"))
OK = Observation(ok=True, value=42)


def session(fake: FakeSandbox, **limits: float) -> Session:
    """Return a session of the cells above on a fake sandbox."""
    return Session(fake, CELLS, msgspec.structs.replace(Limits(), **limits), seed=3, files={"a": b"1"})


def logs(fake: FakeSandbox) -> list[list[str]]:
    """Return what each box was asked, in order."""
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
    """The others run again, their first results are kept, and staff see which cell ended the box."""
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
        assert [OK] == running.ask([Call("q")])
    assert [["one", "two", "three", "q"]] == logs(fake)


def test_a_box_can_be_handed_over_in_which_the_cells_ran() -> None:
    """The caller owns the box and closes it; if no box is left, `BoxEnded` is raised."""
    fake = FakeSandbox({"two": Ending.MEMORY})
    with session(fake) as running:
        running.run()
        box = running.take_box()
    assert box is fake.boxes[-1]
    assert [["one", "two"], ["one", "three"]] == logs(fake)
    assert [True, False] == [one.closed for one in fake.boxes]
    with session(fake, restarts=0) as running, pytest.raises(BoxEnded, match="restarts"):
        running.take_box()


def test_a_call_that_ends_the_box_loses_only_itself() -> None:
    """Later calls are asked in a new box in which the cells have run again."""
    fake = FakeSandbox(answers={"a": OK, "bad": Ending.CRASHED, "b": OK})
    with session(fake) as running:
        answers = running.ask([Call("a"), Call("bad"), Call("b")])
    assert [None, Ending.CRASHED, None] == [one.ending for one in answers]
    assert [42, None, 42] == [one.value for one in answers]
    assert [["one", "two", "three", "a", "bad"], ["one", "two", "three", "b"]] == logs(fake)


def test_after_two_endings_a_question_is_not_tried_further() -> None:
    """The remaining calls are marked as not asked; the next question starts anew."""
    assert 2 == ENDINGS_PER_QUESTION
    fake = FakeSandbox(answers={"x": Ending.EXITED, "y": Ending.CALL_TIME, "z": OK, "next": OK})
    with session(fake) as running:
        answers = running.ask([Call("x"), Call("y"), Call("z"), Call("z")])
        assert [Ending.EXITED, Ending.CALL_TIME, Ending.NOT_ASKED, Ending.NOT_ASKED] == [
            one.ending for one in answers
        ]
        assert [OK] == running.ask([Call("next")])
    assert 3 == len(fake.boxes)


def test_restarts_are_bounded() -> None:
    """After the last restart no box is opened, and every further answer gives that reason."""
    fake = FakeSandbox(dict.fromkeys(("one", "two", "three"), Ending.CRASHED))
    with session(fake, restarts=1) as running:
        runs = running.run()
        answers = running.ask([Call("q")])
    assert 2 == len(fake.boxes)
    assert [Ending.CRASHED, None, Ending.CRASHED, None, None] == [run.ending if run else None for run in runs]
    assert [(Ending.RESTARTS, "1")] == [(one.ending, one.limit) for one in answers]
    assert ["cell-ended-box", "cell-ended-box", "gave-up", "call-ended-box"] == [
        note.code for note in running.notes
    ]


def test_faults_of_ours_are_made_up_for_and_cost_no_restart() -> None:
    """Up to `MAX_FAULTS` faults per submission are retried with a note for staff; the next one is raised."""
    fake = FakeSandbox(answers={"q": OK}, faults=MAX_FAULTS)
    with session(fake, restarts=0) as running:
        assert [OK] == running.ask([Call("q")])
        assert ["run-again"] * MAX_FAULTS == [note.code for note in running.notes]
    fake = FakeSandbox(faults=MAX_FAULTS + 1)
    with session(fake) as running, pytest.raises(SandboxFault, match="canned"):
        running.run()


def test_session_opens_no_box_for_later_questions_when_faults_go_on() -> None:
    """With a sandbox that kept failing, each question used to open new boxes, which took minutes."""
    fake = FakeSandbox({"two": SandboxFault("ended again")}, {"q": OK})
    with session(fake) as running:
        for action in (running.run, *[lambda: running.ask([Call("q")])] * 20):
            with pytest.raises(SandboxFault, match="ended again"):
                action()
    assert len(fake.boxes) == MAX_FAULTS + 1


def test_session_gives_up_when_faults_took_as_long_as_the_submission_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sandbox that hangs before it fails takes no more time than one slow submission."""
    limits = Limits(submission_seconds=10)
    now, opened = [0.0], []
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("autograder.sandbox.session.time", clock)

    class HangingSandbox(FakeSandbox):
        def open(self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None) -> FakeBox:
            del limits, seed, files
            opened.append(now[0])
            now[0] += CLOCK_FACTOR * 7
            raise SandboxFault("no box was opened")

    with Session(HangingSandbox(), CELLS, limits) as running:
        for _ in range(3):
            with pytest.raises(SandboxFault, match="no box was opened"):
                running.run()
    assert len(opened) == 2  # the first took less than the submission's time, both together more


class _LostOnce(dict[str, CellRun]):
    """The cell ``two`` takes some time, and its box is lost the first times."""

    def __init__(self, seconds: float, *, times: int) -> None:
        super().__init__()
        self._seconds, self._times = seconds, times

    def get(self, source: str, default: object = None) -> CellRun | SandboxFault:  # type: ignore[override]
        if source != "two":
            return CellRun()
        time.sleep(self._seconds)
        self._times -= 1
        return CellRun() if self._times < 0 else BoxLost("killed, so it seems")


def lossy(seconds: float = 0.0, *, times: int) -> FakeSandbox:
    """Return a sandbox that loses this many boxes, each after this many seconds."""
    fake = FakeSandbox(answers={"q": OK})
    fake.cells = _LostOnce(seconds, times=times)
    return fake


def test_one_lost_box_is_made_up_for() -> None:
    """A box killed by an operator or for lack of memory costs no points."""
    fake = lossy(times=MAX_LOST_BOXES - 1)
    with session(fake, restarts=0) as running:
        assert [OK] == running.ask([Call("q")])
    assert MAX_LOST_BOXES == len(fake.boxes)
    assert ["run-again"] == [note.code for note in running.notes]


def test_what_loses_its_boxes_again_gets_no_other() -> None:
    """After the second lost box none is opened, and every further answer gives the reason."""
    fake = lossy(times=9)
    with session(fake) as running:
        for action in (running.run, lambda: running.ask([Call("q")]), running.run):
            with pytest.raises(RepeatedBoxLoss, match="ended itself, perhaps on purpose"):
                action()
    assert 2 == MAX_LOST_BOXES == len(fake.boxes)


def test_lost_boxes_make_the_time_no_longer() -> None:
    """Time in lost boxes is not given back; if it would have been enough, the result needs manual review."""
    fake = lossy(0.2, times=1)
    with session(fake, submission_seconds=0.3 / CLOCK_FACTOR) as running:
        with pytest.raises(SandboxFault, match=r"time is used up, .+ in boxes"):
            running.ask([Call("q")])
        with pytest.raises(SandboxFault, match="time is used up"):
            running.ask([Call("q")])
    assert 2 == len(fake.boxes)


def test_time_that_was_used_up_anyway_is_the_students_own() -> None:
    """A fault that took hardly any time does not excuse code that takes too long."""
    fake = FakeSandbox(answers={"q": OK}, faults=1)
    fake.cells = _Slow()
    with session(fake, submission_seconds=0.05 / CLOCK_FACTOR) as running:
        runs = running.run()
    assert [Ending.SUBMISSION_TIME] == [run.ending for run in runs if run and run.ending]


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    "source",
    [
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
        "resource.prlimit(0, resource.RLIMIT_CPU, (1, 1))",
        "resource.prlimit(os.getpid(), resource.RLIMIT_CPU, (1, 1))",
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 120))",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))\nopen('f', 'wb').write(bytes(9))",
        "resource.setrlimit(resource.RLIMIT_AS, (1, 1))",
        "resource.setrlimit(resource.RLIMIT_STACK, (4096, 4096))\nf = lambda n: n and f(n - 1)\nf(900)",
        "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.1)",
        "import signal\nsignal.setitimer(signal.ITIMER_VIRTUAL, 0.1)",
        "import signal\nsignal.alarm(1)",
        "import signal\n[signal.raise_signal(n) for n in (signal.SIGXCPU, signal.SIGXFSZ, signal.SIGKILL)]",
    ],
)
def test_no_code_has_its_box_killed_at_a_moment_of_its_choice(
    plain_sandbox: NamespaceSandbox, source: str
) -> None:
    """A resource limit or timer set by student code ends nothing early, and is never counted as our fault."""
    cells = (Cell(f"import os, resource\n{source}"), Cell("while True: pass"), Cell("def f(): return 1"))
    limits = msgspec.structs.replace(LIMITS, cell_seconds=1.5)
    with Session(plain_sandbox, cells, limits) as running:
        runs = running.run()
        answer = running.ask([Call("f")])[0]
    assert Ending.CELL_TIME is (runs[1] or CellRun()).ending
    assert 1 == answer.value
    assert [] == [note for note in running.notes if note.code == "run-again"]


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.9])
def test_many_cells_that_compute_too_much_together_are_no_fault_of_ours(
    plain_sandbox: NamespaceSandbox, seconds: float
) -> None:
    """Each cell is within its limit but their sum is not: the submission's time is used up."""
    burn = f"import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass"
    cells = [Cell("def f(): return 1"), *([Cell(burn)] * int(4 / seconds))]
    limits = msgspec.structs.replace(LIMITS, cell_seconds=1.5, submission_seconds=2, processor_seconds=2)
    with Session(plain_sandbox, cells, limits) as running:
        ends = {run.ending for run in running.run() if run and run.ending}
    assert ends <= {Ending.SUBMISSION_TIME, Ending.PROCESSOR_TIME}
    assert ends
    assert [] == [note for note in running.notes if note.code == "run-again"]


@pytest.mark.sandbox
def test_the_kernel_alone_ends_no_box_at_its_limit_of_processor_time(plain_sandbox: NamespaceSandbox) -> None:
    """The kernel counts in ticks and may be ahead of what it reports, so its limit is well above ours."""
    limits = msgspec.structs.replace(LIMITS, processor_seconds=5)
    box = plain_sandbox.open(limits)
    granted = next(
        int(line.split()[3])
        for line in Path(f"/proc/{box.pid}/limits").read_text().splitlines()
        if line.startswith("Max cpu time")
    )
    box.close()
    assert 1.5 * 5 <= granted < 4 * 5


def test_files_without_room_in_a_box_are_left_out() -> None:
    """Files that do not fit are left out and reported to staff; the other files are there and code runs."""
    fake = FakeSandbox()
    files = {"small.csv": b"1", "large.bin": bytes(9 << 20)}
    limits = Limits(scratch_mb=8)
    with Session(fake, CELLS, limits, files=files) as running:
        running.run()
    assert ["small.csv"] == list(fake.boxes[0].files)
    assert [(LEFT_OUT, True)] == [(note.code, "large.bin" in note.text) for note in running.notes]


@pytest.mark.sandbox
@pytest.mark.parametrize("megabytes", [15, 17, 65])
def test_no_size_of_a_file_is_our_fault(plain_sandbox: NamespaceSandbox, megabytes: int) -> None:
    """With files just below, just above and far above the limit, the box opens and its code runs."""
    limits = msgspec.structs.replace(LIMITS, scratch_mb=16, memory_mb=64)
    files = {"weights.bin": bytes(megabytes << 20)}
    with Session(plain_sandbox, (Cell("print(1)"),), limits, files=files) as running:
        runs = running.run()
    assert [""] == [run.error for run in runs if run]
    assert [LEFT_OUT] * (megabytes > 14) == [note.code for note in running.notes]


def test_time_that_opening_takes_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarting a zygote takes no time from a submission."""
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
    """Answers before the fault are kept; the rest is asked in a new box."""
    fake = FakeSandbox(answers={"a": OK, "b": OK})
    with session(fake) as running:
        assert [OK] == running.ask([Call("a")])
        fake.boxes[0].closed = True  # as if our side had lost it
        assert [OK] == running.ask([Call("b")])
    assert ["one", "two", "three", "b"] == fake.boxes[1].log


def test_every_box_is_closed_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are closed also if the submission's time runs out between two cells."""
    fake = FakeSandbox({"two": Ending.EXITED})
    with session(fake) as running:
        running.run()
    assert [True, True] == [box.closed for box in fake.boxes]
    fake = FakeSandbox()
    with session(fake, submission_seconds=0.05 / CLOCK_FACTOR) as running:
        monkeypatch.setattr(fake, "cells", _Slow())
        runs = running.run()
    assert [Ending.SUBMISSION_TIME] == [run.ending for run in runs if run and run.ending]
    assert [True] == [box.closed for box in fake.boxes]


class _Slow(dict[str, CellRun]):
    def get(self, source: str, default: object = None) -> CellRun:  # type: ignore[override]
        time.sleep(0.04)
        return CellRun()


def test_no_cell_and_no_call_gets_more_than_what_is_left() -> None:
    """The time given is the smaller of the cell's or call's limit and the submission's remaining time."""
    fake = FakeSandbox(answers={"q": OK})
    with session(fake, submission_seconds=5, cell_seconds=2, call_seconds=9) as running:
        running.run()
        running.ask([Call("q")])
    assert [2, 2, 2] == fake.boxes[0].seconds[:3]
    assert 4 < fake.boxes[0].seconds[3] <= 5


def test_many_slow_calls_end_with_the_submissions_time() -> None:
    """The submission's deadline holds, however many calls take nearly their whole time."""
    slow = [Call(str(number)) for number in range(100)]
    fake = FakeSandbox(answers={one.target: OK for one in slow})

    class SlowBox:
        def __init__(self, box: Box) -> None:
            self.crowded = False
            self.run_cell, self.close = box.run_cell, box.close
            self.measure_processor_time, self.measure_delay = box.measure_processor_time, box.measure_delay
            self._box = box

        def ask(
            self, calls: list[Call], *, seconds: float, total: float, room: MemoryBudget
        ) -> list[Observation]:
            del room
            within = min(0.9 * seconds * len(calls), CLOCK_FACTOR * total)
            time.sleep(within)
            done = self._box.ask(calls[: int(within / (0.9 * seconds))], seconds=seconds)
            late = Observation(ok=False, ending=Ending.CALL_TIME)
            self._box.close()
            return [*done, late] if len(done) < len(calls) else done

    opened = fake.open
    fake.open = lambda *a, **k: SlowBox(opened(*a, **k))  # type: ignore[method-assign, assignment, return-value]
    with session(fake, submission_seconds=0.5 / CLOCK_FACTOR, call_seconds=0.1) as running:
        answers = running.ask(slow)
    assert 100 == len(answers)
    assert Ending.SUBMISSION_TIME is answers[-1].ending


@pytest.mark.sandbox
def test_a_real_submission_loses_only_what_it_broke(plain_sandbox: NamespaceSandbox) -> None:
    """A cell that exits and a function that hangs do not affect an honest function between them."""
    cells = (
        Cell("x = 1"),
        Cell("import os\nx = 2\nos._exit(0)"),
        Cell("def honest():\n    return x"),
        Cell("def hangs():\n    while True: pass"),
    )
    limits = msgspec.structs.replace(LIMITS, call_seconds=0.5)
    with Session(plain_sandbox, cells, limits) as running:
        answers = running.ask([Call(name) for name in ("honest", "hangs", "honest", "hangs", "honest")])
    assert [1, None, 1, None, None] == [one.value for one in answers]
    assert [None, Ending.CALL_TIME, None, Ending.CALL_TIME, Ending.NOT_ASKED] == [
        one.ending for one in answers
    ]
    assert Ending.EXITED is (running.runs[1] or CellRun()).ending
    assert running.seconds_in_sandbox > 0


@pytest.mark.sandbox
def test_a_process_that_ends_later_is_noticed(plain_sandbox: NamespaceSandbox) -> None:
    """A thread that ends the process after its cell has returned ends the box at the next request."""
    late = "import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()\ndef f():\n    return 1"
    with Session(plain_sandbox, (Cell(late),), LIMITS) as running:
        running.run()
        time.sleep(0.5)
        answers = running.ask([Call("f")])
    assert Ending.EXITED is answers[0].ending
