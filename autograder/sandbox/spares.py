"""One box opened ahead: while a submission is graded, the next one's box is already being confined."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from autograder.errors import SandboxFault
from autograder.records import Limits
from autograder.sandbox.box import NamespaceBox

OpenBox = Callable[[Limits, int], NamespaceBox]
_Kind = tuple[Limits, int]


class Spares:
    """Hands out boxes and keeps one in reserve of the kind that was asked for last. Thread safe."""

    def __init__(self, open_box: OpenBox) -> None:
        self._open = open_box
        self._lock = threading.Lock()
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="spare-box")
        self._closed = False
        self._kind: _Kind | None = None
        self._spare: Future[NamespaceBox] | None = None

    def take(self, limits: Limits, seed: int) -> NamespaceBox:
        """A box that no code has run in.

        Raises:
            SandboxFault: it could not be opened.
        """
        kind = (limits, seed)
        with self._lock:
            spare, self._spare = self._spare, None
            known = self._kind == kind
            self._kind = kind
            if known and not self._closed:  # a second one of the same kind: a third is likely
                self._spare = self._ahead.submit(self._open, limits, seed)
        if spare is not None:
            box = _opened(spare)
            if box is not None and known and box.alive():
                return box
            if box is not None:
                box.close()
        return self._open(limits, seed)

    def close(self) -> None:
        """Close the spare, if there is one, and open no more."""
        with self._lock:
            self._closed = True
        self._ahead.shutdown(wait=True)
        with self._lock:
            spare, self._spare = self._spare, None
        box = None if spare is None else _opened(spare)
        if box is not None:
            box.close()


def _opened(spare: Future[NamespaceBox]) -> NamespaceBox | None:
    """The spare box, or None when opening it failed: then the one who needs it tries again and is told."""
    try:
        return spare.result()
    except SandboxFault:
        return None
