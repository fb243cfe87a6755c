"""Web processes: several processes share the listening sockets of a service.

One process uses one processor at a time. The first process is the service itself. It starts the others, and
they end with it, whatever ends it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import waitress
from waitress.task import ThreadedTaskDispatcher

from autograder.core.errors import ServiceError
from autograder.sandbox.levels import Isolation
from autograder.service import setup
from autograder.web import site
from autograder.web.request_metrics import SharedFile

MOST = 4
"""The largest default number of processes."""
_THREADS = 8
_SIGN_IN_THREADS = 2
"""Threads for requests that hash a password: one request waits for the database, another one is hashed."""
_CONNECTIONS = 4000
"""Connections that are open at a time. An idle one is closed after a minute, so without a proxy each browser
of a class may hold some."""
_OTHER_FILES = 500
"""Files that a process opens besides: stored files, connections to the database, boxes of the bench."""
_PATIENCE_SECONDS = 3.0
"""How long to wait for a port: the processes of a killed service need a moment to notice it."""


class ServiceOptions(msgspec.Struct, frozen=True):
    """Options of a service."""

    course: Path
    slug: str = ""
    """The course's name in addresses; default: from the folder's name."""
    host: str = "127.0.0.1"
    port: int = 8000
    address: str = ""
    """The public address; default: host and port."""
    proxy: str = ""
    """The address of a proxy in front; its X-Forwarded-For and -Proto headers are trusted; default:
    127.0.0.1 if a public address is set."""
    database_url: str = ""
    """Default: an embedded database."""
    workers: int = 0
    """How many submissions the worker grades at a time; 0: one per core. Negative: no worker is started."""
    isolation: Isolation = Isolation.NAMESPACES
    processes: int = 0
    """The number of web processes; 0: one per core, up to `MOST`."""


class ProcessOptions(msgspec.Struct, frozen=True):
    """Options of a further process."""

    service: ServiceOptions
    """Without the database's address, because command lines are public."""
    folders: dict[str, Path]
    """See `autograder.web.site.ServiceContext`."""
    metrics: SharedFile


def count_processes(processes: int) -> int:
    """Return the number of processes; 0 means one per core, up to `MOST`."""
    return processes or min(os.cpu_count() or 1, MOST)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Open sockets that listen at every address of a host.

    Raises:
        ServiceError: the port is taken, or the host is not one of this machine.
    """
    listeners: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(addresses):
            listeners.append(_bind_socket(family, address))
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise ServiceError(
            f"cannot listen at {host}, port {port}: {error.strerror}; choose another --port or --host"
        ) from error
    return listeners


def _bind_socket(family: int, address: Any) -> socket.socket:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return socket.create_server(address[:2], family=family, backlog=_CONNECTIONS)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
        time.sleep(0.1)


class RequestQueues(ThreadedTaskDispatcher):
    """Threads that answer requests, and separate ones for requests that may hash a password.

    If a class signs in at once, sign-ins wait for each other, and everybody else gets their pages.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_thread_count(_THREADS)
        self._sign_ins = ThreadedTaskDispatcher()
        self._sign_ins.set_thread_count(_SIGN_IN_THREADS)

    def add_task(self, task: Any) -> None:
        """Enqueue a connection whose next request is complete."""
        if _may_hash_password(task.requests[0]):
            self._sign_ins.add_task(task)
        else:
            super().add_task(task)

    def shutdown(self, *args: Any, **options: Any) -> bool:
        """Finish the running requests, and cancel those that wait."""
        ended = self._sign_ins.shutdown(*args, **options)
        return bool(super().shutdown(*args, **options) and ended)


def _may_hash_password(request: Any) -> bool:
    # A request that cannot be parsed has an error and lacks the other attributes.
    return not request.error and request.command == "POST" and request.path.startswith(_PASSWORD_PATHS)


_PASSWORD_PATHS = (f"/{site.BASE}accounts/", f"/{site.BASE}join/")


def raise_file_limit() -> None:
    """Let this process open as many files as its connections need, if the system permits it.

    systemd and login sessions start processes with a soft limit of 1024. Beyond it nobody could connect, and
    requests would find neither the database nor files.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def create_server(sockets: Sequence[socket.socket], options: ServiceOptions) -> Any:
    """Return a server that answers requests at these sockets until it is closed.

    Args:
        sockets: listening sockets.
        options: how users reach the service.
    """
    from django.core.wsgi import get_wsgi_application

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return waitress.create_server(
        get_wsgi_application(),
        # The only way to give several sockets a dispatcher of one's own.
        _dispatcher=RequestQueues(),
        sockets=list(sockets),
        max_request_body_size=site.MOST_UPLOAD,
        channel_timeout=60,
        # Whoever comes later waits in the backlog of the sockets.
        connection_limit=_CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2),
        # select() cannot watch descriptors above 1023.
        asyncore_use_poll=True,
        **_configure_proxy(options),
        ident=None,
    )


def answer_requests(
    sockets: Sequence[socket.socket], options: ServiceOptions, ready: Callable[[], None]
) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish the running ones.

    Args:
        sockets: listening sockets.
        options: how users reach the service.
        ready: is called when the first request can be answered.
    """
    raise_file_limit()
    server = create_server(sockets, options)
    with handle_signals(_raise_interrupt), contextlib.suppress(KeyboardInterrupt):
        ready()
        server.run()
    server.close()


def _configure_proxy(options: ServiceOptions) -> dict[str, Any]:
    """Return which proxy headers the server trusts.

    Without a proxy the headers are kept, because they show that a request came through one.
    """
    if not options.address and not options.proxy:
        return {"clear_untrusted_proxy_headers": False}
    return {
        "trusted_proxy": options.proxy or "127.0.0.1",
        "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
        "clear_untrusted_proxy_headers": True,
    }


def _raise_interrupt() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def handle_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` when the process receives SIGTERM or SIGINT; restore the handlers afterwards."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: end()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def start_process(
    sockets: Sequence[socket.socket], options: ProcessOptions, database_url: str
) -> subprocess.Popen[bytes]:
    """Start a further process that answers at these sockets; it ends with this one, however that ends."""
    numbers = [listener.fileno() for listener in sockets]
    encoded = msgspec.json.encode(options, enc_hook=str).decode()
    command = [sys.executable, "-m", "autograder.web.extra_process", encoded]
    return subprocess.Popen(
        [*command, *map(str, numbers)],
        # Never written to: its end of file signals to the child that this process is gone.
        stdin=subprocess.PIPE,
        pass_fds=[*numbers, options.metrics.descriptor],
        env={**os.environ, setup.DATABASE_URL: database_url},
        # Ctrl-C in the terminal reaches the first process only, which ends the others in order.
        start_new_session=True,
    )
