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


class Answering(msgspec.Struct, frozen=True):
    """Options of a further process, without the database's address."""

    course: str
    host: str
    port: int
    address: str
    proxy: str
    folders: dict[str, str]
    """See `autograder.web.site.ServiceContext`."""


def wanted(processes: int) -> int:
    """Return the number of processes; 0 means one per core, up to `MOST`."""
    return processes or min(os.cpu_count() or 1, MOST)


def listening(host: str, port: int) -> list[socket.socket]:
    """Open sockets that listen at every address of a host.

    Raises:
        OSError: the port is taken.
    """
    found: list[socket.socket] = []
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, _, _, _, place in dict.fromkeys(places):
            found.append(_bound(family, place))
    except OSError:
        for one in found:
            one.close()
        raise
    return found


def _bound(family: int, place: Any) -> socket.socket:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return socket.create_server(place[:2], family=family, backlog=_CONNECTIONS)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
        time.sleep(0.1)


def answer(sockets: Sequence[socket.socket], asked: Answering, ready: Callable[[], None]) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish the running ones.

    Args:
        sockets: listening sockets.
        asked: how users reach the service.
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
        **_proxied(asked),
        ident=None,
    )
    with ended_by_signals(_interrupt), contextlib.suppress(KeyboardInterrupt):
        ready()
        server.run()
    server.close()


def _proxied(asked: Answering) -> dict[str, Any]:
    """Return which proxy headers the server trusts.

    Without a proxy the headers are kept, because they show that a request came through one.
    """
    if not asked.address and not asked.proxy:
        return {"clear_untrusted_proxy_headers": False}
    return {
        "trusted_proxy": asked.proxy or "127.0.0.1",
        "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
        "clear_untrusted_proxy_headers": True,
    }


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` when the process receives SIGTERM or SIGINT; restore the handlers afterwards."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: end()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def started(sockets: Sequence[socket.socket], asked: Answering, database_url: str) -> subprocess.Popen[bytes]:
    """Start a further process that answers at these sockets; it ends with this one, however that ends."""
    numbers = [one.fileno() for one in sockets]
    command = [sys.executable, "-m", "autograder.web.beside", msgspec.json.encode(asked).decode()]
    return subprocess.Popen(
        [*command, *map(str, numbers)],
        # Never written to: its end of file signals to the child that this process is gone.
        stdin=subprocess.PIPE,
        pass_fds=numbers,
        env={**os.environ, setup.DATABASE_URL: database_url},
        # Ctrl-C in the terminal reaches the first process only, which ends the others in order.
        start_new_session=True,
    )
