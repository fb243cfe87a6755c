"""The sandboxes of one run: one per environment, started when first needed, replaced when they die."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.levels import Isolation
from autograder.sandbox.system import refuse_other_systems

if TYPE_CHECKING:
    from autograder.sandbox.namespaces import ZygoteSandbox


def start_sandbox(environment: Environment, isolation: Isolation = Isolation.NAMESPACES) -> ZygoteSandbox:
    """The real sandbox for an environment, at exactly this level of isolation.

    Raises:
        SandboxUnavailable: not Linux, or a layer of confinement is missing; says which and what to do.
        SandboxFault: it did not start.
    """
    refuse_other_systems()
    from autograder.sandbox.namespaces import NamespaceSandbox
    from autograder.sandbox.unjailed import BareSandbox, ReducedSandbox

    levels: dict[Isolation, type[ZygoteSandbox]] = {
        Isolation.NAMESPACES: NamespaceSandbox,
        Isolation.REDUCED: ReducedSandbox,
        Isolation.NONE: BareSandbox,
    }
    return levels[isolation](environment)


class Pool:
    """Keeps a sandbox ready for every environment that was asked for. Thread safe.

    Args:
        start: how to start one; by default `start_sandbox` at the level of isolation.
        isolation: the level that all of them have.
    """

    def __init__(
        self,
        start: Callable[[Environment], Sandbox] | None = None,
        *,
        isolation: Isolation = Isolation.NAMESPACES,
    ) -> None:
        self.isolation = isolation
        self._start: Callable[[Environment], Sandbox] = start or functools.partial(
            start_sandbox, isolation=isolation
        )
        self._lock = threading.Lock()
        self._starting: dict[Environment, threading.Lock] = {}
        self._running: dict[Environment, Sandbox] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sandbox(self, environment: Environment) -> Sandbox:
        """The sandbox for an environment, started now if there is none or if it has died.

        Raises:
            SandboxUnavailable: this machine lacks a layer of confinement.
            SandboxFault: it did not start.
        """
        with self._lock:
            starting = self._starting.setdefault(environment, threading.Lock())
        with starting:
            running = self._running.get(environment)
            if running is not None and not running.alive():
                running.close()
                running = None
            if running is None:
                running = self._running[environment] = self._start(environment)
            return running

    def warm(self, environments: Iterable[Environment]) -> None:
        """Start several at the same time; importing torch takes seconds, and there are several cores."""
        with ThreadPoolExecutor() as threads:
            for _ in threads.map(self.sandbox, environments):
                pass

    def end(self, environment: Environment) -> None:
        """End the sandbox of an environment that is not needed any more."""
        with self._lock:
            running = self._running.pop(environment, None)
        if running is not None:
            running.close()

    def close(self) -> None:
        """End them all."""
        for running in self._running.values():
            running.close()
        self._running.clear()
