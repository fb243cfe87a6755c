"""Web processes: several processes share the listening sockets of a service.

One process uses one processor at a time. The first process is the service itself. It starts the others, and
they
end with it, whatever ends it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import waitress

from autograder.service import setup
from autograder.web import site

MOST = 4
"""The largest default number of processes."""
_THREADS = 8
_CONNECTIONS = 1000
"""Connections that are open at a time. An idle one is closed after a minute."""
_PATIENCE_SECONDS = 3.0
"""How long to wait for a port: the processes of a killed service need a moment to notice it."""


class ProcessOptions(msgspec.Struct, frozen=True):
    """Options of a further process, without the database's address."""

    course: str
    host: str
    port: int
    address: str
    proxy: str
    folders: dict[str, str]
    """See `autograder.web.site.ServiceContext`."""


def count_processes(processes: int) -> int:
    """Return the number of processes; 0 means one per core, up to `MOST`."""
    return processes or min(os.cpu_count() or 1, MOST)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Open sockets that listen at every address of a host.

    Raises:
        OSError: the port is taken.
    """
    listeners: list[socket.socket] = []
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, _, _, _, address in dict.fromkeys(addresses):
            listeners.append(_bind_socket(family, address))
    except OSError:
        for listener in listeners:
            listener.close()
        raise
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


def answer_requests(
    sockets: Sequence[socket.socket], options: ProcessOptions, ready: Callable[[], None]
) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish the running ones.

    Args:
        sockets: listening sockets.
        options: how users reach the service.
        ready: is called when the first request can be answered.
    """
    from django.core.wsgi import get_wsgi_application

    server = waitress.create_server(
        get_wsgi_application(),
        sockets=list(sockets),
        threads=_THREADS,
        max_request_body_size=site.MOST_UPLOAD,
        channel_timeout=60,
        connection_limit=_CONNECTIONS,
        # select() cannot watch descriptors above 1023.
        asyncore_use_poll=True,
        **_configure_proxy(options),
        ident=None,
    )
    with handle_signals(_raise_interrupt), contextlib.suppress(KeyboardInterrupt):
        ready()
        server.run()
    server.close()


def _configure_proxy(options: ProcessOptions) -> dict[str, Any]:
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
    command = [sys.executable, "-m", "autograder.web.extra_process", msgspec.json.encode(options).decode()]
    return subprocess.Popen(
        [*command, *map(str, numbers)],
        # Never written to: its end of file signals to the child that this process is gone.
        stdin=subprocess.PIPE,
        pass_fds=numbers,
        env={**os.environ, setup.DATABASE_URL: database_url},
        # Ctrl-C in the terminal reaches the first process only, which ends the others in order.
        start_new_session=True,
    )
