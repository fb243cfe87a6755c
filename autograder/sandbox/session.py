"""One submission's run over as many boxes as it needs.

Cells run in order; an exception in one does not stop the next. When a cell or a call ends the box, a
new box is opened, the cells are run again without the offending one, and the rest goes on: only what
needed the lost part is lost. How often, and for how long altogether, is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from autograder.errors import BoxEnded, SandboxFault
from autograder.limits import PATIENCE, Room, budgets
from autograder.records import Cell, CellRun, Ending, Limits, Markdown, Note, Observation, Scenario, Spent
from autograder.sandbox import remarks
from autograder.sandbox.base import Box, Sandbox, Usage
from autograder.sandbox.retry import FAULTS

ENDINGS_PER_QUESTION = 2
"""After so many endings within one question its remaining scenarios are not tried."""


class Session:
    """Runs the cells of one submission and answers scenarios about what they defined."""

    def __init__(
        self,
        sandbox: Sandbox,
        cells: Sequence[Cell | Markdown],
        limits: Limits,
        *,
        seed: int = 0,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._cells = cells
        self._limits = limits
        self._seed = seed
        self._files = files or {}
        self._started = time.monotonic()
        self._deadline = self._started + PATIENCE * limits.submission_seconds
        self._computed = 0.0
        self._box: Box | None = None
        self._skipped: set[int] = set()
        self._restarts_left = limits.restarts
        self._faults_left = FAULTS
        self._box_asked_for = 0.0
        self._given_up: Ending | None = None
        self.runs: list[CellRun | None] = [None] * len(cells)
        self.notes: list[Note] = []
        self.seconds_in_sandbox = 0.0
        self._used = Usage()
        self._budgets = budgets(limits)
        self._altogether = Room(self._budgets.answers_mb, Ending.ANSWERS_SIZE)
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
            SandboxFault: our side failed more than `FAULTS` times.
        """
        remarks.add(self.notes, remarks.compiling_notes(self._cells))
        self._ensure_box()
        return self.runs

    def ask(self, scenarios: Sequence[Scenario], *, place: str = "") -> list[tuple[Observation, ...]]:
        """One entry per scenario, as `Box.ask`; opens new boxes as needed.

        Args:
            scenarios: what to ask.
            place: the question that asks, for the notes.

        Raises:
            SandboxFault: our side failed more than `FAULTS` times.
        """
        if place != self._asked_by or not place:  # what one question was answered is held until it is judged
            self._room = Room(self._budgets.question_mb, Ending.QUESTION_SIZE, self._altogether)
            self._asked_by = place
        asked = self._ask(scenarios)
        results = [remarks.with_limits(observations, self._limits) for observations in asked]
        for scenario, observations in zip(scenarios, results, strict=True):
            notes = remarks.call_notes(scenario.name, observations, self._limits, place)
            remarks.add(self.notes, notes)
        return results

    def _ask(self, scenarios: Sequence[Scenario]) -> list[tuple[Observation, ...]]:
        results: list[tuple[Observation, ...]] = []
        endings = 0
        while len(results) < len(scenarios):
            remaining = scenarios[len(results) :]
            if self._room.ending:
                results += [_ended(scenario, self._room.ending) for scenario in remaining]
                break
            if endings >= ENDINGS_PER_QUESTION or not self._ensure_box():
                ending = self._given_up or Ending.NOT_ASKED
                results += [_ended(scenario, ending) for scenario in remaining]
                break
            try:
                answers = self._ask_box(remaining)
            except SandboxFault as fault:
                self._after_fault(fault)
                continue
            results += answers
            if answers and _ending(answers[-1]):
                endings += 1
                self._lose_box()
        return results

    def close(self) -> None:
        """Close the open box, if any."""
        self._lose_box()

    def spent(self) -> Spent:
        """What was used until now, of boxes that are closed."""
        return Spent(
            cell_seconds=max((run.seconds for run in self.runs if run is not None), default=0.0),
            call_seconds=self._used.call_seconds,
            submission_seconds=time.monotonic() - self._started,
            processor_seconds=self._used.processor_seconds,
            memory_mb=self._used.memory_bytes / (1 << 20),
        )

    # ------------------------------------------------------------ boxes

    def _ask_box(self, scenarios: Sequence[Scenario]) -> list[tuple[Observation, ...]]:
        assert self._box is not None
        seconds = min(self._limits.call_seconds, self._left())
        if seconds <= 0:
            self._give_up(Ending.SUBMISSION_TIME)
            return [_ended(scenario, Ending.SUBMISSION_TIME) for scenario in scenarios]
        answers = self._box.ask(scenarios, seconds=seconds, total=self._left(), room=self._room)
        if answers and (seconds < self._limits.call_seconds or self._left() <= 0):
            answers[-1] = remarks.out_of_time(answers[-1])
        return answers

    def _ensure_box(self) -> bool:
        """A box in which every runnable cell has run; False when there will be none any more."""
        while self._box is None and self._given_up is None:
            if self._restarts_left < 0:
                self._give_up(Ending.RESTARTS)
                break
            self._restarts_left -= 1
            self._box_asked_for = started = time.monotonic()
            try:
                self._box = self._sandbox.open(self._limits, seed=self._seed, files=self._files)
                self.seconds_in_sandbox += time.monotonic() - started
                self._run_cells(self._box)
            except BoxEnded:
                self._lose_box()
            except SandboxFault as fault:
                self._after_fault(fault)
        return self._box is not None

    def _run_cells(self, box: Box) -> None:
        for number, cell in enumerate(self._cells):
            if isinstance(cell, Markdown) or number in self._skipped or not cell.source.strip():
                continue
            seconds = min(self._limits.cell_seconds, self._left())
            if seconds <= 0:
                self._give_up(Ending.SUBMISSION_TIME)
                self._end_cell(number, Ending.SUBMISSION_TIME)
                raise BoxEnded(Ending.SUBMISSION_TIME)
            try:
                run = box.run_cell(cell.source, seconds=seconds)
            except BoxEnded as ended:
                self._skipped.add(number)
                late = ended.ending is Ending.CELL_TIME and seconds < self._limits.cell_seconds
                self._end_cell(number, Ending.SUBMISSION_TIME if late else ended.ending)
                raise
            remarks.add(self.notes, remarks.cell_notes(number, run.met, self._limits))
            if self.runs[number] is None:
                self.runs[number] = run

    def _end_cell(self, number: int, ending: Ending) -> None:
        self.runs[number] = CellRun(ending=ending)
        how = remarks.ended(ending, self._limits)
        text = f"the box ended ({how}); the other cells were run again without this one"
        self.notes.append(Note(remarks.CELL_ENDED, text, place=f"cell {number + 1}"))

    def _lose_box(self, *, by_fault: bool = False) -> None:
        """End and forget the open box, if any, adding up what it cost; a fault of ours costs nothing."""
        if self._box is not None:
            usage = self._box.close()
            self.seconds_in_sandbox += self._box.overhead
            self._used = Usage(
                max(self._used.processor_seconds, usage.processor_seconds),
                max(self._used.memory_bytes, usage.memory_bytes),
                call_seconds=max(self._used.call_seconds, usage.call_seconds),
            )
            self._computed += 0.0 if by_fault else usage.processor_seconds
            self._box = None

    def _after_fault(self, fault: SandboxFault) -> None:
        """Our own failure: run again, at the cost of neither the student's restarts nor their time."""
        self._lose_box(by_fault=True)
        self._deadline += time.monotonic() - self._box_asked_for
        if self._faults_left == 0:
            raise fault
        self._faults_left -= 1
        self._restarts_left += 1
        self.notes.append(Note("run-again", f"our side failed and the submission was run again: {fault}"))

    def _give_up(self, ending: Ending) -> None:
        self._given_up = ending
        text = f"no further box was opened: {remarks.ended(ending, self._limits)}"
        self.notes.append(Note("gave-up", text))

    def _left(self) -> float:
        """Seconds that the submission may still compute; see `autograder.limits.PATIENCE`."""
        computed = self._computed + (self._box.computed() if self._box is not None else 0.0)
        by_the_clock = (self._deadline - time.monotonic()) / PATIENCE
        return min(self._limits.submission_seconds - computed, by_the_clock)


def _ending(observations: tuple[Observation, ...]) -> Ending | None:
    return next((observation.ending for observation in observations if observation.ending), None)


def _ended(scenario: Scenario, ending: Ending) -> tuple[Observation, ...]:
    return tuple(Observation(ok=False, ending=ending) for _ in scenario.calls)
