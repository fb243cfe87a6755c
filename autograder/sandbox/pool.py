"""The sandboxes of one run: one per environment, started on first use, replaced when they die."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.core.records import Limits
from autograder.sandbox.base import Box, Environment, Sandbox
from autograder.sandbox.levels import Isolation
from autograder.sandbox.retry import retry_infrastructure
from autograder.sandbox.runtime import pack_packages, refuse_other_systems

if TYPE_CHECKING:
    from autograder.sandbox.outside.namespaces import ZygoteSandbox


def start_sandbox(
    environment: Environment,
    isolation: Isolation = Isolation.NAMESPACES,
) -> ZygoteSandbox:
    """Start the real sandbox for an environment, at exactly this level of isolation.

    Args:
        environment: contents of its boxes.
        isolation: the level.

    Raises:
        SandboxUnavailable: not Linux, or a layer of confinement is missing; names the layer and the remedy.
        SandboxFault: it did not start.
    """
    refuse_other_systems()
    # Imported here: this module needs Linux, and the present one is imported on every system.
    from autograder.sandbox.outside.namespaces import BareSandbox, NamespaceSandbox

    kind = NamespaceSandbox if isolation is Isolation.NAMESPACES else BareSandbox
    return kind(environment)


class PersistentSandbox:
    """A `Sandbox` that is never dead: it uses whichever sandbox of the pool runs for its environment."""

    def __init__(self, pool: Pool, environment: Environment, packages: Mapping[str, bytes]) -> None:
        """Start the sandbox.

        Args:
            pool: the pool that keeps it.
            environment: the environment without packages.
            packages: the additional file for each box, if any; see `pack_packages`.
        """
        self._pool = pool
        self._environment = environment
        self._packages = packages
        self.isolation = pool.get_sandbox(environment).isolation

    def open(self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None) -> Box:
        """Open a box in the running sandbox; failing to restart a sandbox during a run is our fault."""
        sandbox, files = self._get_running_sandbox(), {**(files or {}), **self._packages}
        try:
            return sandbox.open(limits, seed=seed, files=files)
        except SandboxFault:
            if sandbox.is_alive():
                raise
        # The zygote died between the look-up and the request: the pool starts another one, once.
        return self._get_running_sandbox().open(limits, seed=seed, files=files)

    def _get_running_sandbox(self) -> Sandbox:
        try:
            return self._pool.get_sandbox(self._environment)
        except SandboxUnavailable as error:
            raise SandboxFault(f"a sandbox that ran before cannot be started again: {error}") from error

    def is_alive(self) -> bool:
        """Return True: a dead sandbox is replaced."""
        return True

    def close(self) -> None:
        """Do nothing: the pool closes its sandboxes."""


class Pool:
    """Keeps a sandbox ready for every environment that was requested. Thread-safe.

    Args:
        start: function that starts a sandbox; by default `start_sandbox` at the level of isolation.
        isolation: the level of all its sandboxes.
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
        self._packed: dict[Environment, dict[str, bytes]] = {}
        self._asked: set[Environment] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get_sandbox(self, environment: Environment) -> Sandbox:
        """Return the sandbox for an environment without its packages; start it if none is alive.

        Raises:
            SandboxUnavailable: this machine lacks a layer of confinement.
            SandboxFault: it did not start, or the pool is closed.
        """
        with self._lock:
            self._refuse_if_closed()
            if not environment.packages:
                self._asked.add(environment)
            environment = replace(environment, packages=())
            starting = self._starting.setdefault(environment, threading.Lock())
        # One lock per environment: starting takes seconds, and other environments must not wait for it.
        with starting:
            with self._lock:
                running = self._running.get(environment)
            if running is not None and running.is_alive():
                return running
            if running is not None:
                running.close()
            return retry_infrastructure(lambda: self._start_sandbox(environment))

    def _start_sandbox(self, environment: Environment) -> Sandbox:
        """Start a sandbox and register it; close it again if the pool was closed in the meantime."""
        with self._lock:
            self._refuse_if_closed()
        started = self._start(environment)
        try:
            with self._lock:
                # If the pool was closed in the meantime, `close` has not seen this sandbox.
                self._refuse_if_closed()
                self._running[environment] = started
        except SandboxFault:
            started.close()
            raise
        return started

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxFault("the pool of sandboxes is closed")

    def create_persistent(self, environment: Environment) -> PersistentSandbox:
        """Return a sandbox that outlives its zygote: each box comes from the zygote that is running then.

        Raises:
            SandboxUnavailable: this machine lacks a layer of confinement, or a package cannot be read.
        """
        with self._lock:
            if environment not in self._packed:
                self._packed[environment] = pack_packages(environment.packages)
        bare = replace(environment, packages=())
        return PersistentSandbox(self, bare, self._packed[environment])

    def start_apart(self, environment: Environment) -> Sandbox:
        """Start one more sandbox of the same kind that the pool does not keep; the caller closes it."""
        return self._start(environment)

    def start_all(self, environments: Iterable[Environment]) -> None:
        """Start several sandboxes in parallel; importing torch takes seconds, and there are several cores."""
        with ThreadPoolExecutor() as threads:
            for _ in threads.map(self.get_sandbox, environments):
                pass

    def end_sandbox(self, environment: Environment) -> None:
        """End the sandbox of an environment that is no longer needed, unless others share it."""
        bare = replace(environment, packages=())
        with self._lock:
            self._packed.pop(environment, None)
            # Environments that differ only in packages share one sandbox.
            shared = environment.packages and bare in self._asked
            running = None if shared else self._running.pop(bare, None)
        if running is not None:
            running.close()

    def close(self) -> None:
        """End all sandboxes and start no more. The thread that is starting one at this moment closes it."""
        with self._lock:
            self._closed = True
            ending, self._running = self._running, {}
        with contextlib.ExitStack() as every:  # closes the others if one fails
            for running in ending.values():
                every.callback(running.close)
