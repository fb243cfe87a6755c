"""Measure where the time of a run goes: steps that do not overlap, in wall-clock and processor time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping

from msgspec import Struct


class StepTime(Struct):
    """The time that one step has taken so far, over all threads."""

    seconds: float = 0.0
    """Wall-clock time; simultaneous threads count separately."""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    """Processor time in user space and in the kernel."""


class Stopwatch:
    """Add up the times of steps. Thread safe; a nested step is subtracted from the outer one.

    The grader's processor time is that of its threads. The processor time of boxes is added as the kernel
    counted it, under separate steps, because no thread of the grader waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[str, StepTime] = {}
        self._open = threading.local()

    @contextlib.contextmanager
    def measure_step(self, name: str) -> Iterator[None]:
        """Charge the time of the block to this step, except for nested steps."""
        outer = getattr(self._open, "inner", None)
        # Collects the time of nested steps, which is subtracted below.
        inner = self._open.inner = StepTime()
        before = _read_clocks()
        try:
            yield
        finally:
            took = StepTime(*(now - then for now, then in zip(_read_clocks(), before, strict=True)))
            self._open.inner = outer
            if outer is not None:
                _add_time(outer, took)
            _add_time(took, inner, -1)
            self.add_step(name, took)

    def add_step(self, name: str, took: StepTime) -> None:
        """Add a step that was timed elsewhere."""
        with self._lock:
            _add_time(self._steps.setdefault(name, StepTime()), took)

    def get_steps(self) -> Mapping[str, StepTime]:
        """Return the times by name, in the order in which steps first ended."""
        with self._lock:
            return dict(self._steps)


def _read_clocks() -> tuple[float, float, float]:
    try:
        import resource
    except ImportError:  # Windows has no such module; no student code runs there
        return time.monotonic(), time.thread_time(), 0.0
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return time.monotonic(), used.ru_utime, used.ru_stime


def _add_time(total: StepTime, amount: StepTime, sign: int = 1) -> None:
    total.seconds += sign * amount.seconds
    total.user_seconds += sign * amount.user_seconds
    total.system_seconds += sign * amount.system_seconds
