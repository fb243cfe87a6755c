"""The interface of every sandbox. One contract suite (tests/sandbox/contract.py) runs on all of them.

A `Sandbox` is an environment that is ready to open boxes quickly; a `Box` is one confined process tree
in which one submission's code runs. Whatever a box answers is under the student's control and is judged as
such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from autograder.core.limits import MemoryBudget
from autograder.core.records import Call, CellRun, Limits, Observation
from autograder.sandbox.exchange.wire import Payload


class Environment(Struct, frozen=True):
    """The contents of a box before any student code runs. One zygote serves one environment."""

    preload: tuple[str, ...] = ()
    """Modules imported ahead, e.g. ``("torch",)``."""
    files: tuple[tuple[str, Path], ...] = ()
    """Files and folders visible read-only in the working directory: path in the box → path on this machine.

    If two entries name the same path, the later one counts: a file may replace a file of a folder.
    """
    packages: tuple[tuple[str, Path], ...] = ()
    """Importable packages: name → folder. Only the reference solutions are passed this way.

    The zygote has none of them; each box that is opened for this environment gets them.
    """
    tests: bool = False
    """Whether test cells will run: if so, their first-use work is done before boxes are forked."""


class Reply(NamedTuple):
    """The reply of one of our own endpoints in a box, for the other box."""

    payload: Payload
    """The payload as it arrived, not inspected."""
    asks: int
    """The number of the box that this reply is a question to (1 is the student's box); 0: no question."""


class Usage(Struct, frozen=True):
    """The resources that a box used: processor seconds, peak memory in bytes, and wall-clock seconds."""

    processor_seconds: float = 0.0
    memory_bytes: int = 0
    call_seconds: float = 0.0
    """Duration of the longest call."""
    delayed_seconds: float = 0.0
    """How long other programs kept the box from computing, as far as this was measured."""


class Box(Protocol):
    """One confined process tree. Not thread safe; one owner."""

    crowded: bool
    """Whether an exception was raised in the box or it ended, and a quota that it shares with other programs
    of its user had been used up since it was opened. Measured from outside."""

    def run_cell(self, source: str, *, seconds: float, total: float = math.inf) -> CellRun:
        """Run one notebook cell and return its outputs; an exception in it is part of the result.

        Args:
            source: source code of the cell.
            seconds: processor time; wall-clock time may be `core.limits.CLOCK_FACTOR` times as long.
            total: what the submission has left of such seconds.

        Raises:
            BoxEnded: the code exited, crashed, broke the protocol or met a limit.
            SandboxFault: our side failed, or the machine was too busy to let it compute.
        """

    def ask(
        self,
        calls: Sequence[Call],
        *,
        seconds: float,
        total: float = math.inf,
        room: MemoryBudget | None = None,
    ) -> list[Observation]:
        """Make calls in order and return one entry per call.

        If student code ends the box during a call, the entry of that call is the last one and carries the
        ending, and the box is closed.

        Args:
            calls: the calls to make.
            seconds: limit for each call; see `run_cell`.
            total: limit for all calls together; see `run_cell`.
            room: budget that the answers count against; an answer that does not fit ends the box. Default: no
                budget.

        Raises:
            SandboxFault: see `run_cell`.
        """

    def check_crowding(self) -> None:
        """Set `crowded` after student code raised an exception that only another box has seen."""

    def forward_message(
        self, target: str, payload: Payload, *, seconds: float, begin: Mapping[str, Any] | None = None
    ) -> Reply | Observation:
        """Forward the message of another box to one of our own endpoints in this box.

        Args:
            target: the endpoint.
            payload: the message; it is not inspected.
            seconds: as in `run_cell`.
            begin: plain values of our own that start a test with this message; see
                `inside.judge.Judge.judge_test`.

        Returns:
            The reply of the endpoint, or the exception that it raised.

        Raises:
            BoxEnded: see `run_cell`.
            SandboxFault: see `run_cell`.
        """

    def measure_processor_time(self) -> float:
        """Return the processor seconds of everything that has run in the box."""

    def measure_delay(self) -> float:
        """Return the seconds of `Usage.delayed_seconds`."""

    def close(self) -> Usage:
        """End every process in the box and remove what it left behind. Idempotent."""


class Sandbox(Protocol):
    """Opens boxes for one environment. Thread-safe."""

    isolation: str
    """``"namespaces"`` or ``"none"``; stamped on every result."""

    def open(self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None) -> Box:
        """Open a fresh box with random generators seeded by ``seed``.

        Args:
            limits: resources that the box may use.
            seed: seed of random, numpy and torch.
            files: paths in the working directory → content; they belong to the box, which may change them.
                Such a file replaces a file of the environment at the same path. Modules can be imported from
                a file called `autograder.sandbox.runtime.PACKAGES`.

        Raises:
            SandboxFault: it could not be opened.
            SandboxUnavailable: this machine lacks a layer of confinement.
        """

    def is_alive(self) -> bool:
        """Decide whether boxes can still be opened."""

    def close(self) -> None:
        """End every box and release all resources. Idempotent."""
