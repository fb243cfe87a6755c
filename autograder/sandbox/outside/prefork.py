"""A pool of boxes forked in advance (prefork): while submissions are graded, the next boxes are confined."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from autograder.core.records import Limits
from autograder.sandbox.outside.box import NamespaceBox

OpenBox = Callable[[Limits, int], NamespaceBox]
_Kind = tuple[Limits, int]

MOST = 4
KINDS = 3
"""Kinds of boxes kept ready. A submission uses several in turn: its own, the test cells', the reference's."""


def depth() -> int:
    """Return how many boxes are kept ready: more if more submissions are graded at the same time."""
    return max(1, min(MOST, (os.cpu_count() or 1) // 2))


class PreforkPool:
    """Hands out boxes and keeps some of the most recently requested kinds in reserve. Thread-safe."""

    def __init__(self, open_box: OpenBox, most: int) -> None:
        """Keep ``most`` boxes of a kind ready, once it has been requested twice."""
        self._open = open_box
        self._most = most
        self._lock = threading.Lock()
        self._ahead = ThreadPoolExecutor(most, thread_name_prefix="ready-box")
        self._closed = False
        self._ready: dict[_Kind, deque[Future[NamespaceBox]]] = {}

    def take_box(self, limits: Limits, seed: int) -> NamespaceBox:
        """Take a box in which no code has run.

        Raises:
            SandboxFault: it could not be opened.
        """
        kind = (limits, seed)
        unfit: list[Future[NamespaceBox]] = []
        with self._lock:
            seen_before, ready = kind in self._ready, self._ready.pop(kind, deque())
            self._ready[kind] = ready  # moves it to the end: most recently used
            if len(self._ready) > KINDS:
                unfit = list(self._ready.pop(next(iter(self._ready))))
            ready_box = ready.popleft() if ready else None
            # A kind that was requested only once may never be requested again.
            while seen_before and not self._closed and len(ready) < self._most:
                ready.append(self._ahead.submit(self._open, limits, seed))
        # Outside of the lock: closing and waiting take time, and other threads need boxes.
        _close_boxes(unfit)
        box = None if ready_box is None else _wait_for_box(ready_box)
        if box is not None and not box.is_alive():
            box.close()
            box = None
        return box or self._open(limits, seed)

    def close(self) -> None:
        """Close the ready boxes, and open no more."""
        with self._lock:
            self._closed = True
        self._ahead.shutdown(wait=True)
        with self._lock:
            ready_boxes = [box for ready in self._ready.values() for box in ready]
            self._ready.clear()
        _close_boxes(ready_boxes)


def _close_boxes(ready_boxes: list[Future[NamespaceBox]]) -> None:
    for ready_box in ready_boxes:
        box = _wait_for_box(ready_box)
        if box is not None:
            box.close()


def _wait_for_box(ready_box: Future[NamespaceBox]) -> NamespaceBox | None:
    """Return the ready box, or None if opening it failed: the caller then opens one and sees the error."""
    try:
        return ready_box.result()
    except Exception:  # noqa: BLE001 - any failure, see above
        return None
