"""One submission's run over as many boxes as it needs.

Cells run in order; an exception in one does not stop the next. If a cell or a call ends the box, a new box is
opened, the cells are run again without the offending one, and the run continues: only the results that needed
the lost part are lost. The number of restarts and the total time are bounded.

Our own failures cost no restart, but they do not extend the time limit either: the time of a failure is gone,
and a submission that runs out of time because of it needs manual review instead of losing points.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from autograder.core.errors import BoxEnded, BoxLost, RepeatedBoxLoss, SandboxFault
from autograder.core.limits import (
    CLOCK_FACTOR,
    MAX_CLOCK_FACTOR,
    MemoryBudget,
    compute_budgets,
    compute_file_allowance,
)
from autograder.core.records import (
    Call,
    Cell,
    CellRun,
    Ending,
    Limits,
    Markdown,
    Note,
    Observation,
    ResourceUsage,
)
from autograder.sandbox import limit_notes
from autograder.sandbox.base import Box, Sandbox, Usage
from autograder.sandbox.retry import MAX_FAULTS, MAX_LOST_BOXES
from autograder.sandbox.timeouts import KnownTimeout, Timeouts

LEFT_OUT = "left-out"
"""The code of a note about a submitted file that is not in the box, because the box has no room for it."""
_OF_FILES = 0.9
"""Share of the file names in a box that submitted files may use."""
_PAGE = 4096
_SPARE = 0.01
"""Share of a submission's time that counts as none: a box and its submission do not measure alike."""
ENDINGS_PER_QUESTION = 2
"""Number of endings within one question after which its remaining calls and tests are not tried."""
Visit = Callable[[Box, float, Collection[int]], None]
"""Called when the run reaches a cell, with the box, the seconds that are left and the cells that did not run
in it. May run again in another box; raises `BoxEnded` if it ended this one."""


