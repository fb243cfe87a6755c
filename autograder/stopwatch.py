"""Where the time of a run goes: steps that do not overlap, by the clock and by the processor."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping

from msgspec import Struct


class StepTime(Struct):
    """What one step took until now, of all threads together."""

    seconds: float = 0.0
    """By the clock; what several threads did at the same time counts for each."""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    """Of the processor: in programs, and in the kernel on their behalf."""


class Stopwatch:
    """Adds up steps. Thread safe; a step within a step is taken off the outer one.

    A grader's own processor time is that of its threads. What boxes computed is added as the kernel counted
    it: as steps of its own, since nobody waits for it in the same thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[str, StepTime] = {}
        self._open = threading.local()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """What is done now is this step's, but for steps within it."""
        outer = getattr(self._open, "inner", None)
        inner = self._open.inner = StepTime()
        before = _now()
        try:
            yield
        finally:
            took = StepTime(*(now - then for now, then in zip(_now(), before, strict=True)))
            self._open.inner = outer
            if outer is not None:
                _more(outer, took)
            _more(took, inner, -1)
            self.add(name, took)

    def add(self, name: str, took: StepTime) -> None:
        """A step that was timed elsewhere."""
        with self._lock:
            _more(self._steps.setdefault(name, StepTime()), took)

    def steps(self) -> Mapping[str, StepTime]:
        """By name, in the order in which each ended first."""
        with self._lock:
            return dict(self._steps)


def _now() -> tuple[float, float, float]:
    try:
        import resource
    except ImportError:  # another system, where no student code is run
        return time.monotonic(), time.thread_time(), 0.0
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return time.monotonic(), used.ru_utime, used.ru_stime


def _more(one: StepTime, other: StepTime, sign: int = 1) -> None:
    one.seconds += sign * other.seconds
    one.user_seconds += sign * other.user_seconds
    one.system_seconds += sign * other.system_seconds
