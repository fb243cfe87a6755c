"""What any sandbox promises. One contract suite (tests/sandbox/contract.py) is run on every one.

A `Sandbox` is an environment that is ready to open boxes quickly; a `Box` is one confined process tree
in which one submission's code runs. Whatever a box answers is the student's word and is judged as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from autograder.limits import MemoryBudget
from autograder.records import Call, CellRun, Limits, Observation
from autograder.sandbox.exchange.wire import Told
from autograder.stopwatch import StepTime


class Environment(Struct, frozen=True):
    """What a box contains before any student code runs. One zygote serves one environment."""

    preload: tuple[str, ...] = ()
    """Modules imported ahead, e.g. ``("torch",)``."""
    files: tuple[tuple[str, Path], ...] = ()
    """Files and folders visible read-only in the working directory: path there → path here.

    Of two for one path the later counts: a file may stand for one of a folder.
    """
    packages: tuple[tuple[str, Path], ...] = ()
    """Importable packages: name → folder. The reference solutions, and nothing else, come this way.

    The zygote has none of them, but each box that is opened for this environment.
    """
    tests: bool = False
    """Test cells will run: what they do first is done before boxes are forked."""


class Reply(NamedTuple):
    """What one of our own ends in a box gives, for the other box."""

    told: Told
    """As it came: nobody has looked at it."""
    asks: int
    """The number of the box that it asks, whose answer it waits for: 1 is the student's; 0: no question."""


class Usage(Struct, frozen=True):
    """What a box used: processor seconds, largest memory in bytes, and wall seconds."""

    processor_seconds: float = 0.0
    memory_bytes: int = 0
    open_seconds: float = 0.0
    call_seconds: float = 0.0
    """Of the longest call."""
    delayed_seconds: float = 0.0
    """For how long other programs kept the box from computing, as far as it was counted."""
    system_seconds: float = 0.0
    """Of the processor seconds those in the kernel, as far as it tells."""

    @property
    def time(self) -> StepTime:
        """The processor seconds, for a stopwatch; the clock's are told by whoever waits."""
        return StepTime(0.0, max(0.0, self.processor_seconds - self.system_seconds), self.system_seconds)


class Box(Protocol):
    """One confined process tree. Not thread safe; one owner."""

    crowded: bool
    """Whether something was raised in it or it ended, and since it was opened a quota that it shares with
    other programs of its user had been used up. Measured outside."""

    def run_cell(self, source: str, *, seconds: float) -> CellRun:
        """Run one notebook cell and return its outputs; an exception in it is part of the result.

        Args:
            source: of the cell.
            seconds: of processor time; it may take `autograder.limits.CLOCK_FACTOR` times as long by the
                clock.

        Raises:
            BoxEnded: the code exited, crashed, broke the protocol or met a limit.
            SandboxFault: our side failed, or the machine was too busy to let it compute.
        """

    def run_cells(self, sources: Sequence[str], *, seconds: float, total: float) -> Iterator[CellRun]:
        """Run cells one after another; what came of each, as soon as it is known.

        The box goes on by itself meanwhile: there is no other request until all have run.

        Args:
            sources: of the cells.
            seconds: of each; see `run_cell`.
            total: of all together, likewise.

        Raises:
            BoxEnded: see `run_cell`; by the cell after those that were given.
            SandboxFault: see `run_cell`.
            Unplaced: a limit was met that none of them tells of, in one of those since the last that does.
        """

    def ask(
        self,
        calls: Sequence[Call],
        *,
        seconds: float,
        total: float = math.inf,
        room: MemoryBudget | None = None,
    ) -> list[Observation]:
        """Make calls in order; one entry per call.

        If student code ends the box in one of them, its entry is the last one and carries the ending, and the
        box is closed.

        Args:
            calls: what to ask.
            seconds: of each call; see `run_cell`.
            total: of all calls together, likewise.
            room: what the answers count against; what does not fit ends the box. Default: nothing is
                counted.

        Raises:
            SandboxFault: see `run_cell`.
        """

    def look_for_crowding(self) -> None:
        """Set `crowded` after student code raised something that only another box has seen."""

    def hand_on(
        self, target: str, told: Told, *, seconds: float, begin: Mapping[str, Any] | None = None
    ) -> Reply | Observation:
        """Give one of our own ends in the box what another box has told.

        Args:
            target: the end.
            told: is not looked at.
            seconds: as in `run_cell`.
            begin: what it begins with this, in plain values of our own; see `inside.judge.Judge.do`.

        Returns:
            What it gave; or the exception that came out.

        Raises:
            BoxEnded: see `run_cell`.
            SandboxFault: see `run_cell`.
        """

    def computed(self) -> float:
        """Processor seconds of all that has run in the box."""

    def delayed(self) -> float:
        """See `Usage.delayed_seconds`."""

    def close(self) -> Usage:
        """End everything in the box and remove what it left. Idempotent."""


class Sandbox(Protocol):
    """Opens boxes for one environment. Thread safe."""

    isolation: str
    """``"namespaces"`` or ``"none"``; stamped on every result."""

    def open(self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None) -> Box:
        """A fresh box with random generators seeded by ``seed``.

        Args:
            limits: what the box may use.
            seed: of random, numpy and torch.
            files: paths in the working directory → content; the box's own, so it may change them. One stands
                in the place of a file of the environment. From one that is called
                `autograder.sandbox.packages.NAME` modules can be imported.

        Raises:
            SandboxFault: it could not be opened.
            SandboxUnavailable: this machine lacks a layer of confinement.
        """

    def alive(self) -> bool:
        """Whether boxes can still be opened."""

    def close(self) -> None:
        """End every box and release everything. Idempotent."""
