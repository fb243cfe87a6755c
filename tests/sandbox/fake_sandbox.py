"""A fake sandbox with canned results: no process, no student code, every call is recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.limits import MemoryBudget
from autograder.core.records import Call, CellRun, Ending, Limits, Observation
from autograder.sandbox.base import Usage


class FakeSandbox:
    """Answer cells by their source and calls by their name.

    Attributes:
        boxes: every box that was opened, in order.
        faults: how many of the next calls of `open` fail as our own fault.
    """

    isolation = "none"

    def __init__(
        self,
        cells: Mapping[str, CellRun | Ending | SandboxFault] | None = None,
        answers: Mapping[str, Observation | Ending] | None = None,
        *,
        faults: int = 0,
    ) -> None:
        self.cells = dict(cells or {})
        self.answers = dict(answers or {})
        self.faults = faults
        self.boxes: list[FakeBox] = []
        self.closed = False

    def open(self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None) -> FakeBox:
        """Return a new box, or raise a fault while any is left."""
        if self.closed:
            raise SandboxFault("the sandbox is closed")
        if self.faults:
            self.faults -= 1
            raise SandboxFault("canned fault")
        self.boxes.append(FakeBox(self, seed, dict(files or {})))
        return self.boxes[-1]

    def is_alive(self) -> bool:
        """Return True until it is closed."""
        return not self.closed

    def close(self) -> None:
        """Close every box."""
        self.closed = True
        for box in self.boxes:
            box.close()


class FakeBox:
    """One box of a `FakeSandbox`; ``log`` contains the sources and names of its requests."""

    def __init__(self, sandbox: FakeSandbox, seed: int, files: dict[str, bytes]) -> None:
        self._sandbox = sandbox
        self._why: Ending | None = None
        self.seed = seed
        self.files = files
        self.log: list[str] = []
        self.seconds: list[float] = []
        self.closed = False
        self.crowded = False

    def run_cell(self, source: str, *, seconds: float, total: float = math.inf) -> CellRun:
        """Return the canned run of this source, or an empty one."""
        del total
        self._check_open()
        self.log.append(source)
        self.seconds.append(seconds)
        outcome = self._sandbox.cells.get(source, CellRun())
        if isinstance(outcome, SandboxFault):
            self.closed = True
            raise outcome
        if isinstance(outcome, Ending):
            raise self._end(outcome)
        return outcome

    def measure_processor_time(self) -> float:
        """Return 0, because no code runs."""
        return 0.0

    def measure_delay(self) -> float:
        """Return 0, because no code runs."""
        return 0.0

    def ask(
        self,
        calls: Sequence[Call],
        *,
        seconds: float,
        total: float = math.inf,
        room: MemoryBudget | None = None,
    ) -> list[Observation]:
        """Return the canned observations by name, or a NameError.

        A canned ending ends the box.
        """
        del total, room
        results: list[Observation] = []
        for call in calls:
            try:
                self._check_open()
            except BoxEnded as ended:
                return [*results, Observation(ok=False, ending=ended.ending)]
            self.log.append(call.target)
            self.seconds.append(seconds)
            outcome = self._sandbox.answers.get(call.target, Observation(ok=False, error="NameError"))
            ending = outcome if isinstance(outcome, Ending) else outcome.ending
            if ending is not None:
                self._end(ending)
                return [*results, Observation(ok=False, ending=ending)]
            assert isinstance(outcome, Observation)
            results.append(outcome)
        return results

    def close(self) -> Usage:
        """Close the box; may be called twice."""
        self.closed = True
        return Usage()

    def _check_open(self) -> None:
        if self._why:
            raise BoxEnded(self._why)
        if self.closed:
            raise SandboxFault("the box is closed")

    def _end(self, ending: Ending) -> BoxEnded:
        self._why = ending
        self.closed = True
        return BoxEnded(ending)
