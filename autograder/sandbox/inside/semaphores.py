"""Locks between the processes of a box that may not make files in /dev/shm. Beside student code.

The C library keeps every named semaphore there, for all programs of a user in one folder. multiprocessing
needs them for its queues, pools and locks; here they are event counters, which forked processes inherit.
"""

from __future__ import annotations

import importlib
import os
import select
import threading
import time
from typing import Any, Self

RECURSIVE = 0
"""The kind of a recursive lock, as `multiprocessing` numbers them; 1 is a semaphore."""


class CounterSemaphore:
    """What `_multiprocessing.SemLock` promises, on an eventfd(2)."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:  # noqa: FBT001
        self.kind, self.maxvalue = kind, maxvalue
        self.name = None if unlink else name
        self.handle = os.eventfd(value, os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._held = 0
        self._owner: tuple[int, int] | None = None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        os.close(self.handle)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:  # noqa: FBT001, FBT002
        """Take one, waiting for it if need be, at most ``timeout`` seconds."""
        if self.kind == RECURSIVE and self._is_mine():
            self._held += 1
            return True
        deadline = None if timeout is None else time.monotonic() + max(0.0, timeout)
        while True:
            try:
                os.eventfd_read(self.handle)
            except BlockingIOError:
                left = None if deadline is None else deadline - time.monotonic()
                if not block or (left is not None and left <= 0):
                    return False
                _wait(self.handle, left)
            else:
                self._held += 1
                self._owner = _me()
                return True

    def release(self) -> None:
        """Give one back."""
        if self.kind == RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self.maxvalue == 1 and not self._is_zero():
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        os.eventfd_write(self.handle, 1)

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._owner == _me()

    def _is_zero(self) -> bool:
        return not _wait(self.handle, 0)

    def _get_value(self) -> int:
        raise NotImplementedError  # as on systems whose C library cannot tell either

    def _after_fork(self) -> None:
        self._held = 0

    @classmethod
    def _rebuild(cls, *_: object) -> Self:
        raise RuntimeError("locks are shared with forked processes only")


def install() -> None:
    """Let multiprocessing use these locks, and ordinary temporary files instead of shared memory."""
    importlib.import_module("_multiprocessing").SemLock = CounterSemaphore  # type: ignore[attr-defined]
    heap: Any = importlib.import_module("multiprocessing.heap")
    heap.Arena._dir_candidates = []  # noqa: SLF001 - there is no other way to choose the folder


def _wait(descriptor: int, seconds: float | None) -> bool:
    """Whether something can be taken within that time."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if seconds is None else 1000 * seconds))


def _me() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()