class Session:
    """Runs the cells of one submission and answers calls about the names they defined."""

    def __init__(
        self,
        sandbox: Sandbox,
        cells: Sequence[Cell | Markdown],
        limits: Limits,
        *,
        seed: int = 0,
        files: Mapping[str, bytes] | None = None,
        visits: Mapping[int, Visit] | None = None,
        timeouts: Timeouts | None = None,
        skipped: Collection[int] = (),
    ) -> None:
        self._visits = visits or {}
        self._timeouts = timeouts or Timeouts()
        self._recalled = 0.0  # seconds that known timeouts would have used up
        self._asked: list[Call] = []  # of the open box
        self._sandbox = sandbox
        self._cells = cells
        self._limits = limits
        self._seed = seed
        self._files = _select_fitting_files(files or {}, limits)
        self._started = time.monotonic()
        self._passed = 0.0
        self._computed = 0.0
        self._delayed = 0.0
        self._taken = 0.0
        self._in_lost_boxes = 0.0
        self._box: Box | None = None
        self._skipped = {*skipped}
        self._restarts_left = limits.restarts
        self._faults_left = MAX_FAULTS
        self._lost = 0
        self._left_at_opening = limits.submission_seconds
        self._in_sandbox_at_opening = 0.0
        self._over: SandboxFault | None = None
        self._given_up: Ending | None = None
        self.runs: list[CellRun | None] = [None] * len(cells)
        self.notes: list[Note] = [
            Note(LEFT_OUT, f"does not fit into the box with the other files that were handed in: {name}")
            for name in sorted({*(files or {})} - {*self._files})
        ]
        self.crowded = False
        """Whether a closed box was short of resources that boxes of one user share; see `Box.crowded`."""
        self.seconds_in_sandbox = 0.0
        """Seconds in which boxes were opened, ran and were closed."""
        self._used = Usage()
        self._budgets = compute_budgets(limits)
        self._altogether = MemoryBudget(self._budgets.answers_mb, Ending.ANSWERS_SIZE)
        self._room = self._altogether
        self._asked_by = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self) -> list[CellRun | None]:
        """Run all cells; one entry per cell, None for markdown and for cells that were not reached.

        Raises:
            EndedItself: `MAX_LOST_BOXES` boxes were lost; nothing more is run or asked.
            SandboxFault: our side failed more than `MAX_FAULTS` times, for too long, or took time that is
                missing now; nothing more is run or asked.
        """
        self._ensure_box()
        return self.runs

    def ask(self, calls: Sequence[Call], *, place: str = "") -> list[Observation]:
        """Return one entry per call, as `Box.ask`; opens new boxes as needed.

        Args:
            calls: the calls to make.
            place: the question that makes them, for the notes.

        Raises:
            SandboxFault: see `run`.
        """
        if place != self._asked_by or not place:  # answers to a question are held until it is judged
            self._room = MemoryBudget(self._budgets.question_mb, Ending.QUESTION_SIZE, self._altogether)
            self._asked_by = place
        results = [limit_notes.with_limit(answer, self._limits) for answer in self._ask_calls(calls)]
        for call, observation in zip(calls, results, strict=True):
            notes = limit_notes.list_call_notes(call.target, observation, self._limits, place)
            limit_notes.add_notes(self.notes, notes)
        return results

    def take_box(self) -> Box:
        """Return the box in which the cells ran. The caller owns it from here on and closes it.

        Raises:
            BoxEnded: there is none, and no further one will be opened.
            SandboxFault: see `run`.
        """
        if not self._ensure_box():
            raise BoxEnded(self._given_up or Ending.RESTARTS)
        assert self._box is not None
        box, self._box = self._box, None
        return box

    def _ask_calls(self, calls: Sequence[Call]) -> list[Observation]:
        results: list[Observation] = []
        endings = 0
        while waiting := calls[len(results) :]:
            # A function that never ends costs its time once per call: after two endings the other questions
            # would have none.
            if self._room.ending or endings >= ENDINGS_PER_QUESTION or not self._ensure_box():
                ending = self._room.ending or self._given_up or Ending.NOT_ASKED
                return results + [Observation(ok=False, ending=ending)] * len(waiting)
            try:
                answers = self._ask_together(waiting)
            except SandboxFault as fault:
                self._handle_fault(fault)
                continue
            results += answers
            if answers and answers[-1].ending:
                endings += 1
                self._close_box()
        return results

    def _ask_together(self, calls: Sequence[Call]) -> list[Observation]:
        """Make calls in one box, as `Box.ask`, except those that are known to time out.

        A known timeout is answered, and counts against the submission's time, as it was when it was met.
        """
        known_position = self._find_known_timeout(calls)
        # If the first call is a known timeout, it is answered alone and never reaches the box.
        calls = calls[: known_position or 1]
        if known_position:
            answers = self._ask_box(calls)
        else:
            answers = [Observation(ok=False, ending=Ending.CALL_TIME)]
            self._recalled += self._limits.call_seconds
        self._asked = [*self._asked, *calls[: len(answers)]]
        if answers and answers[-1].ending is Ending.CALL_TIME and not self._visits:
            self._timeouts.record_call(self._asked, self._skipped)
        return answers

    def _find_known_timeout(self, calls: Sequence[Call]) -> int:
        """Return the position of the first call that is known to time out.

        If there is none, return the number of calls. Tests that run between the cells may change the results
        of calls, so nothing is known about calls in that case.
        """
        if not self._visits and self._get_time_left() >= self._limits.call_seconds:
            for number in range(len(calls)):
                if self._timeouts.is_known_call([*self._asked, *calls[: number + 1]], self._skipped):
                    return number
        return len(calls)

    def _skip_known_cells(self) -> None:
        """Leave out the cells that are known to time out, as if each had just ended a box."""
        while self._get_time_left() >= self._limits.cell_seconds:
            runnable = (number for number, _ in self._iterate_runnable())
            cell_number = next(
                (
                    candidate
                    for candidate in runnable
                    if self._timeouts.is_known_cell(candidate, self._skipped)
                ),
                None,
            )
            if cell_number is None:
                return
            self._skipped.add(cell_number)
            # Charged as when it was met: its time, one restart, and the cell itself.
            self._end_cell(cell_number, Ending.CELL_TIME)
            self._recalled += self._limits.cell_seconds
            self._restarts_left -= 1

    def _iterate_runnable(self) -> Iterator[tuple[int, Cell]]:
        """Iterate over the code cells with their numbers, without those that ended a box."""
        for number, cell in enumerate(self._cells):
            if isinstance(cell, Cell) and number not in self._skipped and cell.source.strip():
                yield number, cell

    def close(self) -> None:
        """Close the open box, if any."""
        self._close_box()

    def get_spent(self) -> ResourceUsage:
        """Return the resources used until now, by boxes that are closed."""
        return ResourceUsage(
            cell_seconds=max((run.seconds for run in self.runs if run is not None), default=0.0),
            call_seconds=self._used.call_seconds,
            submission_seconds=time.monotonic() - self._started,
            processor_seconds=self._used.processor_seconds,
            memory_mb=self._used.memory_bytes / (1 << 20),
        )

    @property
    def skipped(self) -> frozenset[int]:
        """The cells that are left out, because each of them ended a box."""
        return frozenset(self._skipped)

    @property
    def given_up(self) -> Ending | None:
        """The reason why no further box is opened."""
        return self._given_up

    @property
    def computed(self) -> float:
        """Processor seconds of all boxes that are closed, including lost ones."""
        return self._computed

    # ------------------------------------------------------------ boxes

    def _ask_box(self, calls: Sequence[Call]) -> list[Observation]:
        assert self._box is not None
        seconds = min(self._limits.call_seconds, self._get_time_left())
        if seconds <= 0:
            self._check_lost_time()
            self._give_up(Ending.SUBMISSION_TIME)
            return [Observation(ok=False, ending=Ending.SUBMISSION_TIME)] * len(calls)
        with self._run_clock():
            answers = self._box.ask(calls, seconds=seconds, total=self._get_time_left(), room=self._room)
        if answers and (seconds < self._limits.call_seconds or self._get_time_left() <= 0):
            if answers[-1].ending is Ending.CALL_TIME:
                self._check_lost_time()
            answers[-1] = limit_notes.mark_out_of_time(answers[-1])
        return answers

    def _ensure_box(self) -> bool:
        """Ensure a box in which every runnable cell has run; return False if none will be opened any more."""
        while self._box is None and self._given_up is None:
            if self._over:
                raise self._over
            self._skip_known_cells()
            # The first opening counts too: with n restarts, n + 1 boxes may be opened.
            if self._restarts_left < 0:
                self._give_up(Ending.RESTARTS)
                break
            self._restarts_left -= 1
            self._left_at_opening = self._get_time_left()
            self._in_sandbox_at_opening = self.seconds_in_sandbox
            self._asked = []
            try:
                self._box = self._open_box()
                self._run_cells(self._box)
            except BoxEnded:
                self._close_box()
            except SandboxFault as fault:
                self._handle_fault(fault)
        return self._box is not None

    def _open_box(self) -> Box:
        with self._track_sandbox_time():
            return self._sandbox.open(self._limits, seed=self._seed, files=self._files)

    @contextlib.contextmanager
    def _track_sandbox_time(self) -> Iterator[None]:
        """Measure the time of an operation in a box or on one."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds_in_sandbox += time.monotonic() - started

    @contextlib.contextmanager
    def _run_clock(self) -> Iterator[None]:
        """Run the clock of the submission: it stops while a box is opened and while answers are judged."""
        started = time.monotonic()
        try:
            with self._track_sandbox_time():
                yield
        finally:
            self._passed += time.monotonic() - started

    def _run_cells(self, box: Box) -> None:
        visits = sorted(self._visits)
        for number, cell in self._iterate_runnable():
            while visits and visits[0] <= number:
                self._run_visit(box, visits.pop(0))
            self._run_cell(box, number, cell.source)
        # The remaining visits come after the last code cell.
        for position in visits:
            self._run_visit(box, position)

    def _run_visit(self, box: Box, position: int) -> None:
        try:
            with self._run_clock():
                self._visits[position](box, self._get_time_left(), self._skipped)
        except KnownTimeout as known:
            self._recalled += known.seconds
            raise
        except BoxEnded as ended:
            if ended.ending is Ending.SUBMISSION_TIME:
                self._check_lost_time()
            raise

    def _run_cell(self, box: Box, number: int, source: str) -> None:
        seconds = min(self._limits.cell_seconds, self._get_time_left())
        if seconds <= 0:
            self._check_lost_time()
            self._give_up(Ending.SUBMISSION_TIME)
            self._end_cell(number, Ending.SUBMISSION_TIME)
            raise BoxEnded(Ending.SUBMISSION_TIME)
        try:
            with self._run_clock():
                run = box.run_cell(source, seconds=seconds, total=self._get_time_left())
        except BoxEnded as ended:
            # If the cell had less than its full time, the submission's limit was the one that it met.
            late = ended.ending is Ending.CELL_TIME and (
                seconds < self._limits.cell_seconds or self._get_time_left() <= 0
            )
            if late:
                self._check_lost_time()
                self._give_up(Ending.SUBMISSION_TIME)
            elif ended.ending is Ending.CELL_TIME:
                self._timeouts.record_cell(number, self._skipped)
            self._skipped.add(number)
            self._end_cell(number, Ending.SUBMISSION_TIME if late else ended.ending)
            raise
        limit_notes.add_notes(self.notes, limit_notes.list_cell_notes(number, run.met, self._limits))
        if self.runs[number] is None:  # the first run of a cell counts
            self.runs[number] = run

    def _end_cell(self, number: int, ending: Ending) -> None:
        self.runs[number] = CellRun(ending=ending)
        how = limit_notes.describe_ending(ending, self._limits)
        text = f"this cell ended the run ({how}); the other cells were run again without it"
        self.notes.append(Note(limit_notes.CELL_ENDED, text, place=f"cell {number + 1}"))

    def _close_box(self) -> None:
        """Close and forget the open box, if any, and add up its cost."""
        if self._box is not None:
            with self._track_sandbox_time():
                usage = self._box.close()
            self._note_usage(usage)
            self._note_crowding(self._box)
            self._computed += usage.processor_seconds
            self._delayed += usage.delayed_seconds
            self._box = None

    def _note_crowding(self, box: Box) -> None:
        if box.crowded:
            self.crowded = True
            limit_notes.add_notes(self.notes, [Note(limit_notes.SHARED_USER, limit_notes.CROWDED)])

    def _note_usage(self, usage: Usage) -> None:
        self._used = Usage(
            max(self._used.processor_seconds, usage.processor_seconds),
            max(self._used.memory_bytes, usage.memory_bytes),
            call_seconds=max(self._used.call_seconds, usage.call_seconds),
        )

    def _handle_fault(self, fault: SandboxFault) -> None:
        """Prepare a new run after our own failure, without costing a restart, within the time that is left.

        Raises:
            EndedItself: `MAX_LOST_BOXES` boxes were lost.
            SandboxFault: there were more than `MAX_FAULTS` failures, or they took more wall-clock time than
                the submission may. Nothing is run or asked after that.
        """
        self._close_box()
        if self._over:
            raise self._over
        # The time of the lost box is used up, but not by the student.
        self._taken += max(0.0, self._left_at_opening - self._get_time_left())
        self._in_lost_boxes += self.seconds_in_sandbox - self._in_sandbox_at_opening
        self._lost += isinstance(fault, BoxLost)
        if self._lost >= MAX_LOST_BOXES:
            self._over = RepeatedBoxLoss(
                f"{self._lost} boxes of this submission were lost (at last: {fault}): it ended itself, "
                "perhaps on purpose"
            )
            raise self._over
        # A failure that repeats affects the other questions too, and may take long each time.
        too_long = self._in_lost_boxes > CLOCK_FACTOR * self._limits.submission_seconds
        if self._faults_left == 0 or too_long:
            self._over = fault
            raise fault
        self._faults_left -= 1
        # A run that our side lost costs the student no restart.
        self._restarts_left += 1
        self.notes.append(Note("run-again", f"our side failed and the submission was run again: {fault}"))

    def _give_up(self, ending: Ending) -> None:
        self._given_up = ending
        text = f"no further box was opened: {limit_notes.describe_ending(ending, self._limits)}"
        self.notes.append(Note("gave-up", text))

    def _check_lost_time(self) -> None:
        """Check whether our failures used up the time; call before a timeout is charged to the submission.

        Raises:
            SandboxFault: failures of ours took time that would have been enough.
        """
        if self._taken > 0 and self._compute_time_left() + self._taken > 0:
            self._over = SandboxFault(
                f"the submission's time is used up, {self._taken:.1f} s of it in boxes that our side lost"
            )
            raise self._over

    def _get_time_left(self) -> float:
        """Return the seconds that the submission may still compute; 0 if too few to be worth a box."""
        time_left = self._compute_time_left()
        return time_left if time_left > _SPARE * self._limits.submission_seconds else 0.0

    def _compute_time_left(self) -> float:
        """Return the seconds that the submission may still compute; see `core.limits.CLOCK_FACTOR`.

        The clock stops while a box waits for a processor, as it does for a cell or a call, but at most for as
        long as `autograder.core.limits.MAX_CLOCK_FACTOR` allows.
        """
        limit, box = self._limits.submission_seconds, self._box
        computed = self._computed + (box.measure_processor_time() if box is not None else 0.0)
        delayed = self._delayed + (box.measure_delay() if box is not None else 0.0)
        # Waiting for a processor does not count, up to a maximum.
        by_the_clock = (
            limit
            - (self._passed - min(delayed, (MAX_CLOCK_FACTOR - 1) * CLOCK_FACTOR * limit)) / CLOCK_FACTOR
        )
        return min(limit - computed, by_the_clock) - self._recalled


def _select_fitting_files(files: Mapping[str, bytes], limits: Limits) -> Mapping[str, bytes]:
    """Select the files that fit into a box, smallest first; the others are treated as not submitted.

    Their size is the student's choice, and not a fault of the box that has no room for them.
    """
    room = compute_file_allowance(limits)
    kept: dict[str, bytes] = {}
    for name in sorted(files, key=lambda name: (len(files[name]), name)):
        # A file takes whole pages of the scratch space.
        room -= -(-len(files[name]) // _PAGE) * _PAGE
        if room >= 0 and len(kept) < _OF_FILES * limits.scratch_files - 8:
            kept[name] = files[name]
    return kept
